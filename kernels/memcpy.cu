// cudaMemcpyAsync and cudaMemsetAsync as host functions: the driver's own copy and fill, as bounds (need a GPU).

#include <cuda_runtime.h>

extern "C" int memcpy_async(int bytes, const void* source, void* target, cudaStream_t stream) {
    return cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

extern "C" int memset_async(int bytes, int byte, void* target, cudaStream_t stream) {
    return cudaMemsetAsync(target, byte, bytes, stream);
}
