"""Which package drives a GPU, and that the second one offers what the device uses of the first."""

from __future__ import annotations

import ast
import struct
from pathlib import Path

import pytest

from gpuprof.device import drivers
from gpuprof.device.gpu import GpuDevice
from gpuprof.device.gpus import find_gpus
from gpuprof.errors import MissingDeviceError, UsageError

PACKAGE = Path(drivers.__file__).parent


def test_the_second_driver_has_every_name_that_the_device_uses() -> None:
    """Without the package: by the two sources."""
    device = ast.parse((PACKAGE / "gpu.py").read_text())
    used = {
        node.attr
        for node in ast.walk(device)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self._cuda"
    }
    module = ast.parse((PACKAGE / "cuda_bindings_driver.py").read_text())
    offered = {node.name for node in module.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert used
    assert used <= offered


def test_a_driver_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(drivers.ENVIRONMENT_VARIABLE, "nvcuda")
    with pytest.raises(UsageError, match="expected pycuda or cuda"):
        drivers.choose_driver()


@pytest.mark.parametrize("name", ["pycuda", "cuda"])
def test_an_asked_for_driver_is_taken_or_said_to_be_missing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(drivers.ENVIRONMENT_VARIABLE, name)
    choice = drivers.choose_driver()
    assert choice.name == (name if drivers.is_installed(name) else None)
    if choice.name is None:
        assert f"--driver {name} is not installed" in choice.why
        with pytest.raises(MissingDeviceError, match=r"pip install '\.\[cuda\]'"):
            drivers.import_driver()


def test_parameters_of_the_support_kernels_have_the_layout_of_c() -> None:
    """``PPiQ`` in the device's words: the last one begins at a multiple of 8."""
    assert struct.calcsize("@PPiQ") == 32


@pytest.mark.skipif(bool(find_gpus().devices), reason="is about a machine without libcuda")
def test_a_machine_without_a_driver_misses_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cuda.bindings")
    monkeypatch.setenv(drivers.ENVIRONMENT_VARIABLE, "cuda")
    with pytest.raises(MissingDeviceError, match="gpu:0 cannot be opened: cuInit failed"):
        GpuDevice(0)
