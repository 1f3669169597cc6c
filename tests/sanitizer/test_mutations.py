"""Removing any one ``__syncthreads()`` of a bundled kernel is found, or a comment there says why it is redundant."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.experiment import bundled, find_config, load
from gpuprof.experiment.model import Experiment, KernelStep, Variant
from gpuprof.profile.sanitizing import sanitize_experiment
from gpuprof.sanitizer.findings import Tool
from gpuprof.sanitizer.launch import SanitizerSettings

#: source -> the experiments that launch it, with sizes for a quick look
LAUNCHED_BY = {
    "bank_strides.cu": [("bank_strides", {"BLOCKS": "2", "REPEATS": "4"})],
    "gemm_tiled.cu": [("gemm_tiles", {"M": "64"})],
    "gemm_wmma_shared.cu": [("hgemm", {"M": "128", "N": "128", "K": "128"})],
    "histogram.cu": [("histogram", {"COUNT": "16384"})],
    "micro_gemm_4x4.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_8x8.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_cp_async.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_padded.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_pipelined.cu": [("gemm_pipelined", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_reordered.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_vector.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "micro_gemm_warp_tiled.cu": [("gemm_ladder", {"M": "128", "N": "128", "K": "64"})],
    "reduction.cu": [("reduction", {"COUNT": "65536"})],
    "reduction_unrolled.cu": [("reduction", {"COUNT": "65536"})],
    "scan.cu": [("scan", {"COUNT": "8192"})],
    "softmax.cu": [("softmax", {"ROWS": "4"})],
    "stencil.cu": [("stencil_1d", {"COUNT": "4096"}), ("stencil_2d", {"ROWS": "64", "COLUMNS": "64"})],
    "transpose.cu": [("transpose", {"ROWS": "64", "COLUMNS": "64"})],
}
#: Its accesses are those of tensor copies and warpgroup products, which the sanitizer does not look at (and says so).
NOT_IN_REACH = {"gemm_wgmma.cu"}
#: name -> source; absolute, as steps name their sources
SOURCES = {path.name: path.absolute() for path in bundled.kernels()}
_BARRIER = re.compile(r"__syncthreads\(\);")
_REDUNDANT = "// redundant"
SETTINGS = SanitizerSettings(tools=frozenset((Tool.RACECHECK,)), budget=3_000_000)


def barriers(source: Path) -> list[int]:
    """Character offsets of the barriers in a source that no comment calls redundant."""
    text = source.read_text(encoding="utf-8")
    lines = {match.start(): text[match.start() : text.find("\n", match.start())] for match in _BARRIER.finditer(text)}
    return [start for start, rest in lines.items() if _REDUNDANT not in rest]


def mutants() -> list[tuple[str, int]]:
    """(source, offset of the barrier) of every barrier of every bundled kernel."""
    return [(name, start) for name in LAUNCHED_BY for start in barriers(SOURCES[name])]


def launching(name: str, source: Path, experiment: Experiment) -> tuple[Variant, ...]:
    """The variants that launch a source, built from ``source`` in its place."""

    def moved(variant: Variant) -> Variant:
        steps = tuple(
            replace(step, source=source.resolve())
            if isinstance(step, KernelStep) and step.source.name == name
            else step
            for step in variant.steps
        )
        return replace(variant, steps=steps)

    def launches(variant: Variant) -> bool:
        return any(isinstance(step, KernelStep) and step.source.name == name for step in variant.steps)

    return tuple(moved(variant) for variant in experiment.variants if launches(variant) and not variant.host_only)


def found_in(name: str, source: Path) -> list[str]:
    """The kinds of findings of all variants that launch ``source``."""
    found = []
    for config, sizes in LAUNCHED_BY[name]:
        experiment = load(find_config(config), overrides=sizes)
        variants = launching(name, source, experiment)
        assert variants, f"{config} launches no {name} with {sizes}"
        run = sanitize_experiment(experiment, variants, SETTINGS, lambda variant: "sm_89")
        assert not [variant.error for variant in run.variants if variant.error]
        found += [finding.kind for variant in run.variants for finding in variant.findings]
    return found


def test_every_kernel_with_a_barrier_is_looked_at() -> None:
    assert {name for name, source in SOURCES.items() if barriers(source)} == set(LAUNCHED_BY) | NOT_IN_REACH


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LAUNCHED_BY))
def test_a_bundled_kernel_is_clean(name: str) -> None:
    assert found_in(name, SOURCES[name]) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "start"), mutants())
def test_without_one_barrier(name: str, start: int, tmp_path: Path) -> None:
    source = SOURCES[name]
    text = source.read_text(encoding="utf-8")
    line = text[:start].count("\n") + 1
    mutant = tmp_path / name
    mutant.write_text(text[:start] + text[start:].replace("__syncthreads();", ";", 1), encoding="utf-8")
    for other in source.parent.glob("*.cuh"):
        (tmp_path / other.name).write_text(other.read_text(encoding="utf-8"), encoding="utf-8")
    assert found_in(name, mutant), f"{name}:{line} is not found without its barrier"
