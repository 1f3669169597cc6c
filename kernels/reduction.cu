// Sum of an array in four steps: interleaved, sequential, warp shuffles, one atomic per block.
//
// Blocks of 256 threads. v0, v1 and v2 leave one partial sum per block and are launched again on the partial sums
// until one is left; any count. The steps stand on lines of their own, so that `gpuprof counters --by-line` shows
// each.
//   v0  threads t % 2, 4, 8 ... == 0 add: the active ones are spread over all warps, 47 warps with work in 8 steps
//   v1  threads t < 128, 64, 32 ... add: the active ones are packed together, 12 warps with work in 8 steps
//   v2  as v1, with warp shuffles for the last six steps: no barrier, no shared memory
//   v3  each thread first sums float4 over the whole array in strides of the grid, and each block ends in one
//       atomicAdd
//
// In the table: instructions, shared stores (a store whose lanes are all off is not counted: 8 + 47 warps per block
// in v0, 8 + 12 in v1), and time against the copy, which reads the same bytes and writes them, too.

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

// The total must be 0 before the launch.
extern "C" __global__ void reduce_v3_atomic(int count, const float* source, float* total) {
    const int threads = gridDim.x * BLOCK;
    const int first = blockIdx.x * BLOCK + threadIdx.x;
    float4 sum4 = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll 4
    for (int i = first; i < count / 4; i += threads) {
        const float4 value = reinterpret_cast<const float4*>(source)[i];
        sum4.x += value.x;
        sum4.y += value.y;
        sum4.z += value.z;
        sum4.w += value.w;
    }
    float sum = (sum4.x + sum4.y) + (sum4.z + sum4.w);
    const int rest = count / 4 * 4 + first;  // the last one to three floats
    if (rest < count) sum += source[rest];

    __shared__ float sums[BLOCK / 32];
    const int lane = threadIdx.x % 32;
    sum = warp_sum(sum);
    if (lane == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = warp_sum(lane < BLOCK / 32 ? sums[lane] : 0.0f);
        if (lane == 0) atomicAdd(total, sum);
    }
}
