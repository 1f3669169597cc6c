// FP32 GEMM as micro_gemm_warp_tiled, pipelined at both levels: the top rung of the ladder.
//
// The changes: a deeper K tile; STAGES tiles in shared memory, filled by cp.async while earlier ones are used (A is
// transposed on the way, four bytes at a time); and two sets of fragments in registers, so that the shared loads of
// step k + 1 are in flight while the FFMA of step k are issued. C = alpha * A * B + beta * C, row-major, any M; N and
// K must be multiples of 4. A 1D block of (BM / WM) * (BN / WN) warps; dynamic shared memory of STAGES * BK * (BM + 4
// + BN) * 4 bytes. Needs sm_80 or later.
//
// Look at: FFMA share, and the loop in `gpuprof sass`: shared loads stand between FFMA that do not need them.

#include <cuda_pipeline.h>

template <int BM = 128, int BN = 128, int BK = 16, int WM = 64, int WN = 32, int TM = 8, int TN = 8, int STAGES = 3>
__global__ void __launch_bounds__(BM / WM * (BN / WN) * 32, TM * TN > 64 ? 1 : 2)
micro_gemm_pipelined(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    constexpr int THREADS = BM / WM * (BN / WN) * 32;
    constexpr int A_STRIDE = BM + 4;                // padded: four rows of A and eight k meet on 32 banks
    constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
    constexpr int A_ROWS = THREADS / 8;             // rows of A that the block copies at once, eight k each
    constexpr int B_ROWS = THREADS / (BN / 4);      // rows of B that the block copies at once
    static_assert(LANES_M * LANES_N == 32, "a warp tile is 32 thread tiles");
    static_assert(LANES_M >= 4 && LANES_N >= 4, "the order of lanes below takes two bits for rows, two for columns");
    static_assert(BK % 8 == 0 && BM % A_ROWS == 0 && BK % B_ROWS == 0, "every thread copies equally much");

    extern __shared__ __align__(16) float shared[];
    float* const tiles_a = shared;                           // [STAGES][BK][A_STRIDE], transposed
    float* const tiles_b = shared + STAGES * BK * A_STRIDE;  // [STAGES][BK][BN]

    const int thread = threadIdx.x;
    const int warp = thread / 32, lane = thread % 32;
    // Neighbouring lanes share their row or their column: a 128-bit shared load merges lanes n and n ^ 1, or n and
    // n ^ 2, that read one address, and then takes two wavefronts instead of four.
    const int lane_n = (lane & 1) | (lane >> 2 & (LANES_N / 2 - 1)) << 1;
    const int lane_m = (lane >> 1 & 1) | lane / (2 * LANES_N) << 1;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;
    const int warp_row = warp / (BN / WN) * WM + lane_m * 4;
    const int warp_column = warp % (BN / WN) * WN + lane_n * 4;

    const int a_k = thread % 8, a_row = thread / 8;
    const int b_k = thread / (BN / 4), b_column = thread % (BN / 4) * 4;
    // Rows and columns outside the matrices are read from its last ones: they only reach results that nobody stores.
    const float* const b_source = B + min(column0 + b_column, N - 4);

    auto copy = [&](int stage, int k0, auto whole) {
#pragma unroll
        for (int i = 0; i < BM / A_ROWS; ++i) {
            const int row = min(row0 + a_row + i * A_ROWS, M - 1);
            const float* const source = A + static_cast<size_t>(row) * K + k0 + a_k;
            float* const target = &tiles_a[(stage * BK + a_k) * A_STRIDE + a_row + i * A_ROWS];
#pragma unroll
            for (int k = 0; k < BK; k += 8) {
                const bool inside = whole || k0 + a_k + k < K;
                __pipeline_memcpy_async(target + k * A_STRIDE, inside ? source + k : A, 4, inside ? 0 : 4);
            }
        }
#pragma unroll
        for (int k = 0; k < BK; k += B_ROWS) {
            const bool inside = whole || k0 + b_k + k < K;
            const float* const source = b_source + static_cast<size_t>(inside ? k0 + b_k + k : 0) * N;
            __pipeline_memcpy_async(&tiles_b[(stage * BK + b_k + k) * BN + b_column], source, 16, inside ? 0 : 16);
        }
    };
    struct Whole { __device__ constexpr operator bool() const { return true; } };
    auto request = [&](int stage, int k0) {
        if (k0 + BK <= K) {
            copy(stage, k0, Whole{});
        } else if (k0 < K) {
            copy(stage, k0, false);
        }
        __pipeline_commit();
    };

    float fragment_a[2][TM];
    float fragment_b[2][TN];
    auto read = [&](int set, int stage, int k) {
        const float* const a = &tiles_a[(stage * BK + k) * A_STRIDE + warp_row];
        const float* const b = &tiles_b[(stage * BK + k) * BN + warp_column];
#pragma unroll
        for (int i = 0; i < TM; i += 4) {
            *reinterpret_cast<float4*>(&fragment_a[set][i]) = *reinterpret_cast<const float4*>(&a[i * LANES_M]);
        }
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            *reinterpret_cast<float4*>(&fragment_b[set][j]) = *reinterpret_cast<const float4*>(&b[j * LANES_N]);
        }
    };

    float sums[TM][TN] = {};
#pragma unroll 1
    for (int stage = 0; stage < STAGES - 1; ++stage) request(stage, stage * BK);
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    read(0, 0, 0);

    int stage = 0;                   // the tile in use
    int free_stage = STAGES - 1;     // the tile that the block has finished with
    for (int k0 = 0; k0 < K; k0 += BK) {
        const int next_stage = stage + 1 == STAGES ? 0 : stage + 1;
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            if (k == BK - 1) {
                __pipeline_wait_prior(STAGES - 2);
                __syncthreads();
                if (k0 + BK < K) read((k + 1) % 2, next_stage, 0);
            } else {
                read((k + 1) % 2, stage, k + 1);
            }
            if (k == 0) request(free_stage, k0 + (STAGES - 1) * BK);
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int step = 0; step < TN; ++step) {
                    const int j = i % 2 == 0 ? step : TN - 1 - step;
                    sums[i][j] += fragment_a[k % 2][i] * fragment_b[k % 2][j];
                }
            }
        }
        free_stage = stage;
        stage = next_stage;
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
