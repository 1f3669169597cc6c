// Accesses out of bounds and misaligned, and the same kernels repaired.
#include "common.cuh"

// CASE past_end bounds grid=1 block=64 n=4050
KERNEL(past_end) {
    a[threadIdx.x + n] = 1;  //@
}
// CASE past_end_ok ok grid=1 block=64 n=4050
KERNEL(past_end_ok) {
    if (threadIdx.x + n < 4096) a[threadIdx.x + n] = 1;
}
// CASE before_start bounds grid=1 block=64 n=3
KERNEL(before_start) {
    b[threadIdx.x] = a[(int)threadIdx.x - n];  //@
}
// CASE before_start_ok ok grid=1 block=64 n=3
KERNEL(before_start_ok) {
    b[threadIdx.x] = a[max((int)threadIdx.x - n, 0)];
}
// CASE below_local bounds grid=1 block=64 n=-1
KERNEL(below_local) {
    int t[8];
    for (int i = 0; i < 8; ++i) t[(i + n) & 7] = a[i];
    b[threadIdx.x] = t[n];  //@
}
// CASE below_local_ok ok grid=1 block=64 n=1
KERNEL(below_local_ok) {
    int t[8];
    for (int i = 0; i < 8; ++i) t[(i + n) & 7] = a[i];
    b[threadIdx.x] = t[n];
}
// CASE past_shared bounds grid=1 block=64 n=40
KERNEL(past_shared) {
    __shared__ int t[64];
    t[threadIdx.x + n] = a[threadIdx.x];  //@
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE past_shared_ok ok grid=1 block=64 n=0
KERNEL(past_shared_ok) {
    __shared__ int t[64];
    t[threadIdx.x + n] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE dynamic_small bounds grid=1 block=64 shared=128 n=0
KERNEL(dynamic_small) {
    extern __shared__ int t[];
    t[threadIdx.x] = a[threadIdx.x];  //@
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE dynamic_small_ok ok grid=1 block=64 shared=256 n=0
KERNEL(dynamic_small_ok) {
    extern __shared__ int t[];
    t[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE misaligned bounds grid=1 block=32 n=1
KERNEL(misaligned) {
    int2 x = *(int2*)(a + 2 * threadIdx.x + n);  //@
    b[threadIdx.x] = x.x + x.y;
}
// CASE misaligned_ok ok grid=1 block=32 n=2
KERNEL(misaligned_ok) {
    int2 x = *(int2*)(a + 2 * threadIdx.x + n);
    b[threadIdx.x] = x.x + x.y;
}
// CASE null bounds grid=1 block=32 n=0
KERNEL(null) {
    int* p = (int*)((size_t)b * n);
    p[threadIdx.x] = a[threadIdx.x];  //@
}
// CASE null_ok ok grid=1 block=32 n=1
KERNEL(null_ok) {
    int* p = (int*)((size_t)b * n);
    p[threadIdx.x] = a[threadIdx.x];
}
