// Launches of more than one kind: cooperative grids, grid-stride loops over a block per SM, blocks that wait for blocks.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void coop_sum(const float* x, float* partial, float* out, int n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ float s[128];
    float a = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a += x[i];
    s[threadIdx.x] = a;
    __syncthreads();
    for (int k = 64; k; k /= 2) { if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k]; __syncthreads(); }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
    grid.sync();
    if (grid.thread_rank() == 0) { float t = 0; for (int b = 0; b < gridDim.x; ++b) t += partial[b]; *out = t; }
}
// Jacobi smoothing in one launch: every block needs its neighbours' last sweep before the next.
extern "C" __global__ void coop_jacobi(float* a, float* b, int n, int sweeps) {
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int s = 0; s < sweeps; ++s) {
        if (i < n) b[i] = 0.25f * a[max(i - 1, 0)] + 0.5f * a[i] + 0.25f * a[min(i + 1, n - 1)];
        grid.sync();
        float* t = a; a = b; b = t;
    }
}
extern "C" __global__ void stride_scale(const float* x, float* y, float f, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = f * x[i];
}
__device__ int arrived;
extern "C" __global__ void last_block(const float* x, float* partial, float* out) {
    __shared__ bool last;
    atomicAdd(&partial[0], x[blockIdx.x * blockDim.x + threadIdx.x]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x == 0) { *out = atomicAdd(&partial[0], 0.0f); arrived = 0; }
}
// Block 0 waits for all others: it never ends where they are not resident with it.
extern "C" __global__ void wait_for_later(int* flag, float* out) {
    if (blockIdx.x == 0) { if (threadIdx.x == 0) { while (atomicAdd(flag, 0) < (int)gridDim.x - 1) {} *out = 1; } }
    else if (threadIdx.x == 0) atomicAdd(flag, 1);
}
