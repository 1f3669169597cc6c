// Kernels of one to four blocks whose loops depend on data: few lanes for numpy, long for each of them.

// Steps of the Collatz sequence.
extern "C" __global__ void collatz(const unsigned* start, int* steps, int n) {
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned long long v = start[i]; int count = 0;
        while (v != 1) { v = (v & 1) ? 3 * v + 1 : v >> 1; ++count; }
        steps[i] = count;
    }
}
// Lengths of linked lists.
extern "C" __global__ void walk(const int* next, const int* first, int* length, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x; if (i >= n) return;
    int at = first[i], count = 0;
    while (at >= 0) { at = next[at]; ++count; }
    length[i] = count;
}
// A bitonic sort in shared memory.
extern "C" __global__ void bitonic(int* keys, int n) {
    extern __shared__ int s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[i] = keys[i];
    __syncthreads();
    for (int k = 2; k <= n; k <<= 1)
        for (int j = k >> 1; j > 0; j >>= 1) {
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                int p = i ^ j;
                if (p > i) { bool up = (i & k) == 0; if ((s[i] > s[p]) == up) { int t = s[i]; s[i] = s[p]; s[p] = t; } }
            }
            __syncthreads();
        }
    for (int i = threadIdx.x; i < n; i += blockDim.x) keys[i] = s[i];
}
// Rounds until a point leaves the Mandelbrot set.
extern "C" __global__ void mandel(int* out, int w, int h, int most) {
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < w * h; i += blockDim.x * gridDim.x) {
        float cx = -2.0f + 3.0f * (i % w) / w, cy = -1.0f + 2.0f * (i / w) / h, x = 0, y = 0; int k = 0;
        while (k < most && x * x + y * y <= 4.0f) { float t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; ++k; }
        out[i] = k;
    }
}
// Smoothing until nothing changes any more.
extern "C" __global__ void jacobi(float* a, float* b, int n, int most, int* rounds) {
    __shared__ int changed;
    float *from = a, *to = b; int r = 0;
    for (; r < most; ++r) {
        if (threadIdx.x == 0) changed = 0;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            float v = (i == 0 || i == n - 1) ? from[i] : 0.5f * (from[i - 1] + from[i + 1]);
            if (fabsf(v - from[i]) > 1e-3f) changed = 1;
            to[i] = v;
        }
        __syncthreads();
        float* t = from; from = to; to = t;
        if (!changed) break;
        __syncthreads();
    }
    if (threadIdx.x == 0) *rounds = r;
}
