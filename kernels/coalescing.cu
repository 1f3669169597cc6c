// Copy with an offset or a stride: what a warp's 32 addresses cost in 32-byte sectors.
//
// A warp that reads 32 neighbouring floats needs 4 sectors when the first is aligned, 5 when it is not, and up to 32
// when each float lies in a sector of its own. The source must hold count + offset, or count * stride, floats.
//
// In the table: sectors per request of the loads (4, 5, 4 for offsets 0, 1, 8; 4, 8, 16, 32, 32 for strides 1, 2, 4,
// 8, 32) and bytes moved against bytes useful. The stores are the same in every row.

extern "C" __global__ void copy_offset(int count, int offset, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[i + offset];
}

extern "C" __global__ void copy_stride(int count, int stride, const float* source, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = source[static_cast<size_t>(i) * stride];
}
