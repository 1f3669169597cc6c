// Right kernels in the manner of public code: pipelines of asynchronous copies, and mbarriers.
// A line that ends with //- orders accesses: a kernel without it has a finding.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include "common.cuh"
namespace cg = cooperative_groups;

// CASE copy_two_buffers ok grid=2 block=64 n=5 since=80
KERNEL(copy_two_buffers) {
    __shared__ int t[2][64];
    int x = threadIdx.x, sum = 0;
    const int* from = a + blockIdx.x * 512;
    __pipeline_memcpy_async(&t[0][x], &from[x], 4);
    __pipeline_commit();
    for (int k = 0; k < n; ++k) {
        if (k + 1 < n) __pipeline_memcpy_async(&t[(k + 1) & 1][x], &from[64 * (k + 1) + x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);  //-
        __syncthreads();  //-
        sum += t[k & 1][63 - x];
        __syncthreads();  //-
    }
    b[blockIdx.x * 64 + x] = sum;
}

// CASE copy_ring ok grid=1 block=64 n=8 since=80
KERNEL(copy_ring) {
    __shared__ __align__(16) int4 t[4][16];
    int x = threadIdx.x, sum = 0;
    for (int k = 0; k < 3; ++k) {
        if (x < 16) __pipeline_memcpy_async(&t[k][x], &((int4*)a)[16 * k + x], 16);
        __pipeline_commit();
    }
    for (int k = 0; k < n; ++k) {
        __pipeline_wait_prior(2);  //-
        __syncthreads();  //-
        if (x < 16 && k + 3 < n) __pipeline_memcpy_async(&t[(k + 3) & 3][x], &((int4*)a)[16 * (k + 3) + x], 16);
        __pipeline_commit();
        sum += ((int*)t[k & 3])[63 - x];
    }
    b[x] = sum;
}

// CASE copy_wait_all ok grid=1 block=64 since=80
KERNEL(copy_wait_all) {
    __shared__ int t[64];
    unsigned to = __cvta_generic_to_shared(&t[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(a + threadIdx.x) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");  //-
    __syncthreads();  //-
    b[threadIdx.x] = t[63 - threadIdx.x];
}

// CASE copy_of_group ok grid=1 block=64 since=80
KERNEL(copy_of_group) {
    __shared__ __align__(16) int t[256];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, t, a, sizeof(t));
    cg::wait(block);  //-
    b[threadIdx.x] = t[255 - threadIdx.x] + t[threadIdx.x];
}

// CASE barrier_object ok grid=2 block=64 n=3 since=80
KERNEL(barrier_object) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier bar;
    __shared__ int t[64];
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    int v = a[blockIdx.x * 64 + threadIdx.x];
    for (int k = 0; k < n; ++k) {
        t[threadIdx.x] = v;
        bar.arrive_and_wait();  //-
        v += t[63 - threadIdx.x];
        bar.arrive_and_wait();  //-
    }
    b[blockIdx.x * 64 + threadIdx.x] = v;
}

// CASE barrier_split ok grid=1 block=64 since=80
KERNEL(barrier_split) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier bar;
    __shared__ int t[64];
    if (threadIdx.x == 0) init(&bar, 64);
    __syncthreads();
    t[threadIdx.x] = a[threadIdx.x];
    auto token = bar.arrive();
    int own = a[64 + threadIdx.x];
    bar.wait(std::move(token));  //-
    b[threadIdx.x] = t[63 - threadIdx.x] + own;
}

// CASE barrier_of_copies ok grid=1 block=64 since=80
KERNEL(barrier_of_copies) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ barrier bar;
    __shared__ __align__(16) int t[256];
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&bar, 64);
    block.sync();
    cuda::memcpy_async(&t[4 * threadIdx.x], &a[4 * threadIdx.x], cuda::aligned_size_t<16>(16), bar);
    bar.arrive_and_wait();  //-
    b[threadIdx.x] = t[255 - threadIdx.x];
}

// CASE pipeline_object ok grid=1 block=64 n=4 since=80
KERNEL(pipeline_object) {
    __shared__ __align__(16) int t[2][256];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline();
    int sum = 0;
    pipe.producer_acquire();
    cuda::memcpy_async(&t[0][4 * threadIdx.x], &a[4 * threadIdx.x], cuda::aligned_size_t<16>(16), pipe);
    pipe.producer_commit();
    for (int k = 0; k < n; ++k) {
        if (k + 1 < n) {
            pipe.producer_acquire();
            cuda::memcpy_async(&t[(k + 1) & 1][4 * threadIdx.x], &a[256 * (k + 1) + 4 * threadIdx.x],
                               cuda::aligned_size_t<16>(16), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        block.sync();  //-
        sum += t[k & 1][255 - threadIdx.x];
        block.sync();  //-
        pipe.consumer_release();
    }
    b[threadIdx.x] = sum;
}

// CASE mbarrier_by_hand ok grid=1 block=64 n=4 since=80
KERNEL(mbarrier_by_hand) {
    __shared__ unsigned long long bar;
    __shared__ int t[64];
    unsigned at = __cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
    __syncthreads();
    int v = a[threadIdx.x];
    for (int k = 0; k < n; ++k) {
        t[threadIdx.x] = v;
        for (int turn = 0; turn < 2; ++turn) {
            unsigned long long state;
            asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
            unsigned done = 0;
            while (!done)
                asm volatile(
                    "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                    : "=r"(done) : "r"(at), "l"(state) : "memory");
            if (turn == 0) v += t[63 - threadIdx.x];
        }
    }
    b[threadIdx.x] = v;
}

// CASE mbarrier_ring ok grid=1 block=64 n=6 since=80
KERNEL(mbarrier_ring) {  // one warp fills, one empties, full and empty barriers for two places
    __shared__ unsigned long long full[2], empty[2];
    __shared__ int t[2][32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x == 0)
        for (int k = 0; k < 2; ++k) {
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"((unsigned)__cvta_generic_to_shared(&full[k])));
            asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"((unsigned)__cvta_generic_to_shared(&empty[k])));
        }
    __syncthreads();
    auto arrive = [](unsigned long long* bar) {
        asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(
                         (unsigned)__cvta_generic_to_shared(bar)) : "memory");
    };
    auto wait = [](unsigned long long* bar, int parity) {
        unsigned done = 0;
        while (!done)
            asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                         : "=r"(done)
                         : "r"((unsigned)__cvta_generic_to_shared(bar)), "r"(parity) : "memory");
    };
    int sum = 0;
    if (threadIdx.x < 32) {
        for (int k = 0; k < n; ++k) {
            if (k >= 2) wait(&empty[k & 1], (k / 2 - 1) & 1);  //-
            t[k & 1][lane] = a[32 * k + lane];
            arrive(&full[k & 1]);
        }
    } else {
        for (int k = 0; k < n; ++k) {
            wait(&full[k & 1], (k / 2) & 1);  //-
            sum += t[k & 1][31 - lane];
            arrive(&empty[k & 1]);
        }
        b[lane] = sum;
    }
}
