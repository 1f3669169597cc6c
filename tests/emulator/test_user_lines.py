"""Faults and counts by line name the user's line where the instruction comes from a header of the toolkit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.errors import MemoryFaultError
from gpuprof.sass.model import SourceLine
from tests.sass.sass_tools import compile_cubin

SOURCE = """#include <cuda_fp16.h>
__device__ __half twice(const __half* p) {
    return __hadd(__ldcg(p), __ldcg(p));
}
extern "C" __global__ void sums(__half* out, const __half* in, int away) {
    out[threadIdx.x] = twice(in + threadIdx.x + away);
}
"""


@pytest.mark.parametrize(
    "header",
    [
        "/usr/local/cuda-13.0/targets/x86_64-linux/include/cuda_fp16.hpp",
        "/usr/local/cuda/include/sm_32_intrinsics.hpp",
        "/home/me/env/lib/python3.11/site-packages/nvidia/cu13/include/cuda_fp16.hpp",
        "/opt/conda/targets/x86_64-linux/include/cooperative_groups/details/reduce.h",
    ],
)
def test_the_chain_is_followed_to_the_first_line_of_the_user(header: str) -> None:
    mine, caller = SourceLine("/home/me/include/helpers.h", 7), SourceLine("/home/me/k.cu", 30)
    assert SourceLine(header, 100, (SourceLine(header, 50), mine, caller)).of_user == mine
    assert SourceLine(header, 100).of_user.file == header
    assert mine.of_user is mine


def test_faults_and_counts_name_the_users_line(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(SOURCE)
    cubin = compile_cubin(source, "sm_89", tmp_path, "-lineinfo")
    device = EmulatedDevice(EmulationOptions(per_instruction=True))
    buffers = [device.allocate(64), device.allocate(64)]
    device.write(buffers[1], np.ones(32, np.float16))
    arguments = (Pointer(buffers[0]), Pointer(buffers[1]))
    launch = Launch(cubin, "sums", (1, 1, 1), (32, 1, 1), 0, (*arguments, (0).to_bytes(4, "little")))
    lines = {(Path(each.file).name, each.line) for each in device.launch(launch).per_instruction}
    assert lines <= {("k.cu", line) for line in (3, 5, 6, 7)}
    wrong = Launch(cubin, "sums", (1, 1, 1), (32, 1, 1), 0, (*arguments, (1 << 20).to_bytes(4, "little")))
    with pytest.raises(MemoryFaultError) as caught:
        device.launch(wrong)
    assert caught.value.location is not None
    assert (Path(caught.value.location.file).name, caught.value.location.line) == ("k.cu", 3)
