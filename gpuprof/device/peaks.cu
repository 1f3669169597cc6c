// Small kernels whose rate is the ceiling that others are held against: FP32 fused multiply-adds, tensor-core products
// of half inputs with float sums, and DRAM traffic. Results are written so that the compiler keeps the work.

#define CHAINS 16

// 2 * CHAINS floating-point operations per thread and iteration, in CHAINS independent chains: more than the 4 cycles of
// latency that one warp scheduler has to cover.
extern "C" __global__ void __launch_bounds__(256) gpuprof_peak_fp32(int iterations, float factor, float *out)
{
    float sums[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        sums[i] = threadIdx.x + i;
    for (int n = 0; n < iterations; n++)
#pragma unroll
        for (int i = 0; i < CHAINS; i++)
            sums[i] = fmaf(sums[i], factor, factor);
    float total = 0;
#pragma unroll
    for (int i = 0; i < CHAINS; i++)
        total += sums[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

#define TILES 8

// 4096 * TILES floating-point operations per warp and iteration: mma.sync m16n8k16, half inputs, float sums.
extern "C" __global__ void __launch_bounds__(256) gpuprof_peak_tensor(int iterations, float *out)
{
    float c[TILES][4] = {};
    unsigned a[4] = {threadIdx.x, 0, 0, 0}, b[2] = {0, 0};
    for (int n = 0; n < iterations; n++)
#pragma unroll
        for (int t = 0; t < TILES; t++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                         "{%0,%1,%2,%3};"
                         : "+f"(c[t][0]), "+f"(c[t][1]), "+f"(c[t][2]), "+f"(c[t][3])
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    float total = 0;
#pragma unroll
    for (int t = 0; t < TILES; t++)
        total += c[t][0] + c[t][1] + c[t][2] + c[t][3];
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}

// Each thread moves four float4 that lie a grid apart, so that four loads are in flight. `count` is a multiple of
// 4 * gridDim.x * blockDim.x.
extern "C" __global__ void __launch_bounds__(256) gpuprof_peak_copy(const float4 *in, float4 *out, long long count)
{
    long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 4 * stride) {
        float4 a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
        out[i] = a;
        out[i + stride] = b;
        out[i + 2 * stride] = c;
        out[i + 3 * stride] = d;
    }
}

extern "C" __global__ void __launch_bounds__(256) gpuprof_peak_read(const float4 *in, float *out, long long count)
{
    long long stride = (long long)gridDim.x * blockDim.x;
    float total = 0;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += 4 * stride) {
        float4 a = in[i], b = in[i + stride], c = in[i + 2 * stride], d = in[i + 3 * stride];
        total += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w + c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = total;
}
