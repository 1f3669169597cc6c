// Clusters of blocks: distributed shared memory. A GPU of sm_90 or later runs them, the emulator says that it does not.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ void exchange(float* y) {
    __shared__ float v;
    cg::cluster_group c = cg::this_cluster();
    if (threadIdx.x == 0) v = blockIdx.x * 10;
    c.sync();
    float* other = c.map_shared_rank(&v, c.block_rank() ^ 1);
    if (threadIdx.x == 0) y[blockIdx.x] = *other;
    c.sync();
}
extern "C" __global__ void swap(float* y) { exchange(y); }
extern "C" __global__ void __cluster_dims__(2, 1, 1) swap_built_in(float* y) { exchange(y); }
