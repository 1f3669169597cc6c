// A tiled SGEMM: X by Y threads, ROWS by COLUMNS elements per thread, K in steps of DEPTH. M, N and K are multiples of
// every tile in the space.

template <int X, int Y, int ROWS, int COLUMNS, int DEPTH>
__device__ __forceinline__ void multiply(int m, int n, int k, const float *a, const float *b, float *c)
{
    constexpr int threads = X * Y, tile_m = Y * ROWS, tile_n = X * COLUMNS;
    __shared__ float tile_a[tile_m][DEPTH + 1];
    __shared__ float tile_b[DEPTH][tile_n];
    const int row = blockIdx.y * tile_m, column = blockIdx.x * tile_n;
    const int thread = threadIdx.y * X + threadIdx.x;
    float sums[ROWS][COLUMNS] = {};
    for (int start = 0; start < k; start += DEPTH) {
        for (int i = thread; i < tile_m * DEPTH; i += threads)
            tile_a[i / DEPTH][i % DEPTH] = a[(size_t)(row + i / DEPTH) * k + start + i % DEPTH];
        for (int i = thread; i < DEPTH * tile_n; i += threads)
            tile_b[i / tile_n][i % tile_n] = b[(size_t)(start + i / tile_n) * n + column + i % tile_n];
        __syncthreads();
#pragma unroll
        for (int step = 0; step < DEPTH; step++) {
            float left[ROWS], right[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                left[i] = tile_a[threadIdx.y + i * Y][step];
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                right[j] = tile_b[step][threadIdx.x + j * X];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < ROWS; i++)
#pragma unroll
        for (int j = 0; j < COLUMNS; j++)
            c[(size_t)(row + threadIdx.y + i * Y) * n + column + threadIdx.x + j * X] = sums[i][j];
}

// gpuprof instantiates this template.
template <int X, int Y, int ROWS, int COLUMNS, int DEPTH>
__global__ void __launch_bounds__(X * Y)
    tuner_gemm(int m, int n, int k, const float *a, const float *b, float *c)
{
    multiply<X, Y, ROWS, COLUMNS, DEPTH>(m, n, k, a, b, c);
}

// Kernel Tuner defines its parameters as macros. Its own wrapper for templates, which has the same form as this one,
// cannot carry launch bounds that depend on the template's parameters.
#ifdef block_size_x
extern "C" __global__ void __launch_bounds__(block_size_x * block_size_y)
    tuner_gemm_point(int m, int n, int k, const float *a, const float *b, float *c)
{
    multiply<block_size_x, block_size_y, TM, TN, BK>(m, n, k, a, b, c);
}
#endif
