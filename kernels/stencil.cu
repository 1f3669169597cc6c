// Stencils in one and two dimensions: neighbours from global memory, or from a tile in shared memory.
//
// stencil_1d sums 2 * RADIUS + 1 neighbours; stencil_2d is the five-point mean. Outside the array counts as 0; any
// size. The 1D kernels take blocks of BLOCK threads, the 2D ones of 32x8.
//
// In the table: load requests and sectors. The tile brings each element in once per block, plus the halo; on a GPU
// the L1 cache does much of that by itself, so that the gain in time is smaller than the gain in requests.

template <int RADIUS = 3, int BLOCK = 256>
__global__ void stencil_1d_global(int count, const float* source, float* target) {
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    float sum = 0.0f;
#pragma unroll
    for (int offset = -RADIUS; offset <= RADIUS; ++offset) {
        const int j = i + offset;
        if (j >= 0 && j < count) sum += source[j];
    }
    target[i] = sum;
}

template <int RADIUS = 3, int BLOCK = 256>
__global__ void stencil_1d_shared(int count, const float* source, float* target) {
    __shared__ float tile[BLOCK + 2 * RADIUS];
    const int first = blockIdx.x * BLOCK - RADIUS;
    for (int k = threadIdx.x; k < BLOCK + 2 * RADIUS; k += BLOCK) {
        const int j = first + k;
        tile[k] = j >= 0 && j < count ? source[j] : 0.0f;
    }
    __syncthreads();
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= count) return;
    float sum = 0.0f;
#pragma unroll
    for (int offset = 0; offset <= 2 * RADIUS; ++offset) sum += tile[threadIdx.x + offset];
    target[i] = sum;
}

constexpr int TILE_X = 32, TILE_Y = 8;

extern "C" __global__ void stencil_2d_global(int rows, int columns, const float* source, float* target) {
    const int x = blockIdx.x * TILE_X + threadIdx.x, y = blockIdx.y * TILE_Y + threadIdx.y;
    if (x >= columns || y >= rows) return;
    const size_t i = static_cast<size_t>(y) * columns + x;
    const float left = x > 0 ? source[i - 1] : 0.0f;
    const float right = x + 1 < columns ? source[i + 1] : 0.0f;
    const float up = y > 0 ? source[i - columns] : 0.0f;
    const float down = y + 1 < rows ? source[i + columns] : 0.0f;
    target[i] = 0.2f * (source[i] + left + right + up + down);
}

extern "C" __global__ void stencil_2d_shared(int rows, int columns, const float* source, float* target) {
    __shared__ float tile[TILE_Y + 2][TILE_X + 2];
    const int x0 = blockIdx.x * TILE_X - 1, y0 = blockIdx.y * TILE_Y - 1;
    for (int k = threadIdx.y * TILE_X + threadIdx.x; k < (TILE_Y + 2) * (TILE_X + 2); k += TILE_X * TILE_Y) {
        const int x = x0 + k % (TILE_X + 2), y = y0 + k / (TILE_X + 2);
        const bool inside = x >= 0 && x < columns && y >= 0 && y < rows;
        tile[k / (TILE_X + 2)][k % (TILE_X + 2)] = inside ? source[static_cast<size_t>(y) * columns + x] : 0.0f;
    }
    __syncthreads();
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    const int x = x0 + tx, y = y0 + ty;
    if (x >= columns || y >= rows) return;
    target[static_cast<size_t>(y) * columns + x] =
        0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}
