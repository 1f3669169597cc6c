// Kinds of public kernels whose counters were seen different or unknown: each worded anew.
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

namespace cg = cooperative_groups;

#define KERNEL(name) extern "C" __global__ void name(int count, const int* source, int* target)
#define BEGIN const int i = blockIdx.x * blockDim.x + threadIdx.x; (void)i;

// mbarrier: arrive and wait by the library, twice.
KERNEL(barrier_library) {
    BEGIN
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int words[128];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    int value = source[i];
    for (int k = 0; k < 2; ++k) {
        words[threadIdx.x] = value;
        barrier.arrive_and_wait();
        value += words[(threadIdx.x + 5) % blockDim.x];
        barrier.arrive_and_wait();
    }
    target[i] = value;
}

__device__ unsigned int address_of(void* pointer) { return static_cast<unsigned int>(__cvta_generic_to_shared(pointer)); }
__device__ void wait_for(unsigned int barrier, unsigned int parity) {
    asm volatile("{ .reg .pred p; again: mbarrier.test_wait.parity.shared.b64 p, [%0], %1; @p bra done; bra again; done: }" :: "r"(barrier), "r"(parity) : "memory");
}
__device__ void try_for(unsigned int barrier, unsigned int parity) {
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @p bra done; bra again; done: }" :: "r"(barrier), "r"(parity) : "memory");
}

// mbarrier by hand: one arrival a warp, waits by parity.
KERNEL(barrier_by_warps) {
    BEGIN
    __shared__ unsigned long long barrier;
    __shared__ int words[128];
    const unsigned int at = address_of(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(blockDim.x / 32));
    __syncthreads();
    int value = source[i];
    for (unsigned int k = 0; k < 4; ++k) {
        words[threadIdx.x] = value;
        __syncwarp();
        if ((threadIdx.x & 31) == 0) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(at) : "memory");
        try_for(at, k & 1);
        value += words[(threadIdx.x + 32) % blockDim.x];
        __syncthreads();
    }
    target[i] = value;
}

KERNEL(barrier_test_wait) {
    BEGIN
    __shared__ unsigned long long barrier;
    const unsigned int at = address_of(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(blockDim.x));
    __syncthreads();
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(at) : "memory");
    wait_for(at, 0);
    if (threadIdx.x < 5) asm volatile("{ .reg .b64 s; mbarrier.arrive.noComplete.shared.b64 s, [%0], 1; }" :: "r"(at) : "memory");
    unsigned long long pending = 0;
    asm volatile("{ .reg .b64 s; ld.shared.b64 s, [%1]; mov.b64 %0, s; }" : "=l"(pending) : "r"(at));
    __syncthreads();
    asm volatile("ld.shared.b64 %0, [%1];" : "=l"(pending) : "r"(at));
    target[i] = source[i] + (int)pending + (int)(pending >> 32) * 3;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at));
}

// expect-tx with a bulk copy into shared memory.
KERNEL(bulk_copy) {
    BEGIN
    __shared__ alignas(16) int words[128];
    __shared__ unsigned long long barrier;
    const unsigned int at = address_of(&barrier), to = address_of(words);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
        asm volatile("fence.proxy.async;");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" :: "r"(at), "r"(512) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(to), "l"(source + blockIdx.x * 128), "r"(512), "r"(at) : "memory");
    }
    try_for(at, 0);
    target[i] = words[threadIdx.x ^ 1];
}

// Copies that arrive at an mbarrier.
KERNEL(copies_arrive) {
    BEGIN
    __shared__ int words[128];
    __shared__ unsigned long long barrier;
    const unsigned int at = address_of(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(blockDim.x));
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address_of(words + threadIdx.x)), "l"(source + i) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(at) : "memory");
    try_for(at, 0);
    target[i] = words[threadIdx.x ^ 7];
}

