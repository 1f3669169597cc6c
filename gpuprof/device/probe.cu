// The smallest program that shows whether a toolchain builds and whether a GPU runs and may be profiled.
#include <cuda_fp16.h>

extern "C" __global__ void gpuprof_probe(float* target) {
    target[threadIdx.x] = __half2float(__float2half(static_cast<float>(threadIdx.x)));
}

extern "C" int gpuprof_probe_launch() {
    float* target = nullptr;
    cudaError_t status = cudaMalloc(&target, 32 * sizeof(float));
    if (status != cudaSuccess) return status;
    gpuprof_probe<<<1, 32>>>(target);
    status = cudaDeviceSynchronize();
    cudaFree(target);
    return status;
}
