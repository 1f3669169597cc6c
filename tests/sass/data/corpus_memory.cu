// Memory: every width and cache operator, shared and local arrays, constants, textures, atomics, generic pointers.
#include <cuda_runtime.h>
#define KERNEL extern "C" __global__ void

__constant__ float table[256];
__device__ int counter;
__device__ float globals[1024] = {1.0f, 2.0f};
struct Pair {
    float x;
    int y[3];
    double z;
};

KERNEL widths(char* c, short* s, int* a, int2* b, int4* d, double2* e, const float* __restrict__ r) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] += c[i + 1];
    s[i] -= s[i + 1];
    b[i] = make_int2(b[i + 1].y, b[i + 2].x);
    d[i] = make_int4(d[i + 1].w, d[i + 1].z, d[i + 2].y, d[i + 2].x);
    e[i] = make_double2(e[i + 1].y, e[i + 1].x);
    a[i] = __ldcg(&a[i + 1]) + __ldcs(&a[i + 2]) + __ldca(&a[i + 3]) + __ldcv(&a[i + 4]) + (int)__ldg(&r[i]) + (int)r[i + 7];
    __stcg(&a[i + 5], 1);
    __stcs(&a[i + 6], 2);
    __stwt(&a[i + 7], 3);
}
KERNEL shared_tiles(float4* in, float* out, int n) {
    extern __shared__ float dynamic[];
    __shared__ float4 wide[64];
    __shared__ char small[128];
    int i = threadIdx.x;
    wide[i & 63] = in[i];
    small[i & 127] = (char)i;
    dynamic[i * 3] = out[i];
    __syncthreads();
    out[i] = wide[63 - (i & 63)].y + small[(i * 5) & 127] + dynamic[i ^ n] + dynamic[n];
}
KERNEL local_array(float* out, int n) {
    float values[32];
    for (int i = 0; i < 32; ++i) values[i] = out[i] * i;
    for (int i = 0; i < n; ++i) values[(i * 7) & 31] += values[i & 31];
    out[threadIdx.x] = values[n & 31];
}
KERNEL constants(float* out, Pair pair, int n) {
    int i = threadIdx.x;
    out[i] = table[i & 255] + table[7] + pair.x + pair.y[n & 1] + (float)pair.z + globals[i] + 3.14159265f;
}
KERNEL texture_fetch(cudaTextureObject_t t, cudaTextureObject_t u, float* out, cudaSurfaceObject_t s) {
    int i = threadIdx.x;
    out[i] = tex2D<float>(t, i * 0.5f, 0.25f) + tex1Dfetch<float>(u, i);
    surf2Dwrite(out[i], s, i * 4, 0);
}
KERNEL atomics(int* a, unsigned* b, float* f, double* g, unsigned long long* u) {
    __shared__ int bins[64];
    __shared__ float sums[4];
    int i = threadIdx.x;
    bins[i & 63] = 0;
    sums[i & 3] = 0;
    __syncthreads();
    atomicAdd(&bins[a[i] & 63], 1);
    atomicMax(&bins[a[i + 1] & 63], i);
    atomicAdd(&sums[i & 3], f[i]);
    atomicAdd(&counter, 1);
    a[i] = atomicAdd(&a[i + 9], 2) + atomicCAS(&a[7], 3, 4) + atomicExch(&a[8], i) + atomicSub(&a[i], 1);
    b[i] = atomicInc(&b[1], 17u) + atomicAnd(&b[2], 5u) + atomicXor(&b[3], 1u) + atomicMin(&b[4], 9u);
    f[i] = atomicAdd(&f[1], 1.5f);
    atomicAdd(&g[i], 2.5);
    u[i] = atomicAdd(&u[1], 1ull) + atomicCAS(&u[2], 1ull, 2ull);
    __syncthreads();
    a[i + 64] = bins[i & 63] + (int)sums[i & 3];
}
KERNEL generic_pointer(float* a, int n) {
    __shared__ float s[32];
    s[threadIdx.x & 31] = a[0];
    __syncthreads();
    float* p = n > 3 ? s + (threadIdx.x & 31) : a + threadIdx.x;
    *p += 1.0f;
    __syncthreads();
    a[threadIdx.x + 32] = s[5];
}
KERNEL fences(volatile int* a, int* b) {
    b[threadIdx.x] = a[0];
    __threadfence();
    a[1] = 2;
    __threadfence_block();
    __threadfence_system();
    b[threadIdx.x + 32] = clock() + (int)clock64() + a[2];
    __nanosleep(100);
}
