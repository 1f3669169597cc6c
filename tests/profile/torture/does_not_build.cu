extern "C" __global__ void does_not_build(int n, const float *x, float *y)
{
    y[threadIdx.x] = undeclared_name;
}
