// FP32 GEMM through shared memory: a TILE x TILE block loads each element of A and B once per tile, not once per use.
//
// C = A * B, row-major, any M, N, K: threads outside the matrices load zeros and take part in every barrier, and only
// the store is guarded. Each loaded float is used TILE times, so the bytes asked of global memory fall by TILE: 0.25
// FLOP per byte becomes TILE / 4 (8 for a tile of 32).
//
// In the table: bytes moved by global loads against gemm_naive, and shared loads per FFMA. The limit has moved to
// shared memory: two shared loads (B by lane, A by broadcast, or vectors of it) feed each multiply-add.

template <typename T = float, int TILE = 32>
__global__ void gemm_tiled_kernel(int M, int N, int K, const T* A, const T* B, T* C) {
    __shared__ T tile_a[TILE][TILE];
    __shared__ T tile_b[TILE][TILE];

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int column = blockIdx.x * TILE + tx;
    const int row = blockIdx.y * TILE + ty;

    T sum = 0;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        const int a_column = k0 + tx;
        const int b_row = k0 + ty;
        tile_a[ty][tx] = row < M && a_column < K ? A[static_cast<size_t>(row) * K + a_column] : T(0);
        tile_b[ty][tx] = b_row < K && column < N ? B[static_cast<size_t>(b_row) * N + column] : T(0);
        __syncthreads();

#pragma unroll
        for (int k = 0; k < TILE; ++k) {
            sum += tile_a[ty][k] * tile_b[k][tx];
        }
        __syncthreads();
    }

    if (row < M && column < N) C[static_cast<size_t>(row) * N + column] = sum;
}
