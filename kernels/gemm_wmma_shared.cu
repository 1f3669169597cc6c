// GEMM on tensor cores through shared memory: 128x128 block tile, K tile of 32, cp.async, eight warps of 64x32.
//
// Half inputs, float sums, C = iters * A * B; row-major; M and N must be multiples of 128, K of 32. 256 threads. Two
// buffers of each tile: the next one arrives while the present one is multiplied. Rows in shared memory are padded by
// eight halves (16 bytes), so that the rows of a fragment lie on different banks. Needs sm_80 or later.
//
// In the table: global sectors against gemm_wmma (each element now serves 128 results), and wavefronts per shared
// load: 1 per matrix row group when the padding works.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

constexpr int BM = 128, BN = 128, BK = 32;
constexpr int WM = 64, WN = 32;
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int A_STRIDE = BK + 8, B_STRIDE = BN + 8;
constexpr int VECTOR = 8;  // halves in 16 bytes

extern "C" __global__ void __launch_bounds__(THREADS)
gemm_wmma_shared(int M, int N, int K, int iters, const __half* A, const __half* B, float* C) {
    using namespace nvcuda;
    __shared__ __align__(16) __half tiles_a[2][BM * A_STRIDE];
    __shared__ __align__(16) __half tiles_b[2][BK * B_STRIDE];

    const int thread = threadIdx.x;
    const int warp_row = thread / 32 / (BN / WN) * WM, warp_column = thread / 32 % (BN / WN) * WN;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;

    auto copy = [&](int buffer, int k0) {
#pragma unroll
        for (int first = 0; first < BM * BK / VECTOR; first += THREADS) {
            const int i = first + thread;
            const int row = i / (BK / VECTOR), k = i % (BK / VECTOR) * VECTOR;
            __pipeline_memcpy_async(&tiles_a[buffer][row * A_STRIDE + k],
                                    &A[static_cast<size_t>(row0 + row) * K + k0 + k], 16);
        }
#pragma unroll
        for (int first = 0; first < BK * BN / VECTOR; first += THREADS) {
            const int i = first + thread;
            const int k = i / (BN / VECTOR), column = i % (BN / VECTOR) * VECTOR;
            __pipeline_memcpy_async(&tiles_b[buffer][k * B_STRIDE + column],
                                    &B[static_cast<size_t>(k0 + k) * N + column0 + column], 16);
        }
        __pipeline_commit();
    };

    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[WM / 16][WN / 16];
#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
    }

    const int steps = iters * (K / BK);
    int next_k0 = 0;
    copy(0, 0);
    for (int step = 0; step < steps; ++step) {
        __pipeline_wait_prior(0);
        __syncthreads();
        next_k0 = next_k0 + BK < K ? next_k0 + BK : 0;
        if (step + 1 < steps) copy((step + 1) & 1, next_k0);

#pragma unroll
        for (int k = 0; k < BK; k += 16) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b[WN / 16];
#pragma unroll
            for (int j = 0; j < WN / 16; ++j) {
                wmma::load_matrix_sync(b[j], &tiles_b[step & 1][k * B_STRIDE + warp_column + j * 16], B_STRIDE);
            }
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) {
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
                wmma::load_matrix_sync(a, &tiles_a[step & 1][(warp_row + i * 16) * A_STRIDE + k], A_STRIDE);
#pragma unroll
                for (int j = 0; j < WN / 16; ++j) wmma::mma_sync(sums[i][j], a, b[j], sums[i][j]);
            }
        }
    }

#pragma unroll
    for (int i = 0; i < WM / 16; ++i) {
#pragma unroll
        for (int j = 0; j < WN / 16; ++j) {
            const size_t row = row0 + warp_row + i * 16, column = column0 + warp_column + j * 16;
            wmma::store_matrix_sync(C + row * N + column, sums[i][j], N, wmma::mem_row_major);
        }
    }
}
