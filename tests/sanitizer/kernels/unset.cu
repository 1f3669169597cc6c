// Reads of memory that nobody set, and the same kernels repaired.
#include "common.cuh"

// CASE shared_unset unset grid=1 block=64 n=0
KERNEL(shared_unset) {
    __shared__ volatile int t[64];
    b[threadIdx.x] = t[threadIdx.x];  //@
}
// CASE shared_unset_ok ok grid=1 block=64 n=0
KERNEL(shared_unset_ok) {
    __shared__ volatile int t[64];
    t[threadIdx.x] = 3;
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE accumulator unset grid=2 block=64 n=0
KERNEL(accumulator) {
    __shared__ int t;
    atomicAdd(&t, a[threadIdx.x]);  //@
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x] = t;
}
// CASE accumulator_ok ok grid=2 block=64 n=0
KERNEL(accumulator_ok) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    atomicAdd(&t, a[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x] = t;
}
// CASE edge unset grid=1 block=64 n=0
KERNEL(edge) {
    __shared__ int t[66];
    t[threadIdx.x + 1] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x] + t[threadIdx.x + 2];  //@
}
// CASE edge_ok ok grid=1 block=64 n=0
KERNEL(edge_ok) {
    __shared__ int t[66];
    t[threadIdx.x + 1] = a[threadIdx.x];
    if (threadIdx.x == 0) t[0] = t[65] = 0;
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x] + t[threadIdx.x + 2];
}
// CASE local_unset unset grid=1 block=64 n=5
KERNEL(local_unset) {
    int t[8];
    for (int i = 0; i < n; ++i) t[i] = a[threadIdx.x + i];
    int s = 0;
    for (int i = 0; i < 8; ++i) s += t[(i + n) & 7];  //@
    b[threadIdx.x] = s;
}
// CASE local_unset_ok ok grid=1 block=64 n=8
KERNEL(local_unset_ok) {
    int t[8];
    for (int i = 0; i < n; ++i) t[i] = a[threadIdx.x + i];
    int s = 0;
    for (int i = 0; i < 8; ++i) s += t[(i + n) & 7];
    b[threadIdx.x] = s;
}
// CASE global_unset unset grid=1 block=64 n=0
KERNEL(global_unset) {
    a[threadIdx.x] = b[threadIdx.x] + 1;  //@
}
// CASE global_unset_ok ok grid=1 block=64 n=0
KERNEL(global_unset_ok) {
    b[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = b[threadIdx.x] + 1;
}
// CASE in_branch unset grid=1 block=64 n=0
KERNEL(in_branch) {
    __shared__ volatile int t[64];
    int x = 5;
    if (t[threadIdx.x] > 0) x = a[threadIdx.x];  //@
    b[threadIdx.x] = x;
}
// CASE in_branch_ok ok grid=1 block=64 n=0
KERNEL(in_branch_ok) {
    __shared__ volatile int t[64];
    int x = 5;
    t[threadIdx.x] = a[threadIdx.x + 1];
    if (t[threadIdx.x] > 0) x = a[threadIdx.x];
    b[threadIdx.x] = x;
}
// CASE padding_ok ok grid=1 block=64 n=0
KERNEL(padding_ok) {
    __shared__ float4 t[64];
    float* s = (float*)t;
    s[4 * threadIdx.x] = f[threadIdx.x];
    float4 x = t[threadIdx.x];  // three of four words were never set, and are not used
    b[threadIdx.x] = x.x;
}
// CASE float_sum unset grid=1 block=64 n=0
KERNEL(float_sum) {
    __shared__ float t[2];
    if (threadIdx.x == 0) t[0] = 0;
    __syncthreads();
    atomicAdd(&t[threadIdx.x & 1], f[threadIdx.x]);  //@
    __syncthreads();
    if (threadIdx.x == 0) b[0] = t[0] + t[1];
}
// CASE float_sum_ok ok grid=1 block=64 n=0
KERNEL(float_sum_ok) {
    __shared__ float t[2];
    if (threadIdx.x < 2) t[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&t[threadIdx.x & 1], f[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) b[0] = t[0] + t[1];
}
