// Kernels with one pattern each that a finding names, and one (clean) that has none. The test knows the numbers.
#define KERNEL extern "C" __global__ void

KERNEL clean(const float* a, float* b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = a[i] * 2.0f + 1.0f;
}
KERNEL column_access(const float* a, float* b, int n) {  // each lane its own row of n floats
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < n; ++k) s = s * 0.5f + a[row * n + k];
    b[row] = s;
}
KERNEL stride_two(const float* a, float* b) {  // 64-byte stride over 32 lanes: 8 sectors, where 4 would do
    int i = threadIdx.x;
    b[i] = a[2 * i];
}
KERNEL unpadded_column(const float* a, float* b) {  // column of a 32-wide tile: 32 lanes in one bank
    __shared__ float tile[32][32];
    int x = threadIdx.x;
    for (int y = 0; y < 32; ++y) tile[y][x] = a[y * 32 + x];
    __syncthreads();
    float s = 0;
#pragma unroll 1
    for (int y = 0; y < 32; ++y) s = s * 0.5f + tile[x][y];
    b[x] = s;
}
KERNEL padded_column(const float* a, float* b) {
    __shared__ float tile[32][33];
    int x = threadIdx.x;
    for (int y = 0; y < 32; ++y) tile[y][x] = a[y * 32 + x];
    __syncthreads();
    float s = 0;
#pragma unroll 1
    for (int y = 0; y < 32; ++y) s = s * 0.5f + tile[x][y];
    b[x] = s;
}
KERNEL narrow(const float* a, float* b, int n) {  // four words in a row per iteration
    const float* p = a + threadIdx.x * 4;
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        s += p[0] * 1.5f + p[1] * 2.5f + p[2] * 3.5f + p[3] * 4.5f;
        p += 128;
    }
    b[threadIdx.x] = s;
}
KERNEL divides(int* a, int n, int m) {
    int s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) s += a[i * 32 + threadIdx.x] / (a[i] + m);
    a[threadIdx.x] = s;
}
KERNEL runtime_index(float* o, int n) {
    float v[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) v[i] = o[i];
#pragma unroll 1
    for (int i = 0; i < n; ++i) v[o[i] > 0 ? (i * 5) & 15 : 3] += 1.0f;
    o[threadIdx.x] = v[n & 15];
}
KERNEL doubles_in_floats(float* o, int n) {
    float s = 0;
#pragma unroll 1
    for (int i = 0; i < n; ++i) {
        s = s * 0.25f + o[i];
        s = s * 0.75f + o[i + 32] * 2.0f;
        s = (float)(s * 3.14159265358979);
    }
    o[threadIdx.x] = s;
}
KERNEL barrier_heavy(const float* a, float* o, int n) {
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
KERNEL guarded_load(const float* a, float* b, int n, int m) {  // the source's condition becomes predication
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
#pragma unroll 1
    for (int k = 0; k < m; ++k) {
        float v = 0.0f;
        if (i < n) v = a[i + k * 128];
        s = s * 0.5f + v;
    }
    b[i] = s;
}
KERNEL block_branch(float* a, int n) {  // uniform: the same for all lanes of a warp
    if (blockIdx.x > n) {
        for (int i = 0; i < n; ++i) a[i] = a[i + 1] / a[i + 2];
    }
    a[blockIdx.x] = 1.0f;
}
KERNEL data_branch(float* a, int n) {  // decided by loaded data
    int i = threadIdx.x;
    if (a[i] > 0.0f) {
        for (int k = 0; k < n; ++k) a[i + k] = a[i + k + 1] / a[i + k + 2];
    }
}
KERNEL four_chains(const float4* a, float* o) {  // 8 steps x 4 accumulators, no memory between
    float4 v = a[threadIdx.x];
    float x = 0, y = 0, z = 0, w = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        x = x * v.x + v.y;
        y = y * v.y + v.z;
        z = z * v.z + v.w;
        w = w * v.w + v.x;
    }
    o[threadIdx.x] = x + y + z + w;
}
