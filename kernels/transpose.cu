// Matrix transpose in four steps: plain, tiled, padded, swizzled; each the same bytes as a copy, which is the bound.
//
// The source has `rows` rows of `columns` floats, any size. Blocks of 32 x ROWS threads move tiles of 32x32.
//   transpose_plain     reads rows, writes columns: each store of a warp touches 32 sectors
//   transpose_tiled     turns the tile in shared memory, so that both sides are coalesced; but a column of the tile
//                       lies in one bank: 32 wavefronts per shared load
//   transpose_padded    one float of padding per row moves each row by a bank: 1 wavefront
//   transpose_swizzled  no padding: column c of row r is kept at c ^ r, also 1 wavefront, and 4096 bytes exactly
//
// In the table: sectors per store request (32, then 4) and wavefronts per shared load (32, 1, 1).

constexpr int TILE = 32;

template <int ROWS = 8>
__global__ void transpose_plain(int rows, int columns, const float* source, float* target) {
    const int column = blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int i = 0; i < TILE; i += ROWS) {
        const int row = blockIdx.y * TILE + threadIdx.y + i;
        if (row < rows && column < columns) {
            target[static_cast<size_t>(column) * rows + row] = source[static_cast<size_t>(row) * columns + column];
        }
    }
}

// Where element (row, column) of the tile is kept.
struct Straight {
    static constexpr int STRIDE = TILE;
    static __device__ int at(int row, int column) { return row * STRIDE + column; }
};
struct Padded {
    static constexpr int STRIDE = TILE + 1;
    static __device__ int at(int row, int column) { return row * STRIDE + column; }
};
struct Swizzled {
    static constexpr int STRIDE = TILE;
    static __device__ int at(int row, int column) { return row * STRIDE + (column ^ row); }
};

template <typename Layout, int ROWS>
__device__ void transpose_through_shared(int rows, int columns, const float* source, float* target) {
    __shared__ float tile[TILE * Layout::STRIDE];

    const int x = threadIdx.x;
    const int column = blockIdx.x * TILE + x;
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
        const int row = blockIdx.y * TILE + y;
        if (row >= rows || column >= columns) continue;
        tile[Layout::at(y, x)] = source[static_cast<size_t>(row) * columns + column];
    }
    __syncthreads();

    const int target_column = blockIdx.y * TILE + x;  // was a row of the source
#pragma unroll
    for (int y = threadIdx.y; y < TILE; y += ROWS) {
        const int target_row = blockIdx.x * TILE + y;
        if (target_row < columns && target_column < rows) {
            target[static_cast<size_t>(target_row) * rows + target_column] = tile[Layout::at(x, y)];
        }
    }
}

template <int ROWS = 8>
__global__ void transpose_tiled(int rows, int columns, const float* source, float* target) {
    transpose_through_shared<Straight, ROWS>(rows, columns, source, target);
}

template <int ROWS = 8>
__global__ void transpose_padded(int rows, int columns, const float* source, float* target) {
    transpose_through_shared<Padded, ROWS>(rows, columns, source, target);
}

template <int ROWS = 8>
__global__ void transpose_swizzled(int rows, int columns, const float* source, float* target) {
    transpose_through_shared<Swizzled, ROWS>(rows, columns, source, target);
}
