// A tiled SGEMM whose tiles are macros, as tuners like them: block_size_x by block_size_y threads, TM by TN elements per
// thread, K in steps of BK. M, N and K are multiples of every tile in the space.

#define TILE_M (block_size_y * TM)
#define TILE_N (block_size_x * TN)
#define THREADS (block_size_x * block_size_y)

extern "C" __global__ void __launch_bounds__(THREADS)
    tuner_gemm(int m, int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float tile_a[TILE_M][BK + 1];
    __shared__ float tile_b[BK][TILE_N];
    const int row = blockIdx.y * TILE_M, column = blockIdx.x * TILE_N;
    const int thread = threadIdx.y * block_size_x + threadIdx.x;
    float sums[TM][TN] = {};
    for (int start = 0; start < k; start += BK) {
        for (int i = thread; i < TILE_M * BK; i += THREADS)
            tile_a[i / BK][i % BK] = a[(size_t)(row + i / BK) * k + start + i % BK];
        for (int i = thread; i < BK * TILE_N; i += THREADS)
            tile_b[i / TILE_N][i % TILE_N] = b[(size_t)(start + i / TILE_N) * n + column + i % TILE_N];
        __syncthreads();
#pragma unroll
        for (int step = 0; step < BK; step++) {
            float left[TM], right[TN];
#pragma unroll
            for (int i = 0; i < TM; i++)
                left[i] = tile_a[threadIdx.y + i * block_size_y][step];
#pragma unroll
            for (int j = 0; j < TN; j++)
                right[j] = tile_b[step][threadIdx.x + j * block_size_x];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++)
                    sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
            c[(size_t)(row + threadIdx.y + i * block_size_y) * n + column + threadIdx.x + j * block_size_x] =
                sums[i][j];
}
