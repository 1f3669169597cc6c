// Layer normalisation over the rows of a matrix: mean and variance by two passes, or by Welford's one.
//
// target[r][c] = (x[r][c] - mean_r) / sqrt(variance_r + epsilon) * weight[c] + bias[c]; one warp per row, any size.
// Welford keeps a running mean and sum of squares, so that the row is read twice instead of three times, and pays
// with a division per element.
//
// In the table: load sectors against instructions. Which of the two is faster depends on which of them the device is
// short of.

__device__ float warp_total(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

__device__ void normalise(int columns, int lane, float mean, float variance, float epsilon, const float* x,
                          const float* weight, const float* bias, float* y) {
    const float scale = rsqrtf(variance + epsilon);
    for (int c = lane; c < columns; c += 32) y[c] = (x[c] - mean) * scale * weight[c] + bias[c];
}

extern "C" __global__ void layernorm_two_pass(int rows, int columns, float epsilon, const float* source,
                                              const float* weight, const float* bias, float* target) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* const x = source + static_cast<size_t>(row) * columns;
    float sum = 0.0f;
    for (int c = lane; c < columns; c += 32) sum += x[c];
    const float mean = warp_total(sum) / columns;
    float squares = 0.0f;
    for (int c = lane; c < columns; c += 32) squares += (x[c] - mean) * (x[c] - mean);
    const float variance = warp_total(squares) / columns;
    normalise(columns, lane, mean, variance, epsilon, x, weight, bias, target + static_cast<size_t>(row) * columns);
}

extern "C" __global__ void layernorm_welford(int rows, int columns, float epsilon, const float* source,
                                             const float* weight, const float* bias, float* target) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* const x = source + static_cast<size_t>(row) * columns;
    float count = 0.0f, mean = 0.0f, squares = 0.0f;
    for (int c = lane; c < columns; c += 32) {
        count += 1.0f;
        const float delta = x[c] - mean;
        mean += delta / count;
        squares += delta * (x[c] - mean);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        const float other_count = __shfl_xor_sync(0xffffffffu, count, distance);
        const float other_mean = __shfl_xor_sync(0xffffffffu, mean, distance);
        const float other_squares = __shfl_xor_sync(0xffffffffu, squares, distance);
        const float both = count + other_count;
        const float delta = other_mean - mean;
        const float share = both > 0.0f ? other_count / both : 0.0f;
        mean += delta * share;
        squares += other_squares + delta * delta * count * share;
        count = both;
    }
    // Each lane joined the parts in an order of its own; lane 0's result is everybody's.
    mean = __shfl_sync(0xffffffffu, mean, 0);
    squares = __shfl_sync(0xffffffffu, squares, 0);
    const float variance = squares / columns;
    normalise(columns, lane, mean, variance, epsilon, x, weight, bias, target + static_cast<size_t>(row) * columns);
}
