// Arithmetic, libraries, wide loads, local memory, atomics, barriers.
#define K extern "C" __global__ void

//= block=256 expect=fp64
K literal_sum(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] * 0.1; out[threadIdx.x] = s; }
//= block=256 expect=fp64
K literal_once(const float* in, float* out) { int i = threadIdx.x; out[i] = in[i] * 0.1 + 1.7; }
//= block=256 expect=
K literal_single(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] * 0.1f; out[threadIdx.x] = s; }
//= block=256 expect=fp64
K literal_of_integer(const int* in, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = in[i] * 0.01; }
//= block=256 expect=
K double_accumulator(const float* in, float* out, int n) { double s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x]; out[threadIdx.x] = (float)s; }
//= block=256 expect=
K double_products(const float* in, const float* w, double* out, int n) {
    double s = 0;
    for (int i = 0; i < n; ++i) s += (double)in[i * 256 + threadIdx.x] * (double)w[i * 256 + threadIdx.x];
    out[threadIdx.x] = s;
}
//= block=256 expect=
K all_double(const double* in, double* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = in[i] * 0.1 + 2.5; }
//= block=256 expect=
K double_polynomial(const double* in, double* out, int n) {
    double s = 0;
    for (int i = 0; i < n; ++i) s = s * 0.5 + in[i * 256 + threadIdx.x] * in[i * 256 + threadIdx.x];
    out[threadIdx.x] = s;
}
//= block=256 expect=fp64
K literal_in_branch(const float* in, float* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) { float v = in[i]; if (v > 0) v = v * 1.1; out[i] = v; }
}
//= block=256 expect=library code
K divide(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] / (in[i * 256 + threadIdx.x + n] + 1.0f); out[threadIdx.x] = s; }
//= block=256 expect=
K divide_once(const float* in, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = in[i] / in[i + n]; }
//= block=256 expect=
K divide_fast(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += __fdividef(in[i * 256 + threadIdx.x], in[i * 256 + threadIdx.x + n]); out[threadIdx.x] = s; }
//= block=256 expect=library code
K root(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += sqrtf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=
K root_reciprocal(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += rsqrtf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=
K exponential_fast(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += __expf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=
K exponential(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += expf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=
K logarithm(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += logf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=library code
K cosine(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += cosf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=library code
K sine_and_cosine(const float* in, float* out, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) { float p, q; sincosf(in[i * 256 + threadIdx.x], &p, &q); s += p * q; }
    out[threadIdx.x] = s;
}
//= block=256 expect=
K cosine_once(const float* in, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = cosf(in[i]); }
//= block=256 expect=
K cosine_fast(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += __cosf(in[i * 256 + threadIdx.x]); out[threadIdx.x] = s; }
//= block=256 expect=
K hyperbolic(const float* in, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = tanhf(in[i]); }
//= block=256 expect=
K power(const float* in, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = powf(in[i], in[i + n]); }
//= block=256 expect=
K error_function(const float* in, float* out, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) out[i] = erff(in[i] * 0.70710678f); }
//= block=256 expect=library code
K divide_double(const double* in, double* out, int n) { double s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] / in[i * 256 + threadIdx.x + n]; out[threadIdx.x] = s; }
//= block=256 expect=library code
K divide_wide(const long long* in, long long* out, int n) { long long s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] / in[i * 256 + threadIdx.x + n]; out[threadIdx.x] = s; }
//= block=256 expect=integer division
K divide_integer(const int* in, int* out, int n, int m) { int s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] / (m + i); out[threadIdx.x] = s; }
//= block=256 expect=
K divide_by_seven(const int* in, int* out, int n) { int s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] / 7; out[threadIdx.x] = s; }
//= block=256 expect=
K divide_by_eight(const unsigned* in, unsigned* out, int n) { unsigned s = 0; for (int i = 0; i < n; ++i) s += in[i * 256 + threadIdx.x] / 8; out[threadIdx.x] = s; }
//= block=256 expect=integer division
K remainder_of(const unsigned* in, unsigned* out, int n, unsigned m) { unsigned s = 0; for (int i = 0; i < n; ++i) s ^= in[i * 256 + threadIdx.x] % (m + i); out[threadIdx.x] = s; }
__noinline__ __device__ float premium(float a, float b) { return a * b + a * a * 0.25f + b; }
//= block=256 expect=
K user_function(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += premium(in[i * 256 + threadIdx.x], s); out[threadIdx.x] = s; }
__noinline__ __device__ float divergence(float a) { return a * 2.0f + 1.0f; }
//= block=256 expect=
K user_divergence(const float* in, float* out, int n) { float s = 0; for (int i = 0; i < n; ++i) s += divergence(in[i * 256 + threadIdx.x] + s); out[threadIdx.x] = s; }
//= block=256 expect=conversion
K mixed_types(const double* in, float* out, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) s = s * 0.5f + (float)in[i * 256 + threadIdx.x] + (float)in[i * 256 + threadIdx.x + n];
    out[threadIdx.x] = s;
}
//= block=32 expect=narrow load
K four_words(const float* a, float* b, int n) {
    const float* p = a + threadIdx.x * 4;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i, p += 128) s += p[0] * 1.5f + p[1] * 2.5f + p[2] * 3.5f + p[3] * 4.5f;
    b[threadIdx.x] = s;
}
//= block=32 expect= may=uncoalesced,array of structures
K four_words_odd_lanes(const float* a, float* b, int n) {
    const float* p = a + threadIdx.x * 5;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i, p += 160) s += p[0] * 1.5f + p[1] * 2.5f + p[2] * 3.5f + p[3] * 4.5f;
    b[threadIdx.x] = s;
}
//= block=32 expect= may=uncoalesced,array of structures
K four_words_odd_step(const float* a, float* b, int n) {
    const float* p = a + threadIdx.x * 4;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i, p += 129) s += p[0] * 1.5f + p[1] * 2.5f + p[2] * 3.5f + p[3] * 4.5f;
    b[threadIdx.x] = s;
}
//= block=32 expect= may=uncoalesced,array of structures
K four_words_odd_start(const float* a, float* b, int n) {
    const float* p = a + threadIdx.x * 4 + 1;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i, p += 128) s += p[0] * 1.5f + p[1] * 2.5f + p[2] * 3.5f + p[3] * 4.5f;
    b[threadIdx.x] = s;
}
//= block=32 expect=uncoalesced
K four_words_pitch(const float* a, float* b, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) s += a[threadIdx.x * n + i];
    b[threadIdx.x] = s;
}
//= block=32 expect=
K already_wide(const float4* a, float* b, int n) {
    float s = 0;
    for (int i = 0; i < n; ++i) { float4 v = a[i * 32 + threadIdx.x]; s += v.x + v.y * 2.0f + v.z * 3.0f + v.w; }
    b[threadIdx.x] = s;
}
//= block=256 expect=
K stencil_of_nine(const float* a, float* b, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k)
        s += a[k * 1024 + i] + a[k * 1024 + i + 1] * 2.0f + a[k * 1024 + i + 2] * 3.0f + a[k * 1024 + i + 3] + a[k * 1024 + i + 4];
    b[i] = s;
}
//= block=256 expect=local array may=narrow load
K table_at_run_time(const int* in, float* out, int n) {
    float v[32];
    for (int i = 0; i < 32; ++i) v[i] = 0;
    for (int i = 0; i < n; ++i) v[in[i] & 31] += 1.0f;
    float s = 0;
    for (int i = 0; i < 32; ++i) s = s * 0.5f + v[i];
    out[threadIdx.x] = s + v[n & 31];
}
//= block=256 expect=
K table_unrolled(const float* in, float* out) {
    float v[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = in[i * 256 + threadIdx.x];
    float s = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) s = s * 0.5f + v[7 - i];
    out[threadIdx.x] = s;
}
//= block=256 expect=atomic contention
K one_counter(float* out, const float* in) { atomicAdd(out, in[blockIdx.x * 256 + threadIdx.x]); }
//= block=256 expect=
K one_counter_integer(int* out) { atomicAdd(out, 1); }
//= block=256 expect=
K counter_by_one_lane(float* out, const float* in) {
    float v = in[blockIdx.x * 256 + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, v);
}
//= block=256 expect=
K counters_by_data(int* out, const int* in) { atomicAdd(&out[in[blockIdx.x * 256 + threadIdx.x]], 1); }
//= block=256 expect=
K counter_per_thread(float* out, const float* in) { atomicAdd(&out[threadIdx.x], in[blockIdx.x * 256 + threadIdx.x]); }
//= block=256 expect=atomic contention
K counter_per_block(float* out, const float* in) { atomicAdd(&out[blockIdx.x], in[blockIdx.x * 256 + threadIdx.x]); }
//= block=256 expect=atomic contention
K counter_per_warp(float* out, const float* in) { atomicAdd(&out[threadIdx.x / 32], in[blockIdx.x * 256 + threadIdx.x]); }
//= block=256 expect=uncoalesced
K counters_strided(float* out, const float* in) { atomicAdd(&out[threadIdx.x * 8], in[blockIdx.x * 256 + threadIdx.x]); }
//= block=256 expect=atomic contention
K shared_exchange(int* out, const int* in) {
    __shared__ int last;
    if (threadIdx.x == 0) last = 0;
    __syncthreads();
    out[threadIdx.x] = atomicExch(&last, in[threadIdx.x]);
}
//= block=256 expect=
K shared_histogram(int* out, const int* in, int n) {
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 256) atomicAdd(&bins[in[i] & 255], 1);
    __syncthreads();
    atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
