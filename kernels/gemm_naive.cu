// FP32 GEMM, one thread per element of C: the starting point of the ladder.
//
// C = A * B, row-major, any M, N, K. Each thread walks a row of A and a column of B in global memory, so every
// multiply-add waits for two loads: 2 floating-point operations for 8 bytes asked for, 0.25 FLOP per byte.
//
// In the table: sectors per request. A warp of a 16x16 block covers two rows of 16 columns, so its load of A touches
// two sectors (two broadcasts) and its load of B two sectors (16 neighbours, read once for both rows).

template <typename T = float>
__global__ void gemm_naive_kernel(int M, int N, int K, const T* A, const T* B, T* C) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    T sum = 0;
    for (int k = 0; k < K; ++k) {
        sum += A[static_cast<size_t>(row) * K + k] * B[static_cast<size_t>(k) * N + column];
    }
    C[static_cast<size_t>(row) * N + column] = sum;
}
