"""Barriers with little work between them, and loops larger than the code caches."""

from __future__ import annotations

from collections.abc import Iterator

from gpuprof.arch.pipeline import pipeline_facts
from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.isa.opcodes import Control, opcode
from gpuprof.sass.findings.model import Case, Found

_MIN_FFMA_PER_BARRIER = 32


def barriers(case: Case) -> Iterator[Found]:
    for loop in case.loops:
        math = loop.math_count
        if not loop.barriers or loop.math != "FFMA" or loop.children or math >= _MIN_FFMA_PER_BARRIER * loop.barriers:
            continue
        hits = [index for index in case.own(loop.number)
                if opcode(case.code(index).opcode).control is Control.BLOCK_BARRIER]  # fmt: skip
        if hits:
            yield Found(
                "barrier", 38 + 10 * loop.depth, hits, f"block barriers for {math} FFMA per iteration",
                "give each barrier more work: a deeper tile, or more results per thread",
                single=f"block barrier for {math} FFMA per iteration",
            )  # fmt: skip


def large_loop(case: Case) -> Iterator[Found]:
    """A loop that its architecture's code cache does not hold, where that cache's size is known."""
    cache = pipeline_facts(case.arch).code_cache_bytes
    if cache is None:
        return
    for loop in case.loops:
        size = (loop.end - loop.start) or loop.instructions * INSTRUCTION_BYTES
        if size > cache.value and not loop.children:
            what = (
                f"instructions ({size} bytes) in one loop, more than the {cache.value // 1024} KiB of code cache"
                f" ({cache.source})"
            )
            yield Found("large loop", 50, case.own(loop.number), what, "unroll less")
