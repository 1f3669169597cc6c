// Sum of an array in four steps: interleaved, sequential, warp shuffles, one atomic per block.
//
// Blocks of any power of two from 64 to 1024 threads. v0, v1 and v2 leave one partial sum per block and are launched
// again on the partial sums until one is left; any count.
//   v0  threads whose number is divisible by 2, 4, 8 ... add: the active ones are spread over all warps, and the
//       remainder is a division by a number that only the running kernel knows
//   v1  threads t < 128, 64, 32 ... add: the active ones are packed together, and a comparison finds them
//   v2  each warp adds up by shuffles, in registers, and the first warp adds up the warps' sums: one barrier
//   v3  each thread first sums float4 over the whole array in strides of the grid, and each block ends in one
//       atomicAdd
//
// In the table: instructions (v0 needs 2.9 times those of v1), the warps that have work in the steps of a block of 256
// (47 in v0, 12 in v1), and time against the copy, which reads the same bytes and writes them, too.

constexpr int WARP = 32;

extern "C" __global__ void reduce_v0_modulo(int count, const float* source, float* partial) {
    extern __shared__ float sums[];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < count ? source[i] : 0.0f;
    __syncthreads();

    for (int s = 1; s < static_cast<int>(blockDim.x); s *= 2) {
        if (tid % (2 * s) == 0) sums[tid] += sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = sums[0];
}

extern "C" __global__ void reduce_v1_halves(int count, const float* source, float* partial) {
    extern __shared__ float sums[];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    sums[tid] = i < count ? source[i] : 0.0f;
    __syncthreads();

    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) sums[tid] += sums[tid + s];
        __syncthreads();
    }
    if (tid == 0) partial[blockIdx.x] = sums[0];
}

// The sum over the lanes of a full warp, in lane 0.
__device__ float warp_sum(float value) {
    for (int offset = WARP / 2; offset > 0; offset >>= 1) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void reduce_v2_shuffles(int count, const float* source, float* partial) {
    __shared__ float warp_sums[WARP];  // of at most 1,024 threads
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sum = warp_sum(i < count ? source[i] : 0.0f);
    if (lane == 0) warp_sums[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        const float total = warp_sum(lane < static_cast<int>(blockDim.x) / WARP ? warp_sums[lane] : 0.0f);
        if (lane == 0) partial[blockIdx.x] = total;
    }
}

constexpr int BLOCK = 256;

// Blocks of 256 threads; the total must be 0 before the launch.
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
