// Small kernels for the executor: faults, control flow, barriers, memories, the device runtime.
// Built with: nvcc -O3 -std=c++17 -lineinfo -arch=sm_89 -cubin -o engine_sm89.cubin engine.cu   (and sm_90, sm_120)
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>
#define KERNEL extern "C" __global__ void

KERNEL read_beyond(const int* in, int* out, int distance) { out[threadIdx.x] = in[threadIdx.x + distance]; }
KERNEL write_beyond(int* out, int distance) { out[blockIdx.x * blockDim.x + threadIdx.x + distance] = 1; }
KERNEL misaligned(const char* in, int* out) { out[threadIdx.x] = *reinterpret_cast<const int*>(in + threadIdx.x); }
KERNEL null_pointer(int* out, const int* nothing) { out[threadIdx.x] = nothing[threadIdx.x]; }
KERNEL shared_beyond(int* out, int index) {
    extern __shared__ int words[];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = words[index + threadIdx.x];
}
KERNEL deadlock(int* out) {
    if (threadIdx.x < 32)
        asm volatile("bar.sync 0;");
    else
        asm volatile("bar.sync 1;");
    out[threadIdx.x] = 1;
}
KERNEL endless(volatile int* flag, int* out) {
    while (flag[0] == 0) {
    }
    out[0] = 1;
}
KERNEL endless_alone() {
    for (;;) asm volatile("");
}
KERNEL trapped(int n) {
    if (n < 3) __trap();
}
KERNEL texture_read(cudaTextureObject_t texture, float* out) { out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0.5f); }

KERNEL early_exit_barrier(int* out) {
    if (threadIdx.x >= 64) return;
    __syncthreads();
    out[threadIdx.x] = threadIdx.x;
}
KERNEL half_warp_barrier(int* out) {
    if (threadIdx.x < 16) __syncthreads();
    out[threadIdx.x] = threadIdx.x;
}
KERNEL counting_barriers(const int* in, int* out) {
    const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
    const int count = __syncthreads_count(value > 3), all = __syncthreads_and(value > 0), any = __syncthreads_or(value > 8);
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x] = count;
        out[3 * blockIdx.x + 1] = all;
        out[3 * blockIdx.x + 2] = any;
    }
}
KERNEL producer_consumer(int* out) {
    __shared__ int box[32];
    if (threadIdx.x < 32) {
        box[threadIdx.x] = 100 + threadIdx.x;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        out[threadIdx.x - 32] = box[63 - threadIdx.x];
    }
}
KERNEL collatz(const int* in, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i];
    int steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        ++steps;
    }
    out[i] = steps;
}
KERNEL nested(const int* in, int* out) {
    const int lane = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < in[lane]; ++i) {
        if (i % 3 == 0)
            for (int j = 0; j < i; ++j) sum += j * lane;
        else if (i % 3 == 1)
            sum ^= i;
        if (sum > 5000) break;
    }
    out[lane] = sum;
}
KERNEL choose(const int* in, int* out) {
    const int i = threadIdx.x;
    int r = in[i];
    switch (r) {
        case 0: r = i * 7; break;
        case 1: r = i / 3; break;
        case 2: r = i - 90; break;
        case 3: r = i ^ 0x55; break;
        case 4: r = ~i; break;
        case 5: r = i << 3; break;
        case 6: r = i * i; break;
        case 7: r = i % 5; break;
        default: r = -1;
    }
    out[i] = r;
}
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL recursive(int n, int* out) { out[threadIdx.x] = fibonacci(n + threadIdx.x % 4); }
__device__ __noinline__ int plus_one(int x) { return x + 1; }
__device__ __noinline__ int twice(int x) { return x * 2; }
__device__ int (*functions[2])(int) = {plus_one, twice};
KERNEL function_pointers(int n, int* out) { out[threadIdx.x] = functions[threadIdx.x & 1](n); }

__device__ __noinline__ void fill(int* values, int n) {
    for (int i = 0; i < n; ++i) values[i] = i * n;
}
KERNEL local_array(int n, int* out) {
    int values[16];
    fill(values, n);
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += values[(i * 7) % n] * (i + threadIdx.x);
    out[threadIdx.x] = sum;
}
KERNEL generic_pointer(const int* in, int* out, int which) {
    __shared__ int box[64];
    box[threadIdx.x] = 1000 + threadIdx.x;
    __syncthreads();
    const int* source = (threadIdx.x & which) ? box : in;
    out[threadIdx.x] = source[63 - threadIdx.x];
}
KERNEL narrow_stores(unsigned char* bytes, unsigned short* halves) {
    bytes[3 * threadIdx.x] = threadIdx.x;
    halves[3 * threadIdx.x] = 1000 + threadIdx.x;
}
KERNEL vectors(const float4* in, float4* out, const short* narrow, int* wide) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
    wide[threadIdx.x] = narrow[threadIdx.x];
}

