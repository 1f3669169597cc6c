// Global and shared memory: strides, offsets, widths, broadcasts, bytes, halves, bounds.

extern "C" __global__ void global_stride(int count, int stride, int offset, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[i * stride + offset];
}

extern "C" __global__ void store_stride(int count, int stride, int offset, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i * stride + offset] = source[i];
}

template <typename T>
__global__ void copy_width(int count, const T* source, T* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[i];
}

extern "C" __global__ void gather(int count, const int* index, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[index[i]];
}

extern "C" __global__ void scatter(int count, const int* index, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[index[i]] = source[i];
}

extern "C" __global__ void broadcast_load(int count, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[i / 32] + source[i / 64];
}

extern "C" __global__ void shared_permute(int count, int stride, const float* source, float* target) {
    __shared__ float words[1024];
    const int t = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + t;
    words[(t * stride) % 1024] = i < count ? source[i] : 0.0f;
    __syncthreads();
    if (i < count) target[i] = words[(t * stride) % 1024];
}

template <typename T>
__global__ void shared_reverse(int count, const T* source, T* target) {
    __shared__ T items[256];
    const int t = threadIdx.x;
    const int i = blockIdx.x * 256 + t;
    if (i < count) items[t] = source[i];
    __syncthreads();
    const int j = blockIdx.x * 256 + 255 - t;
    if (j < count && i < count) target[i] = items[255 - t];
}

extern "C" __global__ void dynamic_shared(int count, const float* source, float* target) {
    extern __shared__ float words[];
    const int t = threadIdx.x;
    words[t] = source[t];
    words[t + blockDim.x] = source[t] * 2.0f;
    __syncthreads();
    target[t] = words[blockDim.x - 1 - t] + words[blockDim.x + (t ^ 5)];
}

__constant__ float table[64] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};

extern "C" __global__ void constant_table(int count, const int* index, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = table[index[i] & 63] + table[blockIdx.x & 7];
}

__device__ int global_table[32] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8, 4, 6, 2, 6, 4, 3, 3, 8, 3, 2, 7, 9, 5};

extern "C" __global__ void device_table(int count, const int* index, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = global_table[index[i] & 31];
}
