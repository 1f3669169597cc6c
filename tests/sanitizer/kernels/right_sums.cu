// Right kernels in the manner of public code: reductions, scans, histograms, sorts. Nothing is to be found in them.
// A line that ends with //- orders accesses: a kernel without it has a finding.
#include "common.cuh"

// CASE sum_by_shuffles ok grid=4 block=256
KERNEL(sum_by_shuffles) {
    __shared__ int part[32];
    int sum = a[blockIdx.x * blockDim.x + threadIdx.x];
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = sum;
    __syncthreads();  //-
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
        if (threadIdx.x == 0) b[blockIdx.x] = sum;
    }
}

// CASE sum_by_tree ok grid=2 block=256
KERNEL(sum_by_tree) {
    __shared__ int t[256];
    int x = threadIdx.x;
    t[x] = a[blockIdx.x * 512 + x] + a[blockIdx.x * 512 + 256 + x];
    __syncthreads();  //-
    for (int s = 128; s > 32; s >>= 1) {
        if (x < s) t[x] += t[x + s];
        __syncthreads();  //-
    }
    if (x < 32) {
        volatile int* v = t;
        int sum = v[x] + v[x + 32];
        for (int d = 16; d; d >>= 1) {
            v[x] = sum;
            __syncwarp();  //-
            if (x < d) sum += v[x + d];
            __syncwarp();  //-
        }
        if (x == 0) b[blockIdx.x] = sum;
    }
}

// CASE sum_interleaved ok grid=2 block=128
KERNEL(sum_interleaved) {
    __shared__ float t[128];
    int x = threadIdx.x;
    t[x] = f[blockIdx.x * 128 + x];
    for (int s = 1; s < 128; s *= 2) {
        __syncthreads();  //-
        int k = 2 * s * x;
        if (k < 128) t[k] += t[k + s];
    }
    if (x == 0) f[4000 + blockIdx.x] = t[0];
}

// CASE sum_over_grid ok grid=4 block=128 n=4000
KERNEL(sum_over_grid) {
    __shared__ int total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();  //-
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] & 3;
    atomicAdd(&total, sum);
    __syncthreads();  //-
    if (threadIdx.x == 0) atomicAdd(&a[4040], total);
}

// CASE arg_max ok grid=2 block=128
KERNEL(arg_max) {
    __shared__ int key[4], place[4];
    int i = blockIdx.x * 128 + threadIdx.x, k = a[i], p = i;
    for (int d = 16; d; d >>= 1) {
        int k2 = __shfl_xor_sync(~0u, k, d), p2 = __shfl_xor_sync(~0u, p, d);
        if (k2 > k || (k2 == k && p2 < p)) k = k2, p = p2;
    }
    if (threadIdx.x % 32 == 0) key[threadIdx.x / 32] = k, place[threadIdx.x / 32] = p;
    __syncthreads();  //-
    if (threadIdx.x == 0) {
        for (int w = 1; w < 4; ++w)
            if (key[w] > k) k = key[w], p = place[w];
        b[2 * blockIdx.x] = k, b[2 * blockIdx.x + 1] = p;
    }
}

// CASE scan_two_buffers ok grid=2 block=128
KERNEL(scan_two_buffers) {
    __shared__ int t[2][128];
    int x = threadIdx.x, now = 0;
    t[0][x] = a[blockIdx.x * 128 + x];
    __syncthreads();  //-
    for (int d = 1; d < 128; d *= 2) {
        t[1 - now][x] = x >= d ? t[now][x] + t[now][x - d] : t[now][x];
        now = 1 - now;
        __syncthreads();  //-
    }
    b[blockIdx.x * 128 + x] = t[now][x];
}

// CASE scan_in_place ok grid=2 block=128
KERNEL(scan_in_place) {
    __shared__ int t[128];
    int x = threadIdx.x;
    t[x] = a[blockIdx.x * 128 + x];
    for (int d = 1; d < 128; d *= 2) {
        __syncthreads();  //-
        int v = x >= d ? t[x - d] : 0;
        __syncthreads();  //-
        t[x] += v;
    }
    b[blockIdx.x * 128 + x] = t[x];
}