KERNEL(library_pipeline) {
    BEGIN
    __shared__ int words[2][128];
    int sum = 0;
    __pipeline_memcpy_async(&words[0][threadIdx.x], source + i, 4);
    __pipeline_commit();
    for (int k = 1; k < 4; ++k) {
        __pipeline_memcpy_async(&words[k & 1][threadIdx.x], source + (i + k * 17) % count, 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += words[(k - 1) & 1][threadIdx.x ^ 1];
        __syncthreads();
    }
    target[i] = sum;
}

// Warp-aggregated atomics: which lane gets which number depends on order within a warp only.
KERNEL(aggregated_count) {
    BEGIN
    if (source[i] & 1) {
        auto group = cg::coalesced_threads();
        int base = 0;
        if (group.thread_rank() == 0) base = atomicAdd(target + 0, (int)group.size());
        base = group.shfl(base, 0) + group.thread_rank();
        atomicAdd(target + 1 + (source[i] & 63), 1);
    }
}
KERNEL(aggregated_plain) {
    BEGIN
    if (source[i] % 3 == 0) atomicAdd(target, 1);
    if (source[i] % 5 == 0) { const int old = atomicAdd(target + 1, 2); if (old < 0) target[3] = 1; }
}
KERNEL(aggregated_labels) {
    BEGIN
    const int key = source[i] & 7;
    auto group = cg::labeled_partition(cg::coalesced_threads(), key);
    if (group.thread_rank() == 0) atomicAdd(target + key, (int)group.size());
}

// A reduction whose last block adds up, by a fence and a count. target: [0] sum, [1] count, [2...] partial sums.
KERNEL(fence_reduction) {
    BEGIN
    __shared__ int words[128];
    __shared__ bool last;
    words[threadIdx.x] = source[i];
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) { if (threadIdx.x < half) words[threadIdx.x] += words[threadIdx.x + half]; __syncthreads(); }
    if (threadIdx.x == 0) {
        target[2 + blockIdx.x] = words[0];
        __threadfence();
        last = atomicInc(reinterpret_cast<unsigned int*>(target) + 1, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += reinterpret_cast<volatile int*>(target)[2 + k];
        atomicAdd(target, sum);
    }
}
KERNEL(fences_guarded) {
    BEGIN
    int value = source[i];
    if (value & 1) { target[i] = value; __threadfence(); value += 3; }
    if ((value & 6) == 2) __threadfence_block();
    if (i % 5 == 3) __threadfence_system();
    target[i] = value;
}

// A half GEMM staged by 16-byte copies: 64 x 64 x 32 tiles of four warps.
extern "C" __global__ void staged_half_gemm(int m, int n, int k, const __half* a, const __half* b, float* c) {
    __shared__ alignas(16) __half as[2][64][40];
    __shared__ alignas(16) __half bs[2][32][72];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x;
    auto stage = [&](int s, int from) {
        for (int part = t; part < 256; part += 128) {
            __pipeline_memcpy_async(&as[s][part / 4][part % 4 * 8], a + (row + part / 4) * k + from + part % 4 * 8, 16);
            __pipeline_memcpy_async(&bs[s][part / 8][part % 8 * 8], b + (from + part / 8) * n + column + part % 8 * 8, 16);
        }
        __pipeline_commit();
    };
    float sums[32] = {};
    stage(0, 0);
    for (int from = 0, s = 0; from < k; from += 32, s ^= 1) {
        if (from + 32 < k) { stage(s ^ 1, from + 32); __pipeline_wait_prior(1); } else { __pipeline_wait_prior(0); }
        __syncthreads();
        for (int d = 0; d < 32; ++d)
            for (int j = 0; j < 32; ++j) sums[j] += __half2float(as[s][t / 2][d]) * __half2float(bs[s][d][t % 2 * 32 + j]);
        __syncthreads();
    }
    for (int j = 0; j < 32; ++j) c[(row + t / 2) * n + column + t % 2 * 32 + j] = sums[j];
}
// The same without padding: copies meet in the banks.
extern "C" __global__ void staged_half_gemm_flat(int m, int n, int k, const __half* a, const __half* b, float* c) {
    __shared__ alignas(16) __half as[64 * 32];
    __shared__ alignas(16) __half bs[32 * 64];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x;
    float sums[32] = {};
    for (int from = 0; from < k; from += 32) {
        for (int part = t; part < 256; part += 128) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address_of(as + part * 8)), "l"(a + (row + part / 4) * k + from + part % 4 * 8));
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" :: "r"(address_of(bs + part * 8)), "l"(b + (from + part / 8) * n + column + part % 8 * 8));
        }
        asm volatile("cp.async.commit_group; cp.async.wait_group 0;");
        __syncthreads();
        for (int d = 0; d < 32; ++d)
            for (int j = 0; j < 32; ++j) sums[j] += __half2float(as[t / 2 * 32 + d]) * __half2float(bs[d * 64 + t % 2 * 32 + j]);
        __syncthreads();
    }
    for (int j = 0; j < 32; ++j) c[(row + t / 2) * n + column + t % 2 * 32 + j] = sums[j];
}
// Plain staging by 4-byte copies, transposed and straight.
KERNEL(staging_copy) {
    BEGIN
    __shared__ int words[32 * 33];
    const int t = threadIdx.x;
    for (int part = t; part < 1024; part += blockDim.x) __pipeline_memcpy_async(&words[part % 32 * 33 + part / 32], source + (blockIdx.x * 1024 + part) % count, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += words[(t & 31) * 33 + k] * (k + 1);
    target[i] = sum;
}
KERNEL(staging_copy_wide) {
    BEGIN
    __shared__ int4 words[256];
    const int t = threadIdx.x;
    for (int part = t; part < 256; part += blockDim.x) __pipeline_memcpy_async(&words[(part * 9) & 255], reinterpret_cast<const int4*>(source) + (part * 3) % (count / 4), 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    target[i] = words[t].x + words[(t * 7) & 255].w;
}

// Bitonic sort of 256 numbers in shared memory by 128 threads.
KERNEL(bitonic_sort) {
    __shared__ int words[256];
    const int t = threadIdx.x, base = blockIdx.x * 256;
    words[t] = source[base + t];
    words[t + 128] = source[base + t + 128];
    for (int size = 2; size <= 256; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            __syncthreads();
            const int at = 2 * t - (t & (step - 1));
            const bool up = (t & (size / 2)) == 0;
            const int first = words[at], second = words[at + step];
            if ((first > second) == up) { words[at] = second; words[at + step] = first; }
        }
    __syncthreads();
    target[base + t] = words[t];
    target[base + t + 128] = words[t + 128];
}
KERNEL(bitonic_by_partner) {
    __shared__ int words[128];
    const int t = threadIdx.x, base = blockIdx.x * 128;
    words[t] = source[base + t];
    __syncthreads();
    for (int size = 2; size <= 128; size *= 2)
        for (int step = size / 2; step; step /= 2) {
            const int other = t ^ step;
            if (other > t) {
                const int first = words[t], second = words[other];
                if ((t & size) == 0 ? first > second : first < second) { words[t] = second; words[other] = first; }
            }
            __syncthreads();
        }
    target[base + t] = words[t];
}

// Half atomics through compare-and-swap; sums of whole numbers, so that no order shows.
KERNEL(half_by_swap) {
    BEGIN
    unsigned int* const word = reinterpret_cast<unsigned int*>(target) + (source[i] & 63);
    unsigned int old = *word, seen;
    do {
        seen = old;
        const __half sum = __hadd(__ushort_as_half((unsigned short)(seen & 0xffffu)), __float2half(1.0f));
        old = atomicCAS(word, seen, (seen & 0xffff0000u) | __half_as_ushort(sum));
    } while (old != seen);
}
extern "C" __global__ void half_atomics(int count, const int* source, __half* target) {
    BEGIN
    atomicAdd(target + (source[i] & 127), __float2half(1.0f));
}
KERNEL(shared_half_by_swap) {
    BEGIN
    __shared__ unsigned int words[64];
    if (threadIdx.x < 64) words[threadIdx.x] = 0;
    __syncthreads();
    unsigned int* const word = words + (source[i] & 31) + (threadIdx.x >> 6 << 5) % 64;
    unsigned int old = *word, seen;
    do {
        seen = old;
        old = atomicCAS(word, seen, seen + 3);
    } while (old != seen);
    __syncthreads();
    if (threadIdx.x < 64) target[blockIdx.x * 64 + threadIdx.x] = words[threadIdx.x];
}

// A vectorised SGEMM: 64 x 64 x 8 tiles, float4 loads and stores, 4 x 4 sums a thread (256 threads).
extern "C" __global__ void vector_sgemm(int m, int n, int k, const float* a, const float* b, float* c) {
    __shared__ float as[8][64], bs[8][64];
    const int row = blockIdx.y * 64, column = blockIdx.x * 64, t = threadIdx.x, tx = t % 16, ty = t / 16;
    float sums[4][4] = {};
    for (int from = 0; from < k; from += 8) {
        if (t < 128) {
            const float4 part = *reinterpret_cast<const float4*>(a + (row + t / 2) * k + from + t % 2 * 4);
            as[t % 2 * 4][t / 2] = part.x; as[t % 2 * 4 + 1][t / 2] = part.y; as[t % 2 * 4 + 2][t / 2] = part.z; as[t % 2 * 4 + 3][t / 2] = part.w;
        } else {
            const int u = t - 128;
            *reinterpret_cast<float4*>(&bs[u / 16][u % 16 * 4]) = *reinterpret_cast<const float4*>(b + (from + u / 16) * n + column + u % 16 * 4);
        }
        __syncthreads();
        for (int d = 0; d < 8; ++d) {
            const float4 x = *reinterpret_cast<const float4*>(&as[d][ty * 4]), y = *reinterpret_cast<const float4*>(&bs[d][tx * 4]);
            const float xs[4] = {x.x, x.y, x.z, x.w}, ys[4] = {y.x, y.y, y.z, y.w};
            for (int r = 0; r < 4; ++r) for (int s = 0; s < 4; ++s) sums[r][s] += xs[r] * ys[s];
        }
        __syncthreads();
    }
    for (int r = 0; r < 4; ++r) *reinterpret_cast<float4*>(c + (row + ty * 4 + r) * n + column + tx * 4) = make_float4(sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
}

// One elected lane, and what a uniform register takes from one lane.
KERNEL(elected) {
    BEGIN
    int value = source[i];
    unsigned int chosen = 0;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    target[i] = value * 2 + chosen;
}
// Vector reductions in global memory.
extern "C" __global__ void vector_reductions(int count, const int* source, float* target) {
    BEGIN
    float* const at = target + (source[i] & 15) * 4;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" :: "l"(at), "f"(1.0f), "f"(2.0f), "f"(3.0f), "f"(4.0f) : "memory");
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" :: "l"(at), "f"(1.0f), "f"(2.0f) : "memory");
}
extern "C" __global__ void vector_half_reductions(int count, const int* source, __half2* target) {
    BEGIN
    const unsigned int one = 0x3c003c00u;
    asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %1, %1, %1};" :: "l"(target + (source[i] & 15) * 4), "r"(one) : "memory");
    atomicAdd(target + 64 + (source[i] & 15), __floats2half2_rn(1.0f, 2.0f));
}
// atomicAdd through a pointer of either memory.
KERNEL(generic_atomics) {
    BEGIN
    __shared__ int words[32];
    if (threadIdx.x < 32) words[threadIdx.x] = 0;
    __syncthreads();
    int* const at = source[i] & 1 ? words + (source[i] >> 1 & 31) : target + 64 + (source[i] >> 1 & 31);
    atomicAdd(at, source[i]);
    atomicMax(at, 3);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(target + threadIdx.x, words[threadIdx.x]);
}
// Matrices stored by STSM.
KERNEL(store_matrices) {
    BEGIN
    __shared__ alignas(16) unsigned int words[4][32 * 4];
    const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
    const unsigned int a = source[i], b = a * 3, c = a * 5, d = a * 7;
    const unsigned int at = address_of(&words[warp][lane * 4]);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
    __syncwarp();
    unsigned int sum = words[warp][lane] * 3 + words[warp][lane + 32] * 5 + words[warp][lane + 64] * 7 + words[warp][lane + 96];
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" :: "r"(at), "r"(a), "r"(d) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(address_of(&words[warp][64 + (lane & 7) * 4])), "r"(c) : "memory");
    __syncwarp();
    target[i] = sum * 11 + words[warp][lane] + words[warp][lane + 32] * 13 + words[warp][lane + 64] * 17;
}
// Conversions to narrow types, both of a pair: bits in, bits out.
extern "C" __global__ void narrow_conversions(int count, const float* source, unsigned int* target) {
    BEGIN
    const float a = source[2 * i], b = source[2 * i + 1];
    unsigned short e4 = 0, e5 = 0;
    unsigned int h4 = 0, h5 = 0, tf = 0, tz = 0;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e4) : "f"(a), "f"(b));
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(e5) : "f"(a), "f"(b));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h4) : "h"((unsigned short)(i * 257 ^ 0x8000)));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(h5) : "h"((unsigned short)(i * 257 ^ 0x80)));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(tf) : "f"(a));
    asm("cvt.rn.relu.tf32.f32 %0, %1;" : "=r"(tz) : "f"(b));
    unsigned int half_pair = 0, bf = 0, sat = 0;
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(half_pair) : "f"(a), "f"(b));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bf) : "f"(a), "f"(b));
    asm("cvt.rn.satfinite.relu.e4m3x2.f16x2 %0, %1;" : "=h"(e4) : "r"(half_pair));
    sat = e4;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e4) : "f"(a), "f"(b));
    unsigned int* const to = target + i * 8;
    to[0] = e4; to[1] = e5; to[2] = h4; to[3] = h5; to[4] = tf; to[5] = tz; to[6] = bf; to[7] = sat ^ half_pair << 16;
}
// R2UR under a predicate: addresses of descriptors and barriers chosen by one warp.
KERNEL(uniform_choice) {
    BEGIN
    __shared__ alignas(16) int words[2][128];
    __shared__ unsigned long long barriers[2];
    const int which = __shfl_sync(0xffffffffu, source[blockIdx.x] & 1, 0);
    if (threadIdx.x < 2) asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(address_of(barriers + threadIdx.x)));
    __syncthreads();
    const unsigned int at = address_of(barriers + which);
    if (threadIdx.x == 0) {
        asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }" :: "r"(at), "r"(512) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(address_of(words[which])), "l"(source + blockIdx.x * 128), "r"(512), "r"(at) : "memory");
    }
    try_for(at, 0);
    target[i] = words[which][threadIdx.x] + which;
}
