// Divergence by lane and by warp: what a branch costs when the lanes of a warp disagree, and when they do not.
//
// Two bodies: ROUNDS multiply-adds in one, and as many with one addition first and one multiplication last in the
// other. (Were they the same instructions with other constants, the compiler would select the constants and not
// branch.) by_lane sends lanes 0 .. split-1 of every warp into the first body and the rest into the second, so that a
// warp issues both; by_warp sends whole warps, even and odd, so that each issues one. Any count; blocks of a multiple
// of 32.
//
// In the table: instructions and lane efficiency. By warp: half the instructions and all lanes on. By lane: both
// bodies are issued, whether 16 lanes go each way or 31 and 1. A short body (ROUNDS 4) has no branch at all: `gpuprof
// sass` shows both bodies under predicates, and the warp issues both here, too.

template <int ROUNDS>
__device__ float first_body(float x) {
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) x = x * 0.5f + 1.0f;
    return x;
}

template <int ROUNDS>
__device__ float second_body(float x) {
#pragma unroll
    for (int round = 0; round < ROUNDS; ++round) x = (x + 3.0f) * 0.25f;
    return x;
}

template <int ROUNDS = 256>
__global__ void divergence_by_lane(int count, int split, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = source[i];
    const int lane = threadIdx.x % 32;
    target[i] = lane < split ? first_body<ROUNDS>(x) : second_body<ROUNDS>(x);
}

template <int ROUNDS = 256>
__global__ void divergence_by_warp(int count, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float x = source[i];
    const int warp = threadIdx.x / 32;
    target[i] = (warp & 1) == 0 ? first_body<ROUNDS>(x) : second_body<ROUNDS>(x);
}
