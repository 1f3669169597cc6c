"""``__reduce_*_sync`` over parts of a warp, compiled for three generations; the results by numpy."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.toolchain import find_tools
from tests.hardware.form_launches import contents

SOURCE = Path(__file__).parents[1] / "hardware" / "forms" / "collectives.cu"
REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "reduce_add": (np.add, np.int32),
    "reduce_min": (np.minimum, np.int32),
    "reduce_max_unsigned": (np.maximum, np.uint32),
    "reduce_and": (np.bitwise_and, np.uint32),
    "reduce_or": (np.bitwise_or, np.uint32),
    "reduce_xor": (np.bitwise_xor, np.uint32),
}
LANE = np.arange(32)


@pytest.fixture(scope="module", params=(89, 90, 120))
def cubin(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tools = find_tools()
    if tools.nvcc is None or tools.nvdisasm is None or shutil.which("g++") is None:
        pytest.skip("needs nvcc and nvdisasm")
    path = tmp_path_factory.mktemp("parts") / f"collectives_{request.param}.cubin"
    command = [str(tools.nvcc.path), "-std=c++17", "-O3", f"-arch=sm_{request.param}", "-cubin", "-o", str(path)]
    subprocess.run([*command, str(SOURCE)], check=True, capture_output=True)
    return path


def run(cubin: Path, kernel: str, source: np.ndarray) -> np.ndarray:
    device = EmulatedDevice(EmulationOptions(budget=None))
    buffers = [device.allocate(source.nbytes) for _ in range(2)]
    device.write(buffers[0], source)
    device.write(buffers[1], np.zeros_like(source))
    arguments = (np.int32(source.size).tobytes(), Pointer(buffers[0]), Pointer(buffers[1]))
    device.launch(Launch(cubin, kernel, (2, 1, 1), (64, 1, 1), 0, arguments))
    return device.read(buffers[1], "int32", (source.size,))


def expected(name: str, part: str, warp: np.ndarray) -> np.ndarray:
    """What the kernel ``name_part`` of collectives.cu gives for one warp's numbers."""
    keys = {"halves": LANE // 16, "sides": warp & 1, "some": LANE % 3 == 1, "groups": warp & 3}[part]
    values = {"sides": np.where(warp & 1, warp, warp + 1), "groups": warp - 100}.get(part, warp)
    operation, kind = REDUCTIONS[name]
    result = np.zeros(32, np.int32)
    for key in np.unique(keys):
        inside = keys == key
        reduced = np.asarray(operation.reduce(values[inside].astype(np.int32).view(kind)), kind).view(np.int32)
        result[inside] = reduced * np.int32(3) if part == "sides" and key else reduced
    return np.where(keys, result, -1) if part == "some" else result


@pytest.mark.parametrize("part", ["halves", "sides", "some", "groups"])
def test_reductions_over_parts_of_a_warp(part: str, cubin: Path) -> None:
    source = contents("int32", 128, "hash 0 256 5")
    for name in REDUCTIONS:
        got = run(cubin, f"{name}_{part}", source)
        want = np.concatenate([expected(name, part, warp) for warp in source.reshape(-1, 32)])
        np.testing.assert_array_equal(got, want, f"{name}_{part}")
