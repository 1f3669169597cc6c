// y = a * x + y in float, float4 and half2: three ways to one bandwidth.
//
// Any count for saxpy_float; a multiple of 4 for saxpy_float4, of 2 for saxpy_half2. Half halves the bytes, and half2
// does two multiply-adds per instruction, rounded to half once each.
//
// In the table: instructions and sectors for the same count of elements. The time follows the sectors.

#include <cuda_fp16.h>

extern "C" __global__ void saxpy_float(int count, float a, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy_float4(int count, float a, const float4* x, float4* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count / 4) return;
    const float4 u = x[i], v = y[i];
    y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
}

extern "C" __global__ void saxpy_half2(int count, float a, const __half2* x, __half2* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count / 2) y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}
