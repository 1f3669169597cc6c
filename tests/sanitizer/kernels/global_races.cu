// Races in global memory, within a block and between blocks; fences, flags, locks, tickets; and the same repaired.
#include "common.cuh"
#include <cuda/atomic>

// CASE neighbour race_blocks grid=4 block=64 n=256
KERNEL(neighbour) {
    int i = blockIdx.x * 64 + threadIdx.x;
    a[i] = a[(i + 64) % n] + 1;  //@
}
// CASE neighbour_ok ok grid=4 block=64 n=256
KERNEL(neighbour_ok) {
    int i = blockIdx.x * 64 + threadIdx.x;
    b[i] = a[(i + 64) % n] + 1;
}
// CASE inside_block race_warps grid=2 block=64 n=0
KERNEL(inside_block) {
    int i = blockIdx.x * 64 + threadIdx.x;
    b[i] = a[i];  //@
    f[i] = b[blockIdx.x * 64 + 63 - threadIdx.x];  //@
}
// CASE inside_block_ok ok grid=2 block=64 n=0
KERNEL(inside_block_ok) {
    int i = blockIdx.x * 64 + threadIdx.x;
    b[i] = a[i];
    __syncthreads();
    f[i] = b[blockIdx.x * 64 + 63 - threadIdx.x];
}
// CASE plain_add race_lanes grid=4 block=32 n=0
KERNEL(plain_add) {
    a[threadIdx.x & 3] += 1;  //@
}
// CASE plain_add_ok ok grid=4 block=32 n=0
KERNEL(plain_add_ok) {
    atomicAdd(&a[threadIdx.x & 3], 1);
}
// CASE blocks_total race_blocks grid=4 block=32 n=0
KERNEL(blocks_total) {
    int x = a[blockIdx.x * 32 + threadIdx.x];
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffff, x, step);
    if (threadIdx.x == 0) a[4000] += x;  //@
}
// CASE blocks_total_ok ok grid=4 block=32 n=0
KERNEL(blocks_total_ok) {
    int x = a[blockIdx.x * 32 + threadIdx.x];
    for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffff, x, step);
    if (threadIdx.x == 0) atomicAdd(&a[4000], x);
}
// CASE last_block race_blocks grid=8 block=32 n=0
KERNEL(last_block) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        b[blockIdx.x] = a[blockIdx.x];  //@
        last = atomicAdd(&a[4000], 1) == 23 + gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < 8) f[threadIdx.x] = ((volatile int*)b)[threadIdx.x];  //@
}
// CASE last_block_ok ok grid=8 block=32 n=60
KERNEL(last_block_ok) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        b[blockIdx.x] = a[blockIdx.x];
        __threadfence();
        last = atomicAdd(&a[4000], 1) == 23 + gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x < 8) f[threadIdx.x] = ((volatile int*)b)[threadIdx.x];
}
// CASE block_scope race_blocks grid=4 block=32 n=0
KERNEL(block_scope) {
    atomicAdd_block(&a[threadIdx.x & 3], 1);  //@
}
// CASE block_scope_ok ok grid=1 block=64 n=0
KERNEL(block_scope_ok) {
    atomicAdd_block(&a[threadIdx.x & 3], 1);
}
// CASE narrow_fence race_blocks grid=2 block=32 n=0
KERNEL(narrow_fence) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        b[0] = a[5];  //@
        __threadfence_block();
        atomicExch(&a[4000], 1000);
    }
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (atomicAdd(&a[4000], 0) != 1000) {}
        __threadfence_block();
        b[1] = b[0];  //@
    }
}
// CASE narrow_fence_ok ok grid=2 block=32 n=0
KERNEL(narrow_fence_ok) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        b[0] = a[5];
        __threadfence();
        atomicExch(&a[4000], 1000);
    }
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (atomicAdd(&a[4000], 0) != 1000) {}
        __threadfence();
        b[1] = b[0];
    }
}
// CASE flag race_blocks grid=2 block=32 n=0
KERNEL(flag) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        b[0] = a[5];  //@
        *(volatile int*)&a[4000] = 1000;
    } else {
        while (*(volatile int*)&a[4000] != 1000) {}
        b[1] = b[0];  //@
    }
}
// CASE flag_ok ok grid=2 block=32 n=0
KERNEL(flag_ok) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        b[0] = a[5];
        __threadfence();
        *(volatile int*)&a[4000] = 1000;
    } else {
        while (*(volatile int*)&a[4000] != 1000) {}
        __threadfence();
        b[1] = b[0];
    }
}
// CASE relaxed race_blocks grid=2 block=32 n=0
KERNEL(relaxed) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(a[4000]);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        b[0] = a[5];  //@
        ready.store(1000, cuda::memory_order_relaxed);
    } else {
        while (ready.load(cuda::memory_order_relaxed) != 1000) {}
        b[1] = b[0];  //@
    }
}
// CASE relaxed_ok ok grid=2 block=32 n=0
KERNEL(relaxed_ok) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(a[4000]);
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        b[0] = a[5];
        ready.store(1000, cuda::memory_order_release);
    } else {
        while (ready.load(cuda::memory_order_acquire) != 1000) {}
        b[1] = b[0];
    }
}
// CASE lock race_blocks grid=4 block=32 n=0
KERNEL(lock) {
    if (threadIdx.x) return;
    while (atomicCAS(&a[4000], 23, 1000) == 1000) {}
    a[1] = a[1] + 1;  //@
    atomicExch(&a[4000], 23);
}
// CASE lock_ok ok grid=4 block=32 n=0
KERNEL(lock_ok) {
    if (threadIdx.x) return;
    while (atomicCAS(&a[4000], 23, 1000) == 1000) {}
    __threadfence();
    a[1] = a[1] + 1;
    __threadfence();
    atomicExch(&a[4000], 23);
}
// CASE min_by_hand atomic_plain grid=1 block=64 n=0
KERNEL(min_by_hand) {
    atomicMin(&a[7], -1 - (int)threadIdx.x);  //@
    b[threadIdx.x] = a[7];  //@
}
// CASE min_by_hand_ok ok grid=1 block=64 n=0
KERNEL(min_by_hand_ok) {
    atomicMin(&a[7], -1 - (int)threadIdx.x);
    __syncthreads();
    b[threadIdx.x] = a[7];
}
// CASE halves race_blocks grid=2 block=32 n=0
KERNEL(halves) {
    short* s = (short*)b;
    s[threadIdx.x + 30 * blockIdx.x] = a[threadIdx.x + blockIdx.x];  //@
}
// CASE halves_ok ok grid=2 block=32 n=0
KERNEL(halves_ok) {
    short* s = (short*)b;
    s[2 * threadIdx.x + blockIdx.x] = a[threadIdx.x];  // two blocks share each word, and no byte
}
