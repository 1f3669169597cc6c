// Kernels for a sweep in which some variants misbehave, each in its own way.

extern "C" __global__ void scale(int n, float factor, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor * x[i] / factor;
}

extern "C" __global__ void out_of_bounds(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i + (long long)(i == 5) * (1ll << 40)] = x[i];
}

extern "C" __global__ void just_past_the_end(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
    if (i == n - 1)
        y[n] = 1.0f;
}

extern "C" __global__ void endless(int n, const float *x, float *y)
{
    volatile float *out = y;
    while (x[0] < 1e30f)
        out[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void leaves_some(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n - 7)
        y[i] = x[i];
}

extern "C" __global__ void gives_nan(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i == 100 ? __int_as_float(0x7fffffff) : x[i];
}

extern "C" __global__ void changes_its_input(int n, float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
    if (i == 3)
        x[i] = 0.5f;
}

extern "C" __global__ void uses_room(int n, const float *x, float *y, float *room)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    room[i] = x[i];
    y[i] = room[i];
}
