// Divergent control flow, for counts by instruction: who runs when, and how often BSYNC issues with how many lanes.
//
// Compiled twice: as it is, and with TRACE, where each LOG stores its number and the clock, so that the order in which
// a GPU runs the sides can be read back.

#ifdef TRACE
#define LOG(point) \
    do { \
        if (logged < 256) { trace[(i * 256 + logged) * 2] = point; trace[(i * 256 + logged) * 2 + 1] = (int)clock(); ++logged; } \
    } while (0)
#define BEGIN const int i = blockIdx.x * blockDim.x + threadIdx.x; int logged = 0; (void)logged;
#else
#define LOG(point) do {} while (0)
#define BEGIN const int i = blockIdx.x * blockDim.x + threadIdx.x;
#endif
#define KERNEL(name) extern "C" __global__ void name(int count, const int* source, int* target, int* trace)

KERNEL(collatz) {
    BEGIN
    unsigned int value = source[i] + 1;
    int steps = 0;
    while (value != 1) {
        if (value & 1) { LOG(1); value = 3 * value + 1; } else { LOG(2); value /= 2; }
        ++steps;
    }
    LOG(3);
    target[i] = steps;
}

KERNEL(collatz_break) {
    BEGIN
    unsigned int value = source[i] + 1;
    int steps = 0;
    for (;;) {
        LOG(1);
        if (value == 1) break;
        if (steps > 60) { LOG(2); steps = -1; break; }
        value = value & 1 ? 3 * value + 1 : value / 2;
        ++steps;
    }
    LOG(3);
    target[i] = steps * 3 + value;
}

KERNEL(collatz_store) {
    BEGIN
    unsigned int value = source[i] + 1;
    int steps = 0;
    while (value != 1) {
        if (value & 1) { LOG(1); target[i] = steps; value = 3 * value + 1; } else { LOG(2); value /= 2; }
        if (steps > 40) continue_here: { ++steps; if (steps > 80) break; continue; }
        ++steps;
    }
    if (false) goto continue_here;
    LOG(3);
    target[i] = steps + value;
}

KERNEL(break_in_nested) {
    BEGIN
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < (source[i] & 7) + 1; ++a) {
        LOG(1);
#pragma unroll 1
        for (int b = 0; b < 6; ++b) {
            LOG(2);
            sum += source[(i + a * 3 + b) & 31];
            if (sum % 7 == 3) { LOG(3); break; }
        }
        LOG(4);
        if (sum > 600) { LOG(5); break; }
    }
    LOG(6);
    target[i] = sum;
}

KERNEL(continue_in_nested) {
    BEGIN
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < (source[i] & 7); ++a) {
#pragma unroll 1
        for (int b = a; b < (source[i] >> 3 & 7); ++b) {
            LOG(1);
            if ((a * b) % 3 == 1) { LOG(2); continue; }
            sum += a * 10 + b;
            target[i] = sum;
            if (sum > 90) { LOG(3); break; }
        }
        LOG(4);
    }
    LOG(5);
    target[i] = sum;
}

KERNEL(break_then_sides) {
    BEGIN
    int value = source[i], k = 0;
#pragma unroll 1
    for (; k < 30; ++k) {
        LOG(1);
        value = value * 5 + k;
        if ((value & 15) == 3) { LOG(2); break; }
        if ((value & 31) == 8) { LOG(3); value += 7; continue; }
        value ^= value >> 3;
    }
    LOG(4);
    if (i & 1) {
#pragma unroll 1
        for (int j = 0; j < (i & 7); ++j) { LOG(5); value = value * 3 + j; }
    } else {
#pragma unroll 1
        for (int j = 0; j < (value & 7); ++j) { LOG(6); value = value * 7 ^ j; }
    }
    LOG(7);
    target[i] = value + k;
}

KERNEL(half_warp_trips) {
    BEGIN
    int value = source[i];
    const int trips = (threadIdx.x & 16) ? 4 : 11;
#pragma unroll 1
    for (int k = 0; k < trips; ++k) { LOG(1); value = value * 3 + k; }
    LOG(2);
    target[i] = value;
}

