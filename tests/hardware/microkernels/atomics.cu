// Atomics on global and shared memory whose results do not depend on their order.

extern "C" __global__ void atomics_integer(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const int value = source[i];
    atomicAdd(&target[0], value);
    atomicMin(&target[1], value);
    atomicMax(&target[2], value);
    atomicAnd(&target[3], value | 0x10);
    atomicOr(&target[4], value);
    atomicXor(&target[5], value);
    atomicAdd(&target[8 + (value & 31)], 1);
}

extern "C" __global__ void atomics_float(int count, const int* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&target[source[i] & 15], static_cast<float>(source[i]));
}

extern "C" __global__ void atomics_double(int count, const int* source, double* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&target[source[i] & 7], static_cast<double>(source[i]) * 0.5);
}

extern "C" __global__ void atomics_64bit(int count, const int* source, unsigned long long* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    atomicAdd(&target[0], static_cast<unsigned long long>(source[i]) << 20);
    atomicMax(&target[1], static_cast<unsigned long long>(source[i]) << 33);
}

extern "C" __global__ void compare_and_swap(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int seen = target[0];
    while (true) {
        const int assumed = seen;
        seen = atomicCAS(&target[0], assumed, max(assumed, source[i]));
        if (seen == assumed) break;
    }
}

extern "C" __global__ void shared_histogram(int count, const int* source, int* target) {
    __shared__ int bins[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();
    if (i < count) atomicAdd(&bins[source[i] & 63], source[i]);
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&target[threadIdx.x], bins[threadIdx.x]);
}

extern "C" __global__ void shared_extremes(int count, const int* source, int* target) {
    __shared__ int extremes[4];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x < 4) extremes[threadIdx.x] = threadIdx.x == 0 ? 1 << 30 : 0;
    __syncthreads();
    if (i < count) {
        atomicMin(&extremes[0], source[i]);
        atomicMax(&extremes[1], source[i]);
        atomicOr(&extremes[2], source[i]);
        atomicXor(&extremes[3], source[i]);
    }
    __syncthreads();
    if (threadIdx.x < 4) target[blockIdx.x * 4 + threadIdx.x] = extremes[threadIdx.x];
}

extern "C" __global__ void shared_float_sum(int count, const int* source, float* target) {
    __shared__ float sums[8];
    if (threadIdx.x < 8) sums[threadIdx.x] = 0.0f;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) atomicAdd(&sums[source[i] & 7], static_cast<float>(source[i]));
    __syncthreads();
    if (threadIdx.x < 8) target[blockIdx.x * 8 + threadIdx.x] = sums[threadIdx.x];
}

extern "C" __global__ void exchanges(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) source[i] & 1 ? atomicExch(&target[i], source[i] * 3) : atomicInc(reinterpret_cast<unsigned int*>(&target[i]), 9u);
}
