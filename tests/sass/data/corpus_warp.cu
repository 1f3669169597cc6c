// Warp-level and block-level: shuffles, votes, matches, reductions, barriers with a result, divergence, asserts.
#include <assert.h>
#include <cstdio>
#define KERNEL extern "C" __global__ void

KERNEL shuffles(float* a, int* b, int w) {
    int i = threadIdx.x;
    float v = a[i];
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    a[i] = v + __shfl_sync(~0u, v, w) + __shfl_up_sync(~0u, v, 1) + __shfl_down_sync(~0u, v, 2, 16);
    b[i] = __ballot_sync(~0u, b[i] > 3) + __any_sync(~0u, b[i] == 1) + __all_sync(~0u, b[i + 1] < 9) + __activemask();
    b[i + 1] = __match_any_sync(~0u, b[i]);
#if __CUDA_ARCH__ >= 800
    b[i + 2] = __reduce_add_sync(~0u, b[i]) + __reduce_max_sync(~0u, b[i]) + __reduce_or_sync(~0u, (unsigned)b[i]);
#endif
    if (i & 1) b[i + 3] = __shfl_xor_sync(0xaaaaaaaau, b[i], 2);
    __syncwarp();
}
KERNEL barriers(int* a) {
    int i = threadIdx.x;
    a[i] = __syncthreads_count(a[i] > 0) + __syncthreads_and(a[i + 1]) + __syncthreads_or(a[i + 2]);
    asm volatile("bar.sync 1, 64;");
    asm volatile("bar.arrive 2, 128;");
}
KERNEL diverge(int* a, int n) {
    int i = threadIdx.x;
    if (i < n) {
        if (a[i] & 1) {
            for (int k = 0; k < a[i]; ++k) a[i + k] ^= k;
        } else if (a[i] & 2) {
            a[i] *= a[i + 1];
            if (a[i] == 99) return;
        } else {
            a[i] = a[i + 7] / 3;
        }
        a[i + 9] += 1;
    }
    assert(a[i] != 12345);
    if (a[i] == -77) printf("%d %d\n", i, a[i]);
    if (a[i] == -78) __trap();
}
KERNEL scan(int* a) {
    __shared__ int s[64];
    int i = threadIdx.x;
    s[i] = a[i];
    for (int d = 1; d < 64; d <<= 1) {
        __syncthreads();
        int v = i >= d ? s[i - d] : 0;
        __syncthreads();
        s[i] += v;
    }
    a[i] = s[i];
}
