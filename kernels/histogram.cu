// Histogram of byte-sized values: atomics on global memory against atomics on a copy per block in shared memory.
//
// Values are 0 .. 255, one int each; any count; the counts must be 0 before the launch. Blocks of 256 threads walk
// the array in strides of the grid. The shared copy takes the collisions of a block, and each block adds its 256
// counts once.
//
// In the table: global atomic sectors (one per distinct bin and warp, or 256 per block), and wavefronts per shared
// atomic: lanes that hit the same bank wait for one another, so that an input of equal values is the worst case.

constexpr int BINS = 256;

extern "C" __global__ void histogram_global(int count, const int* values, unsigned int* counts) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        atomicAdd(&counts[values[i]], 1u);
    }
}

extern "C" __global__ void __launch_bounds__(BINS)
histogram_shared(int count, const int* values, unsigned int* counts) {
    __shared__ unsigned int block_counts[BINS];
    block_counts[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * BINS + threadIdx.x; i < count; i += gridDim.x * BINS) {
        atomicAdd(&block_counts[values[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], block_counts[threadIdx.x]);
}
