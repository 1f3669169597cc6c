// GEMM as Hopper does it: tensor copies by TMA, an mbarrier pipeline, warpgroup products (wgmma). C = A * B.
//
// Half inputs, float sums, row-major; M must be a multiple of 128, N of 256, K of 64. 384 threads: two warpgroups
// multiply, 64 rows of the 128 x 256 tile each, and a third one has a thread that asks for copies, up to STAGES tiles
// ahead. A stage is full when its bytes have arrived, and empty when both warpgroups are done with it. Both tiles lie
// in shared memory in rows of 128 bytes, swizzled, as the tensor maps say. Needs sm_90a (-arch=sm_90a).
//
// In the table: hardly any instruction is left. One HGMMA of a warpgroup multiplies 64x16 by 16x256, and one UTMALDG
// moves up to 16 KiB; no thread computes an address of an element.

#include <cuda.h>
#include <cuda_fp16.h>

#include <cstdint>

#ifndef STAGES
#define STAGES 4
#endif
constexpr int BM = 128, BN = 256, BK = 64;
constexpr int GROUP = 128, MULTIPLIERS = 2;  // threads of a warpgroup; warpgroups that multiply
constexpr int CHUNK = 64;                    // halves in a swizzled row of 128 bytes
constexpr int PRODUCT_K = 16;                // K of one wgmma
constexpr int SUMS = BN / 2;                 // registers of a thread for 64 x BN sums

struct alignas(1024) Stage {
    __half a[BM * BK];
    __half b[BK * BN];
};

__device__ inline uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ inline void barrier_init(uint64_t* barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count));
}

__device__ inline void barrier_expect(uint64_t* barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
}

__device__ inline void barrier_arrive(uint64_t* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ inline void barrier_wait(uint64_t* barrier, int parity) {
    asm volatile(
        "{\n.reg .pred done;\nagain:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra again;\n}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
}

__device__ inline void copy_tile(void* to, const CUtensorMap* map, uint64_t* barrier, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            shared_address(to)),
        "l"(map), "r"(shared_address(barrier)), "r"(x), "r"(y)
        : "memory");
}

// A matrix descriptor (PTX ISA): rows of 128 swizzled bytes, eight of them in 1024 bytes; `leading` is the distance of
// the next 64 columns of an operand whose columns lie together.
__device__ inline uint64_t descriptor(const void* tile, int leading) {
    constexpr uint64_t SWIZZLE_128 = 1ull << 62, EIGHT_ROWS = 1024;
    const uint64_t address = shared_address(tile) & 0x3ffff;
    return address >> 4 | static_cast<uint64_t>(leading >> 4) << 16 | EIGHT_ROWS >> 4 << 32 | SWIZZLE_128;
}

#define R4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define R8(i) R4(i), R4(i + 4)
#define R32(i) R8(i), R8(i + 8), R8(i + 16), R8(i + 24)
// d += a * b, for a of 64 x 16 by rows and b of 16 x 256 by columns of 64.
__device__ inline void multiply(float (&d)[SUMS], uint64_t a, uint64_t b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, "
        "%23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "
        "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, %64, "
        "%65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, "
        "%86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, "
        "%106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, "
        "%124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 1;\n"
        : R32(0), R32(32), R32(64), R32(96)
        : "l"(a), "l"(b));
}

extern "C" __global__ void __launch_bounds__(GROUP * (MULTIPLIERS + 1), 1)
gemm_wgmma(int N, int K, const __grid_constant__ CUtensorMap A, const __grid_constant__ CUtensorMap B, float* C) {
    extern __shared__ __align__(1024) unsigned char memory[];
    Stage* const stages = reinterpret_cast<Stage*>(memory);
    __shared__ uint64_t full[STAGES], empty[STAGES];
    const int group = threadIdx.x / GROUP, steps = K / BK;
    const int row0 = blockIdx.y * BM, column0 = blockIdx.x * BN;

    if (threadIdx.x == 0) {
        for (int stage = 0; stage < STAGES; ++stage) {
            barrier_init(&full[stage], 1);
            barrier_init(&empty[stage], MULTIPLIERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    if (group == MULTIPLIERS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == MULTIPLIERS * GROUP) {
            for (int step = 0; step < steps; ++step) {
                const int stage = step % STAGES, turn = step / STAGES;
                barrier_wait(&empty[stage], (turn & 1) ^ 1);
                barrier_expect(&full[stage], sizeof(Stage));
                copy_tile(stages[stage].a, &A, &full[stage], step * BK, row0);
                for (int part = 0; part < BN / CHUNK; ++part) {
                    copy_tile(stages[stage].b + part * CHUNK * BK, &B, &full[stage], column0 + part * CHUNK, step * BK);
                }
            }
        }
        return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sums[SUMS] = {};
    for (int step = 0; step < steps; ++step) {
        const int stage = step % STAGES, turn = step / STAGES;
        barrier_wait(&full[stage], turn & 1);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const __half* a = stages[stage].a + group * 64 * BK;
        const __half* b = stages[stage].b;
#pragma unroll
        for (int k = 0; k < BK; k += PRODUCT_K) {
            multiply(sums, descriptor(a + k, 16), descriptor(b + k * CHUNK, CHUNK * BK * sizeof(__half)));
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        if (threadIdx.x % GROUP == 0) barrier_arrive(&empty[stage]);
    }

    // A thread holds pairs of columns of two rows, eight rows apart, in every eight columns.
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    float* to = C + static_cast<size_t>(row0 + group * 64 + warp * 16 + lane / 4) * N + column0 + lane % 4 * 2;
#pragma unroll
    for (int n = 0; n < BN; n += 8) {
        *reinterpret_cast<float2*>(to + n) = make_float2(sums[n / 2], sums[n / 2 + 1]);
        *reinterpret_cast<float2*>(to + 8 * static_cast<size_t>(N) + n) = make_float2(sums[n / 2 + 2], sums[n / 2 + 3]);
    }
}
