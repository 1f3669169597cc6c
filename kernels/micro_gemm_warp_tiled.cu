// FP32 GEMM as micro_gemm_padded, with the block tile cut into one compact tile per warp.
//
// The one change: which results a thread owns. Each of the eight warps computes a compact 64x32 part of the block's
// 128x128 (it was 16 rows of 128 columns), so that a warp reads 96 floats per step of K instead of 144; and its lanes
// are ordered so that 128-bit shared loads merge (see lane_m and lane_n). C = alpha * A * B + beta * C, row-major,
// any M; N and K must be multiples of 4; 256 threads; 16640 bytes of dynamic shared memory. Needs sm_80 or later.
//
// In the table: wavefronts per shared load, against micro_gemm_padded.

#include <cuda_pipeline.h>

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int PAD = 4;  // floats after each row of the transposed tile of A
constexpr int TM = 8, TN = 8;
constexpr int WM = 64, WN = 32;                          // the tile of a warp
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;      // lanes down and across it
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int A_STRIDE = BM + PAD;

static_assert(LANES_M == 8 && LANES_N == 4, "the order of lanes below takes three bits for rows, two for columns");
static_assert(BM * BK == 4 * THREADS && BN * BK == 4 * THREADS, "one float4 of A and one of B per thread");

extern "C" __global__ void __launch_bounds__(THREADS, 2)
micro_gemm_warp_tiled(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    extern __shared__ __align__(16) float shared[];
    float* const tiles_a = shared;                      // [2][BK][A_STRIDE], transposed
    float* const tiles_b = shared + 2 * BK * A_STRIDE;  // [2][BK][BN]

    const int thread = threadIdx.x;
    const int warp = thread / 32, lane = thread % 32;
    // Neighbouring lanes share their row or their column: a 128-bit shared load merges lanes n and n ^ 1, or n and
    // n ^ 2, that read one address, and then takes two wavefronts instead of four.
    const int lane_n = (lane & 1) | (lane >> 2 & 1) << 1;
    const int lane_m = (lane >> 1 & 1) | (lane >> 3) << 1;
    const int warp_row = warp / (BN / WN) * WM + lane_m * 4;
    const int warp_column = warp % (BN / WN) * WN + lane_n * 4;
    const int row0 = blockIdx.y * BM;
    const int column0 = blockIdx.x * BN;
    const int a_row = thread / (BK / 4), a_k = thread % (BK / 4) * 4;
    const int b_k = thread / (BN / 4), b_column = thread % (BN / 4) * 4;

    float4 next_a;
    auto load = [&](int buffer, int k0) {
        const bool a_inside = row0 + a_row < M && k0 + a_k < K;
        const bool b_inside = k0 + b_k < K && column0 + b_column < N;
        next_a = a_inside ? *reinterpret_cast<const float4*>(&A[static_cast<size_t>(row0 + a_row) * K + k0 + a_k])
                          : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        __pipeline_memcpy_async(&tiles_b[(buffer * BK + b_k) * BN + b_column],
                                b_inside ? &B[static_cast<size_t>(k0 + b_k) * N + column0 + b_column] : B, 16,
                                b_inside ? 0 : 16);
        __pipeline_commit();
    };
    auto store = [&](int buffer) {
        float* const a = &tiles_a[(buffer * BK + a_k) * A_STRIDE + a_row];
        a[0 * A_STRIDE] = next_a.x;
        a[1 * A_STRIDE] = next_a.y;
        a[2 * A_STRIDE] = next_a.z;
        a[3 * A_STRIDE] = next_a.w;
    };

    float sums[TM][TN] = {};
    load(0, 0);
    store(0);
    __pipeline_wait_prior(0);
    __syncthreads();

    const int tiles = (K + BK - 1) / BK;
    for (int tile = 0; tile < tiles; ++tile) {
        const float* const a = tiles_a + (tile & 1) * BK * A_STRIDE + warp_row;
        const float* const b = tiles_b + (tile & 1) * BK * BN + warp_column;
        const bool more = tile + 1 < tiles;
        if (more) load((tile + 1) & 1, (tile + 1) * BK);

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float fragment_a[TM];
            float fragment_b[TN];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float4 a4 = *reinterpret_cast<const float4*>(&a[k * A_STRIDE + half * 4 * LANES_M]);
                const float4 b4 = *reinterpret_cast<const float4*>(&b[k * BN + half * 4 * LANES_N]);
                fragment_a[half * 4 + 0] = a4.x, fragment_a[half * 4 + 1] = a4.y;
                fragment_a[half * 4 + 2] = a4.z, fragment_a[half * 4 + 3] = a4.w;
                fragment_b[half * 4 + 0] = b4.x, fragment_b[half * 4 + 1] = b4.y;
                fragment_b[half * 4 + 2] = b4.z, fragment_b[half * 4 + 3] = b4.w;
            }
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int step = 0; step < TN; ++step) {
                    const int j = i % 2 == 0 ? step : TN - 1 - step;
                    sums[i][j] += fragment_a[i] * fragment_b[j];
                }
            }
        }

        if (more) store((tile + 1) & 1);
        __pipeline_wait_prior(0);
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = row0 + warp_row + i / 4 * 4 * LANES_M + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int column = column0 + warp_column + j * LANES_N;
            if (row >= M || column >= N) continue;
            float4* const c = reinterpret_cast<float4*>(&C[static_cast<size_t>(row) * N + column]);
            const float4 old = beta == 0.0f ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : *c;
            *c = make_float4(alpha * sums[i][j + 0] + beta * old.x, alpha * sums[i][j + 1] + beta * old.y,
                             alpha * sums[i][j + 2] + beta * old.z, alpha * sums[i][j + 3] + beta * old.w);
        }
    }
}
