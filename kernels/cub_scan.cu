// CUB's DeviceScan::InclusiveSum as a host function: the library baseline of the scan (needs a GPU).
//
// The scratch memory that CUB asks for is allocated once and kept, so that only the scan is timed.

#include <cub/device/device_scan.cuh>

extern "C" int cub_inclusive_sum(int count, const float* source, float* target, cudaStream_t stream) {
    static void* scratch = nullptr;
    static size_t kept_bytes = 0;
    size_t bytes = 0;
    if (const cudaError_t error = cub::DeviceScan::InclusiveSum(nullptr, bytes, source, target, count, stream)) {
        return error;
    }
    if (bytes > kept_bytes) {
        cudaFree(scratch);
        if (const cudaError_t error = cudaMalloc(&scratch, bytes)) return error;
        kept_bytes = bytes;
    }
    return cub::DeviceScan::InclusiveSum(scratch, bytes, source, target, count, stream);
}
