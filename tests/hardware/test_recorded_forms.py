"""The launches that ``record_forms.py`` recorded on an H200, replayed on the emulator from the stored cubins.

Outputs are bit-equal, counters equal, and so is every instruction: executed, with how many threads, how many of them
predicated on (ncu's source page). What is unequal stands below by name, with the reason.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.isa import ncu_metrics
from gpuprof.toolchain import find_tools
from tests.hardware.form_exceptions import UNEQUAL_COUNTERS, UNEQUAL_INSTRUCTIONS, UNEQUAL_OUTPUTS
from tests.hardware.form_launches import TENSOR, all_launches, contents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.hardware.recorded_launches import RecordedLaunch

DATA = Path(__file__).parent
RECIPES = {(group, launch.name): launch for group, launches in all_launches().items() for launch in launches}
RECORDS: list[dict[str, Any]] = json.loads(gzip.decompress((DATA / "forms.json.gz").read_bytes()))["launches"]
COUNTED = [record for record in RECORDS if record["group"] != TENSOR]
TENSOR_KERNELS = sorted({RECIPES[TENSOR, record["name"]].kernel for record in RECORDS if record["group"] == TENSOR})

pytestmark = pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm")


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forms")
    with zipfile.ZipFile(DATA / "forms_cubins.zip") as archive:
        archive.extractall(folder)
    return folder


@cache
def arrays(name: str) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO((DATA / name).read_bytes())) as stored:
        return {key: stored[key] for key in stored.files}


def replay(record: dict[str, Any], cubins: Path) -> tuple[LaunchCounters, dict[int, NDArray[np.uint8]]]:
    """Counters, and the bytes of the output arguments by their position among the arrays."""
    launch: RecordedLaunch = RECIPES[record["group"], record["name"]]
    device = EmulatedDevice(EmulationOptions(budget=None, per_instruction=True))
    arguments: list[Pointer | bytes] = []
    outputs = {}
    position = 0
    for argument in launch.recipe()["args"]:
        if argument["kind"] == "scalar":
            arguments.append(np.dtype(argument["dtype"]).type(argument["value"]).tobytes())
            continue
        host = contents(argument["dtype"], argument["count"], argument["fill"])
        handle = device.allocate(host.nbytes)
        device.write(handle, host)
        arguments.append(Pointer(handle))
        if argument["output"]:
            outputs[position] = (handle, host.nbytes)
        position += 1
    grid, block = (*launch.grid, 1, 1)[:3], (*launch.block, 1, 1)[:3]
    counters = device.launch(Launch(cubins / record["cubin"], launch.kernel, grid, block, 0, tuple(arguments)))
    return counters, {key: device.read(handle, "uint8", (size,)) for key, (handle, size) in outputs.items()}


def check_outputs(record: dict[str, Any], got: dict[int, NDArray[np.uint8]]) -> None:
    for position, mine in got.items():
        theirs = arrays("forms_outputs.npz")[f"{record['number']}_{position}"]
        assert mine.tobytes() == theirs.tobytes(), f"{record['name']}: {np.count_nonzero(mine != theirs)} bytes differ"


@pytest.mark.parametrize("kernel", TENSOR_KERNELS)
def test_tensor_sums_over_special_values(kernel: str, cubins: Path) -> None:
    records = [record for record in RECORDS if RECIPES[record["group"], record["name"]].kernel == kernel]
    for record in records:
        check_outputs(record, replay(record, cubins)[1])


@pytest.mark.parametrize("record", COUNTED, ids=lambda record: record["name"].replace(" ", "-"))
def test_replay(record: dict[str, Any], cubins: Path) -> None:
    name = record["name"]
    counters, outputs = replay(record, cubins)
    if name not in UNEQUAL_OUTPUTS:
        check_outputs(record, outputs)
    differing = {
        metric: (counters.counters[metric], value)
        for metric, value in record["counters"].items()
        if counters.counters.get(metric, value) != value
    }
    unexpected = {metric: pair for metric, pair in differing.items() if metric not in UNEQUAL_COUNTERS.get(name, ())}
    assert not unexpected, f"(emulator, GPU): {unexpected}"
    if name not in UNEQUAL_INSTRUCTIONS:
        check_instructions(record, counters)


def check_instructions(record: dict[str, Any], counters: LaunchCounters) -> None:
    names = (ncu_metrics.SOURCE_EXECUTED, ncu_metrics.SOURCE_THREADS, ncu_metrics.SOURCE_THREADS_ON)
    mine = {each.address: tuple(each.counters.get(name, 0) for name in names) for each in counters.per_instruction}
    theirs = arrays("forms_counts.npz")[str(record["number"])]
    wrong = {
        f"{16 * number:#06x}": (mine.get(16 * number, (0, 0, 0)), tuple(row))
        for number, row in enumerate(theirs[:, :3].tolist())
        if mine.get(16 * number, (0, 0, 0)) != tuple(row)
    }
    assert not wrong, f"(emulator, GPU): {wrong}"


def test_exceptions_name_recorded_launches() -> None:
    names = {record["name"] for record in COUNTED}
    assert (UNEQUAL_COUNTERS.keys() | UNEQUAL_INSTRUCTIONS | UNEQUAL_OUTPUTS) <= names


def test_enough_is_recorded() -> None:
    groups = [record["group"] for record in RECORDS]
    assert groups.count(TENSOR) >= 200
    assert groups.count("collectives") >= 40
    assert len({RECIPES["flow", record["name"]].kernel for record in RECORDS if record["group"] == "flow"}) >= 40
