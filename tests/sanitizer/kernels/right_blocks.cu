// Right kernels in the manner of public code, whose blocks talk: tickets, locks, flags, look-back, graphs.
// A line that ends with //- orders accesses: a kernel without it has a finding.
#include <cuda/atomic>
#include "common.cuh"

// CASE last_block_sums ok grid=4 block=128
KERNEL(last_block_sums) {
    __shared__ int part[4];
    __shared__ bool last;
    int x = threadIdx.x, sum = a[blockIdx.x * 128 + x];
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (x % 32 == 0) part[x / 32] = sum;
    __syncthreads();  //-
    if (x == 0) {
        b[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
        __threadfence();  //-
        last = atomicInc((unsigned*)&a[1010], gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();  //-
    if (last && x == 0) {
        int all = 0;
        for (int k = 0; k < gridDim.x; ++k) all += b[k];
        b[100] = all;
    }
}

// CASE last_block_all_store ok grid=3 block=64
KERNEL(last_block_all_store) {
    __shared__ unsigned ticket;
    int i = blockIdx.x * 64 + threadIdx.x;
    b[i] = a[i] * 2;
    __threadfence();
    __syncthreads();  //-
    if (threadIdx.x == 0) ticket = atomicAdd((unsigned*)&a[1010], 1u);
    __syncthreads();  //-
    if (ticket == gridDim.x - 1) {
        int sum = 0;
        for (int k = threadIdx.x; k < gridDim.x * 64; k += 64) sum += b[k];
        b[1000 + threadIdx.x] = sum;
    }
}

// CASE spin_lock ok grid=4 block=32
KERNEL(spin_lock) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&a[1010], 0, 1) != 0) {}
        __threadfence();
        a[1011] += 1;
        __threadfence();  //-
        atomicExch(&a[1010], 0);
    }
}

// CASE lock_of_each_thread ok grid=2 block=32
KERNEL(lock_of_each_thread) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&a[1010], 0, 1) == 0) {
            __threadfence();
            volatile int* v = a;
            v[1011] = v[1011] + 1;
            __threadfence();
            atomicExch(&a[1010], 0);
            done = true;
        }
    }
}

// CASE lock_of_bucket ok grid=2 block=64
KERNEL(lock_of_bucket) {
    int bucket = a[blockIdx.x * 64 + threadIdx.x] & 3;
    for (bool done = false; !done;) {
        if (atomicExch(&a[101 * (bucket + 10)], 1) == 0) {
            __threadfence();
            a[101 * (bucket + 10) + 1]++;
            __threadfence();
            atomicExch(&a[101 * (bucket + 10)], 0);
            done = true;
        }
    }
}

// CASE ticket_lock ok grid=4 block=32
KERNEL(ticket_lock) {
    if (threadIdx.x == 0) {
        int mine = atomicAdd(&a[1010], 1);
        while (atomicAdd(&a[1111], 0) != mine) {}
        __threadfence();
        a[1011] = a[1011] * 3 + blockIdx.x;
        __threadfence();  //-
        atomicAdd(&a[1111], 1);
    }
}

// CASE lock_in_shared ok grid=1 block=128
KERNEL(lock_in_shared) {
    __shared__ int lock, count;
    if (threadIdx.x == 0) lock = 0, count = 0;
    __syncthreads();  //-
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
        count += a[threadIdx.x];
        __threadfence_block();  //-
        atomicExch(&lock, 0);
    }
    __syncthreads();  //-
    b[threadIdx.x] = count;
}

// CASE look_back_packed ok grid=4 block=64
KERNEL(look_back_packed) {
    __shared__ int part[2], tile, before;
    unsigned long long* status = (unsigned long long*)&f[2048];  // not zero: 2 holds a sum, 1 a part, in the high word
    if (threadIdx.x == 0) tile = atomicAdd(&a[1010], 1);
    __syncthreads();  //-
    int v = a[tile * 64 + threadIdx.x], lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) part[warp] = v;
    __syncthreads();  //-
    if (threadIdx.x == 0) {
        int sum = part[0] + part[1], so_far = 0;
        if (tile > 0) {
            atomicExch(&status[tile], (1ull << 32) | (unsigned)sum);
            for (int k = tile - 1; k >= 0;) {
                unsigned long long seen = atomicAdd(&status[k], 0ull);
                if (seen >> 32 != 1 && seen >> 32 != 2) continue;
                so_far += (int)seen;
                if (seen >> 32 == 2) break;
                --k;
            }
        }
        atomicExch(&status[tile], (2ull << 32) | (unsigned)(so_far + sum));
        before = so_far;
    }
    __syncthreads();  //-
    b[tile * 64 + threadIdx.x] = v + (warp ? part[0] : 0) + before;
}

