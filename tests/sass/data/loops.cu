// Kernels whose loops are known by hand. Each has a comment `// loops: ...` that the test reads: for every loop of the
// machine code, in the order of addresses, `depth:kind[count]`, where kind is constant, run (time), data or any.
// `#pragma unroll 1` and `#pragma unroll N` pin what the compiler makes of them.

__device__ __noinline__ float helper(float x, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) x = x * x + 1.0f;
    return x;
}

#define KERNEL extern "C" __global__ void

// loops: 1:constant[16]
KERNEL k01_constant(float* o) {
    float s = o[0];
#pragma unroll 1
    for (int i = 0; i < 16; ++i) s = s * s + 0.5f;
    o[1] = s;
}
// loops: 1:constant[10]
KERNEL k02_constant_step(float* o) {
    float s = 0;
#pragma unroll 1
    for (int i = 5; i < 35; i += 3) s += o[i];
    o[100] = s;
}
// loops: 1:constant[100]
KERNEL k03_down(float* o) {
    float s = 0;
#pragma unroll 1
    for (int i = 100; i > 0; --i) s += o[i] * i;
    o[200] = s;
}
// loops: 1:run
KERNEL k04_runtime(float* o, int n) {
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) s += o[i];
    o[0] = s;
}
// loops: 1:constant[8] 2:constant[4]
KERNEL k05_nested(float* o) {
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < 8; ++i) {
#pragma unroll 1
        for (int j = 0; j < 4; ++j) s = s * 1.5f + o[i * 64 + j];
        o[i] = s;
    }
}
// loops: 1:constant[3] 2:constant[5] 3:constant[7]
KERNEL k06_nested_three(float* o) {
#pragma unroll 1
    for (int i = 0; i < 3; ++i) {
        o[i] = i;
#pragma unroll 1
        for (int j = 0; j < 5; ++j) {
            o[j + 7] += i;
#pragma unroll 1
            for (int k = 0; k < 7; ++k) o[k + 64] = o[k + 128] * j;
        }
    }
}
// loops: 1:run 1:run
KERNEL k07_two_in_a_row(float* o, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) o[i] += 1.0f;
    __syncthreads();
