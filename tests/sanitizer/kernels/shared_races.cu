// Races in shared memory between warps, and the same kernels repaired.
#include "common.cuh"

// CASE no_barrier race_warps grid=2 block=128 n=0
KERNEL(no_barrier) {
    __shared__ int t[128];
    t[threadIdx.x] = a[threadIdx.x];  //@
    b[blockIdx.x * 128 + threadIdx.x] = t[127 - threadIdx.x];  //@
}
// CASE no_barrier_ok ok grid=2 block=128 n=0
KERNEL(no_barrier_ok) {
    __shared__ int t[128];
    t[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[blockIdx.x * 128 + threadIdx.x] = t[127 - threadIdx.x];
}
// CASE loop_second race_warps grid=2 block=128 n=4
KERNEL(loop_second) {
    __shared__ int t[128];
    int s = 0;
    for (int k = 0; k < n; ++k) {
        t[threadIdx.x] = a[threadIdx.x + k];  //@
        __syncthreads();
        s += t[127 - threadIdx.x];  //@
    }
    b[blockIdx.x * 128 + threadIdx.x] = s;
}
// CASE loop_second_ok ok grid=2 block=128 n=4
KERNEL(loop_second_ok) {
    __shared__ int t[128];
    int s = 0;
    for (int k = 0; k < n; ++k) {
        t[threadIdx.x] = a[threadIdx.x + k];
        __syncthreads();
        s += t[127 - threadIdx.x];
        __syncthreads();
    }
    b[blockIdx.x * 128 + threadIdx.x] = s;
}
// CASE reduce_tree race_warps grid=2 block=256 n=0
KERNEL(reduce_tree) {
    __shared__ int t[256];
    t[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step) {
            int other = t[threadIdx.x + step];  //@
            t[threadIdx.x] += other;  //@
        }
    }
    if (threadIdx.x == 0) b[blockIdx.x] = t[0];
}
// CASE reduce_tree_ok ok grid=2 block=256 n=0
KERNEL(reduce_tree_ok) {
    __shared__ int t[256];
    t[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int step = 128; step > 0; step >>= 1) {
        if (threadIdx.x < step) {
            int other = t[threadIdx.x + step];
            t[threadIdx.x] += other;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) b[blockIdx.x] = t[0];
}
// CASE broadcast race_warps grid=2 block=96 n=0
KERNEL(broadcast) {
    __shared__ int t;
    if (threadIdx.x == 95) t = a[blockIdx.x];  //@
    b[blockIdx.x * 96 + threadIdx.x] = t;  //@
}
// CASE broadcast_ok ok grid=2 block=96 n=0
KERNEL(broadcast_ok) {
    __shared__ int t;
    if (threadIdx.x == 95) t = a[blockIdx.x];
    __syncthreads();
    b[blockIdx.x * 96 + threadIdx.x] = t;
}
// CASE reuse race_warps grid=2 block=64 n=0
KERNEL(reuse) {
    __shared__ int t[64];
    t[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    int x = t[63 - threadIdx.x];  //@
    t[threadIdx.x] = x * 2;  //@
    __syncthreads();
    b[blockIdx.x * 64 + threadIdx.x] = t[63 - threadIdx.x];
}
// CASE reuse_ok ok grid=2 block=64 n=0
KERNEL(reuse_ok) {
    __shared__ int t[64];
    t[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    int x = t[63 - threadIdx.x];
    __syncthreads();
    t[threadIdx.x] = x * 2;
    __syncthreads();
    b[blockIdx.x * 64 + threadIdx.x] = t[63 - threadIdx.x];
}
// CASE two_writers race_warps grid=1 block=64 n=0
KERNEL(two_writers) {
    __shared__ int t[32];
    if (threadIdx.x < 32) t[threadIdx.x] = 1 + a[threadIdx.x];  //@
    else t[threadIdx.x - 32] = 2 + f[threadIdx.x];  //@
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x & 31];
}
// CASE two_writers_ok ok grid=1 block=64 n=0
KERNEL(two_writers_ok) {
    __shared__ int t[64];
    if (threadIdx.x < 32) t[threadIdx.x] = 1 + a[threadIdx.x];
    else t[threadIdx.x] = 2 + f[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x & 31] + t[32 + (threadIdx.x & 31)];
}
// CASE one_place race_lanes grid=1 block=64 n=0
KERNEL(one_place) {
    __shared__ int t;
    t = a[threadIdx.x];  //@
    __syncthreads();
    b[threadIdx.x] = t;
}
// CASE one_place_ok ok grid=1 block=64 n=0
KERNEL(one_place_ok) {
    __shared__ int t;
    if (threadIdx.x == 0) t = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t;
}
// CASE count_read atomic_plain grid=1 block=64 n=0
KERNEL(count_read) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    if (a[threadIdx.x] > 30) atomicAdd(&t, 1);  //@
    b[threadIdx.x] = t;  //@
}
// CASE count_read_ok ok grid=1 block=64 n=0
KERNEL(count_read_ok) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    if (a[threadIdx.x] > 30) atomicAdd(&t, 1);
    __syncthreads();
    b[threadIdx.x] = t;
}
// CASE count_clear atomic_plain grid=1 block=64 n=0
KERNEL(count_clear) {
    __shared__ int t[4];
    if (threadIdx.x < 4) t[threadIdx.x] = 0;  //@
    atomicAdd(&t[a[threadIdx.x] & 3], 1);  //@
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x & 3];
}
// CASE count_clear_ok ok grid=1 block=64 n=0
KERNEL(count_clear_ok) {
    __shared__ int t[4];
    if (threadIdx.x < 4) t[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&t[a[threadIdx.x] & 3], 1);
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x & 3];
}
// CASE plain_sum race_lanes grid=1 block=64 n=0
KERNEL(plain_sum) {
    __shared__ int t[8];
    if (threadIdx.x < 8) t[threadIdx.x] = 0;
    __syncthreads();
    t[threadIdx.x & 7] += a[threadIdx.x];  //@
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x & 7];
}
// CASE plain_sum_ok ok grid=1 block=64 n=0
KERNEL(plain_sum_ok) {
    __shared__ int t[8];
    if (threadIdx.x < 8) t[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&t[threadIdx.x & 7], a[threadIdx.x]);
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x & 7];
}
// CASE halo race_warps grid=2 block=64 n=0
KERNEL(halo) {
    __shared__ float t[66];
    int i = blockIdx.x * 64 + threadIdx.x;
    t[threadIdx.x + 1] = f[i + 1];  //@
    if (threadIdx.x == 0) t[0] = f[i];
    if (threadIdx.x == 63) t[65] = f[i + 2];
    b[i] = t[threadIdx.x] + t[threadIdx.x + 2];  //@
}
// CASE halo_ok ok grid=2 block=64 n=0
KERNEL(halo_ok) {
    __shared__ float t[66];
    int i = blockIdx.x * 64 + threadIdx.x;
    t[threadIdx.x + 1] = f[i + 1];
    if (threadIdx.x == 0) t[0] = f[i];
    if (threadIdx.x == 63) t[65] = f[i + 2];
    __syncthreads();
    b[i] = t[threadIdx.x] + t[threadIdx.x + 2];
}
// CASE transpose race_warps grid=1 block=256 n=0
KERNEL(transpose) {
    __shared__ int t[16][17];
    int x = threadIdx.x & 15, y = threadIdx.x >> 4;
    t[y][x] = a[threadIdx.x];  //@
    b[threadIdx.x] = t[x][y];  //@
}
// CASE transpose_ok ok grid=1 block=256 n=0
KERNEL(transpose_ok) {
    __shared__ int t[16][17];
    int x = threadIdx.x & 15, y = threadIdx.x >> 4;
    t[y][x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t[x][y];
}
// CASE bytes race_warps grid=1 block=64 n=0
KERNEL(bytes) {
    __shared__ unsigned char t[64];
    t[threadIdx.x] = a[threadIdx.x];  //@
    b[threadIdx.x] = t[threadIdx.x ^ 32];  //@
}
// CASE bytes_ok ok grid=1 block=64 n=0
KERNEL(bytes_ok) {
    __shared__ unsigned char t[64];
    t[threadIdx.x] = a[threadIdx.x];  // neighbours share a word, and no byte
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE wide race_warps grid=1 block=64 n=0
KERNEL(wide) {
    __shared__ float4 t[64];
    t[threadIdx.x] = make_float4(f[threadIdx.x], 1, 2, f[threadIdx.x + 1]);  //@
    float* s = (float*)t;
    b[threadIdx.x] = s[255 - threadIdx.x];  //@
}
// CASE wide_ok ok grid=1 block=64 n=0
KERNEL(wide_ok) {
    __shared__ float4 t[64];
    t[threadIdx.x] = make_float4(f[threadIdx.x], 1, 2, f[threadIdx.x + 1]);
    __syncthreads();
    float* s = (float*)t;
    b[threadIdx.x] = s[255 - threadIdx.x];
}
__device__ void put(int* t, int i, int value) {
    t[i] = value;  //@inlined
}
__device__ int take(const int* t, int i) {
    return t[i];  //@inlined
}
// CASE inlined race_warps grid=1 block=64 n=0
KERNEL(inlined) {
    __shared__ int t[64];
    put(t, threadIdx.x, a[threadIdx.x]);
    b[threadIdx.x] = take(t, 63 - threadIdx.x);
}
// CASE inlined_ok ok grid=1 block=64 n=0
KERNEL(inlined_ok) {
    __shared__ int t[64];
    put(t, threadIdx.x, a[threadIdx.x]);
    __syncthreads();
    b[threadIdx.x] = take(t, 63 - threadIdx.x);
}
// CASE named_short race_warps grid=1 block=128 n=0
KERNEL(named_short) {
    __shared__ int t[128];
    t[threadIdx.x] = a[threadIdx.x];  //@
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    b[threadIdx.x] = t[127 - threadIdx.x];  //@
}
// CASE named_short_ok ok grid=1 block=128 n=0
KERNEL(named_short_ok) {
    __shared__ int t[128];
    t[threadIdx.x] = a[threadIdx.x];
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    b[threadIdx.x] = t[threadIdx.x ^ 63];
}
// CASE producer race_warps grid=1 block=64 n=3
KERNEL(producer) {
    __shared__ int t[32];
    int s = 0;
    for (int k = 0; k < n; ++k) {
        if (threadIdx.x < 32) t[threadIdx.x] = a[threadIdx.x + k];  //@
        asm volatile("bar.sync 1, 64;" ::: "memory");
        if (threadIdx.x >= 32) s += t[63 - threadIdx.x];  //@
    }
    b[threadIdx.x] = s;
}
// CASE producer_ok ok grid=1 block=64 n=3
KERNEL(producer_ok) {
    __shared__ int t[32];
    int s = 0;
    for (int k = 0; k < n; ++k) {
        if (threadIdx.x < 32) {
            if (k) asm volatile("bar.sync 2, 64;" ::: "memory");
            t[threadIdx.x] = a[threadIdx.x + k];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            s += t[63 - threadIdx.x];
            if (k + 1 < n) asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
    b[threadIdx.x] = s;
}
// CASE same_flag equal grid=1 block=64 n=0
KERNEL(same_flag) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    if (a[threadIdx.x] > 20) t = 1;  //@
    __syncthreads();
    b[threadIdx.x] = t;
}
// CASE same_flag_ok ok grid=1 block=64 n=0
KERNEL(same_flag_ok) {
    int any = __syncthreads_or(a[threadIdx.x] > 20);
    b[threadIdx.x] = any;
}
// CASE dynamic race_warps grid=1 block=64 shared=512 n=0
KERNEL(dynamic) {
    extern __shared__ int t[];
    t[threadIdx.x] = a[threadIdx.x];  //@
    b[threadIdx.x] = t[63 - threadIdx.x];  //@
}
// CASE dynamic_ok ok grid=1 block=64 shared=512 n=0
KERNEL(dynamic_ok) {
    extern __shared__ int t[];
    t[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t[63 - threadIdx.x];
}
