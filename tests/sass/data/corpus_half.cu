// Half and bfloat16 arithmetic, packed and converted.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define KERNEL extern "C" __global__ void

KERNEL halves(half* a, half2* b, float* f) {
    int i = threadIdx.x;
    a[i] = __hadd(a[i], a[i + 1]) * a[i + 2] - __hfma(a[i], a[i + 3], __float2half(0.333f));
    b[i] = __hfma2(b[i], b[i + 1], __floats2half2_rn(1.5f, -2.25f));
    b[i + 1] = __hmul2(b[i], h2exp(b[i + 2])) + __hmax2(b[i], b[i + 3]);
    f[i] = __half2float(a[i]) + __low2float(b[i]) + __high2float(b[i + 1]) + (__hgt(a[i], a[i + 1]) ? 1.0f : 2.0f);
    b[i + 2] = __hgt2(b[i], b[i + 1]);
    if (__hbeq2(b[i], b[i + 1])) f[i + 1] = 3.0f;
}
KERNEL bfloats(__nv_bfloat16* a, __nv_bfloat162* b, float* f) {
    int i = threadIdx.x;
    a[i] = __float2bfloat16(f[i]);
    f[i + 1] = __bfloat162float(a[i + 1]);
    b[i] = __floats2bfloat162_rn(f[i], f[i + 2]);
#if __CUDA_ARCH__ >= 800
    b[i + 1] = __hfma2(b[i], b[i + 2], b[i + 3]);
    a[i + 1] = __hmul(a[i], a[i + 2]) + __hmin(a[i], a[i + 3]);
#endif
}
KERNEL half_constants(half2* b, float* f) {
    int i = threadIdx.x;
    b[i] = __float2half2_rn(1.0f);
    f[i] = -1e30f * f[i] + 65504.0f;
}
