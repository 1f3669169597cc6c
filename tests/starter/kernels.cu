// Kernels of many signatures, for `gpuprof new --from`.
#include <cuda_fp16.h>
#include <cstdint>
#define TILE 16
constexpr int THREADS = 128;
using real = float;
typedef double wide;
struct Body { float x, y, z, mass; };

__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void scale(float* __restrict__ data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= factor;
}
__global__ void axpy_double(int n, double a, const double* x, double* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
__global__ void matmul_tiled(float* A, float* B, float* C, int n) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / TILE; ++t) {
        a[threadIdx.y][threadIdx.x] = A[row * n + t * TILE + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t * TILE + threadIdx.y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
__global__ void transpose(const float* in, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
}
__global__ void __launch_bounds__(THREADS) block_sum(const float* in, float* out, int n) {
    __shared__ float part[THREADS];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
__global__ void dynamic_sum(const float* in, float* out, int n) {
    extern __shared__ float part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    if (t == 0) { float s = 0; for (int k = 0; k < blockDim.x; ++k) s += part[k]; out[blockIdx.x] = s; }
}
__global__ void histogram(const int* values, unsigned int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[values[i] % 64], 1u);
}
__global__ void total(const int* values, int* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, values[i]);
}
__global__ void gather(const float* table, const int* index, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[index[i]];
}
__global__ void stencil(const float* in, float* out, int n, int radius) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < radius || i >= n - radius) return;
    float s = 0;
    for (int k = -radius; k <= radius; ++k) s += in[i + k];
    out[i] = s / (2 * radius + 1);
}
template <typename T> __global__ void fill(T* data, T value, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = value;
}
template <typename T, int BLOCK> __global__ void copy_block(const T* in, T* out, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = in[i];
}
__global__ void half_scale(const half* x, __half* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hmul(x[i], __float2half(2.0f));
}
__global__ void copy4(const float4* in, float4* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
__global__ void gray(const uchar3* image, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    uchar3 p = image[y * width + x];
    out[y * width + x] = (p.x + p.y + p.z) / 3;
}
__global__ void by_size_t(const float* x, float* y, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}
__global__ void by_unsigned(const uint32_t* x, uint32_t* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] ^ 0x55u;
}
__global__ void aliased(const real* x, wide* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i];
}
__global__ void no_sizes(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 3 * x[i];
}
__global__ void softmax_rows(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int c = 0; c < cols; ++c) sum += __expf(x[r * cols + c]);
    for (int c = 0; c < cols; ++c) y[r * cols + c] = __expf(x[r * cols + c]) / sum;
}
__global__ void matvec(const float* A, const float* x, float* y, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    float s = 0;
    for (int c = 0; c < n; ++c) s += A[r * n + c] * x[c];
    y[r] = s;
}
__global__ void heat3d(const float* in, float* out, int nx, int ny, int nz) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
    int i = (z * ny + y) * nx + x;
    out[i] = (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * ny] + in[i + nx * ny]) / 6;
}
__global__ void offset_copy(const float* in, float* out, int n, int offset) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + offset;
    if (i < n) out[i] = in[i];
}
__global__ void mandelbrot(int* out, int width, int height, float x0, float y0, float scale, int max_iter) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float a = 0, b = 0; int k = 0;
    for (; k < max_iter && a * a + b * b < 4; ++k) { float t = a * a - b * b + x0 + x * scale; b = 2 * a * b + y0; a = t; }
    out[y * width + x] = k;
}
__global__ void masked(const bool* keep, const float* x, float* y, int64_t n) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n && keep[i]) y[i] = x[i];
}
__global__ void bodies(Body* all, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) all[i].x += all[i].mass;
}
__global__ void batched(float** rows, int n) {
    int i = threadIdx.x;
    if (i < n) rows[blockIdx.x][i] = 0;
}
__global__ void textured(cudaTextureObject_t image, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(image, i);
}
