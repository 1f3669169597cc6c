"""A launch says which of its executed instructions are not exact by measurement on its architecture."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from tests.hardware.form_launches import FOLDER
from tests.sass.sass_tools import compile_cubin

TANH = """extern "C" __global__ void tanhs(float* out) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(threadIdx.x * 0.1f));
    out[threadIdx.x] = y;
}
"""


@pytest.mark.parametrize(("arch", "doubted"), [("sm_90", 0), ("sm_89", 1)])
def test_tensor_sums_are_measured_on_sm_90_alone(arch: str, doubted: int, tmp_path: Path) -> None:
    cubin = compile_cubin(FOLDER / "tensor.cu", arch, tmp_path)
    device = EmulatedDevice()
    buffers = [Pointer(device.allocate(4096)) for _ in range(4)]
    report = device.launch(Launch(cubin, "f16_f32_k16", (1, 1, 1), (32, 1, 1), 0, tuple(buffers)))
    assert ["HMMA" in warning for warning in report.warnings] == [True] * doubted


def test_an_approximation_is_said_everywhere(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(TANH)
    cubin = compile_cubin(source, "sm_90", tmp_path)
    device = EmulatedDevice()
    launch = Launch(cubin, "tanhs", (1, 1, 1), (32, 1, 1), 0, (Pointer(device.allocate(4096)),))
    assert ["MUFU.TANH" in warning for warning in device.launch(launch).warnings] == [True]
