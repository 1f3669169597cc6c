"""Both engines give the same bytes, the same counters of every instruction, and the same faults."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.errors import EmulationError
from gpuprof.toolchain import find_tools
from tests.emulator.emulated_cubin import EmulatedCubin
from tests.emulator.emulated_kernels import Kernels, i32, ints
from tests.emulator.programs import FAMILIES, PRELUDE, make_program
from tests.emulator.test_semantics_programs import as_words, compiled, inputs_for
from tests.hardware.recorded_launches import filled

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
    pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm"),
]
HARDWARE = Path(__file__).parents[2] / "hardware"
RECORDS: list[dict[str, Any]] = json.loads((HARDWARE / "configs.json").read_text())["launches"]
#: How often a warp tries again depends on when the other warps of its block do.
RETRIES = frozenset({"shared_float_sum"})
#: A function of numpy itself.
IN_NUMPY = frozenset({"mufu_tanh"})
#: Recorded launches that the ordinary suite replays: a kind of code each, one cubin each.
SOME = (
    "gemm_naive 64x64x64",
    "recursion_once",
    "earlyexit",
    "bypass_copy<true>",
    "matrix_loads",
)


def run(record: dict[str, Any], cubin: Path, engine: str) -> tuple[LaunchCounters, list[bytes]]:
    device = EmulatedDevice(EmulationOptions(engine=engine))
    arguments: list[Pointer | bytes] = []
    handles = []
    for argument in record["args"]:
        if argument["kind"] == "scalar":
            arguments.append(np.dtype(argument["dtype"]).type(argument["value"]).tobytes())
            continue
        host = filled(argument["dtype"], argument["count"], argument["fill"])
        handles.append((device.allocate(host.nbytes), host.nbytes))
        device.write(handles[-1][0], host)
        arguments.append(Pointer(handles[-1][0]))
    grid, block = ((*record[name], 1, 1)[:3] for name in ("grid", "block"))
    counters = device.launch(Launch(cubin, record["symbol"], grid, block, record["shared"], tuple(arguments)))
    return counters, [device.read(handle, "uint8", (size,)).tobytes() for handle, size in handles]


def _marked(record: dict[str, Any]) -> Any:
    marks = () if record["name"] in SOME else (pytest.mark.slow,)
    return pytest.param(record, id=record["name"].replace(" ", "-"), marks=marks)


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cubins")
    with zipfile.ZipFile(HARDWARE / "configs_cubins.zip") as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("record", [_marked(record) for record in RECORDS])
def test_recorded_launches(record: dict[str, Any], cubins: Path) -> None:
    cubin = cubins / f"{record['cubin']}.cubin"
    mine, bytes_here = run(record, cubin, "compiled")
    theirs, bytes_there = run(record, cubin, "numpy")
    assert mine.engine == ("numpy" if record["name"] in IN_NUMPY else "compiled"), mine.engine_note
    assert bytes_here == bytes_there
    if record["name"] not in RETRIES:
        assert mine.counters == theirs.counters
        assert mine.per_instruction == theirs.per_instruction


COUNTS = {"word": 3, "long": 1, "single": 2, "double": 1, "half": 2}
#: Programs of the longer test: as many as the environment asks for.
MANY = int(os.environ.get("GPUPROF_PROGRAMS", "200"))
Build = Callable[[str, list[Any]], EmulatedCubin]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    def make(name: str, programs: list[Any]) -> EmulatedCubin:
        source = tmp_path_factory.mktemp("programs") / f"{name}.cu"
        source.write_text(PRELUDE + "".join(program.text for program in programs))
        return EmulatedCubin(compiled(source, "sm_89", "-fmad=false"))

    return make


def check_programs(programs: list[Any], cubin: EmulatedCubin) -> None:
    for seed, program in enumerate(programs):
        words = tuple(as_words(value) for value in inputs_for(program.family, seed))
        results = []
        for engine in ("compiled", "numpy"):
            size = np.int32(words[0].size)
            results.append(cubin.run(program.name, np.zeros_like(words[0]), words, size, engine=engine))
        assert results[0].tobytes() == results[1].tobytes(), program.text


def test_programs(build: Build) -> None:
    programs = [make_program(family, seed, 40) for family, count in COUNTS.items() for seed in range(count)]
    check_programs(programs, build("few", programs))


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_many_programs(build: Build) -> None:
    """GPUPROF_PROGRAMS=10000 for all; 25 kernels to a cubin."""
    families = sorted(FAMILIES)
    programs = [make_program(families[number % 5], 1000 + number, 25) for number in range(MANY)]
    for first in range(0, MANY, 25):
        check_programs(programs[first : first + 25], build(f"many{first}", programs[first : first + 25]))


FAULTS: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
    ("read_beyond", 1, 64, (ints(64), ints(64), i32(10))),
    ("write_beyond", 5, 32, (ints(100), i32(0))),
    ("misaligned", 1, 32, (np.zeros(256, np.int8), ints(32))),
    ("deadlock", 1, 64, (ints(64),)),
    ("endless", 3, 64, (ints(1), ints(1))),
    ("trapped", 1, 32, (i32(2),)),
]


@pytest.mark.parametrize(("kernel", "grid", "block", "arguments"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_faults(kernel: str, grid: Any, block: Any, arguments: tuple[Any, ...]) -> None:
    found = []
    for engine in ("compiled", "numpy"):
        with pytest.raises(EmulationError) as caught:
            Kernels("sm89", engine=engine, instruction_limit=20_000).run(kernel, grid, block, *arguments)
        assert caught.value.location is not None
        place = replace(caught.value.location, kernel="")
        found.append((type(caught.value), str(caught.value), place))
    assert found[0] == found[1]


def test_a_fault_leaves_no_half_of_a_launch_behind() -> None:
    """What the compiled code stored before it stopped is taken back: numpy counts each element up once."""
    kernels, out = Kernels("sm89", engine="compiled"), ints(160)
    with pytest.raises(EmulationError):
        kernels.run("write_beyond", 6, 32, out, i32(0))
    assert not out.any()
