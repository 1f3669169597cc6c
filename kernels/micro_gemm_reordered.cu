// FP32 GEMM as micro_gemm_4x4, with the sixteen multiply-adds of a step in serpentine order.
//
// The one change: even rows of the 4x4 results run left to right, odd rows right to left, so that neighbouring FFMA
// share an operand, which the register cache (".reuse" in the SASS) can then serve. C = alpha * A * B + beta * C,
// row-major, any M, N, K; 16x16 threads; 8192 bytes of dynamic shared memory.
//
// Look at: the FFMA lines of `gpuprof sass micro_gemm_reordered` beside those of micro_gemm_4x4. The counters are the
// same to the last instruction or nearly so, since ptxas schedules the FFMA itself: a change in the source is not yet
// a change in the machine code.

constexpr int BM = 64, BN = 64, BK = 8;  // the block's tile of C, and the depth of a step
constexpr int TM = 4, TN = 4;            // results per thread
constexpr int THREADS_X = BN / TN, THREADS = (BM / TM) * THREADS_X;
constexpr int LOADS = BM * BK / THREADS;  // elements of A, and of B, that each thread brings in per tile

extern "C" __global__ void __launch_bounds__(THREADS)
micro_gemm_reordered(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    extern __shared__ float shared[];
    float* const tiles_a = shared;                // [2][BM][BK]
    float* const tiles_b = shared + 2 * BM * BK;  // [2][BK][BN]

    const int tx = threadIdx.x;
    const int ty = threadIdx.y;
    const int thread = ty * THREADS_X + tx;
    const int row0 = blockIdx.y * BM;
    const int column0 = blockIdx.x * BN;

    float next_a[LOADS];
    float next_b[LOADS];
    auto load = [&](int k0) {
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int element = thread + i * THREADS;
            const int a_row = row0 + element / BK, a_column = k0 + element % BK;
            const int b_row = k0 + element / BN, b_column = column0 + element % BN;
            next_a[i] = a_row < M && a_column < K ? A[static_cast<size_t>(a_row) * K + a_column] : 0.0f;
            next_b[i] = b_row < K && b_column < N ? B[static_cast<size_t>(b_row) * N + b_column] : 0.0f;
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < LOADS; ++i) {
            const int element = thread + i * THREADS;
            tiles_a[buffer * BM * BK + element] = next_a[i];
            tiles_b[buffer * BK * BN + element] = next_b[i];
        }
    };

    float sums[TM][TN] = {};
    load(0);
    store(0);
    __syncthreads();

    const int tiles = (K + BK - 1) / BK;
    for (int tile = 0; tile < tiles; ++tile) {
        const float* const a = tiles_a + (tile & 1) * BM * BK + ty * TM * BK;
        const float* const b = tiles_b + (tile & 1) * BK * BN + tx * TN;
        const bool more = tile + 1 < tiles;
        if (more) load((tile + 1) * BK);

#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float fragment_a[TM];
            float fragment_b[TN];
#pragma unroll
            for (int i = 0; i < TM; ++i) fragment_a[i] = a[i * BK + k];
#pragma unroll
            for (int j = 0; j < TN; ++j) fragment_b[j] = b[k * BN + j];
#pragma unroll
            for (int i = 0; i < TM; ++i) {
#pragma unroll
                for (int step = 0; step < TN; ++step) {
                    const int j = i % 2 == 0 ? step : TN - 1 - step;
                    sums[i][j] += fragment_a[i] * fragment_b[j];
                }
            }
        }

        if (more) store((tile + 1) & 1);
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = row0 + ty * TM + i;
#pragma unroll
        for (int j = 0; j < TN; ++j) {
            const int column = column0 + tx * TN + j;
            if (row >= M || column >= N) continue;
            float* const c = &C[static_cast<size_t>(row) * N + column];
            *c = beta == 0.0f ? alpha * sums[i][j] : alpha * sums[i][j] + beta * *c;
        }
    }
}
