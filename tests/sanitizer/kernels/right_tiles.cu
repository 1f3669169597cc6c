// Right kernels in the manner of public code: tiles, stencils, transposes, matrices; blocks of two dimensions.
// A line that ends with //- orders accesses: a kernel without it has a finding.
#include <mma.h>
#include "common.cuh"

// CASE transpose_padded ok grid=4 block=32 height=8
KERNEL(transpose_padded) {
    __shared__ int t[32][33];
    int tile = blockIdx.x, x0 = (tile & 1) * 32, y0 = (tile >> 1) * 32;
    for (int k = threadIdx.y; k < 32; k += 8) t[k][threadIdx.x] = a[(y0 + k) * 64 + x0 + threadIdx.x];
    __syncthreads();  //-
    for (int k = threadIdx.y; k < 32; k += 8) b[(x0 + k) * 64 + y0 + threadIdx.x] = t[threadIdx.x][k];
}

// CASE gemm_tiles ok grid=4 block=16 height=16
KERNEL(gemm_tiles) {
    __shared__ float p[16][16], q[16][17];
    int row = (blockIdx.x >> 1) * 16 + threadIdx.y, column = (blockIdx.x & 1) * 16 + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 32; k += 16) {
        p[threadIdx.y][threadIdx.x] = f[row * 32 + k + threadIdx.x];
        q[threadIdx.y][threadIdx.x] = f[1024 + (k + threadIdx.y) * 32 + column];
        __syncthreads();  //-
        for (int j = 0; j < 16; ++j) sum += p[threadIdx.y][j] * q[j][threadIdx.x];
        __syncthreads();  //-
    }
    ((float*)b)[row * 32 + column] = sum;
}

// CASE gemm_two_buffers ok grid=4 block=16 height=16
KERNEL(gemm_two_buffers) {
    __shared__ float p[2][16][16], q[2][16][16];
    int row = (blockIdx.x >> 1) * 16 + threadIdx.y, column = (blockIdx.x & 1) * 16 + threadIdx.x;
    float sum = 0;
    p[0][threadIdx.y][threadIdx.x] = f[row * 64 + threadIdx.x];
    q[0][threadIdx.y][threadIdx.x] = f[threadIdx.y * 32 + column];
    for (int k = 0; k < 4; ++k) {
        __syncthreads();  //-
        if (k < 3) {
            p[(k + 1) & 1][threadIdx.y][threadIdx.x] = f[row * 64 + 16 * (k + 1) + threadIdx.x];
            q[(k + 1) & 1][threadIdx.y][threadIdx.x] = f[(16 * (k + 1) + threadIdx.y) * 32 + column];
        }
        for (int j = 0; j < 16; ++j) sum += p[k & 1][threadIdx.y][j] * q[k & 1][j][threadIdx.x];
    }
    ((float*)b)[row * 32 + column] = sum;
}

// CASE gemm_registers ok grid=1 block=64
KERNEL(gemm_registers) {
    __shared__ __align__(16) float p[8][32], q[8][32];
    int x = threadIdx.x, r0 = x / 8 * 4, c0 = x % 8 * 4;
    float sums[4][4] = {};
    for (int k = 0; k < 32; k += 8) {
        float4 left = *(const float4*)&f[x / 2 * 32 + k + x % 2 * 4];
        p[x % 2 * 4 + 0][x / 2] = left.x, p[x % 2 * 4 + 1][x / 2] = left.y;
        p[x % 2 * 4 + 2][x / 2] = left.z, p[x % 2 * 4 + 3][x / 2] = left.w;
        *(float4*)&q[x / 8][x % 8 * 4] = *(const float4*)&f[1024 + (k + x / 8) * 32 + x % 8 * 4];
        __syncthreads();  //-
        for (int j = 0; j < 8; ++j) {
            float4 u = *(float4*)&p[j][r0], v = *(float4*)&q[j][c0];
            float us[4] = {u.x, u.y, u.z, u.w}, vs[4] = {v.x, v.y, v.z, v.w};
            for (int m = 0; m < 4; ++m)
                for (int o = 0; o < 4; ++o) sums[m][o] += us[m] * vs[o];
        }
        __syncthreads();  //-
    }
    for (int m = 0; m < 4; ++m) *(float4*)&((float*)b)[(r0 + m) * 32 + c0] = *(float4*)sums[m];
}

// CASE wmma_tiles ok grid=1 block=64
KERNEL(wmma_tiles) {
    using namespace nvcuda;
    __shared__ __align__(32) half p[16 * 24], q[2][16 * 24];
    __shared__ __align__(32) float out[2][16 * 16];
    int x = threadIdx.x, warp = x / 32;
    for (int i = x; i < 256; i += 64) {
        p[i / 16 * 24 + i % 16] = __float2half(f[i]);
        q[0][i / 16 * 24 + i % 16] = __float2half(f[256 + i]);
        q[1][i / 16 * 24 + i % 16] = __float2half(f[512 + i]);
    }
    __syncthreads();  //-
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> u;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> v;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> s;
    wmma::fill_fragment(s, 0.0f);
    wmma::load_matrix_sync(u, p, 24);
    wmma::load_matrix_sync(v, q[warp], 24);
    wmma::mma_sync(s, u, v, s);
    wmma::store_matrix_sync(out[warp], s, 16, wmma::mem_row_major);
    __syncthreads();  //-
    for (int i = x; i < 256; i += 64) ((float*)b)[i] = out[0][i] + out[1][i];
}