KERNEL(half_warp_sides) {
    BEGIN
    int value = source[i];
    if (threadIdx.x & 16) {
#pragma unroll 1
        for (int k = 0; k < (value & 7); ++k) { LOG(1); value = value * 3 + k; }
    } else {
#pragma unroll 1
        for (int k = 0; k < (value & 3) + 2; ++k) { LOG(2); value = value * 5 ^ k; }
    }
    LOG(3);
    target[i] = value;
}

KERNEL(quarter_trips) {
    BEGIN
    int value = source[i];
#pragma unroll 1
    for (int k = 0; k < (i & 24) / 8 + 1; ++k) {
        LOG(1);
        if (value & 1) { LOG(2); value = value * 3 + source[(value + k) & 31]; target[i] = value; }
        else { LOG(3); value = value / 2 + k; }
    }
    LOG(4);
    target[i] = value;
}

KERNEL(early_return) {
    BEGIN
    int value = source[i];
#pragma unroll 1
    for (int k = 0; k < 20; ++k) {
        LOG(1);
        value = value * 5 + source[(i + k) & 31];
        if ((value & 15) == 1) { LOG(2); target[i] = -k; return; }
    }
    LOG(3);
    target[i] = value;
}

KERNEL(early_return_guard) {
    BEGIN
    if (source[i] & 4) return;
    int value = source[i];
    if (value & 1) { LOG(1); if (value & 2) { target[i] = 5; return; } value = value * 7; target[i] = value; } else { LOG(2);
#pragma unroll 1
        for (int k = 0; k < (value & 9); ++k) value += k * value; }
    LOG(3);
    target[i] = value + 1;
}

KERNEL(return_in_nested) {
    BEGIN
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < 5; ++a) {
#pragma unroll 1
        for (int b = 0; b < (source[(i + a) & 31] & 7); ++b) {
            LOG(1);
            sum += a * b + source[i];
            if (sum % 13 == 2) { LOG(2); target[i] = sum; return; }
        }
        LOG(3);
    }
    LOG(4);
    target[i] = -sum;
}

KERNEL(switch_dense) {
    BEGIN
    int value = source[i];
    switch (value & 7) {
        case 0: LOG(1); value += target[i] + 3; break;
        case 1: LOG(2); for (int k = 0; k < (value >> 3); ++k) value = value * 3 - k; break;
        case 2: LOG(3); value = value / 7; target[i] = value; break;
        case 3: LOG(4); value = value % 5; [[fallthrough]];
        case 4: LOG(5); target[i] = 3; value = value * value; break;
        case 5: LOG(6); if (value & 16) value = ~value; else target[i] = 9; break;
        case 6: LOG(7); return;
        default: LOG(8); value = -value;
    }
    LOG(9);
    target[i] = value;
}

KERNEL(switch_in_loop) {
    BEGIN
    int value = source[i];
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
        switch ((value + k) & 7) {
            case 0: LOG(1); value = value * 3 + 1; target[i] = value; break;
            case 1: LOG(2); value = value / 3; continue;
            case 2: LOG(3); target[i] = k; value ^= 85; break;
            case 3: LOG(4); value = value % 11; break;
            case 4: LOG(5); value += target[i]; break;
            case 5: LOG(6); value -= 9; [[fallthrough]];
            case 6: LOG(7); value = value * 7; target[i] = value; break;
            default: LOG(8); k += 2;
        }
        value &= 0xffff;
        LOG(9);
    }
    LOG(10);
    target[i] = value;
}

KERNEL(state_machine) {
    BEGIN
    int state = source[i] & 3, value = source[i], steps = 0;
    while (state != 5 && steps < 24) {
        switch (state) {
            case 0: LOG(1); value = value * 5 + 1; target[i] = value; state = value & 8 ? 1 : 2; break;
            case 1: LOG(2); value = value / 3; state = value & 1 ? 3 : 0; break;
            case 2: LOG(3); value ^= 0x33; target[i] = value + 1; state = value & 2 ? 4 : 3; break;
            case 3: LOG(4); value = value % 97; state = value & 4 ? 5 : 0; break;
            default: LOG(5); value += 11; state = value & 1 ? 5 : 1;
        }
        ++steps;
    }
    LOG(6);
    target[i] = value + steps;
}

