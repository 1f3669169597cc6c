"""Machine code read beside a run: by threads, by processes, from the cache, and when it cannot be read."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.experiment.model import Reference, Variant, Work
from gpuprof.profile.built_variant import BuiltVariant
from gpuprof.profile.code_facts import CodeFacts, kept_facts, place_of
from gpuprof.profile.code_reading import KERNELS_FOR_THREADS, CodeRead, CodeReader
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.cache import open_cache
from gpuprof.toolchain.model import Build, BuildRequest
from gpuprof.toolchain.tools import Toolchain
from tests.waiting import PATIENCE_S

SOURCE = """
template <int N> __global__ void fma(float *x) {
    float sum = x[threadIdx.x];
#pragma unroll
    for (int i = 0; i < N; i++) sum = fmaf(sum, sum, 1.0f);
    x[threadIdx.x] = sum;
}
"""
COUNTS = (3, 5)


@pytest.fixture(scope="module")
def tools() -> Toolchain:
    return find_tools()


@pytest.fixture(scope="module")
def builds(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Build]:
    source = tmp_path_factory.mktemp("reading") / "fma.cu"
    source.write_text(SOURCE)
    requests = [BuildRequest(source, f"fma<{count}>", "sm_89") for count in COUNTS]
    made = Builder(tools).build_all(requests)
    return {count: build for count, build in zip(COUNTS, made, strict=True) if isinstance(build, Build)}


def built(label: str, builds: Mapping[str, Build]) -> BuiltVariant:
    variant = Variant(label, label, {}, {}, {}, (), Reference(), None, Work(), None, None, (), ())
    return BuiltVariant(variant, builds, {})


def read(tools: Toolchain, folder: Path, variants: list[BuiltVariant], expected: int) -> dict[str, CodeRead]:
    events: queue.Queue[CodeRead] = queue.Queue()
    reader = CodeReader(tools, open_cache(folder), events.put, expected=expected, jobs=2)
    try:
        for variant in variants:
            reader.put(variant)
        found = [events.get(timeout=PATIENCE_S) for _ in variants]
    finally:
        reader.close()
    return {event.label: event for event in found}


def ffma(facts: CodeFacts) -> int:
    assert facts.sass is not None, facts.why_no_sass
    return facts.sass.mix["FFMA"]


@pytest.mark.parametrize("expected", [2, KERNELS_FOR_THREADS + 1], ids=["threads", "processes"])
def test_every_kernel_of_every_variant_is_read(
    tools: Toolchain, builds: dict[int, Build], tmp_path: Path, expected: int
) -> None:
    variants = [built("both", {"a": builds[3], "b": builds[5]}), built("one", {"a": builds[5]}), built("none", {})]
    found = read(tools, tmp_path, variants, expected)
    assert {step: ffma(facts) for step, facts in found["both"].facts.items()} == {"a": 3, "b": 5}
    assert {step: ffma(facts) for step, facts in found["one"].facts.items()} == {"a": 5}
    assert found["none"].facts == {}
    kept = kept_facts(open_cache(tmp_path), place_of(builds[3]))
    assert kept == found["both"].facts["a"]


def test_what_is_kept_needs_no_nvdisasm(tools: Toolchain, builds: dict[int, Build], tmp_path: Path) -> None:
    variants = [built("one", {"a": builds[3]})]
    first = read(tools, tmp_path, variants, 1)
    assert read(Toolchain(), tmp_path, variants, 1)["one"].facts == first["one"].facts


@pytest.mark.parametrize("expected", [1, KERNELS_FOR_THREADS + 1], ids=["threads", "processes"])
def test_code_that_cannot_be_read_is_a_reason(builds: dict[int, Build], tmp_path: Path, expected: int) -> None:
    without = read(Toolchain(), tmp_path, [built("one", {"a": builds[3]})], expected)["one"].facts["a"]
    assert without.sass is None
    assert without.code_sha256
    assert "nvdisasm was not found" in without.why_no_sass
    (tmp_path / "broken.cubin").write_bytes(b"no ELF file")
    broken = replace(builds[3], cubin=tmp_path / "broken.cubin", cubin_sha256="0" * 64)
    facts = read(Toolchain(), tmp_path, [built("one", {"a": broken})], expected)["one"].facts["a"]
    assert (facts.sass, facts.code_sha256) == (None, "")
    assert "broken.cubin" in facts.why_no_sass
