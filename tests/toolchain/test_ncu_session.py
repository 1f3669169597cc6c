"""The recording of a session: what the emulator's processes give, and the tables made of it and of ncu's side."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof import experiment as experiments
from gpuprof.isa import ncu_metrics as m
from gpuprof.profile.ncu.counters import Profiled
from gpuprof.profile.options import RunOptions
from gpuprof.profile.setup import prepare_run
from gpuprof.results.model import Counters, Result
from gpuprof.toolchain import find_tools

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))
import ncu_session

SIZES = {"COUNT": "4096"}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ncu_session.Session]:
    with ThreadPoolExecutor(1) as pool:
        yield ncu_session.Session(time.monotonic() + 120, tmp_path, tmp_path, pool, 8, "1e8")


@pytest.mark.skipif(find_tools().nvcc is None or find_tools().nvdisasm is None, reason="needs nvcc and nvdisasm")
def test_both_sides_become_one_row(session: ncu_session.Session) -> None:
    """ncu's side here is the emulator's with one sector lost, and a rate at which ncu calls the kernel memory bound."""
    experiment = experiments.load(experiments.find_config("saxpy"), overrides=SIZES)
    setup = prepare_run(experiment, RunOptions(devices=("emulated",), arch="sm_90"))
    variants = experiment.variants[:2]
    first, second = (variant.label for variant in variants)
    mine = ncu_session.emulate(session, "saxpy", SIZES, first, "sm_90")
    assert isinstance(mine, Result)
    assert mine.counters is not None
    loads = m.sectors("ld")
    lost = {**mine.counters.values, loads: mine.counters.values[loads] - 1}
    rates = {m.COMPUTE_PERCENT: 20.0, m.MEMORY_PERCENT: 90.0, m.DRAM_PERCENT: 90.0}
    theirs = Profiled(Counters({**lost, **rates}, "ncu", 1, 1), ("0",))
    done = [session.pool.submit(lambda: mine), session.pool.submit(lambda: "not emulated: no row")]
    session.configs["saxpy"] = ncu_session.Config(
        experiment,
        setup,
        variants,
        {first: theirs, second: "ncu saw no launch"},
        {first: "Memory is more heavily utilized than Compute"},
        6.5,
        dict(zip((first, second), done, strict=True)),
    )
    [future.result() for future in done]
    text = ncu_session.write(session)
    assert "2 variants of 1 configs under ncu, 6 s" in text
    assert ", 0 different, over 1 variants" in text
    assert "verdicts that agree with ncu's Speed Of Light rule: 1 of 1" in text
    assert f"| saxpy | {second} | - | - | - | - | - | ncu saw no launch | - |" in text
    stored = json.loads((session.out / "session.json").read_text())
    row = stored["variants"][0]
    # requests and sectors of four global operations, sectors of local loads and stores ...; one of 1,024 sectors lost
    assert (row["different"], row["hardware_equal"], row["hardware_near"]) == (0, 11, 1)
    assert row["equal"] >= 15


def test_when_the_time_is_over_nothing_is_begun(session: ncu_session.Session) -> None:
    over = replace(session, ends=time.monotonic() - 1)
    assert ncu_session.emulate(over, "saxpy", SIZES, "float", "sm_90") == "not emulated: the time was over"
    ncu_session.profile_all(["saxpy"], over)
    assert over.problems == ["saxpy: the time was over"]


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("This workload exhibits low compute throughput and memory bandwidth utilization relative to the peak "
         "performance of this device. Achieved compute throughput and/or memory bandwidth below 60.0% of peak "
         "typically indicate latency issues.", "latency"),
        ("Memory is more heavily utilized than Compute: Look at the Memory Workload Analysis section to identify the "
         "L1 bottleneck.", "memory"),
        ("Compute is more heavily utilized than Memory: Look at the Compute Workload Analysis section.", "compute"),
        ("Compute and Memory are well-balanced: To reduce runtime, both must be reduced.", "balanced"),
        ("This workload is utilizing greater than 80.0% of the available compute or memory performance of this device. "
         "Start by analyzing DRAM in the Memory Workload Analysis section.", "memory"),
        ("This workload is utilizing greater than 80.0% of the available compute or memory performance of this device. "
         "Start by analyzing workloads in the Compute Workload Analysis section.", "compute"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_words_of_ncus_rule(text: str, side: str) -> None:
    assert ncu_session.rule_side(text) == side
