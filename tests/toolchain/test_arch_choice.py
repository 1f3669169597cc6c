"""What people type for an architecture."""

from __future__ import annotations

import pytest

from gpuprof.errors import GpuprofError, MissingDeviceError, UsageError
from gpuprof.toolchain.arch_choice import parse_arch
from gpuprof.toolchain.gpus import find_gpus, read_nvidia_smi


@pytest.mark.parametrize(
    ("text", "arch"),
    [
        ("sm_89", "sm_89"),
        ("SM89", "sm_89"),
        ("compute_89", "sm_89"),
        ("8.9", "sm_89"),
        ("89", "sm_89"),
        (" 89 ", "sm_89"),
        ("sm_120a", "sm_120a"),
        ("12.0", "sm_120"),
        ("12.0a", "sm_120a"),
        ("120", "sm_120"),
        ("sm_100f", "sm_100f"),
        ("10.3", "sm_103"),
        ("sm_70", "sm_70"),  # nvcc says that it does not know it, and which it does
    ],
)
def test_spellings(text: str, arch: str) -> None:
    assert parse_arch(text) == arch


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sm_9", r"cut short.*sm_90 or 9\.0"),
        ("9", "cut short"),
        ("ada", "no arch"),
        ("", "no architecture"),
        ("sm_1200", "no"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_arch(text)


def test_native_without_a_gpu() -> None:
    if find_gpus().gpus:
        pytest.skip("there is a GPU")
    with pytest.raises(MissingDeviceError, match=r"'native' needs a GPU.*--arch sm_89") as caught:
        parse_arch("native")
    error: GpuprofError = caught.value
    assert error.exit_code == 3


def test_reading_nvidia_smi() -> None:
    """A line as nvidia-smi 580 prints it for that query; a GPU that does not answer is left out."""
    text = (
        "NVIDIA H200, GPU-0c2b0e8f-1d6f-9c57-2d5b-56a1c0b8f8f1, 9.0, 580.159.04, 143771, 345, 1980\n"
        "[Unknown Error], [Unknown Error], [N/A], 580.159.04, [N/A], [N/A], [N/A]\n"
    )
    (gpu,) = read_nvidia_smi(text)
    assert (gpu.name, gpu.compute_capability, gpu.driver) == ("NVIDIA H200", "9.0", "580.159.04")
    assert (gpu.memory_bytes, gpu.sm_clock_mhz, gpu.max_sm_clock_mhz) == (143771 << 20, 345, 1980)
