// Global memory: sectors per request. An annotation stands before each kernel: its block, the kinds of findings that
// must appear, and those that may; any other kind is wrong there.
#define K extern "C" __global__ void

//= block=256 expect=
K copy_line(const float* a, float* b) { int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i]; }
//= block=256 expect=
K copy_bounds(const float* a, float* b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) b[i] = a[i]; }
//= block=256 expect=
K copy_wide(const float4* a, float4* b, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) b[i] = a[i]; }
//= block=256 expect=
K copy_bytes(const unsigned char* a, unsigned char* b, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) b[i] = a[i]; }
//= block=256 expect=
K copy_double(const double* a, double* b, int n) { int i = blockIdx.x * 256 + threadIdx.x; if (i < n) b[i] = a[i]; }
//= block=256 expect=
K reversed(const float* a, float* b, int n) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[n - 1 - i]; }
//= block=256 expect=
K shifted(const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[i + 1]; }
//= block=256 expect=
K three_points(const float* a, float* b, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i > 0 && i < n - 1) b[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}
//= block=256 expect=
K broadcast(const float* a, float* b) { b[blockIdx.x * 256 + threadIdx.x] = a[blockIdx.x]; }
//= block=256 expect=
K gather(const int* index, const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[index[i]]; }
//= block=256 expect=
K scatter(const int* index, const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; b[index[i]] = a[i]; }
//= block=256 expect=
K grid_stride(const float* a, float* b, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = a[i] * 2.0f;
}
//= block=256 expect=uncoalesced
K stride_two(const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[2 * i]; }
//= block=256 expect=uncoalesced
K stride_thirty_two(const float* a, float* b) { int i = threadIdx.x; b[i] = a[32 * i]; }
//= block=256 expect=uncoalesced
K stride_store(const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; b[3 * i] = a[i]; }
//= block=256 expect=uncoalesced
K stride_n(const float* a, float* b, int n) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[i * n]; }
//= block=256 expect=uncoalesced
K stride_double(const double* a, double* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[4 * i]; }
//= block=256 expect=uncoalesced
K stride_bytes(const unsigned char* a, unsigned char* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[8 * i]; }
//= block=256 expect=uncoalesced
K stride_half(const short* a, short* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = a[16 * i]; }
//= block=32x8 expect=uncoalesced
K transpose_plain(const float* a, float* b, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    b[x * n + y] = a[y * n + x];
}
//= block=16x16 expect=uncoalesced
K transpose_square_block(const float* a, float* b, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    b[x * n + y] = a[y * n + x];
}
//= block=32x8 expect=
K rows_of_matrix(const float* a, float* b, int n) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < n && y < n) b[y * n + x] = a[y * n + x] + 1.0f;
}
//= block=32x8 expect=uncoalesced
K x_is_the_row(const float* a, float* b, int n) {
    int row = blockIdx.x * 32 + threadIdx.x, column = blockIdx.y * 8 + threadIdx.y;
    if (row < n && column < n) b[row * n + column] = a[row * n + column] + 1.0f;
}
//= block=256 expect=uncoalesced
K row_per_thread(const float* a, float* b, int n) {
    int row = blockIdx.x * 256 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[row * n + k];
    b[row] = s;
}
//= block=256 expect=
K column_per_thread(const float* a, float* b, int n) {
    int column = blockIdx.x * 256 + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[k * n + column];
    b[column] = s;
}
//= block=16x16 expect=
K gemm_plain(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[y * n + k] * b[k * n + x];
    c[y * n + x] = s;
}
//= block=16x16 expect=uncoalesced
K gemm_exchanged(const float* a, const float* b, float* c, int n) {
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float s = 0;
    for (int k = 0; k < n; ++k) s += a[x * n + k] * b[k * n + y];
    c[x * n + y] = s;
}
//= block=256 expect=
K four_lanes_write(const float* a, float* b) { int t = threadIdx.x; if (t < 4) b[t * 32] = a[t]; }
//= block=256 expect=
K one_lane_writes(const float* a, float* b) { if (threadIdx.x == 0) b[blockIdx.x * 64] = a[blockIdx.x]; }
//= block=256 expect=
K lane_zero_of_warps(const float* a, float* b) {
    float v = a[blockIdx.x * 256 + threadIdx.x];
    if (threadIdx.x % 32 == 0) b[(blockIdx.x * 256 + threadIdx.x) * 2] = v;
}
//= block=256 expect=uncoalesced
K half_the_lanes(const float* a, float* b) {
    int t = threadIdx.x;
    if (t % 32 < 16) b[t * 32] = a[t];
}
//= block=256 expect=
K early_exit_few(const float* a, float* b) {
    int t = threadIdx.x;
    if (t >= 3) return;
    b[t * 100] = a[t] * 3.0f;
    b[t * 100 + 7] = a[t + 9];
}
//= block=256 expect=uncoalesced
K early_exit_none(const float* a, float* b, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    b[i] = a[i * 9];
}
//= block=4 expect=
K block_of_four(const float* a, float* b) { b[threadIdx.x * 64] = a[threadIdx.x]; }
//= block=16 expect=uncoalesced
K block_of_sixteen(const float* a, float* b) { b[threadIdx.x * 64] = a[threadIdx.x]; }
//= block=256 expect=
K second_warp(const float* a, float* b) { int t = threadIdx.x; if (t >= 32 && t < 34) b[t * 64] = a[t]; }
//= block=256 expect=
K until_zero(const int* a, float* b) {
    int t = threadIdx.x, k = 0;
    while (a[t + k] != 0) k += 32;
    b[k * 4] = 1.0f;
}
//= block=256 expect=
K different_trips(float* b, const float* a) {
    int t = threadIdx.x, k = 0;
    for (int i = 0; i < t; ++i) k = (k + 8) & 1016;
    b[k] = a[t];
}
//= block=256 expect=
K one_of_two_rows(const float* a, float* b, int n, int m) {
    int t = threadIdx.x;
    int row = (t & 1) ? n : m;
    b[row * 256 + t] = a[t];
}
//= block=256 expect=array of structures
K structure_of_three(const float* a, float* b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    b[i] = a[3 * i] + a[3 * i + 1] + a[3 * i + 2];
}
struct Particle { float x, y, z, m, u; };
//= block=256 expect=array of structures
K particles_whole(const Particle* p, float* b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    b[i] = p[i].x + p[i].y * 2.0f + p[i].z * 3.0f + p[i].m * 4.0f + p[i].u;
}
//= block=256 expect=uncoalesced
K particles_one_field(const Particle* p, float* b) { int i = blockIdx.x * 256 + threadIdx.x; b[i] = p[i].m; }
//= block=256 expect=uncoalesced
K particles_store(Particle* p, const float* a) { int i = blockIdx.x * 256 + threadIdx.x; p[i].m = a[i]; }
//= block=256 expect=
K structure_of_two(const float2* p, float* b) { int i = blockIdx.x * 256 + threadIdx.x; float2 v = p[i]; b[i] = v.x + v.y; }
//= block=64 expect=
K halves_of_warp(const float* a, float* b, int n) {
    int lane = threadIdx.x % 16, row = blockIdx.x * 4 + threadIdx.x / 16;
    b[row * n + lane] = a[row * n + lane];
}
//= block=256 expect=uncoalesced
K eight_rows(const float* a, float* b, int n) {
    int lane = threadIdx.x % 4, row = blockIdx.x * 64 + threadIdx.x / 4;
    b[row * n + lane] = a[row * n + lane];
}
//= block=256 expect=
K thread_and_warp(const float* a, float* b) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    b[(blockIdx.x * 8 + warp) * 32 + lane] = a[(blockIdx.x * 8 + warp) * 32 + lane];
}
//= block=256 expect=uncoalesced
K lane_major(const float* a, float* b) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    b[lane * 8 + warp] = a[threadIdx.x];
}
//= block=8x8x4 expect=
K cube(const float* a, float* b) {
    int i = (blockIdx.x * 4 + threadIdx.z) * 64 + threadIdx.y * 8 + threadIdx.x;
    b[i] = a[i];
}
//= block=8x8x4 expect=uncoalesced
K cube_turned(const float* a, float* b) {
    int i = (threadIdx.x * 8 + threadIdx.y) * 4 + threadIdx.z;
    b[i] = a[threadIdx.z * 64 + threadIdx.y * 8 + threadIdx.x];
}
//= block=- expect=uncoalesced
K unknown_block(const float* a, float* b) { int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i * 5]; }
//= block=- expect=
K unknown_block_clean(const float* a, float* b) { int i = blockIdx.x * blockDim.x + threadIdx.x; b[i] = a[i]; }
//= block=256 expect=
K modulo_line(const float* a, float* b) { int i = threadIdx.x; b[i] = a[i % 7]; }
//= block=256 expect=
K both_halves(const float* a, float* b, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    b[i] = a[i] + a[i + n];
    b[i + n] = a[i] - a[i + n];
}
//= block=256 expect=
K uniform_flag(const int* flag, const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; if (flag[blockIdx.x]) b[i] = a[i]; }
//= block=256 expect=uncoalesced
K uniform_flag_stride(const int* flag, const float* a, float* b) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (flag[blockIdx.x]) b[i * 8] = a[i];
}
//= block=256 expect=
K data_flag_stride(const int* flag, const float* a, float* b) { int i = blockIdx.x * 256 + threadIdx.x; if (flag[i]) b[i * 8] = 1.0f; }
//= block=256 expect=uncoalesced
K long_index(const float* a, float* b, long long n) {
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n) b[i] = a[i * 16];
}
//= block=256 expect=
K long_index_clean(const float* a, float* b, long long n) {
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n) b[i] = a[i];
}
