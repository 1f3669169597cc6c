// Parameters by value: vectors, structs in one another, unions, bit-fields, bases, pointers inside.
#include <cuda_fp16.h>
struct Inner { short s; double d; };
struct Outer {
    char c; Inner in[2]; float* p; const int* table; enum Mode { A, B, C } mode; union { float f; int i; } u;
    unsigned low : 3; unsigned high : 5; int4 v; dim3 g; __half h; bool t;
};
struct Base { int z; };
struct Derived : Base { float q; };
template <typename T> struct Pair { T a; int n; };
struct View { float* data; int rows, cols, pitch; };
struct Batch { const float* in[3]; float* out; int n; };

extern "C" __global__ void vectors(float* y, float2 a, int4 b, dim3 c, uchar3 d, double2 e, float3 f) {
    y[0] = a.x + 10 * a.y; y[1] = b.x + 10 * b.y + 100 * b.z + 1000 * b.w; y[2] = c.x + 10 * c.y + 100 * c.z;
    y[3] = d.x + 10 * d.y + 100 * d.z; y[4] = e.x + 10 * e.y; y[5] = f.x + 10 * f.y + 100 * f.z;
}
extern "C" __global__ void nested(Outer o, float* y) {
    y[0] = o.c; y[1] = o.in[0].s + o.in[1].s; y[2] = o.in[0].d + 10 * o.in[1].d; y[3] = o.p[2]; y[4] = o.table == nullptr;
    y[5] = o.mode; y[6] = o.u.f; y[7] = o.low; y[8] = o.high; y[9] = o.v.x + o.v.w; y[10] = o.g.y; y[11] = (float)o.h; y[12] = o.t;
}
extern "C" __global__ void constant_struct(const __grid_constant__ Pair<float> p, Derived d, float* y) {
    const Pair<float>* at = &p;
    y[0] = at->a; y[1] = at->n; y[2] = d.z; y[3] = d.q;
}
template <typename T> __global__ void scale(Pair<T> p, T* y) { if (threadIdx.x < p.n) y[threadIdx.x] = p.a * threadIdx.x; }
__global__ void fill_view(View v) {
    for (int r = threadIdx.y; r < v.rows; r += blockDim.y)
        for (int c = threadIdx.x; c < v.cols; c += blockDim.x) v.data[r * v.pitch + c] = r * 100 + c;
}
__global__ void batched(Batch b) { int i = threadIdx.x; if (i < b.n) b.out[i] = b.in[0][i] + b.in[1][i] * b.in[2][i]; }
template __global__ void scale<double>(Pair<double>, double*);
