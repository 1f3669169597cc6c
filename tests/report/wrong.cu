// A copy of a matrix. WRONG leaves out the last 9 rows and doubles every column that is a multiple of 32.
template <bool WRONG>
__global__ void copy(const float* source, float* target, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows - (WRONG ? 9 : 0) || column >= columns) return;
    float value = source[row * columns + column];
    target[row * columns + column] = WRONG && column % 32 == 0 ? 2 * value : value;
}
