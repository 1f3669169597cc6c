// FP32 GEMM with its own loop: C = iters * A * B, computed iters times over, to stand beside gemm_wmma.
//
// One thread, one element, as gemm_naive; row-major, any M, N, K. The loop inside the kernel makes the launch long
// enough that the start of it does not count.
//
// In the table: FFMA count and instructions, against the tensor-core kernels that do the same arithmetic.

extern "C" __global__ void gemm_fp32_iters(int M, int N, int K, int iters, const float* A, const float* B, float* C) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || column >= N) return;

    float sum = 0.0f;
    for (int iteration = 0; iteration < iters; ++iteration) {
        for (int k = 0; k < K; ++k) {
            sum += A[static_cast<size_t>(row) * K + k] * B[static_cast<size_t>(k) * N + column];
        }
    }
    C[static_cast<size_t>(row) * N + column] = sum;
}
