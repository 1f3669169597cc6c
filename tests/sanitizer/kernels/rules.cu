// Barriers, bounds and memory that nobody set: what every emulated run refuses.
extern "C" __global__ void named_too_many(int* y) {
    asm volatile("bar.sync 1, 96;");
    y[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void named_enough(int* y) {
    if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;");
    y[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void named_by_ended(int* y) {
    if (threadIdx.x >= 64) return;
    asm volatile("bar.sync 1, 96;");
    y[threadIdx.x] = threadIdx.x;
}
extern "C" __global__ void one_warp(int* y) {
    if (threadIdx.x < 32) {
        y[threadIdx.x] = 1;
        __syncthreads();
    }
    y[threadIdx.x] += 1;
}
extern "C" __global__ void two_places(int* y) {
    if (threadIdx.x & 32) {
        y[threadIdx.x] = 1;
        __syncthreads();
        y[threadIdx.x] += 3;
    } else {
        y[threadIdx.x] = 2;
        __syncthreads();
        y[threadIdx.x] += 4;
    }
}
extern "C" __global__ void rounds(int* y) {
    int sum = 0;
    for (int i = 0; i < 2 + (threadIdx.x >> 5); ++i) {
        sum += y[(threadIdx.x + i) & 63];
        __syncthreads();
        y[threadIdx.x] = sum;
    }
    y[threadIdx.x] = sum + 1;
}
extern "C" __global__ void early_return(int* y, int n) {
    if (threadIdx.x >= n) return;
    y[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] += 1;
}
extern "C" __global__ void return_in_loop(int* y) {
    for (int i = 0; i < 4; ++i) {
        __syncthreads();
        if (i > (threadIdx.x >> 5)) return;
        y[threadIdx.x] = i;
    }
}
extern "C" __global__ void below_an_array(int* y, int k) {
    int a[8];
    for (int i = 0; i < 8; ++i) a[(i + k) & 7] = i;
    y[threadIdx.x] = a[k];
}
extern "C" __global__ void below_shared(int* y, int k) {
    __shared__ int t[32];
    t[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = t[k];
}
extern "C" __global__ void nobody_set(int* y) {
    __shared__ volatile int t[64];
    y[threadIdx.x] = t[threadIdx.x];
}
