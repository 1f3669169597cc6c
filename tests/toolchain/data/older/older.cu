#include <cstdio>
__constant__ int table[8];
__device__ __noinline__ float pick(int kind, float x) {
  switch (kind) {
    case 0: return x + 1.f;
    case 1: return x * 3.f;
    case 2: return x - 7.f;
    case 3: return sqrtf(x);
    case 4: return 1.f / x;
    case 5: return fminf(x, 2.f);
    case 6: return x * x;
    default: return -x;
  }
}
extern "C" __global__ void older(const float* in, float* out, int* total, int n) {
  extern __shared__ float dynamic[];
  __shared__ float tile[128];
  float local[16];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i < n ? in[i] : 0.f;
  tile[threadIdx.x] = x;
  dynamic[threadIdx.x] = x * 2.f;
  __syncthreads();
  for (int k = 0; k < 16; ++k) local[k] = tile[(threadIdx.x + k) % 128] + k;
  float y = pick(i % 9, local[(i * 7) % 16] + dynamic[(threadIdx.x + 1) % 128]);
  if (i < n) { out[i] = y; atomicAdd(total, i); }
  if (i == n - 1) printf("last element %d of %d\n", i, n);
}
