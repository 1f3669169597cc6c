"""The pipeline's figures against what an H200 took (``pipeline/record.py`` recorded it)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuprof.arch.pipeline import pipeline_facts
from gpuprof.sass.stream import bank_conflict_cycles
from tests.sass.sass_tools import snippet

RECORD = Path(__file__).parent / "pipeline" / "pipeline.json"
TURNS = 16


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def test_latencies_are_the_recorded_ones(record: dict[str, Any]) -> None:
    latencies = pipeline_facts("sm_90").latencies
    assert len(latencies) >= 14
    for name, figure in latencies.items():
        assert figure.value == record["latencies"][name], name


def test_register_banks_as_modelled(record: dict[str, Any]) -> None:
    """Cycles per FFMA of a run: one for its issue, and what the model adds; exact in most of the recorded patterns."""
    near = 0
    for row in record["banks"]:
        once = [_ffma(*sources) for sources in row["pattern"]]
        code = snippet("\n".join([*once * TURNS, "EXIT"]), "sm_90").functions["k"].body
        half = len(once) * TURNS // 2
        added = [bank_conflict_cycles(code[:count], "FFMA", "sm_90") for count in (half, 2 * half)]
        assert added[0] is not None
        assert added[1] is not None
        cycles = 1 + (added[1] - added[0]) / half
        near += abs(cycles - row["cycles_per_instruction"]) < 0.06
    assert near >= 0.9 * len(record["banks"])


def _ffma(first: int, second: int, third: int, reuse: int) -> str:
    marks = [".reuse" if reuse >> slot & 1 else "" for slot in range(3)]
    return f"FFMA R200, R{first}{marks[0]}, R{second}{marks[1]}, R{third}{marks[2]} #1"


def test_the_code_cache_is_where_loops_become_slower(record: dict[str, Any]) -> None:
    cache = pipeline_facts("sm_90").code_cache_bytes
    assert cache is not None
    alone = {row["kib"]: row["cycles_per_instruction"] for row in record["loops"] if row["warps"] == 1}
    assert max(cycles for kib, cycles in alone.items() if kib * 1024 < cache.value) < 1.05
    assert min(cycles for kib, cycles in alone.items() if kib * 1024 > cache.value) > 1.9
