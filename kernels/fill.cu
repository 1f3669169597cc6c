// Fill of an array with one value: the write bandwidth of a device.
//
// Any count; one float per thread. In the table: store sectors and no load at all.

extern "C" __global__ void fill_float(int count, float value, float* target) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) target[i] = value;
}
