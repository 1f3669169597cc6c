"""Scalar loads of consecutive words where a wide load fits: the alignment of base, lanes and loop step is provable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpuprof.isa.opcodes import Access, Space, opcode
from gpuprof.sass.findings.model import Case, Found
from gpuprof.sass.lane_value import Value
from gpuprof.sass.model import OperandKind
from gpuprof.sass.opcodes import access_bits

_WEIGHTS = {Space.GLOBAL: 40, Space.SHARED: 35}


def narrow_loads(case: Case) -> Iterator[Found]:
    """At least four 32-bit loads in a row of words from one base register in one block of a loop."""
    for space, weight in _WEIGHTS.items():
        for loop in case.loops:
            by_width: dict[int, list[int]] = {}
            for width, hits in _rows(case, case.own(loop.number), space):
                by_width.setdefault(width, []).extend(hits)
            for width, hits in by_width.items():
                fewer = 1 - 4 / width
                yield Found(
                    "narrow load",
                    weight + 10 * loop.depth,
                    sorted(hits),
                    f"32-bit {space.value} loads of consecutive words instead of {8 * width}-bit loads",
                    f"read float{width // 4} values: base, lanes and loop step are multiples of {width} bytes",
                    each=fewer,
                    unit="issue cycles",
                )


def _rows(case: Case, indices: Sequence[int], space: Space) -> Iterator[tuple[int, list[int]]]:
    """(bytes of the wide load, its scalar loads) for each row of words that can be joined."""
    groups: dict[tuple[object, ...], dict[int, int]] = {}
    for index in indices:
        instruction = case.code(index)
        row = opcode(instruction.opcode)
        if row.access is not Access.LOAD or row.space is not space or access_bits(instruction) != 32:
            continue
        operand = next((memory for memory in instruction.operands if memory.kind is OperandKind.MEMORY), None)
        if operand is None or operand.base is None or operand.base.is_zero:
            continue
        if instruction.predicate is not None:
            continue
        sites = case.flow.definitions(index, ("R", operand.base.index)).sites
        uniform = operand.uniform.text if operand.uniform is not None else ""
        key = (operand.base.text.replace(".reuse", ""), uniform, sites, case.graph.block_of[index])
        groups.setdefault(key, {})[int(operand.value or 0)] = index
    for offsets in groups.values():
        for width in (16, 8):
            hits = _joined(case, offsets, width)
            if len(hits) >= 4:
                yield width, hits
                break


def _joined(case: Case, offsets: dict[int, int], width: int) -> list[int]:
    """The loads that make up whole aligned groups of ``width`` bytes."""
    hits: list[int] = []
    for offset in sorted(offsets):
        group = [offsets.get(offset + step) for step in range(0, width, 4)]
        whole = [index for index in group if index is not None]
        if len(whole) == len(group) and whole[0] not in hits and is_aligned(case.lanes.address(whole[0]), width):
            hits.extend(whole)
    return hits


def is_aligned(value: Value | None, width: int) -> bool:
    """Whether every lane's address is provably a multiple of ``width``."""
    if value is None:
        return False
    if any((lanes % width).any() for _, lanes in value.scaled) or (value.scaled and not _wide_rows(value, width)):
        return False
    if not value.exact and value.align < width:
        return False
    return not bool(np.any(value.known % width))


def _wide_rows(value: Value, width: int) -> bool:
    """Rows a run-time value apart are aligned only where its multiples are."""
    return all(not (lanes % width).any() for _, lanes in value.scaled)
