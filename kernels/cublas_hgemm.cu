// cuBLAS GEMM with half inputs and float results, as the baseline of the tensor-core experiments (a host function).
//
// Row-major C = A * B is column-major C' = B' * A', so the operands change places. Sums are kept in FP32.

#include <cublas_v2.h>
#include <cuda_fp16.h>

extern "C" int cublas_hgemm(int M, int N, int K, const __half* A, const __half* B, float* C, cudaStream_t stream) {
    static cublasHandle_t handle = nullptr;
    if (handle == nullptr && cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    if (cublasSetStream(handle, stream) != CUBLAS_STATUS_SUCCESS) return 2;
    const float one = 1.0f, zero = 0.0f;
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, CUDA_R_16F, N, A, CUDA_R_16F, K, &zero, C,
                        CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}
