// Control flow: divergence, nesting, loops with trips from data, switches, early exits, breaks, barriers in loops.

extern "C" __global__ void divergent_if(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int value = source[i];
    if (value & 1) {
        for (int k = 0; k < 20; ++k) value = value * 3 + k;
    } else {
#pragma unroll 1
        for (int k = 0; k < 30; ++k) value = value * 5 ^ k;
    }
    target[i] = value;
}

extern "C" __global__ void nested_if(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int value = source[i];
    if (value & 1) {
        if (value & 2) {
            for (int k = 0; k < (value & 7); ++k) value += target[i] ^ k;
        } else {
            for (int k = 0; k < (value & 3); ++k) value -= k * 5 + target[i];
            if (value & 16) value = value / 7;
        }
        value *= 11;
    } else if (value & 4) {
        value = value % 13;
    }
    target[i] = value;
}

extern "C" __global__ void data_loop(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned int value = source[i] + 1;
    int steps = 0;
    while (value != 1 && steps < 200) {
        value = value & 1 ? 3 * value + 1 : value / 2;
        ++steps;
    }
    target[i] = steps;
}

extern "C" __global__ void nested_loops(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int sum = 0;
    for (int a = 0; a < (source[i] & 7); ++a) {
        for (int b = a; b < (source[i] >> 3 & 7); ++b) {
            if ((a * b) % 3 == 1) continue;
            sum += a * 10 + b;
            if (sum > 150) break;
        }
    }
    target[i] = sum;
}

extern "C" __global__ void switch_cases(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int value = source[i];
    switch (value & 15) {
        case 0: value += target[i] + 3; break;
        case 1: value *= 5; break;
        case 2: for (int k = 0; k < 9; ++k) value = value * 3 - k; break;
        case 3: value ^= 0x5555; break;
        case 4: value = ~value; break;
        case 5: value <<= 2; [[fallthrough]];
        case 6: value = value * value; break;
        case 7: value |= 64; break;
        case 8: for (int k = 0; k < (value >> 4 & 7); ++k) value ^= value >> 1; break;
        case 9: value = -value; break;
        case 10: value = value / 3; break;
        case 11: value = value % 17; break;
        default: value = 1000 - value;
    }
    target[i] = value;
}

extern "C" __global__ void early_exit(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int sum = 0;
    for (int k = 0; k < 40; ++k) {
        sum += source[(i + k) % count];
        if (sum > 2000) {
            target[i] = -k;
            return;
        }
    }
    target[i] = sum;
}

extern "C" __global__ void loop_with_break(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int found = -1;
    for (int k = 0; k < 64; ++k) {
        const int value = source[(i * 7 + k) % count];
        if (value % 11 == 5) {
            found = k;
            break;
        }
        if (value % 23 == 9) {
            found = 1000 + k;
            break;
        }
    }
    target[i] = found;
}

extern "C" __global__ void short_predicates(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int value = source[i];
    if (value > 100) value -= 100;
    if (value > 50) value = 100 - value;
    if (value & 8) value += 3;
    target[i] = value < 0 ? -value : min(value, 31);
}

extern "C" __global__ void barrier_loop(int count, const int* source, int* target) {
    __shared__ int words[128];
    const int t = threadIdx.x;
    words[t] = source[blockIdx.x * 128 + t];
    for (int distance = 1; distance < 128; distance *= 2) {
        __syncthreads();
        const int other = t >= distance ? words[t - distance] : 0;
        __syncthreads();
        words[t] += other;
    }
    target[blockIdx.x * 128 + t] = words[t];
}

extern "C" __global__ void barrier_counts(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = source[i];
    const int odd = __syncthreads_count(value & 1);
    const int all = __syncthreads_and(value >= 0);
    const int any = __syncthreads_or(value > 240);
    target[i] = odd * 4 + (all ? 2 : 0) + (any ? 1 : 0);
}

extern "C" __global__ void one_warp_works(int count, const int* source, int* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = source[i];
    if (threadIdx.x / 32 == 1) {
        for (int k = 0; k < 25; ++k) value = value * 5 + 1;
    }
    if (threadIdx.x % 32 == 3) {
        for (int k = 0; k < 15; ++k) value = value * 7 - 2;
    }
    target[i] = value;
}

// Lanes leave a loop in up to four groups, whose sizes are a, b - a, c - b and the rest: what meeting them costs.
extern "C" __global__ void leaving(int count, int a, int b, int c, const int* order, int* target) {
    const int lane = order[threadIdx.x];
    const int trips = 1 + (lane >= a) + (lane >= b) + (lane >= c);
    int value = lane, k = 0;
#pragma unroll 1
    do value = value * 5 ^ k;
    while (++k < trips);
    target[threadIdx.x] = value;
}

// The same, with a load that the loop waits for.
extern "C" __global__ void leaving_after_loads(int count, int a, int b, int c, const int* order, int* target) {
    const int lane = order[threadIdx.x];
    const int trips = 1 + (lane >= a) + (lane >= b) + (lane >= c);
    int value = lane, k = 0;
#pragma unroll 1
    do value = value * 5 ^ order[(value + k) & 31];
    while (++k < trips);
    target[threadIdx.x] = value;
}

// Two and three groups that meet in __syncwarp.
extern "C" __global__ void meeting(int count, int a, int b, const int* order, int* target) {
    const int lane = order[threadIdx.x];
    int value = lane;
    if (lane < a) {
        const unsigned int mask = __activemask();
        value = __shfl_sync(mask, lane, __ffs(mask) - 1) * 3;
    } else if (lane < b) {
        const unsigned int mask = __activemask();
        value = __shfl_sync(mask, lane, __ffs(mask) - 1) * 7 + 1;
    } else {
        const unsigned int mask = __activemask();
        value = __shfl_sync(mask, lane, __ffs(mask) - 1) * 11 + 2;
    }
    __syncwarp();
    target[threadIdx.x] = value;
}
