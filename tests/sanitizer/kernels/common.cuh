// Every kernel takes the same arguments: a and f are set (a[i] = i * 7 % 101, f[i] = a[i] / 4), b is set by nobody,
// all of 4096 elements (a[4000] is 23); n is a number of the case. A line that belongs to the planted fault ends with //@.
#define KERNEL(name) extern "C" __global__ void name(int* a, int* b, float* f, int n)
