// Reads lines of numbers, calls NVIDIA's cuda_occupancy.h on each, prints its answers. Test program only.
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include "cuda_occupancy.h"

int main() {
    int major, minor, threads_sm, carveout, threads, registers, barriers;
    unsigned long long shared_sm, shared_optin, reserved, stat, dyn, max_dyn;
    while (scanf("%d %d %d %llu %llu %llu %d %d %d %llu %llu %llu %d", &major, &minor, &threads_sm, &shared_sm,
                 &shared_optin, &reserved, &carveout, &threads, &registers, &stat, &dyn, &max_dyn, &barriers) == 13) {
        cudaOccDeviceProp device;
        device.computeMajor = major;
        device.computeMinor = minor;
        device.maxThreadsPerBlock = 1024;
        device.maxThreadsPerMultiprocessor = threads_sm;
        device.regsPerBlock = 65536;
        device.regsPerMultiprocessor = 65536;
        device.warpSize = 32;
        device.sharedMemPerBlock = 49152;
        device.sharedMemPerMultiprocessor = shared_sm;
        device.numSms = 1;
        device.sharedMemPerBlockOptin = shared_optin;
        device.reservedSharedMemPerBlock = reserved;
        cudaOccFuncAttributes function;
        function.maxThreadsPerBlock = INT_MAX;
        function.numRegs = registers;
        function.sharedSizeBytes = stat;
        function.partitionedGCConfig = PARTITIONED_GC_OFF;
        function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        function.maxDynamicSharedSizeBytes = max_dyn;
        function.numBlockBarriers = barriers;
        cudaOccDeviceState state;
        state.carveoutConfig = carveout;
        cudaOccResult result;
        memset(&result, 0, sizeof result);
        cudaOccError status = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, dyn);
        printf("%d %d %u %d %d %d %d %d %zu\n", (int)status, result.activeBlocksPerMultiprocessor, result.limitingFactors,
               result.blockLimitWarps, result.blockLimitRegs, result.blockLimitSharedMem, result.blockLimitBlocks,
               result.blockLimitBarriers, (size_t)result.allocatedSharedMemPerBlock);
    }
    return 0;
}
