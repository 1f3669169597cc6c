// FP32 GEMM as micro_gemm_vector, with four floats of padding after each row of the transposed tile of A.
//
// The one change: PAD = 4. A warp stores 16 rows at two values of k that lie four rows of the tile apart; 4 * 128
// floats are a multiple of 32 banks, so the two met on the same banks, and 4 * 132 floats are 16 banks further, so
// they do not. Padding by four keeps every float4 aligned. C = alpha * A * B + beta * C, row-major, any M; N and K
// must be multiples of 4; 16x16 threads; 16640 bytes of dynamic shared memory. Needs sm_80 or later.
//
// In the table: wavefronts per shared store go from 2 to 1.

#include <cuda_pipeline.h>

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int PAD = 4;  // floats after each row of the transposed tile of A
constexpr int TM = 8, TN = 8;
constexpr int THREADS_X = BN / TN, THREADS = (BM / TM) * THREADS_X;
constexpr int A_STRIDE = BM + PAD;

static_assert(BM * BK == 4 * THREADS && BN * BK == 4 * THREADS, "one float4 of A and one of B per thread");

extern "C" __global__ void __launch_bounds__(THREADS, 2)
micro_gemm_padded(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    extern __shared__ __align__(16) float shared[];
    float* const tiles_a = shared;                      // [2][BK][A_STRIDE], transposed
    float* const tiles_b = shared + 2 * BK * A_STRIDE;  // [2][BK][BN]

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int thread = ty * THREADS_X + tx;
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
        const float* const a = tiles_a + (tile & 1) * BK * A_STRIDE + ty * 4;
        const float* const b = tiles_b + (tile & 1) * BK * BN + tx * 4;
        const bool more = tile + 1 < tiles;
        if (more) load((tile + 1) & 1, (tile + 1) * BK);

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float fragment_a[TM];
            float fragment_b[TN];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const float4 a4 = *reinterpret_cast<const float4*>(&a[k * A_STRIDE + half * (BM / 2)]);
                const float4 b4 = *reinterpret_cast<const float4*>(&b[k * BN + half * (BN / 2)]);
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
        const int row = row0 + i / 4 * (BM / 2) + ty * 4 + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const int column = column0 + j / 4 * (BN / 2) + tx * 4;
            if (row >= M || column >= N) continue;
            float4* const c = reinterpret_cast<float4*>(&C[static_cast<size_t>(row) * N + column]);
            const float4 old = beta == 0.0f ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : *c;
            *c = make_float4(alpha * sums[i][j + 0] + beta * old.x, alpha * sums[i][j + 1] + beta * old.y,
                             alpha * sums[i][j + 2] + beta * old.z, alpha * sums[i][j + 3] + beta * old.w);
        }
    }
}
