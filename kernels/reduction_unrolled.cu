// The first three sums of reduction.cu with their steps written out by hand, for blocks of 256 threads.
//
// Every step knows its stride, so that t % 4 is a mask, and not a division by a number that only the running kernel
// knows; what is left of a step goes under predicates, without a branch. The steps stand on lines of their own, so that
// `gpuprof counters --by-line` shows each.
//
// In the table: instructions against the loops (two thirds of v1's, less than a quarter of v0's on sm_89), and the
// warps with work, which are the same: 47 in the eight steps of v0, 12 in those of v1.

constexpr int BLOCK = 256;

extern "C" __global__ void reduce_v0_interleaved(int count, const float* source, float* partial) {
    __shared__ float sums[BLOCK];
    const int t = threadIdx.x;
    const int i = blockIdx.x * BLOCK + t;
    sums[t] = i < count ? source[i] : 0.0f;
    __syncthreads();

    if (t % 2 == 0) sums[t] += sums[t + 1];
    __syncthreads();
    if (t % 4 == 0) sums[t] += sums[t + 2];
    __syncthreads();
    if (t % 8 == 0) sums[t] += sums[t + 4];
    __syncthreads();
    if (t % 16 == 0) sums[t] += sums[t + 8];
    __syncthreads();
    if (t % 32 == 0) sums[t] += sums[t + 16];
    __syncthreads();
    if (t % 64 == 0) sums[t] += sums[t + 32];
    __syncthreads();
    if (t % 128 == 0) sums[t] += sums[t + 64];
    __syncthreads();
    if (t % 256 == 0) sums[t] += sums[t + 128];

    if (t == 0) partial[blockIdx.x] = sums[0];
}

extern "C" __global__ void reduce_v1_sequential(int count, const float* source, float* partial) {
    __shared__ float sums[BLOCK];
    const int t = threadIdx.x;
    const int i = blockIdx.x * BLOCK + t;
    sums[t] = i < count ? source[i] : 0.0f;
    __syncthreads();

    if (t < 128) sums[t] += sums[t + 128];
    __syncthreads();
    if (t < 64) sums[t] += sums[t + 64];
    __syncthreads();
    if (t < 32) sums[t] += sums[t + 32];
    __syncthreads();
    if (t < 16) sums[t] += sums[t + 16];
    __syncthreads();
    if (t < 8) sums[t] += sums[t + 8];
    __syncthreads();
    if (t < 4) sums[t] += sums[t + 4];
    __syncthreads();
    if (t < 2) sums[t] += sums[t + 2];
    __syncthreads();
    if (t < 1) sums[t] += sums[t + 1];

    if (t == 0) partial[blockIdx.x] = sums[0];
}

// The sum over the lanes of a full warp, in lane 0.
__device__ float warp_sum(float value) {
    value += __shfl_down_sync(0xffffffffu, value, 16);
    value += __shfl_down_sync(0xffffffffu, value, 8);
    value += __shfl_down_sync(0xffffffffu, value, 4);
    value += __shfl_down_sync(0xffffffffu, value, 2);
    value += __shfl_down_sync(0xffffffffu, value, 1);
    return value;
}

extern "C" __global__ void reduce_v2_shuffle(int count, const float* source, float* partial) {
    __shared__ float sums[BLOCK];
    const int t = threadIdx.x;
    const int i = blockIdx.x * BLOCK + t;
    sums[t] = i < count ? source[i] : 0.0f;
    __syncthreads();

    if (t < 128) sums[t] += sums[t + 128];
    __syncthreads();
    if (t < 64) sums[t] += sums[t + 64];
    __syncthreads();
    if (t < 32) {
        const float sum = warp_sum(sums[t] + sums[t + 32]);
        if (t == 0) partial[blockIdx.x] = sum;
    }
}
