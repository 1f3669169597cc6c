// Barriers that not all threads reach, that wait for too many, and the same kernels repaired.
#include "common.cuh"

// CASE one_warp barrier grid=1 block=64 n=0
KERNEL(one_warp) {
    if (threadIdx.x < 32) {
        b[threadIdx.x] = a[threadIdx.x];
        __syncthreads();  //@
    }
    f[threadIdx.x] += 1;
}
// CASE one_warp_ok ok grid=1 block=64 n=0
KERNEL(one_warp_ok) {
    if (threadIdx.x < 32) b[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    f[threadIdx.x] += 1;
}
// CASE two_places barrier grid=1 block=64 n=0
KERNEL(two_places) {
    if (threadIdx.x & 32) {
        b[threadIdx.x] = 1;
        __syncthreads();  //@
        f[threadIdx.x] += 3;
    } else {
        b[threadIdx.x] = 2;
        __syncthreads();  //@
        f[threadIdx.x] += 4;
    }
}
// CASE two_places_ok ok grid=1 block=64 n=0
KERNEL(two_places_ok) {
    b[threadIdx.x] = threadIdx.x & 32 ? 1 : 2;
    __syncthreads();
    f[threadIdx.x] += threadIdx.x & 32 ? 3 : 4;
}
// CASE rounds barrier grid=1 block=64 n=2
KERNEL(rounds) {
    int s = 0;
    for (int i = 0; i < n + (int)(threadIdx.x >> 5); ++i) {
        s += a[(threadIdx.x + i) & 63];
        __syncthreads();  //@
        f[threadIdx.x] = s;
    }
    b[threadIdx.x] = s + 1;
}
// CASE rounds_ok ok grid=1 block=64 n=2
KERNEL(rounds_ok) {
    int s = 0;
    for (int i = 0; i < n + 1; ++i) {
        if (i < n + (int)(threadIdx.x >> 5)) s += a[(threadIdx.x + i) & 63];
        __syncthreads();
        f[threadIdx.x] = s;
    }
    b[threadIdx.x] = s + 1;
}
// CASE half_warp barrier grid=1 block=32 n=0
KERNEL(half_warp) {
    if (threadIdx.x < 16) __syncthreads();  //@
    b[threadIdx.x] = a[threadIdx.x];
}
// CASE half_warp_ok ok grid=1 block=32 n=0
KERNEL(half_warp_ok) {
    __syncthreads();
    if (threadIdx.x < 16) b[threadIdx.x] = a[threadIdx.x];
}
// CASE too_many barrier grid=1 block=64 n=0 hangs
KERNEL(too_many) {
    b[threadIdx.x] = a[threadIdx.x];
    asm volatile("bar.sync 1, 96;" ::: "memory");  //@
    f[threadIdx.x] = b[63 - threadIdx.x];
}
// CASE too_many_ok ok grid=1 block=64 n=0
KERNEL(too_many_ok) {
    b[threadIdx.x] = a[threadIdx.x];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    f[threadIdx.x] = b[63 - threadIdx.x];
}
// CASE two_names barrier grid=1 block=64 n=0 hangs
KERNEL(two_names) {
    b[threadIdx.x] = a[threadIdx.x];
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");  //@
    else asm volatile("bar.sync 2, 64;" ::: "memory");  //@
    f[threadIdx.x] = b[63 - threadIdx.x];
}
// CASE two_names_ok ok grid=1 block=64 n=0
KERNEL(two_names_ok) {
    b[threadIdx.x] = a[threadIdx.x];
    if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 1, 64;" ::: "memory");
    f[threadIdx.x] = b[63 - threadIdx.x];
}
// CASE early_return_ok ok grid=1 block=64 n=40
KERNEL(early_return_ok) {
    if (threadIdx.x >= n) return;
    b[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    f[threadIdx.x] = b[n - 1 - threadIdx.x];
}
// CASE guarded_body_ok ok grid=1 block=64 n=64
KERNEL(guarded_body_ok) {
    if (n > 10) {
        b[threadIdx.x] = a[threadIdx.x];
        __syncthreads();
        f[threadIdx.x] = b[63 - threadIdx.x];
    }
}
