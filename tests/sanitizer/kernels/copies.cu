// Asynchronous copies (since sm_80), and the same kernels repaired.
#include "common.cuh"
#include <cuda_pipeline.h>

// CASE no_wait copy grid=1 block=64 n=0 since=80
KERNEL(no_wait) {
    __shared__ int t[64];
    __pipeline_memcpy_async(&t[threadIdx.x], &a[threadIdx.x], 4);  //@
    __pipeline_commit();
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x];  //@
    __pipeline_wait_prior(0);
}
// CASE no_wait_ok ok grid=1 block=64 n=0 since=80
KERNEL(no_wait_ok) {
    __shared__ int t[64];
    __pipeline_memcpy_async(&t[threadIdx.x], &a[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE copy_no_barrier copy grid=1 block=64 n=0 since=80
KERNEL(copy_no_barrier) {
    __shared__ int t[64];
    __pipeline_memcpy_async(&t[threadIdx.x], &a[threadIdx.x], 4);  //@
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[threadIdx.x] = t[63 - threadIdx.x];  //@
}
// CASE copy_own_ok ok grid=1 block=64 n=0 since=80
KERNEL(copy_own_ok) {
    __shared__ int t[64];
    __pipeline_memcpy_async(&t[threadIdx.x], &a[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[threadIdx.x] = t[threadIdx.x];
}
// CASE wrong_group copy grid=1 block=64 n=4 since=80
KERNEL(wrong_group) {
    __shared__ int t[2][64];
    int s = 0;
    __pipeline_memcpy_async(&t[0][threadIdx.x], &a[threadIdx.x], 4);  //@
    __pipeline_commit();
    for (int k = 0; k < n; ++k) {
        __pipeline_memcpy_async(&t[(k + 1) & 1][threadIdx.x], &a[threadIdx.x + k + 1], 4);  //@
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        s += t[k & 1][63 - threadIdx.x];  //@
        __syncthreads();
    }
    __pipeline_wait_prior(0);
    b[threadIdx.x] = s;
}
// CASE wrong_group_ok ok grid=1 block=64 n=4 since=80
KERNEL(wrong_group_ok) {
    __shared__ int t[2][64];
    int s = 0;
    __pipeline_memcpy_async(&t[0][threadIdx.x], &a[threadIdx.x], 4);
    __pipeline_commit();
    for (int k = 0; k < n; ++k) {
        __pipeline_memcpy_async(&t[(k + 1) & 1][threadIdx.x], &a[threadIdx.x + k + 1], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        s += t[k & 1][63 - threadIdx.x];
        __syncthreads();
    }
    __pipeline_wait_prior(0);
    b[threadIdx.x] = s;
}