KERNEL atomics(int* counters, int* order, float* sum, unsigned* wrap) {
    order[threadIdx.x] = atomicAdd(&counters[0], 1);
    atomicMax(&counters[1], (int)threadIdx.x * 3);
    atomicAdd(sum, 0.5f);
    atomicInc(wrap, 9);
    atomicCAS(&counters[2], 0, 77);
    atomicXor(&counters[3], 1 << (threadIdx.x % 31));
}
KERNEL histogram(const unsigned* in, int* out) {
    __shared__ int bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x] % 16], 1);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
KERNEL spin_lock(int* lock, int* total) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            total[0] = total[0] + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}
KERNEL async_copy(const int4* in, int4* out) {
    __shared__ int4 tile[64];
    const unsigned target = (unsigned)__cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(target), "l"(in + threadIdx.x));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
KERNEL load_matrix(int* out) {
    __shared__ __align__(16) unsigned short rows[8 * 8 * 4];
    for (int i = threadIdx.x; i < 256; i += 32) rows[i] = i;
    __syncwarp();
    unsigned a, b, c, d;
    const unsigned address = (unsigned)__cvta_generic_to_shared(&rows[threadIdx.x * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address));
    out[threadIdx.x] = a;
    out[threadIdx.x + 32] = d + 0 * (b + c);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(a) : "r"(address));
    out[threadIdx.x + 64] = a;
}
KERNEL tile_reduce(const int* in, int* out) {
    namespace cg = cooperative_groups;
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int value = in[threadIdx.x];
    for (int offset = 8; offset; offset /= 2) value += tile.shfl_down(value, offset);
    if (tile.thread_rank() == 0) out[threadIdx.x / 16] = value;
}
KERNEL masked_shuffle(const int* in, int* out) {
    int value = in[threadIdx.x];
    if (threadIdx.x % 2) {
        value += __shfl_xor_sync(0xaaaaaaaa, value, 2);
        __syncwarp(0xaaaaaaaa);
    }
    out[threadIdx.x] = value;
}
__constant__ int table[4] = {5, 6, 7, 8};
__device__ int launches;
KERNEL globals(int* out) {
    if (threadIdx.x == 0) launches += 1;
    __syncthreads();
    out[threadIdx.x] = table[threadIdx.x & 3] + 100 * launches;
}
KERNEL prints(int n, double d, const char* s) {
    if (threadIdx.x < 2) printf("%d %u %5.2f %s %c %lld %x %%|%-4d|\n", threadIdx.x, n, d, s, 'x', (long long)n, 255, n);
}
KERNEL asserts(int n) { assert(n > (int)threadIdx.x); }
KERNEL heap(int n, int** out) {
    int* p = (int*)malloc(n);
    if (p && n < 1000) p[0] = threadIdx.x;
    out[threadIdx.x] = p;
    if (p && (threadIdx.x & 1)) free(p);
}
KERNEL bounded(const float* in, float* out, int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = 2 * in[y * width + x];
}
KERNEL block_ids(int* out) {
    const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 10000 + thread;
}
KERNEL jump_table(int* out) {
    const int i = threadIdx.x;
    int value = i;
    switch (i % 13) {
        case 0: value += 3; break;
        case 1: value *= 7;
        case 2: value -= 5; break;
        case 3: value = ~value; break;
        case 4: value ^= 0x55; break;
        case 5: value *= value; break;
        case 6: for (int j = 0; j < i % 5; j++) value += j * value; break;
        case 7: value <<= 2; break;
        case 8: value >>= 1; break;
        case 9: value |= 1024; break;
        case 10: return;
        case 11: value %= 9; break;
        default: value = -value;
    }
    out[i] = value;
}
KERNEL shared_double_sum(double* out) {
    __shared__ double total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, 0.5 * threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) *out = total;
}
KERNEL clocks(long long* out) {
    const long long first = clock64();
    out[threadIdx.x] = first;
    out[32 + threadIdx.x] = clock64();
}
KERNEL sum_of_128_bits(const long long* a, const long long* b, long long* out) {
    const long long x = a[threadIdx.x], y = b[threadIdx.x];
    const __int128 product = (__int128)x * y;
    out[threadIdx.x] = (long long)((product + x) >> 64);
    out[32 + threadIdx.x] = (long long)((product - ((__int128)y << 3)) >> 64);
}
