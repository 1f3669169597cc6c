// A parameter as an operand of as many opcodes as take one before sm_90.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(__half2* out, const __half2* in, __half2 a, __half2 b) {
    const int i = threadIdx.x;
    const __half2 x = in[i];
    out[i] = __hfma2(x, a, b);
    out[i + 32] = __hadd2(x, a);
    out[i + 64] = __hmul2(x, __hneg2(b));
    out[i + 96] = __hmax2(x, a);
    out[i + 128] = __hfma2(x, __low2half2(a), __high2half2(b));
    out[i + 160] = __hgt2(x, a);
    out[i + 192] = __hadd2(x, __habs2(a));
    out[i + 224] = __hbgt2(x, a) ? b : x;
}

extern "C" __global__ void bfloats(__nv_bfloat162* out, const __nv_bfloat162* in, __nv_bfloat162 a, __nv_bfloat162 b) {
    const int i = threadIdx.x;
#if __CUDA_ARCH__ >= 800
    out[i] = __hfma2(in[i], a, b);
    out[i + 32] = __hmul2(in[i], b);
    out[i + 64] = __hadd2(in[i], a);
#endif
}

extern "C" __global__ void singles(float* out, const float* in, float a, float b) {
    const int i = threadIdx.x;
    const float x = in[i];
    out[i] = x * a + b;
    out[i + 32] = fmaxf(x, -a) - fabsf(b);
    out[i + 64] = x > b ? a : x / a;
    out[i + 96] = __expf(a * x) + rsqrtf(b);
}

extern "C" __global__ void integers(int* out, const int* in, int a, unsigned int b, long long c) {
    const int i = threadIdx.x;
    const int x = in[i];
    out[i] = x * a + b;
    out[i + 32] = (x ^ a) & b;
    out[i + 64] = max(x, a) << (b & 7);
    out[i + 96] = __popc(x & b) + __funnelshift_l(x, a, b);
    out[i + 128] = x < a ? b : ~x;
    out[i + 160] = static_cast<int>((x * c) >> 7);
    out[i + 192] = __byte_perm(x, a, b) + abs(x - a);
    out[i + 224] = __dp4a(x, a, static_cast<int>(b)) + static_cast<int>(static_cast<unsigned char>(b));
}

extern "C" __global__ void doubles(double* out, const double* in, double a, double b) {
    const int i = threadIdx.x;
    out[i] = in[i] * a + b;
    out[i + 32] = in[i] > a ? b : in[i] - a;
}
