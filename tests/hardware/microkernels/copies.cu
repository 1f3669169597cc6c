// cp.async in every width, with zero fill and groups; ldmatrix; wmma and mma.sync.

#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

template <int BYTES>
__global__ void async_copy(int count, const char* source, char* target) {
    __shared__ __align__(16) char items[128 * BYTES];
    const int t = threadIdx.x;
    __pipeline_memcpy_async(&items[t * BYTES], &source[(blockIdx.x * 128 + t) * BYTES], BYTES);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    for (int k = 0; k < BYTES; ++k) target[(blockIdx.x * 128 + t) * BYTES + k] = items[(127 - t) * BYTES + k];
}

extern "C" __global__ void async_zero_fill(int count, const float4* source, float4* target) {
    __shared__ float4 items[128];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 128 + t;
    __pipeline_memcpy_async(&items[t], i < count ? &source[i] : source, 16, i < count ? (t & 3) * 4 : 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    target[i] = items[t ^ 1];
}

extern "C" __global__ void async_stages(int tiles, const float* source, float* target) {
    __shared__ float stages[3][128];
    const int t = threadIdx.x;
    for (int tile = 0; tile < 2; ++tile) {
        if (tile < tiles) __pipeline_memcpy_async(&stages[tile][t], &source[tile * 128 + t], 4);
        __pipeline_commit();
    }
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
        const int next = tile + 2;
        if (next < tiles) __pipeline_memcpy_async(&stages[next % 3][t], &source[next * 128 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum = sum * 0.5f + stages[tile % 3][t ^ 33];
        __syncthreads();
    }
    target[t] = sum;
}

extern "C" __global__ void wmma_tile(int iterations, const __half* a, const __half* b, float* c) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fragment_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fragment_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < iterations; ++k) {
        wmma::load_matrix_sync(fragment_a, a + k * 256, 16);
        wmma::load_matrix_sync(fragment_b, b + k * 256, 16);
        wmma::mma_sync(sum, fragment_a, fragment_b, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void wmma_half_sum(int iterations, const __half* a, const __half* b, __half* c) {
    using namespace nvcuda;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::col_major> fragment_a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fragment_b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum;
    wmma::fill_fragment(sum, __float2half(0.0f));
    for (int k = 0; k < iterations; ++k) {
        wmma::load_matrix_sync(fragment_a, a + k * 256, 16);
        wmma::load_matrix_sync(fragment_b, b + k * 256, 16);
        wmma::mma_sync(sum, fragment_a, fragment_b, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

// m16n8k16 by inline PTX, fragments through ldmatrix: A is 16x16 row-major, B 16x8 column-major.
extern "C" __global__ void mma_sync_tile(int iterations, const __half* a, const __half* b, float* c) {
    __shared__ __align__(16) __half tile_a[16][24];
    __shared__ __align__(16) __half tile_b[8][24];
    const int lane = threadIdx.x;
    float sum[4] = {};
    for (int k = 0; k < iterations; ++k) {
        for (int i = lane; i < 256; i += 32) tile_a[i / 16][i % 16] = a[k * 256 + i];
        for (int i = lane; i < 128; i += 32) tile_b[i / 16][i % 16] = b[k * 128 + i];
        __syncwarp();
        unsigned int fa[4], fb[2];
        const unsigned int at = static_cast<unsigned int>(__cvta_generic_to_shared(&tile_a[lane % 16][lane / 16 * 8]));
        const unsigned int bt = static_cast<unsigned int>(__cvta_generic_to_shared(&tile_b[lane % 8][lane / 8 % 2 * 8]));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3]) : "r"(at));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(fb[0]), "=r"(fb[1]) : "r"(bt));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%0,%1,%2,%3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        __syncwarp();
    }
    const int row = lane / 4, column = lane % 4 * 2;
    c[row * 8 + column] = sum[0];
    c[row * 8 + column + 1] = sum[1];
    c[(row + 8) * 8 + column] = sum[2];
    c[(row + 8) * 8 + column + 1] = sum[3];
}

// 16 bytes per thread by cp.async.cg, one warp: chunks (of 16 bytes) from lane / repeat * source_step + source_shift, to
// lane * shared_step + shared_shift. GUARDED: a predicate keeps the lanes from \p count on from copying.
template <bool GUARDED>
__global__ void bypass_copy(int count, int source_shift, int repeat, int source_step, int shared_shift, int shared_step,
                            const float4* source, float4* target) {
    __shared__ float4 items[128];
    const int lane = threadIdx.x;
    const float4* from = source + lane / repeat * source_step + source_shift;
    float4* item = &items[(lane * shared_step + shared_shift) & 127];
    *item = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
    __syncthreads();
    const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(item));
    if (GUARDED) {
        asm volatile("{.reg .pred p; setp.lt.s32 p, %2, %3; @p cp.async.cg.shared.global [%0], [%1], 16;}"
                     :: "r"(to), "l"(from), "r"(lane), "r"(count) : "memory");
    } else {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    target[lane] = *item;
}
