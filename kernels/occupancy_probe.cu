// One kernel for many occupancies: ILP independent chains of multiply-adds per thread, and shared memory on request.
//
// Each thread reads one float, runs ROUNDS steps on ILP copies of it, and writes their sum; any count. Registers are
// set with -maxrregcount, shared memory with the launch; neither is needed by the arithmetic.
//
// In the table: occupancy beside time. Fewer resident warps hide less latency, but a thread with more independent
// work (ILP 4) needs fewer warps: 100 % is not a goal in itself.

template <int ILP = 1, int ROUNDS = 64>
__global__ void occupancy_probe(int count, const float* source, float* target) {
    extern __shared__ float unused[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float chains[ILP];
#pragma unroll
    for (int chain = 0; chain < ILP; ++chain) chains[chain] = source[i] + chain;
#pragma unroll 4  // not wholly: the compiler would then run one chain after the other
    for (int round = 0; round < ROUNDS; ++round) {
#pragma unroll
        for (int chain = 0; chain < ILP; ++chain) chains[chain] = chains[chain] * 0.5f + 1.0f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int chain = 0; chain < ILP; ++chain) sum += chains[chain];
    target[i] = sum;
}