// CASE stencil_row ok grid=4 block=128 n=500
KERNEL(stencil_row) {
    __shared__ int t[128 + 6];
    int i = blockIdx.x * 128 + threadIdx.x, x = threadIdx.x + 3;
    t[x] = i < n ? a[i] : 0;
    if (threadIdx.x < 3) {
        t[threadIdx.x] = i >= 3 ? a[i - 3] : 0;
        t[x + 128] = i + 128 < n ? a[i + 128] : 0;
    }
    __syncthreads();  //-
    if (i >= n) return;
    int sum = 0;
    for (int d = -3; d <= 3; ++d) sum += t[x + d];
    b[i] = sum;
}

// CASE stencil_plane ok grid=4 block=16 height=16
KERNEL(stencil_plane) {
    __shared__ int t[18][18];
    int x0 = (blockIdx.x & 1) * 16 - 1, y0 = (blockIdx.x >> 1) * 16 - 1;
    for (int k = threadIdx.y * 16 + threadIdx.x; k < 18 * 18; k += 256) {
        int x = x0 + k % 18, y = y0 + k / 18;
        t[k / 18][k % 18] = x >= 0 && x < 32 && y >= 0 && y < 32 ? a[y * 32 + x] : 0;
    }
    __syncthreads();  //-
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    b[(y0 + y) * 32 + x0 + x] = t[y][x - 1] + t[y][x + 1] + t[y - 1][x] + t[y + 1][x] - 4 * t[y][x];
}

// CASE stencil_steps ok grid=1 block=128 n=5
KERNEL(stencil_steps) {
    __shared__ float t[2][130];
    int x = threadIdx.x + 1;
    t[0][x] = f[threadIdx.x];
    if (threadIdx.x < 2) t[0][threadIdx.x * 129] = t[1][threadIdx.x * 129] = 0;
    for (int k = 0; k < n; ++k) {
        __syncthreads();  //-
        const float* now = t[k & 1];
        t[1 - (k & 1)][x] = (now[x - 1] + now[x] + now[x + 1]) / 3;
    }
    ((float*)b)[threadIdx.x] = t[n & 1][x];
}

// CASE stencil_volume ok grid=1 block=16 height=8
KERNEL(stencil_volume) {
    __shared__ float plane[10][18];
    int x = threadIdx.x + 1, y = threadIdx.y + 1, at = threadIdx.y * 16 + threadIdx.x;
    for (int k = at; k < 180; k += 128) plane[k / 18][k % 18] = 0;
    float below = 0, now = f[at], above = f[at + 128];
    for (int z = 0; z < 6; ++z) {
        __syncthreads();  //-
        plane[y][x] = now;
        __syncthreads();  //-
        float sum = plane[y][x - 1] + plane[y][x + 1] + plane[y - 1][x] + plane[y + 1][x] + below + above;
        ((float*)b)[z * 128 + at] = sum;
        below = now, now = above, above = f[(z + 2) * 128 + at];
    }
}

// CASE convolution ok grid=2 block=64 shared=528
__constant__ float taps[5] = {1, 4, 6, 4, 1};
KERNEL(convolution) {
    extern __shared__ float t[];
    float* out = t + 68;
    for (int k = threadIdx.x; k < 68; k += 64) t[k] = f[blockIdx.x * 64 + k];
    __syncthreads();  //-
    float sum = 0;
    for (int k = 0; k < 5; ++k) sum += taps[k] * t[threadIdx.x + k];
    out[threadIdx.x] = sum;
    __syncthreads();  //-
    ((float*)b)[blockIdx.x * 64 + threadIdx.x] = out[63 - threadIdx.x];
}

// CASE one_memory_two_uses ok grid=1 block=64
KERNEL(one_memory_two_uses) {
    __shared__ union {
        int keys[64];
        float sums[64];
    } t;
    t.keys[threadIdx.x] = a[threadIdx.x];
    __syncthreads();  //-
    int k = t.keys[threadIdx.x ^ 33];
    __syncthreads();  //-
    t.sums[threadIdx.x] = k * 0.5f;
    __syncthreads();  //-
    ((float*)b)[threadIdx.x] = t.sums[threadIdx.x ^ 47];
}

// CASE own_elements ok grid=2 block=64
KERNEL(own_elements) {
    __shared__ int t[4][64];
    int stack[8], top = 0;
    for (int k = 0; k < 4; ++k) t[k][threadIdx.x] = a[blockIdx.x * 256 + k * 64 + threadIdx.x];
    for (int k = 0; k < 4; ++k)
        if (t[k][threadIdx.x] & 1) stack[top++] = t[k][threadIdx.x];
    int sum = 0;
    while (top) sum = sum * 3 + stack[--top];
    b[blockIdx.x * 64 + threadIdx.x] = sum;
}

// CASE dynamic_programming ok grid=1 block=64
KERNEL(dynamic_programming) {  // longest common subsequence along anti-diagonals
    __shared__ short row[3][65];
    int x = threadIdx.x + 1;
    for (int k = threadIdx.x; k < 3 * 65; k += 64) (&row[0][0])[k] = 0;
    __syncthreads();  //-
    for (int d = 2; d <= 128; ++d) {
        short *now = row[d % 3], *last = row[(d + 2) % 3], *before = row[(d + 1) % 3];
        int y = d - x;
        if (y >= 1 && y <= 64) {
            bool same = (a[x] & 7) == (a[100 + y] & 7);
            now[x] = same ? before[x - 1] + 1 : max((int)last[x], (int)last[x - 1]);
        } else if (y > 64) {
            now[x] = last[x];
        }
        __syncthreads();  //-
    }
    b[threadIdx.x] = row[128 % 3][x];
}
