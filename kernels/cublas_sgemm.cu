// cuBLAS SGEMM on row-major matrices, as the baseline of the FP32 GEMM experiments (a host function: needs a GPU).
//
// Row-major C = A * B is column-major C' = B' * A', so the operands change places. The math mode is cuBLAS's default,
// which keeps FP32 inputs at full precision: no TF32.

#include <cublas_v2.h>

extern "C" int cublas_sgemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C,
                            cudaStream_t stream) {
    static cublasHandle_t handle = nullptr;
    if (handle == nullptr && cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
    if (cublasSetStream(handle, stream) != CUBLAS_STATUS_SUCCESS) return 2;
    return cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &alpha, B, N, A, K, &beta, C, N);
}
