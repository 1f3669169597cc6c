// Copy of one array into another, one VEC-float vector per thread: the bandwidth bound of a device.
//
// Any count that is a multiple of VEC. Every memory-bound experiment puts this kernel, or cudaMemcpyAsync, beside its
// own: a kernel that moves the same bytes cannot be faster.
//
// In the table: sectors per request is 4 for float, 8 for float2, 16 for float4: fewer instructions, the same bytes.

template <int VEC> struct Vector;
template <> struct Vector<1> { using type = float; };
template <> struct Vector<2> { using type = float2; };
template <> struct Vector<4> { using type = float4; };

template <int VEC = 1>
__global__ void copy_kernel(int count, const float* source, float* target) {
    using V = typename Vector<VEC>::type;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count / VEC) reinterpret_cast<V*>(target)[i] = reinterpret_cast<const V*>(source)[i];
}
