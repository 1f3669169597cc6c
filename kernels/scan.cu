// Inclusive scan (prefix sums) in three launches: scan blocks, scan the block sums, add them.
//
// Blocks of 256 threads scan 1024 floats, four per thread; the 1024 x 1024 elements that one block can add up are the
// limit: count <= 1048576. Within a warp the scan goes by shuffles, across the eight warps through shared memory.
//
// In the table: instructions per element against a copy. The array is read twice and written twice (blocks, then
// offsets), so two copies are the bound of this scheme; CUB's single pass comes near one.

constexpr int BLOCK = 256;
constexpr int PER_THREAD = 4;
constexpr int PER_BLOCK = BLOCK * PER_THREAD;

// The inclusive scan of one value per thread over the block; `total` is the sum of all.
__device__ float scan_block(float value, float& total) {
    __shared__ float warp_totals[BLOCK / 32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, value, distance);
        if (lane >= distance) value += other;
    }
    if (lane == 31) warp_totals[warp] = value;
    __syncthreads();
    float before = 0.0f;
    total = 0.0f;
#pragma unroll
    for (int i = 0; i < BLOCK / 32; ++i) {
        if (i < warp) before += warp_totals[i];
        total += warp_totals[i];
    }
    return before + value;
}

// Scans each block's 1024 elements on their own; `totals` gets one sum per block.
extern "C" __global__ void __launch_bounds__(BLOCK)
scan_blocks(int count, const float* source, float* target, float* totals) {
    const int first = blockIdx.x * PER_BLOCK + threadIdx.x * PER_THREAD;
    float values[PER_THREAD];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        sum += first + i < count ? source[first + i] : 0.0f;
        values[i] = sum;
    }
    float total;
    const float before = scan_block(sum, total) - sum;
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        if (first + i < count) target[first + i] = before + values[i];
    }
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

// Adds to each block's elements the scanned sum of the blocks before it.
extern "C" __global__ void __launch_bounds__(BLOCK) scan_add(int count, const float* scanned_totals, float* target) {
    if (blockIdx.x == 0) return;
    const float before = scanned_totals[blockIdx.x - 1];
    const int first = blockIdx.x * PER_BLOCK + threadIdx.x;
#pragma unroll
    for (int i = 0; i < PER_BLOCK; i += BLOCK) {
        if (first + i < count) target[first + i] += before;
    }
}
