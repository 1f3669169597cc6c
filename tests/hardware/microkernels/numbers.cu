// Arithmetic: integers, 64 bits, bit fields, float, double, half, conversions, special values.

#include <cuda_fp16.h>

extern "C" __global__ void integer_division(int count, const int* a, const int* b, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int divisor = b[i] | 1;
    target[i] = a[i] / divisor * 31 + a[i] % divisor + a[i] / 7 + a[i] % 10;
}

extern "C" __global__ void unsigned_division(int count, const unsigned int* a, const unsigned int* b, unsigned int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned int divisor = b[i] | 1u;
    target[i] = a[i] / divisor * 31u + a[i] % divisor + a[i] / 7u + a[i] % 1000u;
}

extern "C" __global__ void long_division(int count, const long long* a, const long long* b, long long* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const long long divisor = b[i] | 1;
    target[i] = a[i] / divisor * 31 + a[i] % divisor;
}

extern "C" __global__ void long_arithmetic(int count, const long long* a, const long long* b, long long* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    long long value = a[i] * b[i] + (a[i] << 7) - (b[i] >> 3);
    value ^= __mul64hi(a[i], b[i]);
    target[i] = value > a[i] ? value : max(a[i], b[i]);
}

extern "C" __global__ void bits(int count, const unsigned int* a, const unsigned int* b, unsigned int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned int x = a[i], y = b[i];
    unsigned int value = __popc(x) + __clz(y) * 3u + __ffs(x) * 5u + __brev(y);
    value ^= __funnelshift_l(x, y, x & 31) + __funnelshift_r(x, y, y & 31);
    value += __byte_perm(x, y, 0x3715) ^ (x >> (y & 31)) ^ (x << (y & 31));
    value += __umulhi(x, y) + __mulhi(static_cast<int>(x), static_cast<int>(y)) + __usad(x, y, 7u);
    value ^= (x & ~y) | (y & 0xf0f0u);
    value += __vaddus4(x, y) + __dp4a(x, y, 5u) + (x >> 5 & 0x1ffu);
    target[i] = value + static_cast<unsigned int>(static_cast<int>(x) >> (y & 15));
}

extern "C" __global__ void float_basic(int count, const float* a, const float* b, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float value = a[i] * b[i] + a[i];
    value = fmaf(value, 0.37f, b[i]) - fminf(a[i], b[i]) + fmaxf(a[i], 0.25f);
    value += __fadd_rz(a[i], b[i]) + __fmul_ru(a[i], b[i]) + __fmaf_rd(a[i], b[i], value);
    target[i] = value > 1.0f ? -value : fabsf(value);
}

extern "C" __global__ void float_division(int count, const float* a, const float* b, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = a[i] / b[i];
}

extern "C" __global__ void float_roots(int count, const float* a, const float* b, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = sqrtf(fabsf(a[i])) + 1.0f / b[i];
}

extern "C" __global__ void mufu_exp(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = exp2f(a[i]);
}

extern "C" __global__ void mufu_log(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = __log2f(fabsf(a[i]) + 0.01f);
}

extern "C" __global__ void mufu_rsqrt(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = rsqrtf(fabsf(a[i]) + 0.01f);
}

extern "C" __global__ void mufu_rcp(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value;
    if (i < count) {
        asm("rcp.approx.f32 %0, %1;" : "=f"(value) : "f"(a[i]));
        target[i] = value;
    }
}

extern "C" __global__ void mufu_trig(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = __sinf(a[i]);
}

extern "C" __global__ void mufu_tanh(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value;
    if (i < count) {
        asm("tanh.approx.f32 %0, %1;" : "=f"(value) : "f"(a[i]));
        target[i] = value;
    }
}

extern "C" __global__ void accurate_functions(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = expf(a[i]) + logf(fabsf(a[i]) + 0.5f) * tanhf(a[i]);
}

extern "C" __global__ void accurate_trig(int count, const float* a, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = sinf(a[i] * 100.0f) + cosf(a[i]);
}

extern "C" __global__ void double_basic(int count, const double* a, const double* b, double* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double value = a[i] * b[i] + a[i];
    value = fma(value, 0.37, b[i]) - fmin(a[i], b[i]);
    target[i] = value > 1.0 ? value : a[i] - value;
}

extern "C" __global__ void double_division(int count, const double* a, const double* b, double* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = a[i] / b[i] + sqrt(fabs(a[i]));
}

extern "C" __global__ void half_pairs(int count, const __half2* a, const __half2* b, __half2* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    __half2 value = __hfma2(a[i], b[i], a[i]);
    value = __hadd2(value, __hmul2(a[i], b[i]));
    value = __hmax2(value, __hmin2(a[i], b[i]));
    target[i] = __hsub2(value, __floats2half2_rn(0.5f, -0.25f));
}

extern "C" __global__ void half_single(int count, const __half* a, const __half* b, __half* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const __half value = __hfma(a[i], b[i], a[i]);
    target[i] = __hgt(value, b[i]) ? __hadd(value, b[i]) : __hmul(value, a[i]);
}

extern "C" __global__ void conversions(int count, const float* a, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = a[i] * 1000.0f;
    int value = static_cast<int>(x) + __float2int_rn(x) * 3 + __float2int_ru(x) * 5;
    value += static_cast<unsigned char>(value) + static_cast<short>(value) * 7;
    value ^= static_cast<int>(static_cast<unsigned int>(fabsf(x)));
    value += static_cast<int>(static_cast<long long>(static_cast<double>(x) * 16.0));
    value ^= __float_as_int(static_cast<float>(value)) + __half_as_ushort(__float2half_rn(x));
    value += static_cast<int>(floorf(x) + ceilf(x) + rintf(x) + truncf(x));
    target[i] = value + static_cast<int>(__double2float_rn(static_cast<double>(value) * 0.1));
}

extern "C" __global__ void special_values(int count, const float* a, const float* b, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = a[i] * 1.0e38f * b[i], y = a[i] * 1.0e-38f * b[i];
    int value = isnan(x - x) + 2 * isinf(x) + 4 * (y == 0.0f) + 8 * (x > y) + 16 * !(x <= y);
    value += 32 * (fminf(x - x, y) == y) + static_cast<int>(fminf(fmaxf(x, -1.0e9f), 1.0e9f)) * 64;
    target[i] = value ^ __float_as_int(y);
}
