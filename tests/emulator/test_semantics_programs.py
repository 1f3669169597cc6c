"""Random straight-line programs, compiled by nvcc, run on the emulator, against numpy: equal bits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuprof.toolchain import find_tools
from tests.emulator.emulated_cubin import EmulatedCubin
from tests.emulator.programs import FAMILIES, PRELUDE, Program, make_program

COUNTS = {"word": 14, "long": 8, "single": 12, "double": 6, "half": 6}
PROGRAMS = [make_program(family, seed, 9) for family, count in COUNTS.items() for seed in range(count)]
ARCHITECTURES = ["sm_89", *(pytest.param(arch, marks=pytest.mark.slow) for arch in ("sm_75", "sm_120"))]
Build = Callable[[str], EmulatedCubin]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """All programs in one cubin per architecture; no contraction, so that each operation rounds by itself."""
    folder = tmp_path_factory.mktemp("programs")
    source = folder / "programs.cu"
    source.write_text(PRELUDE + "".join(program.text for program in PROGRAMS))
    built: dict[str, EmulatedCubin] = {}

    def for_arch(arch: str) -> EmulatedCubin:
        if arch not in built:
            built[arch] = EmulatedCubin(compiled(source, arch, "-fmad=false"))
        return built[arch]

    return for_arch


def compiled(source: Path, arch: str, *flags: str) -> Path:
    """The cubin that nvcc makes of ``source``."""
    target = source.with_name(f"{source.stem}_{arch}.cubin")
    nvcc = find_tools().require("nvcc").path
    subprocess.run([nvcc, "-cubin", f"-arch={arch}", "-std=c++17", *flags, "-o", target, source], check=True)
    return target


def inputs_for(family: str, seed: int, count: int = 224) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(seed)
    dtype = FAMILIES[family][2]
    if family in ("word", "long"):
        top = 2 ** (32 if family == "word" else 64)
        wide = [random.integers(0, top, count, dtype) for _ in range(3)]
        small = random.integers(0, dtype().itemsize * 8, count).astype(dtype)
        return tuple(np.where(random.random(count) < 0.7, value, value >> small) for value in wide)
    spread = {"half": 4, "single": 20, "double": 60}[family]
    size = count * (2 if family == "half" else 1)
    values = [np.ldexp(random.uniform(-2, 2, size), random.integers(-spread, spread, size)) for _ in range(3)]
    return tuple(value.astype(dtype) for value in values)


def as_words(values: np.ndarray) -> np.ndarray:
    """Halves as the pairs that a thread holds, anything else as it is."""
    return values.view(np.uint32) if values.dtype == np.float16 else values


def same(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Where the bits agree, or both are NaN."""
    bits = np.dtype(f"u{want.itemsize}")
    equal = got.view(bits) == want.view(bits)
    return equal if want.dtype.kind != "f" else equal | (np.isnan(got) & np.isnan(want))


def check(cubin: EmulatedCubin, program: Program, inputs: tuple[np.ndarray, ...]) -> None:
    want = np.ascontiguousarray(program.compute(inputs))
    words = tuple(as_words(value) for value in inputs)
    got = cubin.run(program.name, np.zeros_like(words[0]), words, np.int32(words[0].size)).view(want.dtype)
    wrong = np.flatnonzero(~same(got, want))
    assert wrong.size == 0, (program.text, [value[wrong[0]] for value in inputs], got[wrong[0]], want[wrong[0]])


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_programs_equal_numpy(build: Build, family: str, arch: str) -> None:
    cubin = build(arch)
    for seed, program in enumerate(each for each in PROGRAMS if each.family == family):
        check(cubin, program, inputs_for(family, seed))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from([each for each in PROGRAMS if each.family == "word"]), st.data())
def test_integer_programs_on_any_values(build: Build, program: Program, data: st.DataObject) -> None:
    words = st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8)
    inputs = tuple(np.array(data.draw(words), np.uint32) for _ in range(3))
    check(build("sm_89"), program, inputs)
