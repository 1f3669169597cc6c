// Tensor cores through wmma and mma.sync, cp.async where the architecture has it.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
#define KERNEL extern "C" __global__ void

KERNEL wmma_half(const half* a, const half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int k = 0; k < 4; ++k) {
        wmma::load_matrix_sync(fa, a + k * 16, 64);
        wmma::load_matrix_sync(fb, b + k * 16, 64);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
KERNEL wmma_half_half(const half* a, const half* b, half* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, half> fc;
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::load_matrix_sync(fc, c, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
KERNEL wmma_int(const signed char* a, const signed char* b, int* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}
#if __CUDA_ARCH__ >= 800
KERNEL wmma_double(const double* a, const double* b, double* c) {
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
    wmma::fill_fragment(fc, 0.0);
    wmma::load_matrix_sync(fa, a, 4);
    wmma::load_matrix_sync(fb, b, 4);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 8, wmma::mem_row_major);
}
KERNEL async_pipeline(const float4* in, float* out, int n) {
    __shared__ alignas(16) float4 tiles[2][32];
    unsigned at = (unsigned)__cvta_generic_to_shared(&tiles[0][threadIdx.x & 31]);
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at + (i & 1) * 512), "l"(in + i * 32));
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        sum += tiles[i & 1][31 - (threadIdx.x & 31)].x;
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
KERNEL matrix_loads(const half* in, unsigned* out) {
    __shared__ alignas(16) half s[32 * 8];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    unsigned at = (unsigned)__cvta_generic_to_shared(&s[(threadIdx.x & 31) * 8]);
    unsigned a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    float x = 0, y = 0, z = 0, w = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(x), "+f"(y), "+f"(z), "+f"(w) : "r"(a), "r"(b), "r"(c), "r"(d), "r"(a), "r"(c));
    out[threadIdx.x] = a + b + c + d + __float_as_uint(x + y + z + w);
}
#endif
