// Warp functions over parts of a warp: masks of halves and odd lanes, coalesced groups, tiled partitions.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

#define KERNEL(name) extern "C" __global__ void name(int count, const int* source, int* target)
#define BEGIN const int i = blockIdx.x * blockDim.x + threadIdx.x; const int lane = threadIdx.x & 31; int value = source[i]; (void)lane;
#define OTHER 0x55555555u

// One reduction over: each half by its own mask, a data-dependent side, the odd lanes alone, a quarter.
#define REDUCTION(name, function, type) \
    KERNEL(name##_halves) { BEGIN const unsigned int mask = lane < 16 ? 0xffffu : 0xffff0000u; target[i] = (int)function(mask, (type)value); } \
    KERNEL(name##_sides) { BEGIN int result; \
        const unsigned int odd = __ballot_sync(0xffffffffu, value & 1); \
        if (value & 1) result = (int)function(odd, (type)value) * 3; else result = (int)function(~odd, (type)(value + 1)); \
        target[i] = result; } \
    KERNEL(name##_some) { BEGIN int result = -1; if (lane % 3 == 1) result = (int)function(0x92492492u, (type)value); target[i] = result; } \
    KERNEL(name##_groups) { BEGIN const unsigned int mask = __match_any_sync(0xffffffffu, value & 3); target[i] = (int)function(mask, (type)(value - 100)); }

REDUCTION(reduce_add, __reduce_add_sync, int)
REDUCTION(reduce_min, __reduce_min_sync, int)
REDUCTION(reduce_max_unsigned, __reduce_max_sync, unsigned int)
REDUCTION(reduce_and, __reduce_and_sync, unsigned int)
REDUCTION(reduce_or, __reduce_or_sync, unsigned int)
REDUCTION(reduce_xor, __reduce_xor_sync, unsigned int)

KERNEL(shuffle_halves) { BEGIN const unsigned int mask = lane < 16 ? 0xffffu : 0xffff0000u; target[i] = __shfl_down_sync(mask, value, 3, 16) + __shfl_xor_sync(mask, value, 5); }
KERNEL(shuffle_sides) { BEGIN const unsigned int odd = __ballot_sync(0xffffffffu, value & 1); int result;
    if (value & 1) result = __shfl_sync(odd, value, __ffs(odd) - 1); else result = -__shfl_sync(~odd, value, 31 - __clz(~odd));
    target[i] = result; }
KERNEL(shuffle_some) { BEGIN int result = 0; if (lane & 1) result = __shfl_up_sync(0xaaaaaaaau, value, 2); target[i] = result; }
KERNEL(vote_halves) { BEGIN const unsigned int mask = lane < 16 ? 0xffffu : 0xffff0000u; target[i] = __ballot_sync(mask, value & 2) ^ __any_sync(mask, value > 250) ^ (__all_sync(mask, value < 240) << 4); }
KERNEL(vote_sides) { BEGIN const unsigned int odd = __ballot_sync(0xffffffffu, value & 1); int result;
    if (value & 1) result = __ballot_sync(odd, value & 2); else result = ~__ballot_sync(~odd, value & 4);
    target[i] = result; }
KERNEL(vote_some) { BEGIN int result = 7; if (lane >= 20) result = __ballot_sync(0xfff00000u, value & 1) + __all_sync(0xfff00000u, value > 3); target[i] = result; }
KERNEL(match_halves) { BEGIN const unsigned int mask = lane < 16 ? 0xffffu : 0xffff0000u; target[i] = __match_any_sync(mask, value & 3); }
KERNEL(match_sides) { BEGIN const unsigned int odd = __ballot_sync(0xffffffffu, value & 1); int result, same = 0;
    if (value & 1) result = __match_any_sync(odd, value & 6); else result = __match_all_sync(~odd, value & 1, &same) + same;
    target[i] = result; }
KERNEL(match_all_some) { BEGIN int result = 0, same = 0; if (lane % 4 == 2) { result = __match_all_sync(0x44444444u, value >> 8, &same); result ^= same; } target[i] = result; }
KERNEL(match_wide) { BEGIN int result = 0; if (lane < 24) result = __match_any_sync(0xffffffu, (unsigned long long)(value & 3) << 33); target[i] = result; }

KERNEL(coalesced_sum) { BEGIN int result = 0; if (value & 1) { auto group = cg::coalesced_threads(); result = cg::reduce(group, value, cg::plus<int>()) * 100 + group.thread_rank(); } target[i] = result; }
KERNEL(coalesced_shuffle) { BEGIN int result = 0; if (value & 2) { auto group = cg::coalesced_threads(); result = group.shfl(value, group.size() - 1) + group.shfl_down(value, 1) * 3 + group.shfl_up(value, 2) * 5; } target[i] = result; }
KERNEL(coalesced_votes) { BEGIN int result = 0; if (value & 4) { auto group = cg::coalesced_threads(); result = group.ballot(value & 1) + group.any(value > 200) + group.all(value > 4); } target[i] = result; }
KERNEL(coalesced_match) { BEGIN int result = 0; if (value % 3) { auto group = cg::coalesced_threads(); result = group.match_any(value & 3); } target[i] = result; }
KERNEL(coalesced_max) { BEGIN int result = 0; if (value % 5 < 3) { auto group = cg::coalesced_threads(); result = cg::reduce(group, value, cg::greater<int>()); } target[i] = result; }
KERNEL(coalesced_sides) { BEGIN int result; if (value % 3 == 0) { auto group = cg::coalesced_threads(); result = cg::reduce(group, value, cg::less<int>()); } else { auto group = cg::coalesced_threads(); result = cg::reduce(group, value, cg::bit_xor<int>()); } target[i] = result; }
KERNEL(coalesced_scan) { BEGIN int result = 0; if (value & 1) { auto group = cg::coalesced_threads(); result = cg::inclusive_scan(group, value); } target[i] = result; }

#define TILE(name, size) \
    KERNEL(name##_reduce) { BEGIN auto tile = cg::tiled_partition<size>(cg::this_thread_block()); target[i] = cg::reduce(tile, value, cg::plus<int>()) + tile.thread_rank(); } \
    KERNEL(name##_some) { BEGIN auto tile = cg::tiled_partition<size>(cg::this_thread_block()); int result = 0; \
        if (tile.meta_group_rank() & 1) result = cg::reduce(tile, value, cg::greater<int>()) + tile.shfl_xor(value, 1) * 7 + tile.ballot(value & 1); \
        target[i] = result; } \
    KERNEL(name##_scan) { BEGIN auto tile = cg::tiled_partition<size>(cg::this_thread_block()); target[i] = cg::exclusive_scan(tile, value) + tile.match_any(value & 1) + tile.any(value == 9); }
TILE(tile4, 4)
TILE(tile8, 8)
TILE(tile16, 16)

KERNEL(labeled) { BEGIN auto group = cg::labeled_partition(cg::coalesced_threads(), value & 3); target[i] = cg::reduce(group, value, cg::plus<int>()) + group.size(); }
KERNEL(binary_parts) { BEGIN auto group = cg::binary_partition(cg::coalesced_threads(), value > 120); target[i] = group.shfl(value, 0) + group.size() * 1000; }
KERNEL(loop_of_leaders) { BEGIN int result = 0; bool left = true;
    while (left) { const unsigned int active = __activemask(); const int leader = __ffs(active) - 1; const int key = __shfl_sync(active, value & 7, leader);
        const unsigned int same = __ballot_sync(active, (value & 7) == key);
        if ((value & 7) == key) { result = __popc(same) * 100 + key; left = false; } }
    target[i] = result; }
KERNEL(syncwarp_parts) { BEGIN __shared__ int words[128]; words[threadIdx.x] = value; const unsigned int mask = lane < 16 ? 0xffffu : 0xffff0000u; __syncwarp(mask);
    int result = words[threadIdx.x ^ 3]; if (lane & 8) { __syncwarp(0xff00ff00u); result += words[threadIdx.x ^ 7]; } target[i] = result; }