__device__ __noinline__ int descend(int depth, int value) { return depth <= 0 ? value : descend(depth - 1, value * 3 + depth) + 1; }
KERNEL(recursion_linear) {
    BEGIN
    LOG(1);
    int value = descend(source[i] & 7, i);
    LOG(2);
    target[i] = value;
}

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL(recursion_double) {
    BEGIN
    LOG(1);
    int value = fibonacci(source[i] & 3);
    LOG(2);
    target[i] = value;
}

__device__ __noinline__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
KERNEL(recursion_nested) {
    BEGIN
    LOG(1);
    int value = ackermann(source[i] & 1, source[i] >> 1 & 3);
    LOG(2);
    target[i] = value;
}

__device__ __noinline__ int digits(int value, int base) { int sum = 0; while (value > 0) { sum += value % base; value /= base; } return sum; }
KERNEL(call_in_loop) {
    BEGIN
    int value = source[i];
#pragma unroll 1
    for (int k = 0; k < (value & 3) + 2; ++k) { LOG(1); value = value * 2 + digits(value, 3 + k); }
    LOG(2);
    target[i] = value;
}

KERNEL(call_in_sides) {
    BEGIN
    int value = source[i];
    if (value & 1) { LOG(1); value = digits(value, 2); } else { LOG(2); value = digits(value * 3, 7) + 1; }
    LOG(3);
    target[i] = value;
}

KERNEL(call_twice) {
    BEGIN
    int value = digits(source[i], 2);
    LOG(1);
    if (value & 1) value = digits(value * 77, 10);
    LOG(2);
    target[i] = value + digits(source[i] * 5, 16);
}

KERNEL(calls_by_pointer) {
    BEGIN
    typedef int (*Function)(int, int);
    Function functions[2] = {digits, descend};
    int value = functions[source[i] & 1](source[i] & 7, 3 + (i & 1));
    LOG(1);
    target[i] = value;
}

KERNEL(three_sides) {
    BEGIN
    int value = source[i];
    if (value % 3 == 0) {
#pragma unroll 1
        for (int k = 0; k < (value & 3) + 1; ++k) { LOG(1); value = value * 3 + k; target[i] = k; }
    } else if (value % 3 == 1) {
#pragma unroll 1
        for (int k = 0; k < (value & 7) + 1; ++k) { LOG(2); value = value * 5 + k; target[i] = -k; }
    } else {
        LOG(3);
        value = value / 9;
        target[i] = 1;
    }
    LOG(4);
    target[i] += value;
}

KERNEL(nested_sides) {
    BEGIN
    int value = source[i];
    if (value & 1) {
        if (value & 2) {
            if (value & 4) { LOG(1); value = value / 5; target[i] = 1; } else { LOG(2); value = value % 7; target[i] = 2; }
        } else { LOG(3); value = value * 9; target[i] = 3; }
        LOG(4);
    } else {
        if (value & 8) { LOG(5); value = value / 11; target[i] = 4; } else { LOG(6); value = value % 13; target[i] = 5; }
        LOG(7);
    }
    LOG(8);
    target[i] += value;
}

KERNEL(binary_search) {
    BEGIN
    int low = 0, high = 31;
    const int wanted = source[i] >> 2;
    while (low < high) {
        LOG(1);
        const int middle = (low + high) / 2;
        if (middle * 2 == wanted) { LOG(2); low = middle; break; }
        if (middle * 2 < wanted) low = middle + 1; else high = middle;
    }
    LOG(3);
    target[i] = low;
}

KERNEL(find_first) {
    BEGIN
    int found = -1;
#pragma unroll 1
    for (int k = 0; k < 32 && found < 0; ++k) {
        LOG(1);
        const int value = source[(i * 7 + k) & 31];
        if (value % 11 == 5) { LOG(2); found = k; }
        else if (value % 23 == 9) { LOG(3); found = 100 + k; target[i] = 1; }
    }
    LOG(4);
    target[i] = found;
}

KERNEL(two_breaks) {
    BEGIN
    int found = -1;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) {
        LOG(1);
        const int value = source[(i * 5 + k) & 31];
        if (value % 13 == 5) { LOG(2); found = k; break; }
        if (value % 7 == 2) { LOG(3); found = 100 + k; target[i] = found; break; }
    }
    LOG(4);
    target[i] = found;
}

