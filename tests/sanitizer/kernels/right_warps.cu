// Right kernels in the manner of public code: warps, tiles of cooperative groups, named barriers.
// A line that ends with //- orders accesses: a kernel without it has a finding.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "common.cuh"
namespace cg = cooperative_groups;

// CASE warp_tree ok grid=1 block=64
KERNEL(warp_tree) {
    __shared__ int t[64];
    int x = threadIdx.x, lane = x & 31;
    t[x] = a[x];
    __syncwarp();  //-
    for (int d = 16; d; d >>= 1) {
        if (lane < d) t[x] += t[x + d];
        __syncwarp();  //-
    }
    b[x] = t[x & 32];
}

// CASE warp_scan_shared ok grid=1 block=64
KERNEL(warp_scan_shared) {
    __shared__ int t[2][48];
    int lane = threadIdx.x & 31, *row = t[threadIdx.x >> 5], v = a[threadIdx.x];
    if (lane < 16) row[lane] = 0;
    row[16 + lane] = v;
    __syncwarp();  //-
    for (int d = 1; d < 32; d *= 2) {
        int u = row[16 + lane - (d < 16 ? d : 16)];
        if (d == 16 && lane < 16) u = 0;
        __syncwarp();  //-
        v += u;
        row[16 + lane] = v;
        __syncwarp();  //-
    }
    b[threadIdx.x] = v;
}

// CASE warp_transpose ok grid=1 block=32
KERNEL(warp_transpose) {
    __shared__ int t[32][33];
    for (int k = 0; k < 32; ++k) t[k][threadIdx.x] = a[k * 32 + threadIdx.x];
    __syncwarp();  //-
    for (int k = 0; k < 32; ++k) b[k * 32 + threadIdx.x] = t[threadIdx.x][k];
}

// CASE halves_of_warp ok grid=1 block=32
KERNEL(halves_of_warp) {
    __shared__ int t[32];
    int lane = threadIdx.x;
    unsigned mask = lane < 16 ? 0xffffu : 0xffff0000u;
    t[lane] = a[lane];
    if (lane < 16) {
        __syncwarp(mask);  //-
        b[lane] = t[15 - lane];
    } else {
        __syncwarp(mask);  //-
        b[lane] = t[47 - lane] * 2;
    }
}

// CASE part_of_warp ok grid=2 block=64 n=20
KERNEL(part_of_warp) {
    __shared__ int t[64];
    int lane = threadIdx.x & 31, x = threadIdx.x;
    unsigned mask = __ballot_sync(~0u, lane < n);
    if (lane < n) {
        t[x] = a[x];
        __syncwarp(mask);  //-
        int v = t[(x & 32) + n - 1 - lane];
        v += __shfl_sync(mask, v, 0);
        b[blockIdx.x * 64 + x] = v;
    }
}

// CASE spmv_rows ok grid=2 block=128
KERNEL(spmv_rows) {
    int row = (blockIdx.x * 128 + threadIdx.x) / 32, lane = threadIdx.x & 31;
    int first = row * 40, last = first + a[row] % 40;
    float sum = 0;
    for (int k = first + lane; k < last; k += 32) sum += f[k] * f[a[k]];
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) ((float*)b)[row] = sum;
}

// CASE tile_sum ok grid=2 block=64
KERNEL(tile_sum) {
    __shared__ int t[64];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int base = threadIdx.x & ~15, lane = tile.thread_rank();
    t[threadIdx.x] = a[blockIdx.x * 64 + threadIdx.x];
    for (int d = 8; d; d >>= 1) {
        tile.sync();  //-
        if (lane < d) t[base + lane] += t[base + lane + d];
    }
    tile.sync();  //-
    b[blockIdx.x * 64 + threadIdx.x] = t[base];
}

// CASE tile_reduce ok grid=2 block=96
KERNEL(tile_reduce) {
    __shared__ int part[3];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int sum = cg::reduce(tile, a[blockIdx.x * 96 + threadIdx.x], cg::plus<int>());
    if (tile.thread_rank() == 0) part[threadIdx.x / 32] = sum;
    block.sync();  //-
    if (block.thread_rank() == 0) b[blockIdx.x] = part[0] + part[1] + part[2];
}

