"""Every launch that ``record_configs.py`` recorded on a GPU, replayed on the emulator from the stored cubin.

Outputs are bit-equal, but for the kernel with MUFU.TANH (a bound); counters are equal, every one that was recorded.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from recorded_launches import filled

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.model import EmulationOptions
from gpuprof.toolchain import find_tools

if TYPE_CHECKING:
    from numpy.typing import NDArray

DATA = Path(__file__).parent
RECORDS: list[dict[str, Any]] = (
    json.loads((DATA / "configs.json").read_text())["launches"] if (DATA / "configs.json").exists() else []
)

#: What two runs of one launch on the GPU need not agree in, by launch name: contention decides how often a loop runs.
TIMING_DEPENDENT = frozenset(("compare_and_swap",))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not RECORDS, reason="nothing recorded"),
    pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm"),
]


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cubins")
    with zipfile.ZipFile(DATA / "configs_cubins.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def outputs() -> Mapping[str, NDArray[np.uint8]]:
    with np.load(DATA / "configs_outputs.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


def replay(record: Mapping[str, Any], cubin: Path) -> tuple[LaunchCounters, list[NDArray[np.generic]]]:
    """The whole grid on the emulator: its counters, and the output buffers in the order of the arguments."""
    device = EmulatedDevice(EmulationOptions(budget=None))
    arguments: list[Pointer | bytes] = []
    results = []
    for argument in record["args"]:
        if argument["kind"] == "scalar":
            arguments.append(np.dtype(argument["dtype"]).type(argument["value"]).tobytes())
            continue
        host = filled(argument["dtype"], argument["count"], argument["fill"])
        handle = device.allocate(host.nbytes)
        device.write(handle, host)
        arguments.append(Pointer(handle))
        if argument["output"]:
            results.append((handle, argument))
    grid, block = ((*record[name], 1, 1)[:3] for name in ("grid", "block"))
    counters = device.launch(Launch(cubin, record["symbol"], grid, block, record["shared"], tuple(arguments)))
    assert counters is not None
    return counters, [device.read(handle, each["dtype"], (each["count"],)) for handle, each in results]


@pytest.mark.parametrize("number", range(len(RECORDS)), ids=[record["name"] for record in RECORDS])
def test_replay(number: int, cubins: Path, outputs: Mapping[str, NDArray[np.uint8]]) -> None:
    record = RECORDS[number]
    counters, got = replay(record, cubins / f"{record['cubin']}.cubin")
    kept = sorted((name for name in record["outputs"]), key=lambda name: int(name.split("_")[1]))
    for name, mine in zip(kept, got, strict=True):
        check_output(record, mine, outputs[name].view(mine.dtype))
    differing = {
        name: (counters.counters[name], value)
        for name, value in record.get("counters", {}).items()
        if name in counters.counters and counters.counters[name] != value
    }
    if record["name"] not in TIMING_DEPENDENT:
        assert not differing, f"(emulator, GPU): {differing}"


def check_output(record: Mapping[str, Any], got: NDArray[np.generic], want: NDArray[np.generic]) -> None:
    """Bit-equal unless the record gives a bound."""
    if not record["ulp"] and not record["atol"]:
        assert got.tobytes() == want.tobytes(), first_difference(got, want)
        return
    mine, theirs = got.astype(np.float64), want.astype(np.float64)
    bound = record["atol"] + record["ulp"] * np.abs(np.spacing(want)).astype(np.float64)
    wrong = ~((np.abs(mine - theirs) <= bound) | (got == want) | (np.isnan(mine) & np.isnan(theirs)))
    assert not wrong.any(), f"{wrong.sum()} over the bound; {first_difference(got, want)}"


def first_difference(got: NDArray[np.generic], want: NDArray[np.generic]) -> str:
    unequal = np.flatnonzero(got.view(f"u{got.itemsize}") != want.view(f"u{want.itemsize}"))
    place = int(unequal[0]) if unequal.size else -1
    return f"{unequal.size} of {got.size} differ, first [{place}]: emulator {got[place]!r}, GPU {want[place]!r}"


def test_enough_is_recorded() -> None:
    """At least forty whole kernels with at least fifteen counters each."""
    full = [record for record in RECORDS if len(record.get("counters", {})) >= 15]
    assert len(full) >= 40
