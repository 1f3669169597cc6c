// Races between lanes of one warp, masks of collectives, and the same kernels repaired.
#include "common.cuh"

// CASE tail race_warp grid=2 block=32 n=0
KERNEL(tail) {
    __shared__ volatile int t[64];
    t[threadIdx.x] = a[threadIdx.x];
    t[threadIdx.x + 32] = a[threadIdx.x + 32];
    __syncwarp();
    t[threadIdx.x] += t[threadIdx.x + 32];
    __syncwarp();
    if (threadIdx.x < 16) t[threadIdx.x] += t[threadIdx.x + 16];  //@
    if (threadIdx.x < 8) t[threadIdx.x] += t[threadIdx.x + 8];  //@
    __syncwarp();
    if (threadIdx.x == 0) b[blockIdx.x] = t[0];
}
// CASE tail_ok ok grid=2 block=32 n=0
KERNEL(tail_ok) {
    __shared__ volatile int t[64];
    t[threadIdx.x] = a[threadIdx.x];
    t[threadIdx.x + 32] = a[threadIdx.x + 32];
    __syncwarp();
    t[threadIdx.x] += t[threadIdx.x + 32];
    __syncwarp();
    for (int step = 16; step; step >>= 1) {
        int x = threadIdx.x < step ? t[threadIdx.x + step] : 0;
        __syncwarp();
        if (threadIdx.x < step) t[threadIdx.x] += x;
        __syncwarp();
    }
    if (threadIdx.x == 0) b[blockIdx.x] = t[0];
}
// CASE swap_lanes race_warp grid=1 block=32 n=0
KERNEL(swap_lanes) {
    __shared__ int t[32];
    t[threadIdx.x] = a[threadIdx.x];  //@
    b[threadIdx.x] = t[threadIdx.x ^ 1];  //@
}
// CASE swap_lanes_ok ok grid=1 block=32 n=0
KERNEL(swap_lanes_ok) {
    __shared__ int t[32];
    t[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    b[threadIdx.x] = t[threadIdx.x ^ 1];
}
// CASE shuffle_between race_warp grid=1 block=32 n=0
KERNEL(shuffle_between) {
    __shared__ int t[32];
    t[threadIdx.x] = a[threadIdx.x];  //@
    int x = __shfl_xor_sync(0xffffffff, a[threadIdx.x], 3);
    b[threadIdx.x] = x + t[threadIdx.x ^ 1];  //@
}
// CASE shuffle_between_ok ok grid=1 block=32 n=0
KERNEL(shuffle_between_ok) {
    __shared__ int t[32];
    t[threadIdx.x] = a[threadIdx.x];
    int x = __shfl_xor_sync(0xffffffff, a[threadIdx.x], 3);
    __syncwarp();
    b[threadIdx.x] = x + t[threadIdx.x ^ 1];
}
// CASE half_mask race_warp grid=1 block=32 n=65535
KERNEL(half_mask) {
    __shared__ int t[32];
    t[threadIdx.x] = a[threadIdx.x];  //@
    if (threadIdx.x < 16) __syncwarp(0xffff);
    else __syncwarp(0xffff0000);
    b[threadIdx.x] = t[31 - threadIdx.x];  //@
}
// CASE half_mask_ok ok grid=1 block=32 n=65535
KERNEL(half_mask_ok) {
    __shared__ int t[32];
    t[threadIdx.x] = a[threadIdx.x];
    if (threadIdx.x < 16) __syncwarp(0xffff);
    else __syncwarp(0xffff0000);
    b[threadIdx.x] = t[threadIdx.x ^ 15];
}
// CASE warp_scan race_warp grid=1 block=64 n=0
KERNEL(warp_scan) {
    __shared__ int t[64];
    t[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    for (int step = 1; step < 32; step <<= 1) {
        int x = (threadIdx.x & 31) >= step ? t[threadIdx.x - step] : 0;  //@
        t[threadIdx.x] += x;  //@
        __syncwarp();
    }
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE warp_scan_ok ok grid=1 block=64 n=0
KERNEL(warp_scan_ok) {
    __shared__ int t[64];
    t[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    for (int step = 1; step < 32; step <<= 1) {
        int x = (threadIdx.x & 31) >= step ? t[threadIdx.x - step] : 0;
        __syncwarp();
        t[threadIdx.x] += x;
        __syncwarp();
    }
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE absent_source absent grid=1 block=32 n=16
KERNEL(absent_source) {
    int x = a[threadIdx.x];
    if (threadIdx.x < n) b[threadIdx.x] = __shfl_sync(0xffff, x, 20);  //@
    else b[threadIdx.x] = x;
}
// CASE absent_source_ok ok grid=1 block=32 n=16
KERNEL(absent_source_ok) {
    int x = __shfl_sync(0xffffffff, a[threadIdx.x], 20);
    b[threadIdx.x] = threadIdx.x < n ? x : 1;
}
// CASE not_in_mask mask grid=1 block=32 n=255
KERNEL(not_in_mask) {
    int x = a[threadIdx.x];
    if (threadIdx.x < 16) x += __shfl_xor_sync(n, x, 1);  //@
    b[threadIdx.x] = x;
}
// CASE not_in_mask_ok ok grid=1 block=32 n=65535
KERNEL(not_in_mask_ok) {
    int x = a[threadIdx.x];
    if (threadIdx.x < 16) x += __shfl_xor_sync(n, x, 1);
    b[threadIdx.x] = x;
}