KERNEL(break_to_outer) {
    BEGIN
    int sum = source[i] & 3;
#pragma unroll 1
    for (int a = 0; a < 6; ++a) {
#pragma unroll 1
        for (int b = 0; b < 5; ++b) {
            LOG(1);
            sum = sum * 3 + source[(i + a + b) & 31];
            if (sum % 29 == 4) { LOG(2); goto out; }
            if (sum % 5 == 1) { LOG(3); goto next; }
        }
        LOG(4);
        sum += 7;
    next:;
        LOG(5);
    }
out:
    LOG(6);
    target[i] = sum;
}

KERNEL(loop_in_side) {
    BEGIN
    int value = source[i];
#pragma unroll 1
    for (int a = 0; a < 4; ++a) {
        if ((value + a) & 1) {
#pragma unroll 1
            while (value & 14) { LOG(1); value = value * 5 + 3; value &= 255; if (value % 9 == 0) break; }
        } else { LOG(2); value = value / 3 + 1; target[i] = value; }
        LOG(3);
    }
    LOG(4);
    target[i] = value;
}

KERNEL(do_while_sides) {
    BEGIN
    int value = source[i], k = 0;
    do {
        LOG(1);
        if (value & 4) { LOG(2); value = value * 3 + 1; target[i] = k; } else { LOG(3); value = value + 5; }
        value &= 127;
    } while (++k < 3 || (value & 3));
    LOG(4);
    target[i] = value + k;
}

KERNEL(short_circuit) {
    BEGIN
    int value = source[i], k = 0;
    while ((value & 1 || source[(value + k) & 31] & 2) && k < 20) {
        LOG(1);
        value = (value * 5 + k) & 255;
        ++k;
    }
    LOG(2);
    target[i] = value + k;
}

KERNEL(gcd) {
    BEGIN
    int a = source[i] + 1, b = source[(i + 7) & 31] + 1;
    while (a != b) { LOG(1); if (a > b) a -= b; else b -= a; }
    LOG(2);
    target[i] = a;
}

KERNEL(gcd_modulo) {
    BEGIN
    int a = source[i] + 1, b = source[(i + 7) & 31] + 1;
    while (b) { LOG(1); const int rest = a % b; a = b; b = rest; }
    LOG(2);
    target[i] = a;
}

KERNEL(insertion) {
    BEGIN
    int values[6];
    for (int k = 0; k < 6; ++k) values[k] = source[(i * 3 + k * 5) & 31];
#pragma unroll 1
    for (int a = 1; a < 6; ++a) {
        const int key = values[a];
        int b = a - 1;
#pragma unroll 1
        while (b >= 0 && values[b] > key) { LOG(1); values[b + 1] = values[b]; --b; }
        LOG(2);
        values[b + 1] = key;
    }
    LOG(3);
    target[i] = values[0] + 3 * values[2] + 5 * values[5];
}

KERNEL(mandelbrot) {
    BEGIN
    const float x = (source[i] & 15) * 0.2f - 2.0f, y = (source[i] >> 4) * 0.15f - 1.2f;
    float a = 0.0f, b = 0.0f;
    int k = 0;
    while (a * a + b * b < 4.0f && k < 40) { LOG(1); const float c = a * a - b * b + x; b = 2.0f * a * b + y; a = c; ++k; }
    LOG(2);
    target[i] = k;
}

KERNEL(newton) {
    BEGIN
    float value = source[i] + 1.0f, root = value;
    int k = 0;
    while (fabsf(root * root - value) > 0.01f * value) { LOG(1); root = 0.5f * (root + value / root); if (++k > 30) break; }
    LOG(2);
    target[i] = __float_as_int(root) + k;
}

KERNEL(barrier_between) {
    BEGIN
    __shared__ int words[128];
    int value = source[i];
    words[threadIdx.x] = value;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        if (value & 1) { LOG(1); value = value * 3 + words[(threadIdx.x + k) % blockDim.x]; target[i] = k; } else { LOG(2); value = value / 2 + 1; }
        __syncthreads();
        words[threadIdx.x] = value;
        __syncthreads();
    }
    LOG(3);
    target[i] = value;
}

