// Shared memory: bank conflicts by the active lanes, the width and the block's shape; asynchronous copies on both sides.
#include <cuda_pipeline.h>
#define K extern "C" __global__ void

//= block=256 expect=
K line(const float* a, float* b) {
    __shared__ float s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[255 - threadIdx.x];
}
//= block=32 expect=bank conflict
K column(const float* a, float* b) {
    __shared__ float s[32][32];
    for (int y = 0; y < 32; ++y) s[y][threadIdx.x] = a[y * 32 + threadIdx.x];
    __syncthreads();
    float t = 0;
    for (int y = 0; y < 32; ++y) t += s[threadIdx.x][y];
    b[threadIdx.x] = t;
}
//= block=32 expect=
K column_padded(const float* a, float* b) {
    __shared__ float s[32][33];
    for (int y = 0; y < 32; ++y) s[y][threadIdx.x] = a[y * 32 + threadIdx.x];
    __syncthreads();
    float t = 0;
    for (int y = 0; y < 32; ++y) t += s[threadIdx.x][y];
    b[threadIdx.x] = t;
}
//= block=256 expect=bank conflict
K stride_two(const float* a, float* b) {
    __shared__ float s[512];
    s[threadIdx.x] = a[threadIdx.x];
    s[threadIdx.x + 256] = a[threadIdx.x + 256];
    __syncthreads();
    b[threadIdx.x] = s[2 * threadIdx.x];
}
//= block=256 expect=
K stride_three(const float* a, float* b) {
    __shared__ float s[768];
    for (int i = threadIdx.x; i < 768; i += 256) s[i] = a[i];
    __syncthreads();
    b[threadIdx.x] = s[3 * threadIdx.x];
}
//= block=256 expect=bank conflict
K stride_four(const float* a, float* b) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 256) s[i] = a[i];
    __syncthreads();
    b[threadIdx.x] = s[4 * threadIdx.x];
}
//= block=32x8 expect=bank conflict
K transpose_tile(const float* a, float* b, int n) {
    __shared__ float s[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];
}
//= block=32x8 expect=
K transpose_padded(const float* a, float* b, int n) {
    __shared__ float s[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) s[threadIdx.y + j][threadIdx.x] = a[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) b[(y + j) * n + x] = s[threadIdx.x][threadIdx.y + j];
}
//= block=32x32 expect=
K transpose_swizzled(const float* a, float* b) {
    __shared__ float s[32][32];
    s[threadIdx.y][threadIdx.x ^ threadIdx.y] = a[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    b[threadIdx.y * 32 + threadIdx.x] = s[threadIdx.x][threadIdx.y ^ threadIdx.x];
}
//= block=16x16 expect= may=barrier
K gemm_tile(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += s[threadIdx.y][j] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
//= block=16x16 expect=bank conflict may=barrier
K gemm_tile_turned(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.x][threadIdx.y] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += s[j][threadIdx.y] * t[j][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
//= block=16 expect=
K wide_half_warp(const float4* a, float4* b) {
    __shared__ float4 s[16];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[15 - threadIdx.x];
}
//= block=256 expect=
K wide_line(const float4* a, float4* b) {
    __shared__ float4 s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x ^ 1];
}
//= block=32 expect=bank conflict
K wide_rows(const float4* a, float4* b) {
    __shared__ float4 s[32][8];
    for (int k = 0; k < 8; ++k) s[k * 4 + threadIdx.x / 8][threadIdx.x % 8] = a[k * 32 + threadIdx.x];
    __syncthreads();
    float4 v = s[threadIdx.x][0], w = s[threadIdx.x][1];
    b[threadIdx.x] = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);
}
//= block=32 expect=
K wide_masked(const float* a, float* b) {
    __shared__ float s[64];
    s[threadIdx.x] = a[threadIdx.x];
    s[threadIdx.x + 32] = a[threadIdx.x + 32];
    __syncthreads();
    float4 v = *(const float4*)&s[(threadIdx.x % 2) * 16 + 4];
    b[threadIdx.x] = v.x + v.y + v.z + v.w;
}
//= block=32 expect=
K wide_of_eight(const float4* a, float4* b) {
    __shared__ float4 s[32];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x & 7];
}
//= block=256 expect=
K few_lanes(const float* a, float* b) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 256) s[i] = a[i];
    __syncthreads();
    if (threadIdx.x == 0) b[0] = s[512];
}
//= block=256 expect=bank conflict
K eight_lanes(const float* a, float* b) {
    __shared__ float s[1024];
    for (int i = threadIdx.x; i < 1024; i += 256) s[i] = a[i];
    __syncthreads();
    if (threadIdx.x < 8) b[threadIdx.x] = s[threadIdx.x * 128];
}
//= block=8 expect=bank conflict
K block_of_eight(const float* a, float* b) {
    __shared__ float s[256];
    for (int i = threadIdx.x; i < 256; i += 8) s[i] = a[i];
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x * 32];
}
//= block=256 expect=
K broadcast(const float* a, float* b) {
    __shared__ float s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    float t = 0;
    for (int k = 0; k < 256; ++k) t = t * 0.5f + s[k];
    b[threadIdx.x] = t;
}
//= block=256 expect=
K tree(const float* a, float* b) {
    __shared__ float s[256];
    s[threadIdx.x] = a[blockIdx.x * 256 + threadIdx.x];
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0) b[blockIdx.x] = s[0];
}
//= block=256 expect=
K gather(const int* a, float* b, const float* c) {
    __shared__ float s[256];
    s[threadIdx.x] = c[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[a[threadIdx.x] & 255];
}
//= block=256 expect=bank conflict
K doubles_two(const double* a, double* b) {
    __shared__ double s[512];
    s[threadIdx.x] = a[threadIdx.x];
    s[threadIdx.x + 256] = a[threadIdx.x + 256];
    __syncthreads();
    b[threadIdx.x] = s[2 * threadIdx.x];
}
//= block=256 expect=
K doubles(const double* a, double* b) {
    __shared__ double s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[255 - threadIdx.x];
}
//= block=256 expect=
K bytes(const unsigned char* a, unsigned char* b) {
    __shared__ unsigned char s[256];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[255 - threadIdx.x];
}
//= block=256 expect=bank conflict
K store_column(const float* a, float* b) {
    __shared__ float s[8][1024];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int k = 0; k < 32; ++k) s[warp][lane * 32 + k] = a[k * 256 + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 32; ++k) b[k * 256 + threadIdx.x] = s[warp][k * 32 + lane];
}
//= block=64 expect=bank conflict
K structures(const float* a, float* b) {
    struct Cell { float x, y, z, w; };
    __shared__ Cell s[64];
    s[threadIdx.x].x = a[threadIdx.x];
    s[threadIdx.x].y = a[threadIdx.x + 64];
    __syncthreads();
    b[threadIdx.x] = s[63 - threadIdx.x].x * s[threadIdx.x ^ 1].y;
}
//= block=256 expect= may=uncoalesced
K copies_padded(const float* a, float* b, int n) {  // the global side is a line, the shared side a padded column
    __shared__ float s[32 * 33];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int k = warp; k < 32; k += 8) __pipeline_memcpy_async(&s[lane * 33 + k], &a[(blockIdx.x * 32 + k) * 32 + lane], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x];
}
//= block=256 expect=uncoalesced
K copies_strided(const float* a, float* b, int n) {
    __shared__ float s[256];
    __pipeline_memcpy_async(&s[threadIdx.x], &a[threadIdx.x * 32], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[threadIdx.x] = s[255 - threadIdx.x];
}
//= block=256 expect=bank conflict
K copies_in_one_bank(const float* a, float* b) {
    __shared__ float s[32 * 32 * 8];
    __pipeline_memcpy_async(&s[threadIdx.x * 32], &a[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x];
}
//= block=256 expect=
K copies_wide(const float4* a, float4* b) {
    __shared__ float4 s[256];
    __pipeline_memcpy_async(&s[threadIdx.x], &a[blockIdx.x * 256 + threadIdx.x], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[threadIdx.x] = s[255 - threadIdx.x];
}
__device__ unsigned ldsm(unsigned address) {
    unsigned p, q, r, s;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(p), "=r"(q), "=r"(r), "=r"(s) : "r"(address));
    return p + q + r + s;
}
//= block=32 expect=bank conflict
K matrix_rows_of_128(const uint4* a, unsigned* b) {
    __shared__ uint4 s[32 * 8];
    for (int k = 0; k < 8; ++k) s[k * 32 + threadIdx.x] = a[k * 32 + threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = ldsm((unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 128);
}
//= block=32 expect=
K matrix_rows_padded(const uint4* a, unsigned* b) {
    __shared__ uint4 s[32 * 9];
    for (int k = 0; k < 9; ++k) s[k * 32 + threadIdx.x] = a[k * 32 + threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = ldsm((unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 144);
}
//= block=32 expect=bank conflict
K matrix_rows_of_64(const uint4* a, unsigned* b, int n) {
    __shared__ uint4 s[32 * 4];
    unsigned sum = 0;
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < 4; ++k) s[k * 32 + threadIdx.x] = a[(i * 4 + k) * 32 + threadIdx.x];
        __syncthreads();
        sum += ldsm((unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 64);
        __syncthreads();
    }
    b[threadIdx.x] = sum;
}
//= block=- expect=bank conflict
K unknown_block(const float* a, float* b) {
    __shared__ float s[2048];
    s[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    b[threadIdx.x] = s[threadIdx.x * 2];
}
//= block=256 expect=
K data_dependent_trip(const int* a, float* b) {
    __shared__ float s[4096];
    s[threadIdx.x] = 1.0f;
    __syncthreads();
    int k = threadIdx.x;
    while (a[k] > 0) k = (k + 64) & 4095;
    b[threadIdx.x] = s[k];
}
