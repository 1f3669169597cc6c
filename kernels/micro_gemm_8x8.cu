// FP32 GEMM as micro_gemm_cp_async, with 8x8 results per thread and a 128x128 block tile.
//
// The one change: the sizes of the tiles. Sixteen shared loads feed 64 FFMA, four for one instead of two for one, and
// each element loaded from global memory is used 128 times instead of 64. C = alpha * A * B + beta * C, row-major,
// any M, N, K; 16x16 threads; 16384 bytes of dynamic shared memory. Needs sm_80 or later.
//
// In the table: registers (64 hold results alone), occupancy, FFMA share; and wavefronts per shared load:
// neighbouring threads read B eight floats apart, so sixteen lanes meet in four banks.

#include <cuda_pipeline.h>

constexpr int BM = 128, BN = 128, BK = 8;
constexpr int TM = 8, TN = 8;
constexpr int THREADS_X = BN / TN, THREADS = (BM / TM) * THREADS_X;
constexpr int LOADS = BM * BK / THREADS;

extern "C" __global__ void __launch_bounds__(THREADS)
micro_gemm_8x8(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    extern __shared__ float shared[];
    float* const tiles_a = shared;                // [2][BM][BK]
    float* const tiles_b = shared + 2 * BM * BK;  // [2][BK][BN]

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int thread = ty * THREADS_X + tx;
    const int row0 = blockIdx.y * BM;
    const int column0 = blockIdx.x * BN;

    auto copy = [&](int buffer, int k0) {
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int element = thread + i * THREADS;
            const int a_row = row0 + element / BK, a_column = k0 + element % BK;
            const int b_row = k0 + element / BN, b_column = column0 + element % BN;
            const bool a_inside = a_row < M && a_column < K;
            const bool b_inside = b_row < K && b_column < N;
            __pipeline_memcpy_async(&tiles_a[buffer * BM * BK + element],
                                    a_inside ? &A[static_cast<size_t>(a_row) * K + a_column] : A, 4, a_inside ? 0 : 4);
            __pipeline_memcpy_async(&tiles_b[buffer * BK * BN + element],
                                    b_inside ? &B[static_cast<size_t>(b_row) * N + b_column] : B, 4, b_inside ? 0 : 4);
        }
        __pipeline_commit();
    };

    float sums[TM][TN] = {};
    copy(0, 0);
    __pipeline_wait_prior(0);
    __syncthreads();

    const int tiles = (K + BK - 1) / BK;
    for (int tile = 0; tile < tiles; ++tile) {
        const float* const a = tiles_a + (tile & 1) * BM * BK + ty * TM * BK;
        const float* const b = tiles_b + (tile & 1) * BK * BN + tx * TN;
        if (tile + 1 < tiles) copy((tile + 1) & 1, (tile + 1) * BK);

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float fragment_a[TM];
            float fragment_b[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) fragment_a[i] = a[i * BK + k];
#pragma unroll
            for (int j = 0; j < TN; ++j) fragment_b[j] = b[k * BN + j];
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int step = 0; step < TN; ++step) {
                    const int j = i % 2 == 0 ? step : TN - 1 - step;
                    sums[i][j] += fragment_a[i] * fragment_b[j];
                }
            }
        }

        __pipeline_wait_prior(0);
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = row0 + ty * TM + i;
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int column = column0 + tx * TN + j;
            if (row >= M || column >= N) continue;
            float* const c = &C[static_cast<size_t>(row) * N + column];
            *c = beta == 0.0f ? alpha * sums[i][j] : alpha * sums[i][j] + beta * *c;
        }
    }
}
