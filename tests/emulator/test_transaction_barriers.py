"""mbarrier objects before and since sm_90: one source, the same result; what an H200 counted is in tests/hardware."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.errors import BarrierDeadlockError
from tests.sass.sass_tools import compile_cubin

SOURCE = """#include <cuda/barrier>
extern "C" __global__ void swap(const int* in, int* out) {
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    __shared__ int words[128];
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    __syncthreads();
    int value = in[blockIdx.x * 128 + threadIdx.x];
    for (int k = 0; k < 3; ++k) {
        words[threadIdx.x] = value;
        barrier.arrive_and_wait();
        value += words[(threadIdx.x + 37) % 128];
        barrier.arrive_and_wait();
    }
    out[blockIdx.x * 128 + threadIdx.x] = value;
}
"""
HANGS = """
extern "C" __global__ void hangs(const int* in, int* out) {
    __shared__ unsigned long long barrier;
    const unsigned int at = static_cast<unsigned int>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 128;" :: "r"(at));
    __syncthreads();
    if (threadIdx.x < 100) asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" :: "r"(at) : "memory");
    asm volatile("{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; "
                 "@p bra done; bra again; done: }" :: "r"(at) : "memory");
    out[threadIdx.x] = in[threadIdx.x];
}
"""


def run(text: str, arch: str, kernel: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    source = folder / "k.cu"
    source.write_text(text)
    cubin = compile_cubin(source, arch, folder, "-std=c++17")
    device = EmulatedDevice()
    values = (np.arange(512) * 7 % 101).astype(np.int32)
    buffers = [device.allocate(values.nbytes) for _ in range(2)]
    device.write(buffers[0], values)
    arguments = (Pointer(buffers[0]), Pointer(buffers[1]))
    device.launch(Launch(cubin, kernel, (4, 1, 1), (128, 1, 1), 0, arguments))
    return values.reshape(4, 128), device.read(buffers[1], "int32", (4, 128))


@pytest.mark.parametrize("arch", ["sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_phases_part_writes_from_reads(arch: str, tmp_path: Path) -> None:
    want, got = run(SOURCE, arch, "swap", tmp_path)
    for _ in range(3):
        want = want + np.roll(want, -37, axis=1)
    np.testing.assert_array_equal(got, want)


def test_a_phase_that_is_never_completed_is_named(tmp_path: Path) -> None:
    with pytest.raises(BarrierDeadlockError, match="an mbarrier's phase is never completed"):
        run(HANGS, "sm_90", "hangs", tmp_path)
