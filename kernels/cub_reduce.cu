// CUB's DeviceReduce::Sum as a host function: the library baseline of the reduction (needs a GPU).
//
// The scratch memory that CUB asks for is allocated once and kept, so that only the reduction is timed.

#include <cub/device/device_reduce.cuh>

extern "C" int cub_reduce_sum(int count, const float* source, float* total, cudaStream_t stream) {
    static void* scratch = nullptr;
    static size_t kept_bytes = 0;
    size_t bytes = 0;
    if (const cudaError_t error = cub::DeviceReduce::Sum(nullptr, bytes, source, total, count, stream)) return error;
    if (bytes > kept_bytes) {
        cudaFree(scratch);
        if (const cudaError_t error = cudaMalloc(&scratch, bytes)) return error;
        kept_bytes = bytes;
    }
    return cub::DeviceReduce::Sum(scratch, bytes, source, total, count, stream);
}
