// Kernels that help to time and to check others. They compute nothing that a user sees.

// Keeps its stream busy until the host writes `generation` (or more) to `*flag`, so that everything enqueued behind it
// is on the GPU before the first timed launch starts: launch latency stays outside the timed window. It gives up after
// `timeout_ns`, says so in `*timed_out`, and can therefore never hang the GPU.
extern "C" __global__ void gpuprof_hold(const volatile int *flag, volatile int *timed_out, int generation,
                                        unsigned long long timeout_ns)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    while (*flag < generation) {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        if (now - start > timeout_ns) {
            *timed_out = generation;
            __threadfence_system();
            return;
        }
    }
}

// Sets `*differs` when some byte does. Both sides begin at a multiple of 16.
extern "C" __global__ void gpuprof_compare(const uint4 *left, const uint4 *right, unsigned long long bytes, int *differs)
{
    const unsigned long long first = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x;
    const unsigned long long threads = gridDim.x * (unsigned long long)blockDim.x;
    const unsigned long long whole = bytes / sizeof(uint4), rest = bytes % sizeof(uint4);
    bool same = true;
    for (unsigned long long i = first; i < whole; i += threads) {
        const uint4 l = left[i], r = right[i];
        same = same && l.x == r.x && l.y == r.y && l.z == r.z && l.w == r.w;
    }
    if (first < rest)
        same = same && ((const char *)(left + whole))[first] == ((const char *)(right + whole))[first];
    if (!same)
        *differs = 1;
}