// CASE scan_up_and_down ok grid=2 block=64
KERNEL(scan_up_and_down) {
    __shared__ int t[128];
    int x = threadIdx.x, step = 1;
    t[2 * x] = a[blockIdx.x * 128 + 2 * x];
    t[2 * x + 1] = a[blockIdx.x * 128 + 2 * x + 1];
    for (int d = 64; d > 0; d >>= 1) {
        __syncthreads();  //-
        if (x < d) t[step * (2 * x + 2) - 1] += t[step * (2 * x + 1) - 1];
        step *= 2;
    }
    if (x == 0) t[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        step >>= 1;
        __syncthreads();  //-
        if (x < d) {
            int low = step * (2 * x + 1) - 1, high = step * (2 * x + 2) - 1, v = t[low];
            t[low] = t[high];
            t[high] += v;
        }
    }
    __syncthreads();  //-
    b[blockIdx.x * 128 + 2 * x] = t[2 * x];
    b[blockIdx.x * 128 + 2 * x + 1] = t[2 * x + 1];
}

// CASE scan_by_warps ok grid=2 block=256
KERNEL(scan_by_warps) {
    __shared__ int sums[8];
    int x = threadIdx.x, lane = x & 31, warp = x >> 5, v = a[blockIdx.x * 256 + x];
    for (int d = 1; d < 32; d *= 2) {
        int u = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += u;
    }
    if (lane == 31) sums[warp] = v;
    __syncthreads();  //-
    if (warp == 0) {
        int s = lane < 8 ? sums[lane] : 0;
        for (int d = 1; d < 8; d *= 2) {
            int u = __shfl_up_sync(~0u, s, d);
            if (lane >= d) s += u;
        }
        if (lane < 8) sums[lane] = s;
    }
    __syncthreads();  //-
    b[blockIdx.x * 256 + x] = v + (warp ? sums[warp - 1] : 0);
}

// CASE histogram_of_block ok grid=3 block=128 n=3000
KERNEL(histogram_of_block) {
    __shared__ unsigned bins[101];
    for (int i = threadIdx.x; i < 101; i += blockDim.x) bins[i] = 0;
    __syncthreads();  //-
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[a[i]], 1u);
    __syncthreads();  //-
    for (int i = threadIdx.x; i < 101; i += blockDim.x)
        if (bins[i]) atomicAdd((unsigned*)&a[3100 + i], bins[i]);
}

// CASE histogram_of_warps ok grid=2 block=128
KERNEL(histogram_of_warps) {
    __shared__ int bins[4][16];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane < 16) bins[warp][lane] = 0;
    __syncwarp();  //-
    for (int i = 0; i < 4; ++i) atomicAdd(&bins[warp][a[blockIdx.x * 512 + i * 128 + threadIdx.x] & 15], 1);
    __syncthreads();  //-
    if (threadIdx.x < 16) {
        int sum = 0;
        for (int w = 0; w < 4; ++w) sum += bins[w][threadIdx.x];
        b[blockIdx.x * 16 + threadIdx.x] = sum;
    }
}

// CASE histogram_of_bytes ok grid=1 block=64
KERNEL(histogram_of_bytes) {
    __shared__ unsigned char count[16][64];
    for (int k = 0; k < 16; ++k) count[k][threadIdx.x] = 0;
    for (int i = threadIdx.x; i < 1024; i += 64) count[a[i] & 15][threadIdx.x]++;
    __syncthreads();  //-
    if (threadIdx.x < 16) {
        int sum = 0;
        for (int k = 0; k < 64; ++k) sum += count[threadIdx.x][k];
        b[threadIdx.x] = sum;
    }
}

// CASE bitonic ok grid=2 block=64
KERNEL(bitonic) {
    __shared__ int t[128];
    int x = threadIdx.x;
    t[x] = a[blockIdx.x * 128 + x];
    t[x + 64] = a[blockIdx.x * 128 + 64 + x];
    for (int size = 2; size <= 128; size *= 2)
        for (int d = size / 2; d; d >>= 1) {
            __syncthreads();  //-
            int low = 2 * x - (x & (d - 1)), high = low + d;
            bool up = (low & size) == 0;
            int p = t[low], q = t[high];
            if ((p > q) == up) t[low] = q, t[high] = p;
        }
    __syncthreads();  //-
    b[blockIdx.x * 128 + x] = t[x];
    b[blockIdx.x * 128 + 64 + x] = t[x + 64];
}

