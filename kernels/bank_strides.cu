// Shared memory read at a stride: the ways of a bank conflict are gcd(stride, 32).
//
// A warp reads words lane * STRIDE, 32 of them, in a shared array that the block has filled; STRIDE 0 is the
// broadcast: all lanes read one word. Any number of whole blocks of 32 threads; one result per thread.
//
// In the table: wavefronts per shared load. Odd strides: 1. Stride 2: 2, 4: 4, 32: 32, 33: 1 again. Broadcast: 1.

template <int STRIDE = 1>
__global__ void bank_stride(int repeats, float* target) {
    constexpr int WORDS = 31 * STRIDE + 1;
    __shared__ volatile float words[WORDS];
    for (int i = threadIdx.x; i < WORDS; i += 32) words[i] = static_cast<float>(i);
    __syncthreads();

    float sum = 0.0f;
    for (int repeat = 0; repeat < repeats; ++repeat) sum += words[threadIdx.x * STRIDE];
    target[blockIdx.x * 32 + threadIdx.x] = sum;
}