#pragma unroll 1
    for (int i = 0; i < n; ++i) o[i + n] *= 2.0f;
}
// loops: 1:data
KERNEL k08_while_data(int* o) {
    int x = o[threadIdx.x], steps = 0;
    while (x != 1) {
        x = (x & 1) ? 3 * x + 1 : x >> 1;
        ++steps;
    }
    o[threadIdx.x] = steps;
}
// loops: 1:data
KERNEL k09_list(const int* next, int* o) {
    int at = threadIdx.x, length = 0;
#pragma unroll 1
    while (at >= 0) {
        at = next[at];
        ++length;
    }
    o[threadIdx.x] = length;
}
// loops: 1:constant[64]
KERNEL k10_break(const int* a, int* o, int wanted) {
    int found = -1;
#pragma unroll 1
    for (int i = 0; i < 64; ++i) {
        if (a[i] == wanted) {
            found = i;
            break;
        }
    }
    o[threadIdx.x] = found;
}
// loops: 1:constant[32]
KERNEL k11_return_inside(const int* a, int* o, int wanted) {
#pragma unroll 1
    for (int i = 0; i < 32; ++i) {
        if (a[i + threadIdx.x] == wanted) return;
        o[i] = a[i + 1];
    }
    o[99] = 1;
}
// loops:
KERNEL k12_early_return(float* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    o[i] = o[i] * 2.0f;
}
// loops: 1:run 1:run
KERNEL k13_unrolled_with_remainder(const float* a, float* o, int n) {
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) s = s * 0.5f + a[i];
    o[0] = s;
}
// loops:
KERNEL k14_fully_unrolled(const float* a, float* o) {
    float s = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) s = s * 0.5f + a[i * 32];
    o[0] = s;
}
// loops: 1:constant[8]
KERNEL k15_unrolled_by_four(const float* a, float* o) {
    float s = 0;
#pragma unroll 4
    for (int i = 0; i < 32; ++i) s = s * 0.5f + a[i * 3];
    o[0] = s;
}
// loops: 1:run
KERNEL k16_grid_stride(float* o, int n) {
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] *= 3.0f;
}
// loops: 1:any
KERNEL k17_halving(float* o) {
    __shared__ float s[256];
    s[threadIdx.x] = o[threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) o[0] = s[0];
}
// loops: 1:run
KERNEL k18_do_while(float* o, int n) {
    int i = 0;
#pragma unroll 1
    do {
        o[i] = o[i + 1] * 0.25f;
        i += 2;
    } while (i < n);
}
// loops: 1:run
KERNEL k19_continue(const int* a, int* o, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        if (a[i] < 0) continue;
        o[a[i]] = i;
        __threadfence_block();
    }
}
// loops: 1:run
KERNEL k20_switch_in_loop(const int* a, int* o, int n) {
    int s = 1;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        switch (a[i]) {
            case 0: s += a[i + 1]; break;
            case 1: s *= 3; o[i] = s; break;
            case 2: s ^= o[i + 5]; break;
            case 3: s = __popc(s) + o[i + 9]; break;
            case 4: s -= o[s & 15]; break;
            case 5: o[i + 2] = s / 7; break;
            case 6: s = min(s, o[i + 3]); break;
            default: s = ~s; o[i + 4] = s;
        }
    }
    o[0] = s;
}
// loops:
KERNEL k21_switch(const int* a, int* o) {
    int x = a[threadIdx.x];
    switch (x) {
        case 0: o[0] = a[1]; break;
        case 1: o[1] = a[2] * 3; break;
        case 2: o[2] = a[3] / 5; break;
        case 3: o[3] = a[4] ^ 7; break;
        case 4: o[4] = a[5] + x; break;
        case 5: o[5] = a[6] - x; break;
        case 6: o[6] = __popc(a[7]); break;
        default: o[7] = 1;
    }
}
// loops: 1:run 1:any
KERNEL k22_loop_in_a_subroutine(float* o, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) o[i] = helper(o[i], n);
}
// loops: 1:run 2:run
KERNEL k23_triangular(const float* a, float* o, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        float s = 0;
#pragma unroll 1
        for (int j = 0; j < i; ++j) s = s * 0.5f + a[i * 32 + j];
        o[i] = s;
    }
}
// loops: 1:data
KERNEL k24_spmv_row(const int* start, const int* column, const float* value, const float* x, float* y) {
    float s = 0;
#pragma unroll 1
    for (int i = start[threadIdx.x]; i < start[threadIdx.x + 1]; ++i) s += value[i] * x[column[i]];
    y[threadIdx.x] = s;
}
// loops: 1:constant[12]
KERNEL k25_barrier_inside(float* o) {
    __shared__ float s[128];
#pragma unroll 1
    for (int i = 0; i < 12; ++i) {
        s[threadIdx.x] = o[i * 128 + threadIdx.x];
        __syncthreads();
        o[i * 128 + threadIdx.x] = s[127 - threadIdx.x];
        __syncthreads();
    }
}
// loops: 1:constant[20]
KERNEL k26_conditional_body(float* o, int n) {
    float s = 1;
#pragma unroll 1
    for (int i = 0; i < 20; ++i) {
        if (threadIdx.x > n + i) {
            s = s * s + o[i + 64];
            o[i] = s;
            __threadfence_block();
        }
        s += o[i + 32];
    }
    o[0] = s;
}
// loops: 1:run 2:constant[6] 2:constant[9]
KERNEL k27_two_inside_one(float* o, int n) {
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
#pragma unroll 1
        for (int j = 0; j < 6; ++j) o[j] += o[j + 100];
        __syncthreads();
#pragma unroll 1
        for (int j = 0; j < 9; ++j) o[j + 50] *= o[j + 200];
    }
}
// loops: 1:any
KERNEL k28_infinite_until_flag(volatile int* flag, int* o) {
    while (flag[0] == 0) {
    }
    o[0] = 1;
}
// loops: 1:constant[22]
KERNEL k29_unsigned_above_2_to_31(float* o) {
    float s = 0;
#pragma unroll 1
    for (unsigned i = 0; i < 3000000000u; i += 142857142u) s += o[i & 1023];
    o[0] = s;
}
// loops: 1:constant[8]
KERNEL k30_halving(float* o) {
#pragma unroll 1
    for (int d = 128; d > 0; d >>= 1) {
        if (threadIdx.x < d) o[threadIdx.x] += o[threadIdx.x + d];
        __syncthreads();
    }
}
// loops: 1:constant[11]
KERNEL k31_times_three(float* o) {
    float s = 0;
#pragma unroll 1
    for (int i = 1; i < 100000; i *= 3) s += o[i];
    o[0] = s;
}
// loops: 1:constant[50]
KERNEL k32_two_bounds(float* o, const float* limit) {
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < 50; ++i) {
        s += o[i];
        if (s > 100.0f) break;
    }
    o[0] = s;
}
// loops: 1:unknown 2:data
KERNEL k33_counts_in_the_inner_loop(float* o, const float* a) {
    float s = 0;
    int i = 0;
#pragma unroll 1
    while (i < 64) {
        s = s * 2 + 1;
#pragma unroll 1
        do {
            s += a[i];
            i++;
        } while (s < 3.0f);
    }
    o[0] = s;
}
// loops: 1:constant[34]
KERNEL k34_quotient(float* o, float divisor) {
    float s = 0;
#pragma unroll 1
    for (int i = 100; i > 0; i -= 3) s += o[i] / divisor;
    o[0] = s;
}