// CASE tile_in_branch ok grid=1 block=64
KERNEL(tile_in_branch) {
    __shared__ int t[64];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    t[threadIdx.x] = a[threadIdx.x];
    if ((threadIdx.x / 8) % 3 == 1) {
        tile.sync();  //-
        b[threadIdx.x] = t[threadIdx.x ^ 7];
    }
}

// CASE aggregated_atomics ok grid=2 block=64
KERNEL(aggregated_atomics) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (a[i] % 3 == 0) {
        auto active = cg::coalesced_threads();
        int base = 0;
        if (active.thread_rank() == 0) base = atomicAdd(&a[4040], (int)active.size());
        b[active.shfl(base, 0) + active.thread_rank()] = i;
    }
}

// CASE match_groups ok grid=1 block=64 since=75
KERNEL(match_groups) {
    int key = a[threadIdx.x] & 7;
    unsigned peers = __match_any_sync(~0u, key);
    if ((threadIdx.x & 31) == __ffs(peers) - 1) atomicAdd(&a[2000 + key], __popc(peers));
}

// CASE vote_loop ok grid=1 block=64
KERNEL(vote_loop) {
    int v = a[threadIdx.x], rounds = 0;
    while (__any_sync(~0u, v > 5)) {
        v -= v / 4 + 1;
        ++rounds;
    }
    b[threadIdx.x] = rounds;
}

// CASE producer_consumer ok grid=1 block=128 n=6
KERNEL(producer_consumer) {
    __shared__ int t[2][64];
    int x = threadIdx.x & 63;
    if (threadIdx.x < 64) {
        for (int k = 0; k < n; ++k) {
            if (k >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + (k & 1)) : "memory");  //-
            t[k & 1][x] = a[k * 64 + x];
            asm volatile("bar.arrive %0, 128;" ::"r"(1 + (k & 1)) : "memory");
        }
    } else {
        int sum = 0;
        for (int k = 0; k < n; ++k) {
            asm volatile("bar.sync %0, 128;" ::"r"(1 + (k & 1)) : "memory");
            sum += t[k & 1][63 - x];
            if (k + 2 < n) asm volatile("bar.arrive %0, 128;" ::"r"(3 + (k & 1)) : "memory");
        }
        b[x] = sum;
    }
}

// CASE groups_of_warps ok grid=2 block=128
KERNEL(groups_of_warps) {
    __shared__ int t[128];
    int half = threadIdx.x >> 6, x = threadIdx.x & 63;
    t[threadIdx.x] = a[blockIdx.x * 128 + threadIdx.x];
    for (int d = 32; d; d >>= 1) {
        asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");  //-
        if (x < d) t[64 * half + x] += t[64 * half + x + d];
    }
    __syncthreads();  //-
    b[blockIdx.x * 128 + threadIdx.x] = t[0] * x + t[64];
}

// CASE specialised_warps ok grid=1 block=96 n=5
KERNEL(specialised_warps) {
    __shared__ int t[32], out[32];
    int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (int k = 0; k < n; ++k) {
        if (warp == 0) t[lane] = a[k * 32 + lane];
        __syncthreads();  //-
        if (warp == 1) out[lane] = t[31 - lane] * 2;
        __syncthreads();  //-
        if (warp == 2) b[k * 32 + lane] = out[lane];
    }
}

// CASE nested_function ok grid=1 block=64
__device__ __noinline__ int warp_total(int v, int* t) {
    int lane = threadIdx.x & 31;
    t[lane] = v;
    __syncwarp();
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += t[k];
    __syncwarp();
    return sum;
}
KERNEL(nested_function) {
    __shared__ int t[2][32];
    int v = a[threadIdx.x];
    for (int k = 0; k < 3; ++k) v += warp_total(v + k, t[threadIdx.x >> 5]);
    b[threadIdx.x] = v;
}
