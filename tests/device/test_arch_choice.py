"""User input for an architecture."""

from __future__ import annotations

import pytest

from gpuprof.arch.spelling import parse_arch
from gpuprof.device.choice import resolve_arch
from gpuprof.device.gpus import find_gpus
from gpuprof.errors import GpuprofError, MissingDeviceError, UsageError


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
        ("ada", "not an arch"),
        ("", "not an architecture"),
        ("sm_1200", "not"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_arch(text)


def test_native_without_a_gpu() -> None:
    if find_gpus().devices:
        pytest.skip("there is a GPU")
    with pytest.raises(MissingDeviceError, match=r"'native' needs a GPU.*--arch sm_89") as caught:
        resolve_arch("native")
    error: GpuprofError = caught.value
    assert error.exit_code == 3
