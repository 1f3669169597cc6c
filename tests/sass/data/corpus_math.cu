// Arithmetic of every width: integer and float division, square roots, FP64, conversions, bit tricks, transcendentals.
#define KERNEL extern "C" __global__ void

KERNEL divide(int* a, unsigned* b, long long* c, unsigned long long* d, float* f, double* g) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = a[i] / a[i + 1] + a[i + 2] % 7 - (a[i + 3] / 12) % 5;
    b[i] = b[i] / b[i + 1] + b[i + 2] % 10u;
    c[i] = c[i] / c[i + 1] + c[i + 2] % c[i + 3] + __mul64hi(c[i], c[i + 1]);
    d[i] = d[i] / d[i + 1] + (d[i + 2] >> (i & 63)) + (d[i + 3] << (i & 31));
    f[i] = f[i] / f[i + 1] + __frcp_rn(f[i + 2]) + sqrtf(f[i + 3]) + rsqrtf(f[i + 4]) + __fdividef(f[i], f[i + 5]);
    g[i] = g[i] / g[i + 1] + sqrt(g[i + 2]) + 1.0 / g[i + 3] + fma(g[i], g[i + 4], -0.5) + fmin(g[i], g[i + 5]);
}
KERNEL transcendental(float* f, double* g) {
    int i = threadIdx.x;
    f[i] = sinf(f[i]) + __cosf(f[i + 1]) + expf(f[i + 2]) + __logf(f[i + 3]) + powf(f[i], f[i + 1]) + tanhf(f[i + 4]);
    f[i + 9] = erff(f[i + 5]) + atan2f(f[i], f[i + 1]) + fmodf(f[i], 1.5f) + rintf(f[i + 2]) + floorf(f[i + 3]);
    g[i] = exp(g[i]) + sin(g[i + 1]) + log(g[i + 2]);
}
KERNEL convert(float* f, double* g, int* a, long long* c, unsigned char* u, short* s, unsigned* b) {
    int i = threadIdx.x;
    a[i] = (int)f[i] + (int)g[i] + __float2int_rn(f[i + 1]) + u[i] + s[i] + (int)(signed char)u[i + 1];
    f[i] = (float)a[i + 1] + (float)g[i + 1] + (float)c[i] + (float)b[i] + u[i + 2] + s[i + 2];
    g[i] = (double)a[i + 2] + (double)f[i + 2] + (double)c[i + 1] + (double)b[i + 1];
    c[i] = (long long)f[i + 3] + (long long)g[i + 3] + a[i + 3];
    u[i] = (unsigned char)f[i + 4];
    s[i] = (short)a[i + 4];
    b[i] = (unsigned)f[i + 5] + (unsigned)g[i + 4];
}
KERNEL bits(int* a, unsigned* b) {
    int i = threadIdx.x;
    b[i] = __popc(b[i]) + __clz(a[i]) + __ffs(a[i + 1]) + __brev(b[i + 1]) + __byte_perm(b[i], b[i + 1], 0x5410);
    b[i + 1] = __funnelshift_l(b[i], b[i + 1], a[i] & 31) + __funnelshift_rc(b[i], b[i + 1], 3) + (b[i] ^ b[i + 2] | 5);
    a[i] = abs(a[i]) + min(a[i], max(a[i + 1], 3)) + __dp4a(a[i], a[i + 1], a[i + 2]) + __vabsdiffu4(b[i], b[i + 1]);
    a[i + 1] = __mulhi(a[i], a[i + 1]) + __umulhi(b[i], b[i + 1]) + __sad(a[i], a[i + 1], b[i]) + (a[i] << 3) + (a[i] >> 2);
    a[i + 2] = (a[i] > 0 && b[i] > 7u || a[i + 1] == 3) ? a[i + 2] : b[i + 3];
}
KERNEL rounding(float* f, double* g) {
    int i = threadIdx.x;
    f[i] = __fadd_rz(f[i], 1.0e-30f) + __fmul_ru(f[i + 1], 3.0f) + __fmaf_rd(f[i], f[i + 1], f[i + 2]) + __saturatef(f[i]);
    f[i + 1] = f[i] != f[i] ? 1e30f : (isinf(f[i + 1]) ? -INFINITY : fabsf(f[i + 2]) * -f[i + 3]);
    g[i] = __dadd_rz(g[i], 1.0e300) + __dmul_ru(g[i + 1], g[i]) + (g[i] >= g[i + 2] ? 1.0 : -2.5);
}
