// Kernels that help timing. They compute nothing that a user sees.

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
