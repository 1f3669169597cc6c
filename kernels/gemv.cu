// Matrix times vector: one thread per row, one warp per row, and one warp per row with float4.
//
// y = A * x, A row-major, M rows of N; any size (gemv_vector: N a multiple of 4). Every element of A is used once, so
// reading A is the bound: a copy of half its size takes as long.
//
// In the table: sectors per load request. One thread per row makes a warp read 32 rows at once, 32 sectors for 128
// useful bytes; one warp per row reads neighbours, 4 sectors, and sums by shuffles at the end.

__device__ float warp_total(float value) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
    return value;
}

extern "C" __global__ void gemv_thread(int M, int N, const float* A, const float* x, float* y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M) return;
    float sum = 0.0f;
    for (int c = 0; c < N; ++c) sum += A[static_cast<size_t>(row) * N + c] * x[c];
    y[row] = sum;
}

extern "C" __global__ void gemv_warp(int M, int N, const float* A, const float* x, float* y) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= M) return;
    float sum = 0.0f;
    for (int c = lane; c < N; c += 32) sum += A[static_cast<size_t>(row) * N + c] * x[c];
    sum = warp_total(sum);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void gemv_vector(int M, int N, const float* A, const float* x, float* y) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= M) return;
    const float4* const a4 = reinterpret_cast<const float4*>(A + static_cast<size_t>(row) * N);
    const float4* const x4 = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
    for (int c = lane; c < N / 4; c += 32) {
        const float4 a = a4[c], b = x4[c];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    sum = warp_total(sum);
    if (lane == 0) y[row] = sum;
}
