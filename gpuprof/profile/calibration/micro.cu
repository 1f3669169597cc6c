// Micro-kernels of `gpuprof calibrate`: one figure each. ``cycles`` gets start and end of every warp of block 0.
#include <cuda_fp16.h>
#include <stdint.h>

enum { LANES = 32, CHAINS = 8, UNROLL = 8 };

static __device__ __forceinline__ void note(long long* cycles, long long start, long long end) {
  const int warp = threadIdx.x / LANES;
  if (blockIdx.x == 0 && threadIdx.x % LANES == 0 && warp < 16) {
    cycles[2 * warp] = start;
    cycles[2 * warp + 1] = end;
  }
}

// Operations on one register set; OP as in calibration.yaml.
enum { OP_FFMA, OP_IMAD, OP_LOP3, OP_MUFU, OP_DFMA, OP_HFMA2, OP_HMMA16, OP_HMMA8, OP_IMMA, OP_SHFL, OP_I2F };

template <int OP>
struct Chain {
  float f;
  int i;
  double d;
  unsigned h;
  float c[4];
  int k[4];
  __device__ void begin(int seed) {
    f = seed * 0.5f;
    i = seed;
    d = seed * 0.5;
    h = seed;
    for (int n = 0; n < 4; ++n) {
      c[n] = seed;
      k[n] = seed;
    }
  }
  __device__ __forceinline__ void step(int x, int y) {
    const float a = __int_as_float(x), b = __int_as_float(y);
    if (OP == OP_FFMA) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f) : "f"(a), "f"(b));
    if (OP == OP_IMAD) asm volatile("mad.lo.s32 %0, %0, %1, %2;" : "+r"(i) : "r"(x), "r"(y));
    if (OP == OP_LOP3) asm volatile("lop3.b32 %0, %0, %1, %2, 0xe9;" : "+r"(i) : "r"(x), "r"(y));
    if (OP == OP_MUFU) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(f));
    if (OP == OP_DFMA) asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(d));
    if (OP == OP_HFMA2) asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(h) : "r"(x), "r"(y));
    if (OP == OP_SHFL) asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 0x1f, 0xffffffff;" : "+r"(i));
    if (OP == OP_I2F) asm volatile("{.reg .f32 t; cvt.rn.f32.s32 t, %0; mov.b32 %0, t;}" : "+r"(i));
    if (OP == OP_HMMA16)
      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, "
                   "{%0,%1,%2,%3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x), "r"(y));
    if (OP == OP_HMMA8)
      asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%4}, {%0,%1,%2,%3};"
                   : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x), "r"(y));
    if (OP == OP_IMMA)
      asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%4,%5}, {%4,%5}, "
                   "{%0,%1,%2,%3};" : "+r"(k[0]), "+r"(k[1]), "+r"(k[2]), "+r"(k[3]) : "r"(x), "r"(y));
  }
  __device__ int end() { return i + (int)f + (int)d + (int)h + (int)c[0] + (int)c[3] + k[0] + k[3]; }
};

// WIDTH independent chains of one operation: the issue interval (many warps, many chains) or the latency (one of each).
template <int OP, int WIDTH>
__global__ void operation(long long* cycles, int* sink, int turns, int x, int y) {
  Chain<OP> chain[WIDTH];
  for (int n = 0; n < WIDTH; ++n) chain[n].begin(threadIdx.x + n);
  __syncthreads();
  const long long start = clock64();
  for (int turn = 0; turn < turns; ++turn)
#pragma unroll
    for (int u = 0; u < UNROLL; ++u)
#pragma unroll
      for (int n = 0; n < WIDTH; ++n) chain[n].step(x, y);
  int sum = 0;
  for (int n = 0; n < WIDTH; ++n) sum += chain[n].end();
  const long long end = clock64() + (sum == 0x7fffffff);
  note(cycles, start, end);
  if (sum == 0x12345678) *sink = sum;
}

