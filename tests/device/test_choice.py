"""Which device and which architecture, from what was asked and what is there."""

from __future__ import annotations

import pytest

from gpuprof.device.base import DeviceDescription
from gpuprof.device.choice import choose_arch, choose_devices, loads, parse_devices
from gpuprof.device.gpus import Gpus, format_uuid
from gpuprof.errors import MissingDeviceError, UsageError

H200 = DeviceDescription("gpu", "NVIDIA H200", arch="sm_90")
NONE = Gpus((), "no NVIDIA driver")
TWO = Gpus((H200, H200))


@pytest.mark.parametrize(
    ("text", "words"),
    [("gpu", ("gpu:0",)), ("GPU:1", ("gpu:1",)), ("gpu:0,gpu:1", ("gpu:0", "gpu:1")), ("emulated", ("emulated",))],
)
def test_device_words(text: str, words: tuple[str, ...]) -> None:
    assert parse_devices(text) == words


@pytest.mark.parametrize("text", ["cpu", "gpu:x", "", "emulated,gpu:0", "none,emulated"])
def test_wrong_device_words_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError, match="--device"):
        parse_devices(text)


def test_without_a_gpu_the_emulator_runs_and_one_line_says_so() -> None:
    choice = choose_devices((), NONE, None)
    assert (choice.names, choice.kind) == (("emulated",), "emulated")
    assert len(choice.notes) == 1
    assert "no NVIDIA driver" in choice.notes[0]


def test_a_gpu_without_pycuda_is_emulated_with_the_repair() -> None:
    choice = choose_devices((), TWO, "it is not installed")
    assert choice.kind == "emulated"
    assert "pip install '.[cuda]'" in choice.notes[0]


def test_a_gpu_that_was_asked_for_and_is_not_there_is_an_error() -> None:
    with pytest.raises(MissingDeviceError, match="no NVIDIA driver"):
        choose_devices(("gpu:0",), NONE, None)
    with pytest.raises(MissingDeviceError, match="gpu:2 does not exist; available: gpu:0, gpu:1"):
        choose_devices(("gpu:2",), TWO, None)
    with pytest.raises(MissingDeviceError, match="needs pycuda or cuda-bindings"):
        choose_devices(("gpu:0",), TWO, "it is not installed")


def test_two_gpus_are_two_devices() -> None:
    assert len(choose_devices(("gpu:0", "gpu:1"), TWO, None).gpus) == 2


def test_the_arch_is_the_gpus_unless_something_was_said() -> None:
    assert choose_arch(None, []).arch == "sm_89"
    chosen = choose_arch(None, [H200])
    assert chosen.arch == "sm_90"
    assert "sm_90" in chosen.note
    assert choose_arch("sm_86", []).arch == "sm_86"


def test_an_arch_that_the_gpu_cannot_load_names_the_flag_that_works() -> None:
    with pytest.raises(UsageError, match="--arch sm_90"):
        choose_arch("sm_89", [H200])


@pytest.mark.parametrize(
    ("built", "native", "fits"),
    [
        ("sm_80", "sm_89", True),
        ("sm_89", "sm_80", False),
        ("sm_89", "sm_90", False),
        ("sm_90a", "sm_90", True),
        ("sm_100a", "sm_103", False),
        ("sm_100f", "sm_103", True),
        ("sm_120", "sm_121", True),
    ],
)
def test_binary_compatibility(built: str, native: str, fits: bool) -> None:
    assert loads(built, native) is fits


def test_uuid_as_nvidia_smi_prints_it() -> None:
    raw = bytes(range(16))
    assert format_uuid(raw) == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
