// Float to half, one element per thread: the preparatory launch of the tensor-core experiments.
//
// Rounds to nearest even. Any count: the last block's spare threads do nothing.

#include <cuda_fp16.h>

extern "C" __global__ void float_to_half(int count, const float* source, __half* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = __float2half_rn(source[i]);
}