// CASE look_back_flags ok grid=4 block=32
KERNEL(look_back_flags) {
    int sum = a[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    volatile int* flag = &a[101 * 20];
    if (threadIdx.x == 0) {
        int before = 0;
        if (blockIdx.x > 0) {
            while (flag[101 * (blockIdx.x - 1)] == 0) {}
            __threadfence();
            before = b[blockIdx.x - 1];
        }
        b[blockIdx.x] = before + sum;
        __threadfence();  //-
        flag[101 * blockIdx.x] = 1;
    }
}

// CASE barrier_of_grid ok grid=3 block=64
KERNEL(barrier_of_grid) {
    int i = blockIdx.x * 64 + threadIdx.x;
    b[i] = a[i] + 1;
    __syncthreads();  //-
    if (threadIdx.x == 0) {
        __threadfence();  //-
        atomicAdd(&a[1010], 1);
        while (*(volatile int*)&a[1010] < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();  //-
    b[1000 + i] = b[(i + 64) % (gridDim.x * 64)];
}

// CASE release_acquire ok grid=2 block=32
KERNEL(release_acquire) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(a[1010]);
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) {
            b[0] = 17;
            flag.store(1, cuda::memory_order_release);
        } else {
            while (flag.load(cuda::memory_order_acquire) == 0) {}
            b[1] = b[0] + 1;
        }
    }
}

// CASE release_acquire_ptx ok grid=2 block=64 since=75
KERNEL(release_acquire_ptx) {
    if (blockIdx.x == 0) {
        b[threadIdx.x] = threadIdx.x;
        __syncthreads();  //-
        if (threadIdx.x == 0) asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(&a[1010]), "r"(1) : "memory");
    } else {
        if (threadIdx.x == 0) {
            int seen;
            do asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(&a[1010]) : "memory");
            while (seen == 0);
        }
        __syncthreads();  //-
        b[64 + threadIdx.x] = b[63 - threadIdx.x];
    }
}

// CASE relaxed_counter ok grid=4 block=64
KERNEL(relaxed_counter) {
    cuda::atomic_ref<int, cuda::thread_scope_device> count(a[1010]);
    int mine = count.fetch_add(1, cuda::memory_order_relaxed);
    b[mine] = blockIdx.x * 64 + threadIdx.x;
}

// CASE work_queue ok grid=2 block=64 n=6
KERNEL(work_queue) {
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) item = atomicAdd(&a[1010], 1);
        __syncthreads();  //-
        if (item >= n) break;
        b[item * 64 + threadIdx.x] = a[item * 64 + threadIdx.x] + 1;
        __syncthreads();  //-
    }
}

// CASE queue_in_block ok grid=2 block=64
KERNEL(queue_in_block) {
    __shared__ int queue[64], count, base;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();  //-
    int i = blockIdx.x * 64 + threadIdx.x;
    if (a[i] % 3 == 0) queue[atomicAdd(&count, 1)] = i;
    __syncthreads();  //-
    if (threadIdx.x == 0) base = atomicAdd(&a[1010], count);
    __syncthreads();  //-
    for (int k = threadIdx.x; k < count; k += 64) b[base + k] = queue[k];
}

// CASE bfs_level ok grid=2 block=64 n=40
KERNEL(bfs_level) {  // a ring with chords; distances in a[2000..], found by compare-and-swap from -1
    int node = blockIdx.x * 64 + threadIdx.x;
    if (a[node] < n) {
        for (int k = 1; k <= 3; ++k) {
            int to = (node * k + a[node]) & 127;
            if (atomicCAS(&a[2020 + 101 * (to & 7)], 0, n) == 0) b[atomicAdd(&a[3030], 1)] = to;
        }
    }
}

// CASE sssp_relax ok grid=2 block=64
KERNEL(sssp_relax) {
    int node = blockIdx.x * 64 + threadIdx.x, mine = a[node];
    for (int k = 1; k <= 3; ++k) atomicMin(&a[2020 + ((node * k) & 127)], mine + k);
}

// CASE hash_insert ok grid=2 block=64
KERNEL(hash_insert) {
    int key = blockIdx.x * 64 + threadIdx.x + 1;
    for (unsigned slot = key * 7u;; ++slot) {
        unsigned long long* place = (unsigned long long*)&f[0] + (slot & 511);
        unsigned long long old = *place;
        if (atomicCAS(place, old, ((unsigned long long)key << 32) | key) == old) break;
    }
}

// CASE float_maximum ok grid=2 block=64
KERNEL(float_maximum) {
    int* word = (int*)&f[4000];
    float mine = f[blockIdx.x * 64 + threadIdx.x];
    int old = *word;
    while (__int_as_float(old) < mine) {
        int seen = atomicCAS(word, old, __float_as_int(mine));
        if (seen == old) break;
        old = seen;
    }
}

// CASE double_add ok grid=2 block=32
KERNEL(double_add) {
    unsigned long long* word = (unsigned long long*)&f[4000];
    unsigned long long old = *word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, __double_as_longlong(1.0 + __longlong_as_double(seen)));
    } while (old != seen);
}

// CASE counters_of_block_scope ok grid=3 block=64
KERNEL(counters_of_block_scope) {
    atomicAdd_block(&a[1010 + 101 * blockIdx.x], 1);
    __syncthreads();  //-
    b[blockIdx.x * 64 + threadIdx.x] = a[1010 + 101 * blockIdx.x];
}
