// Softmax over the rows of a matrix: three passes over memory, one block per row, against one warp per row.
//
// target[r][c] = exp(x[r][c] - max_r) / sum_r; any size. The block version (BLOCK threads) joins its warps through
// shared memory; the warp version needs only shuffles. Both read the row three times: for the maximum, the sum, and
// the result.
//
// In the table: load sectors, three times those of a copy (the later reads hit a cache on a GPU), and barriers' cost
// in instructions for short rows.

#include <math_constants.h>

struct Sum {
    static __device__ float start() { return 0.0f; }
    static __device__ float join(float a, float b) { return a + b; }
};
struct Maximum {
    static __device__ float start() { return -CUDART_INF_F; }
    static __device__ float join(float a, float b) { return fmaxf(a, b); }
};

template <typename Operation>
__device__ float join_warp(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        value = Operation::join(value, __shfl_xor_sync(0xffffffffu, value, distance));
    }
    return value;
}

template <typename Operation, int BLOCK>
__device__ float join_block(float value) {
    __shared__ float parts[BLOCK / 32];
    value = join_warp<Operation>(value);
    __syncthreads();  // redundant while each Operation joins once and has parts of its own; a second join needs it
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = parts[0];
#pragma unroll
    for (int i = 1; i < BLOCK / 32; ++i) value = Operation::join(value, parts[i]);
    return value;
}

template <int BLOCK = 256>
__global__ void __launch_bounds__(BLOCK) softmax_block(int rows, int columns, const float* source, float* target) {
    const float* const x = source + static_cast<size_t>(blockIdx.x) * columns;
    float* const y = target + static_cast<size_t>(blockIdx.x) * columns;
    float highest = Maximum::start();
    for (int c = threadIdx.x; c < columns; c += BLOCK) highest = fmaxf(highest, x[c]);
    highest = join_block<Maximum, BLOCK>(highest);
    float sum = 0.0f;
    for (int c = threadIdx.x; c < columns; c += BLOCK) sum += expf(x[c] - highest);
    sum = join_block<Sum, BLOCK>(sum);
    for (int c = threadIdx.x; c < columns; c += BLOCK) y[c] = expf(x[c] - highest) / sum;
}

extern "C" __global__ void softmax_warp(int rows, int columns, const float* source, float* target) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* const x = source + static_cast<size_t>(row) * columns;
    float* const y = target + static_cast<size_t>(row) * columns;
    float highest = Maximum::start();
    for (int c = lane; c < columns; c += 32) highest = fmaxf(highest, x[c]);
    highest = join_warp<Maximum>(highest);
    float sum = 0.0f;
    for (int c = lane; c < columns; c += 32) sum += expf(x[c] - highest);
    sum = join_warp<Sum>(sum);
    for (int c = lane; c < columns; c += 32) y[c] = expf(x[c] - highest) / sum;
}
