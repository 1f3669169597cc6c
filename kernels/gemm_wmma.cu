// GEMM on tensor cores, one warp per 16x16 tile of C: half inputs, float sums, C = iters * A * B.
//
// The warp-level API of mma.h (wmma): fragments are loaded straight from global memory and multiplied 16x16x16 at a
// time. Row-major; M, N and K must be multiples of 16. A block of 32 x WARPS threads covers WARPS tiles side by side.
//
// In the table: instructions. One HMMA does the work of 64 or 128 FFMA of a warp, so nearly all that is left is
// loading: the fragments come from global memory for each tile, without reuse between warps. gemm_wmma_shared mends
// that.

#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void gemm_wmma(int M, int N, int K, int iters, const __half* A, const __half* B, float* C) {
    using namespace nvcuda;
    const int column = (blockIdx.x * blockDim.y + threadIdx.y) * 16;
    const int row = blockIdx.y * 16;
    if (row >= M || column >= N) return;  // the whole warp, since a warp is one threadIdx.y

    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int iteration = 0; iteration < iters; ++iteration) {
        for (int k = 0; k < K; k += 16) {
            wmma::load_matrix_sync(a, A + static_cast<size_t>(row) * K + k, K);
            wmma::load_matrix_sync(b, B + static_cast<size_t>(k) * N + column, N);
            wmma::mma_sync(sum, a, b, sum);
        }
    }
    wmma::store_matrix_sync(C + static_cast<size_t>(row) * N + column, sum, N, wmma::mem_row_major);
}
