"""What an architecture's pipeline does: latencies, register banks and code caches, where a source or a measurement
says so.

Read from ``arch/data/pipeline.json``, which names for each figure the architecture, the value, and how it is known. A
figure that nobody measured on an architecture is absent there, and what depends on it is not said.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data" / "pipeline.json"


@dataclass(frozen=True)
class Figure:
    """A number and where it comes from."""

    value: int
    source: str


@dataclass(frozen=True)
class RegisterBanks:
    """A model of the register file: ``banks`` by register number, ``reads`` per bank and ``window`` cycles that an
    instruction has to read its sources. ``source`` says what it was held against."""

    banks: int
    cycles_per_read: float
    window: int
    source: str


@dataclass(frozen=True)
class PipelineFacts:
    """One architecture's figures. ``latencies``: cycles from the issue of an instruction to that of a dependent one."""

    arch: str
    latencies: Mapping[str, Figure]
    register_banks: RegisterBanks | None
    code_cache_bytes: Figure | None


@functools.cache
def pipeline_facts(arch: str) -> PipelineFacts:
    """The figures of ``sm_90``, ``sm_90a`` or ``9.0``; without any for an architecture of which none is known."""
    digits = re.sub(r"\D", "", arch)
    data: dict[str, Any] = _read().get(f"sm_{digits}", {})
    banks = data.get("register_banks")
    cache = data.get("code_cache_bytes")
    return PipelineFacts(
        arch=arch,
        latencies={name: Figure(**figure) for name, figure in data.get("latencies", {}).items()},
        register_banks=RegisterBanks(**banks) if banks else None,
        code_cache_bytes=Figure(**cache) if cache else None,
    )


@functools.cache
def _read() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return data