// CASE odd_even_sort ok grid=1 block=64
KERNEL(odd_even_sort) {
    __shared__ int t[128];
    __shared__ int changed;
    int x = threadIdx.x;
    t[2 * x] = a[2 * x], t[2 * x + 1] = a[2 * x + 1];
    bool again = true;
    while (again) {
        __syncthreads();  //-
        if (x == 0) changed = 0;
        __syncthreads();  //-
        for (int odd = 0; odd < 2; ++odd) {
            int k = 2 * x + odd;
            if (k + 1 < 128 && t[k] > t[k + 1]) {
                int v = t[k];
                t[k] = t[k + 1], t[k + 1] = v;
                atomicOr(&changed, 1);
            }
            __syncthreads();  //-
        }
        again = changed != 0;
    }
    b[2 * x] = t[2 * x], b[2 * x + 1] = t[2 * x + 1];
}

// CASE radix_split ok grid=1 block=128
KERNEL(radix_split) {
    __shared__ int keys[128], ones[4];
    int x = threadIdx.x, lane = x & 31, warp = x >> 5, key = a[x];
    for (int bit = 0; bit < 7; ++bit) {
        bool one = key >> bit & 1;
        unsigned set = __ballot_sync(~0u, one);
        if (lane == 0) ones[warp] = __popc(set);
        __syncthreads();  //-
        int before = __popc(set & ((1u << lane) - 1)), all = 0;
        for (int w = 0; w < 4; ++w) {
            if (w < warp) before += ones[w];
            all += ones[w];
        }
        keys[one ? 128 - all + before : x - before] = key;
        __syncthreads();  //-
        key = keys[x];
    }
    b[x] = key;
}

// CASE compaction ok grid=2 block=128
KERNEL(compaction) {
    __shared__ int offsets[5];
    int x = threadIdx.x, lane = x & 31, warp = x >> 5, v = a[blockIdx.x * 128 + x];
    unsigned keep = __ballot_sync(~0u, v > 50);
    if (lane == 0) offsets[warp] = __popc(keep);
    __syncthreads();  //-
    if (x == 0) {
        int sum = 0;
        for (int w = 0; w < 4; ++w) {
            int c = offsets[w];
            offsets[w] = sum;
            sum += c;
        }
        offsets[4] = atomicAdd(&a[4040], sum);
    }
    __syncthreads();  //-
    if (v > 50) b[offsets[4] + offsets[warp] + __popc(keep & ((1u << lane) - 1))] = v;
}

// CASE any_and_count ok grid=2 block=96
KERNEL(any_and_count) {
    int x = threadIdx.x, v = a[blockIdx.x * 96 + x], rounds = 0;
    while (__syncthreads_or(v > 3)) {
        v /= 2;
        ++rounds;
    }
    int big = __syncthreads_count(v > 1), all = __syncthreads_and(v < 4);
    b[blockIdx.x * 96 + x] = rounds + big + all;
}

// CASE count_orders ok grid=1 block=96
KERNEL(count_orders) {
    __shared__ int t[96];
    t[threadIdx.x] = a[threadIdx.x];
    int big = __syncthreads_count(t[threadIdx.x] > 1);
    b[threadIdx.x] = t[95 - threadIdx.x] + big;
}

// CASE softmax_row ok grid=3 block=128
KERNEL(softmax_row) {
    __shared__ float part[4], scale;
    const float* row = f + blockIdx.x * 256;
    float most = -1e30f, sum = 0;
    for (int i = threadIdx.x; i < 256; i += 128) most = fmaxf(most, row[i]);
    for (int d = 16; d; d >>= 1) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = most;
    __syncthreads();  //-
    most = fmaxf(fmaxf(part[0], part[1]), fmaxf(part[2], part[3]));
    __syncthreads();  //-
    for (int i = threadIdx.x; i < 256; i += 128) sum += expf(row[i] - most);
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();  //-
    if (threadIdx.x == 0) scale = 1 / (part[0] + part[1] + part[2] + part[3]);
    __syncthreads();  //-
    for (int i = threadIdx.x; i < 256; i += 128) ((float*)b)[blockIdx.x * 256 + i] = expf(row[i] - most) * scale;
}
