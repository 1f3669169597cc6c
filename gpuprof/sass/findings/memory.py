"""Accesses of a warp's lanes: sectors of global memory, conflicts of shared memory, lanes that meet at an atomic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpuprof.isa import memory_access
from gpuprof.isa.machine import SECTOR_BYTES, WARP_LANES
from gpuprof.isa.opcodes import Access, Space, opcode
from gpuprof.sass.active_lanes import Active
from gpuprof.sass.findings.model import Case, Found
from gpuprof.sass.findings.narrow import is_aligned
from gpuprof.sass.findings.padding import tried_layout
from gpuprof.sass.lane_value import Value
from gpuprof.sass.model import Instruction, OperandKind
from gpuprof.sass.opcodes import access_bits

if TYPE_CHECKING:
    from gpuprof.isa.memory_access import Bool
    from gpuprof.sass.lane_value import Lanes

#: Distance put between lanes whose run-time parts differ: a pitch is longer than a sector.
_ROW_DISTANCE = 1 << 36
_UNKNOWN_BLOCK = ", if threadIdx.x runs over the lanes of a warp"
_COALESCE = "let consecutive threadIdx.x touch consecutive addresses, or go through shared memory"
_STRUCTURE = "keep each field in an array of its own, or load whole structures of 4, 8 or 16 bytes"
_AGGREGATE = "reduce within the warp first (__reduce_add_sync, shuffles) and let one lane update memory"


@dataclass(frozen=True)
class _Request:
    """One access whose lanes are known: its counts for the warp that is worst off."""

    index: int
    value: Value
    active: Active
    taken: int
    ideal: int
    lanes: int  #: active in that warp


def global_accesses(case: Case) -> Iterator[Found]:
    """Requests that touch more sectors than the bytes of their lanes fill."""
    requests = [request for index in case.own_body if (request := _global_request(case, index)) is not None]
    structures = _structures(case, requests)
    for group in structures:
        if not _is_one_wide_load(case, group):  # which the rule of narrow loads tells
            yield _structure(case, group)
    reported = {request.index for group in structures for request in group}
    groups: dict[tuple[object, ...], list[_Request]] = {}
    for request in requests:
        if request.index not in reported:
            key = (
                case.loop_number(request.index), case.may_be_skipped(request.index), request.taken, request.ideal,
                _distance_words(request.value), request.lanes,
            )  # fmt: skip
            groups.setdefault(key, []).append(request)
    for (number, _, taken, ideal, distance, lanes), group in groups.items():
        assert isinstance(taken, int)
        assert isinstance(ideal, int)
        names = " and ".join(sorted({case.code(request.index).opcode for request in group}))
        few = f" of its {lanes} active lanes" if lanes != WARP_LANES else ""
        what = f"{names} with {taken} sectors per request{few} where {ideal} hold the data ({distance})"
        yield Found(
            "uncoalesced",
            (60 if number else 30) + 10 * case.depth(group[0].index) + min(20, 20 * taken / ideal / 8),
            [request.index for request in group],
            what + _condition(group),
            _COALESCE,
            each=taken - ideal,
            unit="sectors",
        )


def _condition(group: Sequence[_Request]) -> str:
    return _UNKNOWN_BLOCK if any(request.value.by_block for request in group) else ""


def _place_of_global(instruction: Instruction) -> int | None:
    """Which operand in brackets addresses global memory; None where none does."""
    row = opcode(instruction.opcode)
    if row.space is not Space.GLOBAL or row.access is None:
        return None
    if row.access is Access.COPY:
        return 1
    return 0


def _global_request(case: Case, index: int) -> _Request | None:
    instruction = case.code(index)
    place = _place_of_global(instruction)
    value = case.lanes.address(index, place) if place is not None else None
    if value is None or value.uniform:
        return None
    active = case.active.at(index)
    if active is None or not active.mask.any():
        return None
    width = access_bits(instruction) // 8
    rows = rows_apart(value)
    worst: _Request | None = None
    for warp, mask in enumerate(active.mask):
        if not mask.any():
            continue
        lanes = int(mask.sum())
        taken = least_sectors(rows[warp][mask], width)
        ideal = _filled_sectors(rows[warp][mask], width)
        full = memory_access.ideal_sectors(WARP_LANES, width)
        if taken > max(ideal, memory_access.ideal_sectors(lanes, width), full) and (
            worst is None or taken - ideal > worst.taken - worst.ideal
        ):
            worst = _Request(index, value, active, taken, ideal, lanes)
    return worst


def rows_apart(value: Value) -> Lanes:
    """The lanes' addresses (warps, 32) from 0 on, those with different run-time parts far from each other."""
    known: Lanes = value.known - value.known.min()
    for _, lanes in value.scaled:
        known = known + (lanes - lanes.min()) % (1 << 20) * _ROW_DISTANCE
    return known


