// Calls: device functions that are not inlined, recursion, function pointers, a switch with a jump table.
#define KERNEL extern "C" __global__ void

__device__ __noinline__ float polynomial(float x) { return ((x * 2.0f + 1.0f) * x - 3.0f) * x; }
__device__ __noinline__ float quotient(float x, float y) { return x / y + sinf(x); }
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
typedef float (*Function)(float);
__device__ __noinline__ float one_more(float x) { return x + 1.0f; }
__device__ __noinline__ float twice(float x) { return x * 2.0f; }
__device__ Function functions[2] = {one_more, twice};

KERNEL plain_calls(float* o) {
    int i = threadIdx.x;
    o[i] = polynomial(o[i]) + quotient(o[i + 1], o[i + 2]) + polynomial(o[i + 3]);
}
KERNEL recursion(int* o) { o[threadIdx.x] = fibonacci(o[threadIdx.x]); }
KERNEL pointers(float* o, int n) { o[threadIdx.x] = functions[n](o[threadIdx.x]); }
KERNEL jump_table(int* o, int n) {
    int i = threadIdx.x, r;
    switch (n) {
        case 0: r = o[i] * 3; break;
        case 1: r = o[i + 1] ^ 5; break;
        case 2: r = o[i + 2] / 7; break;
        case 3: r = o[5] + i; break;
        case 4: r = o[i + 9] - n; break;
        case 5: r = o[77] % (i + 1); break;
        case 6: r = o[i] * o[i]; break;
        case 7: r = __popc(o[i]); break;
        default: r = 0;
    }
    o[i] = r;
}
