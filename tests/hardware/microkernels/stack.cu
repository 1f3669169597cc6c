// Local memory and calls: indexed arrays, spills, functions that are not inlined, recursion, function pointers.

extern "C" __global__ void local_array(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int words[24];
    for (int k = 0; k < 24; ++k) words[k] = source[(i + k) % count];
    int sum = 0;
    for (int k = 0; k < 10; ++k) {
        const int j = (source[(i * 3 + k) % count] & 0x7fffffff) % 24;
        words[j] += k;
        sum += words[(j * 5 + k) % 24];
    }
    target[i] = sum;
}

extern "C" __global__ void __launch_bounds__(1024, 2) spilled(int count, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[48];
#pragma unroll
    for (int k = 0; k < 48; ++k) values[k] = source[(i + k * 37) % count];
    float sum = 0.0f;
#pragma unroll 1
    for (int round = 0; round < 3; ++round) {
#pragma unroll
        for (int k = 0; k < 48; ++k) {
            values[k] = values[k] * 0.5f + values[(k * 5 + 1) % 48];
            sum += values[k];
        }
    }
    if (i < count) target[i] = sum;
}

__device__ __noinline__ int leaf(int x) { return x * x + 7; }
__device__ __noinline__ int middle(int x, int y) { return x > y ? leaf(x - y) : leaf(y) + leaf(x); }
__device__ __noinline__ int factorial_like(int n) { return n <= 1 ? 1 : n * factorial_like(n - 1) + n; }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void calls(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    target[i] = source[i] & 1 ? middle(source[i], 5) + leaf(3) : middle(7, source[i]);
}

extern "C" __global__ void recursion(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = factorial_like(source[i] & 7) + fibonacci(source[i] & 7);
}

extern "C" __global__ void function_pointers(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int (*const functions[2])(int) = {leaf, factorial_like};
    target[i] = functions[source[i] & 1](source[i] & 7);
}

// Wide accesses of local memory.
template <typename T> __global__ void local_vectors(int count, const int* source, T* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    T words[24];
    for (int k = 0; k < 24; ++k) words[k] = T{};
    for (int k = 0; k < 8; ++k) words[source[(i + k) % count] % 24].x += static_cast<float>(k);
    T& chosen = words[source[i] % 23];
    chosen.y = 1.0f;
    target[i] = words[source[i] % 24];
}

__device__ __noinline__ int other_leaf(int x) { return x * 3 - 2; }

// Function pointers without recursion; and recursion of part of a warp without pointers.
extern "C" __global__ void pointers_to_leaves(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int (*const functions[2])(int) = {leaf, other_leaf};
    target[i] = functions[source[i] & 1](source[i] & 7);
}

extern "C" __global__ void recursion_once(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = factorial_like(source[i]);
}