def least_sectors(addresses: Lanes, width: int) -> int:
    """Sectors touched by ``width`` bytes at each address, at the place in a sector that suits best.

    Where the whole begins is seldom known.
    """
    on = np.ones((1, len(addresses)), np.bool_)
    step = max(1, min(width, SECTOR_BYTES))
    row = addresses[None, :]
    counts = (memory_access.global_sectors(row + shift, on) for shift in range(0, SECTOR_BYTES, step))
    return min(counts)


def _filled_sectors(addresses: Lanes, width: int) -> int:
    """The sectors that the distinct bytes of the lanes would fill."""
    return max(1, -(-len(np.unique(addresses)) * width // SECTOR_BYTES))


def _distance_words(value: Value) -> str:
    """How far apart neighbouring lanes are, in words."""
    steps = Counter(np.diff(value.known, axis=1).ravel().tolist())
    step = steps.most_common(1)[0][0]
    names = " and ".join(name for name, _ in value.scaled)
    if any(bool((np.diff(lanes, axis=1) != 0).all()) for _, lanes in value.scaled):
        return f"neighbouring lanes are a multiple of {names} apart"
    rows = f", rows a multiple of {names} apart" if names else ""
    return f"neighbouring lanes are {abs(step)} bytes apart{rows}"


def _structures(case: Case, requests: Sequence[_Request]) -> list[list[_Request]]:
    """Accesses that together cover the distance between the lanes: the fields of a structure, or a row per thread."""
    groups: dict[tuple[object, ...], list[_Request]] = {}
    for request in requests:
        steps = set(np.diff(request.value.known[request.active.mask.any(axis=1)], axis=1).ravel().tolist())
        if len(steps) != 1 or request.value.scaled or request.lanes != WARP_LANES:
            continue
        base = _base_text(case, request.index)
        row = opcode(case.code(request.index).opcode)
        block = case.graph.block_of[request.index]
        groups.setdefault((steps.pop(), base, row.access, block), []).append(request)
    found = []
    for (step, *_), group in groups.items():
        assert isinstance(step, int)
        bytes_used = sum(access_bits(case.code(request.index)) // 8 for request in group)
        if len(group) > 1 and 4 < abs(step) <= 64 and bytes_used == abs(step) and _offsets(case, group) == len(group):
            found.append(group)
    return found


def _base_text(case: Case, index: int) -> tuple[object, ...]:
    place = _place_of_global(case.code(index)) or 0
    operand = [memory for memory in case.code(index).operands if memory.kind is OperandKind.MEMORY][place]
    if operand.base is None:
        return ()
    return operand.base.text.removesuffix(".reuse"), case.flow.definitions(index, ("R", operand.base.index)).sites


def _offsets(case: Case, group: Sequence[_Request]) -> int:
    """How many different offsets a group has."""
    return len({int(request.value.known[0, 0]) for request in group})


def _is_one_wide_load(case: Case, group: Sequence[_Request]) -> bool:
    size = sum(access_bits(case.code(request.index)) // 8 for request in group)
    first = min(group, key=lambda request: int(request.value.known[0, 0]))
    loads = all(opcode(case.code(request.index).opcode).access is Access.LOAD for request in group)
    return loads and case.depth(first.index) > 0 and size == 16 and is_aligned(first.value, size)


def _structure(case: Case, group: Sequence[_Request]) -> Found:
    size = sum(access_bits(case.code(request.index)) // 8 for request in group)
    taken = sum(request.taken for request in group)
    ideal = size * WARP_LANES // SECTOR_BYTES
    names = " and ".join(sorted({case.code(request.index).opcode for request in group}))
    first = group[0].index
    what = f"{names} of structures of {size} bytes: {taken} sectors requested together where {ideal} hold the data"
    return Found(
        "array of structures",
        (44 if case.depth(first) else 22) + 10 * case.depth(first),
        [request.index for request in group],
        what + _condition(group),
        _STRUCTURE,
        each=(taken - ideal) / len(group),
        unit="sectors",
    )


_SHARED = frozenset((Access.LOAD, Access.STORE, Access.MATRIX_LOAD, Access.MATRIX_STORE, Access.COPY))


def shared_wavefronts_of(instruction: Instruction, addresses: Lanes, mask: Bool) -> tuple[Lanes, Lanes]:
    """(wavefronts, wavefronts without conflicts) per warp of an access to shared memory."""
    access = opcode(instruction.opcode).access
    assert access is not None
    width = access_bits(instruction) // 8
    access = Access.STORE if access is Access.COPY else access
    taken = memory_access.shared_wavefronts(access, addresses, mask, width)
    ideal = np.minimum(taken, memory_access.shared_ideal_wavefronts(access, mask, width))
    return taken, ideal


def shared_accesses(case: Case) -> Iterator[Found]:
    """Shared accesses whose lanes meet in a bank, LDGSTS, LDSM and STSM among them."""
    known = {index: value for index in case.own_body if (value := _shared_value(case, index)) is not None}
    groups: dict[tuple[int, bool, str, int, int, bool], list[int]] = {}
    for index, (address, active) in known.items():
        taken, ideal = shared_wavefronts_of(case.code(index), address.known - address.known.min(), active.mask)
        worst = int((taken - ideal).argmax())
        if taken[worst] > ideal[worst]:
            key = (
                case.loop_number(index), case.may_be_skipped(index), case.code(index).mnemonic,
                int(taken[worst]), int(ideal[worst]), address.by_block,
            )  # fmt: skip
            groups.setdefault(key, []).append(index)
    for (number, _, mnemonic, needed, least, by_block), indices in groups.items():
        tried = tried_layout(known, indices, lambda index, at, on: shared_wavefronts_of(case.code(index), at, on))
        yield Found(
            "bank conflict",
            (58 if number else 28) + 10 * case.depth(indices[0]) + min(20, 20 * needed / least / 8),
            indices,
            f"{mnemonic} with {needed} wavefronts ({least} without bank conflicts){_UNKNOWN_BLOCK if by_block else ''}",
            "pad the rows of the tile by one element (or 4 for 128-bit access), or swizzle the column",
            each=needed - least,
            unit="wavefronts",
            tried=tried.text if tried is not None else "",
        )


def _shared_value(case: Case, index: int) -> tuple[Value, Active] | None:
    row = opcode(case.code(index).opcode)
    shared = row.space is Space.SHARED or (row.access is Access.COPY and row.space is Space.GLOBAL)
    if not shared or row.access not in _SHARED:
        return None
    value = case.lanes.address(index)
    if value is None or value.scaled:
        return None
    active = case.active.at(index)
    return (value, active) if active is not None and active.mask.any() else None


def contended_atomics(case: Case) -> Iterator[Found]:
    """Atomics and reductions in which lanes of one warp provably update one address."""
    groups: dict[tuple[int, bool, str, int, int], list[int]] = {}
    for index in case.own_body:
        row = opcode(case.code(index).opcode)
        if not row.is_atomic or row.space not in (Space.GLOBAL, Space.SHARED):
            continue
        value = case.lanes.address(index)
        if value is None:
            continue
        active = case.active.at(index)
        if active is None or not active.mask.any():
            continue
        most, lanes = _most_on_one_address(value, active)
        if most > 1 and not _is_elected(case, index):
            key = (case.loop_number(index), case.may_be_skipped(index), case.code(index).mnemonic, most, lanes)
            groups.setdefault(key, []).append(index)
    for (number, _, mnemonic, most, lanes), indices in groups.items():
        whole = f"all {lanes} active lanes" if most == lanes else f"up to {most} of {lanes} active lanes"
        yield Found(
            "atomic contention",
            (56 if number else 34) + 10 * case.depth(indices[0]) + min(20, most / 2),
            indices,
            f"{mnemonic} in which {whole} of a warp update one address",
            _AGGREGATE,
            each=most - 1,
            unit="updates of memory",
        )


def _most_on_one_address(value: Value, active: Active) -> tuple[int, int]:
    rows = rows_apart(value)
    best = (0, 0)
    for warp, mask in enumerate(active.mask):
        if mask.any():
            counts = np.unique(rows[warp][mask], return_counts=True)[1]
            best = max(best, (int(counts.max()), int(mask.sum())))
    return best


def _is_elected(case: Case, index: int) -> bool:
    """Whether one lane was chosen at run time: ptxas reduces within the warp and lets the lowest active lane update."""
    words = ("VOTE", "VOTEU", "FLO", "REDUX", "CREDUX", "MATCH", "ELECT", "POPC", "UFLO", "UPOPC")
    around = range(max(0, index - 24), index)
    return any(case.code(near).opcode in words for near in around)