// A chain of loads, each address from the value before (zeros): shared memory, L1, L2, DRAM, pages, constants.
enum { SHARED, L1, L2, CONSTANT };
__constant__ int zero_table[1024];
template <int SPACE>
__global__ void chase(long long* cycles, int* sink, const int* source, int stride, int span, int warm, int steps) {
  __shared__ int tile[1024];
  for (int n = threadIdx.x; n < 1024; n += blockDim.x) tile[n] = 0;
  __syncthreads();
  int place = 0;
  long long start = 0;
  for (int step = -warm; step < steps; ++step) {
    if (step == 0) start = clock64();
    int value;
    if (SPACE == SHARED) value = tile[place & 1023];
    if (SPACE == CONSTANT) value = zero_table[place & 1023];
    if (SPACE == L1) asm volatile("ld.global.ca.b32 %0, [%1];" : "=r"(value) : "l"(source + place));
    if (SPACE == L2) asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(value) : "l"(source + place));
    place = place + stride + value;
    if (place >= span) place -= span;
  }
  const long long end = clock64() + (place == -1);
  note(cycles, start, end);
  if (place == -1) *sink = place;
}

// Loads of words or quads that hit the L1 or lie in shared memory without conflicts: cycles per load.
template <int QUADS, int SPACE>
__global__ void hits(long long* cycles, int* sink, const float* source, int turns) {
  __shared__ float4 tile[512];
  tile[threadIdx.x % 512] = make_float4(0, 0, 0, 0);
  __syncthreads();
  const unsigned shared = (unsigned)__cvta_generic_to_shared(tile);
  float sum = 0;
  long long start = 0;
  for (int turn = -1; turn < turns; ++turn) {
    if (turn == 0) start = clock64();
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int place = (threadIdx.x + u * LANES) % 256 * (QUADS ? 16 : 4);
      float a = 0, b = 0, c = 0, d = 0;
      if (SPACE == SHARED && QUADS)
        asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "r"(shared + place));
      if (SPACE == SHARED && !QUADS) asm volatile("ld.shared.f32 %0, [%1];" : "=f"(a) : "r"(shared + place));
      if (SPACE == L1 && QUADS)
        asm volatile("ld.global.ca.v4.f32 {%0,%1,%2,%3}, [%4];"
                     : "=f"(a), "=f"(b), "=f"(c), "=f"(d) : "l"((const char*)source + place));
      if (SPACE == L1 && !QUADS) asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(a) : "l"((const char*)source + place));
      sum += a + d;
    }
  }
  const long long end = clock64() + (sum == -1);
  note(cycles, start, end);
  if (sum == -1) *sink = 1;
}

__global__ void barriers(long long* cycles, int turns) {
  __syncthreads();
  const long long start = clock64();
  for (int turn = 0; turn < turns; ++turn) {
    __syncthreads();
    __syncthreads();
    __syncthreads();
    __syncthreads();
  }
  note(cycles, start, clock64());
}

// Straight code that no cache has yet: 4096 dependent FFMA, 64 KiB.
__global__ void cold_code(long long* cycles, int* sink, float a, float b) {
  float f = threadIdx.x;
  const long long start = clock64();
#pragma unroll
  for (int n = 0; n < 4096; ++n) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(f) : "f"(a), "f"(b));
  const long long end = clock64() + (f == 0.25f);
  note(cycles, start, end);
  if (f == 0.125f) *sink = 1;
}

__global__ void nothing(long long* cycles) {
  if (blockIdx.x == 0 && threadIdx.x == 0) cycles[0] = 1;
}

// Every block reads its part of ``source`` ``turns`` times past the L1.
__global__ void stream_read(long long* cycles, int* sink, const float* source, int count, int turns) {
  float sum = 0;
  const long long start = clock64();
  for (int turn = 0; turn < turns; ++turn)
    for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += gridDim.x * blockDim.x) {
      const float4 value = __ldcg((const float4*)source + n);
      sum += value.x + value.y + value.z + value.w;
    }
  const long long end = clock64() + (sum == -1);
  note(cycles, start, end);
  if (sum == -1) *sink = 1;
}
__global__ void stream_write(long long* cycles, float* target, int count) {
  const long long start = clock64();
  for (int n = blockIdx.x * blockDim.x + threadIdx.x; n < count; n += gridDim.x * blockDim.x)
    ((float4*)target)[n] = make_float4(1, 2, 3, 4);
  note(cycles, start, clock64());
}
