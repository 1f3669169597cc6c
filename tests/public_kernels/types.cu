#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuComplex.h>
extern "C" __global__ void bf(const __nv_bfloat16* x, __nv_bfloat16* y, __nv_bfloat16 a) { y[threadIdx.x] = __hfma(x[threadIdx.x], a, x[threadIdx.x]); }
extern "C" __global__ void e4(const __nv_fp8_e4m3* x, __nv_fp8_e4m3* y) { y[threadIdx.x] = __nv_fp8_e4m3(2.0f * float(x[threadIdx.x])); }
extern "C" __global__ void e5(const __nv_fp8_e5m2* x, __nv_fp8_e5m2* y) { y[threadIdx.x] = __nv_fp8_e5m2(2.0f * float(x[threadIdx.x])); }
extern "C" __global__ void cm(const cuFloatComplex* x, cuFloatComplex* y, int n) { int i = threadIdx.x; if (i < n) y[i] = cuCmulf(x[i], x[n - 1 - i]); }
extern "C" __global__ void i4(const unsigned char* x, unsigned char* y, int* z) { int i = threadIdx.x; unsigned char b = x[i]; y[i] = (b << 4) | (b >> 4); z[i] = ((int)(b << 28) >> 28) + ((int)((unsigned)b << 24) >> 28); }
extern "C" __global__ void pp(float* const* p, float* y, int n) { int i = threadIdx.x; y[i] = p[0][i] + 10 * p[1][i] + (p[2] == nullptr ? 100 : 0); }
extern "C" __global__ void in_out(const float* in, float* out, int m, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < m * n) out[(i % n) * m + i / n] = in[i]; }