//= block=256 expect=barrier
K barriers_often(const float* a, float* o, int n) {
    __shared__ float s[256];
    float r = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        s[threadIdx.x] = a[i * 256 + threadIdx.x];
        __syncthreads();
        r = s[threadIdx.x ^ 1] * 0.5f + r;
        r = s[threadIdx.x ^ 2] * 0.5f + r;
        __syncthreads();
    }
    o[threadIdx.x] = r;
}
//= block=256 expect=
K barriers_seldom(const float* a, float* o, int n) {
    __shared__ float s[256];
    float r = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        s[threadIdx.x] = a[i * 256 + threadIdx.x];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 128; ++k) r = s[k] * r + 0.5f;
        __syncthreads();
    }
    o[threadIdx.x] = r;
}
//= block=256 expect=
K saxpy(const float* x, float* y, int n, float a) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; }
//= block=256 expect=
K warp_sum(const float* in, float* out) {
    float v = in[blockIdx.x * 256 + threadIdx.x];
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * 256 + threadIdx.x) / 32] = v;
}
//= block=256 expect=
K collatz(int* out) { int v = blockIdx.x * 256 + threadIdx.x + 1, k = 0; while (v != 1) { v = v & 1 ? 3 * v + 1 : v / 2; ++k; } out[blockIdx.x * 256 + threadIdx.x] = k; }
//= block=256 expect=
K polynomial(const float* in, float* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float x = in[i], s = 1.0f;
#pragma unroll
    for (int k = 0; k < 12; ++k) s = s * x + 0.5f;
    out[i] = s;
}