KERNEL(syncwarp_between) {
    BEGIN
    int value = source[i];
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        if (value & 1) { LOG(1); value = value * 3 + k; target[i] = k; } else { LOG(2); value = value / 2 + 1; if (value % 5 == 0) { LOG(3); target[i] = 8; } }
        __syncwarp();
        value += __shfl_xor_sync(0xffffffffu, value, 1) & 3;
    }
    LOG(4);
    target[i] = value;
}

KERNEL(shuffle_in_loop) {
    BEGIN
    int value = source[i], k = 0;
    while (__any_sync(0xffffffffu, value > 20)) {
        LOG(1);
        if (value > 20) { LOG(2); value = value / 2 - 1; if (value % 3 == 0) target[i] = k; }
        value = __shfl_sync(0xffffffffu, value, (threadIdx.x + 1) & 31);
        if (++k > 12) break;
    }
    LOG(3);
    target[i] = value + k;
}

KERNEL(loop_with_two_ends) {
    BEGIN
    int value = source[i], other = source[(i + 3) & 31], k = 0;
    for (;;) {
        LOG(1);
        value = (value * 3 + 1) & 255;
        if (value < 16) { LOG(2); break; }
        other = (other * 5 + 3) & 255;
        if (other < 16) { LOG(3); target[i] = other; break; }
        if (++k == 40) return;
    }
    LOG(4);
    target[i] = value + other + k;
}

KERNEL(sides_then_loop) {
    BEGIN
    int value = source[i];
    if (value & 1) { LOG(1); value = value / 3; target[i] = 1; }
    if (value & 2) { LOG(2); value = value / 5; target[i] = 2; } else { LOG(3); value = value * 7; target[i] = 3; }
#pragma unroll 1
    while (value > 9) {
        LOG(4);
        value = value / 2;
        if (value & 1) { LOG(5); target[i] = value; value -= 3; if (value & 4) { LOG(6); value = value / 3; target[i] = 0; } }
    }
    LOG(7);
    target[i] += value;
}

KERNEL(triple_nest) {
    BEGIN
    int sum = 0;
#pragma unroll 1
    for (int a = 0; a < (source[i] & 3); ++a) {
#pragma unroll 1
        for (int b = 0; b < (source[i] >> 2 & 3); ++b) {
#pragma unroll 1
            for (int c = 0; c < (source[i] >> 4 & 3); ++c) {
                LOG(1);
                sum += a + b * c + 1;
                if (sum % 5 == 4) { LOG(2); break; }
            }
            LOG(3);
            if (sum % 7 == 6) { LOG(4); break; }
        }
        LOG(5);
    }
    LOG(6);
    target[i] = sum;
}

KERNEL(continue_loop) {
    BEGIN
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < (source[i] & 15) + 4; ++k) {
        LOG(1);
        const int value = source[(i + k) & 31];
        if (value & 1) { LOG(2); continue; }
        sum += value;
        target[i] = sum;
        if (value & 2) { LOG(3); continue; }
        sum = sum / 3;
        LOG(4);
    }
    LOG(5);
    target[i] = sum;
}

KERNEL(warp_queue) {
    BEGIN
    __syncthreads();
    int sum = 0;
    for (int item = threadIdx.x; item < 96; item += blockDim.x) {
        int value = source[item & 31];
#pragma unroll 1
        while (value > 3) { LOG(1); value = value & 1 ? value - 3 : value / 2; ++sum; }
        LOG(2);
    }
    LOG(3);
    target[i] = sum;
}

KERNEL(tree_walk) {
    BEGIN
    int node = 1, depth = 0;
    const int key = source[i];
    while (node < 200) {
        LOG(1);
        const int here = source[(node * 13) & 31];
        if (here == key) { LOG(2); break; }
        node = here < key ? 2 * node + 1 : 2 * node;
        if ((node & 15) == 9) { LOG(3); target[i] = node; node += 2; }
        ++depth;
    }
    LOG(4);
    target[i] = node * 16 + depth;
}

KERNEL(stack_walk) {
    BEGIN
    int stack[12], top = 0, sum = 0;
    stack[top++] = source[i] & 31;
    while (top > 0) {
        LOG(1);
        const int node = stack[--top];
        sum += node;
        if (node > 1 && (node & 1)) { LOG(2); stack[top++] = node / 2; }
        if (node > 4 && top < 10) { LOG(3); stack[top++] = node / 4; }
    }
    LOG(4);
    target[i] = sum;
}
