// Warp-level functions: shuffles, votes, match, reductions, active masks, divergent shuffles.

extern "C" __global__ void shuffles(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = source[i];
    int result = __shfl_sync(0xffffffffu, value, value & 31);
    result = result * 3 + __shfl_up_sync(0xffffffffu, value, 3);
    result = result * 3 + __shfl_down_sync(0xffffffffu, value, 5);
    result = result * 3 + __shfl_xor_sync(0xffffffffu, value, 9);
    result = result * 3 + __shfl_up_sync(0xffffffffu, value, 2, 8);
    result = result * 3 + __shfl_down_sync(0xffffffffu, value, 1, 16);
    result = result * 3 + __shfl_xor_sync(0xffffffffu, value, 1, 4);
    target[i] = result;
}

extern "C" __global__ void votes(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = source[i];
    const unsigned int ballot = __ballot_sync(0xffffffffu, value & 1);
    const int any = __any_sync(0xffffffffu, value > 250);
    const int all = __all_sync(0xffffffffu, value >= 0);
    target[i] = __popc(ballot) + 100 * any + 1000 * all + __ffs(ballot) * 10000 + __clz(ballot);
}

extern "C" __global__ void matches(int count, const int* source, unsigned int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int same = 0;
    const unsigned int mask = __match_any_sync(0xffffffffu, source[i] & 7);
    const unsigned int all = __match_all_sync(0xffffffffu, source[i] >> 30, &same);
    target[i] = mask ^ all ^ same;
}

extern "C" __global__ void warp_reductions(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = source[i];
    int result = __reduce_add_sync(0xffffffffu, value);
    result ^= __reduce_min_sync(0xffffffffu, value) << 3;
    result ^= __reduce_max_sync(0xffffffffu, value) << 7;
    result ^= __reduce_xor_sync(0xffffffffu, static_cast<unsigned int>(value));
    result ^= __reduce_and_sync(0xffffffffu, static_cast<unsigned int>(value) | 1u) << 1;
    target[i] = result;
}

extern "C" __global__ void active_masks(int count, const int* source, unsigned int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int result = 0;
    if (source[i] & 1) {
        const unsigned int mask = __activemask();
        result = mask ^ __shfl_sync(mask, source[i], __ffs(mask) - 1);
        for (int k = 0; k < 12; ++k) result = result * 5 + k;
    } else {
        result = __activemask() * 3u;
    }
    __syncwarp();
    target[i] = result;
}

extern "C" __global__ void warp_scan(int count, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float value = source[i];
    for (int distance = 1; distance < 32; distance *= 2) {
        const float other = __shfl_up_sync(0xffffffffu, value, distance);
        if ((threadIdx.x & 31) >= distance) value += other;
    }
    target[i] = value;
}

extern "C" __global__ void special_registers(int count, unsigned int* target) {
    const int i = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y * blockDim.z +
                  (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned int lane, below;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    target[i] = lane + below * 32u + threadIdx.y * 7u + threadIdx.z * 11u + blockIdx.y * 13u;
}
