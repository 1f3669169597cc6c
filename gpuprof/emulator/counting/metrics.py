"""From event counts per instruction to Nsight Compute's metric names.

Each metric is a sum over instructions of some kinds; which opcodes belong to a kind is in the opcode table
(``isa.opcodes``), which also says where that comes from. Where an instruction was executed whose class no source
says, the counters of all classes have no value: ``unavailable_metrics`` gives the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpuprof.emulator.counting.counters import Counters
from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.opcodes import (
    COUNTED_OPERATIONS,
    FIRST_WITH_PACKED_FLOPS,
    PACKED_FLOPS,
    Access,
    Flop,
    Opcode,
    Operation,
    Space,
    names_where,
    opcode,
)
from gpuprof.sass.model import Instruction

#: Base opcodes by class of operation, for ``smsp__sass_thread_inst_executed_op_<class>_pred_on``.
OPERATIONS: Mapping[str, frozenset[str]] = {
    operation.value: names_where(lambda row, operation=operation: row.operation is operation)  # type: ignore[misc]
    for operation in COUNTED_OPERATIONS
}
#: Base opcodes of the floating-point counters of single opcodes.
FLOPS: Mapping[str, frozenset[str]] = {
    flop.value: names_where(lambda row, flop=flop: row.flop is flop)  # type: ignore[misc]
    for flop in Flop
    if flop is not Flop.UNKNOWN
}


@dataclass(frozen=True)
class Code:
    """Counts together with the instructions they belong to."""

    counters: Counters
    instructions: Sequence[Instruction]


#: One instruction's share of a metric.
Share = Callable[[Code, int], int]


def _list(name: str) -> Share:
    return lambda code, index: int(getattr(code.counters, name)[index])


def _of(opcodes: Iterable[str], share: Share) -> Share:
    """``share`` for some base opcodes, else 0."""
    chosen = frozenset(opcodes)
    return lambda code, index: share(code, index) if code.instructions[index].opcode in chosen else 0


def _with(modifier: str, share: Share, *, present: bool = True) -> Share:
    """``share`` for instructions that have (or lack) a modifier."""
    return lambda code, index: share(code, index) if (modifier in code.instructions[index].modifiers) is present else 0


def _plus(*shares: Share) -> Share:
    return lambda code, index: sum(share(code, index) for share in shares)


def _least(first: Share, second: Share) -> Share:
    return lambda code, index: min(first(code, index), second(code, index))


def _minus(first: Share, second: Share) -> Share:
    return lambda code, index: first(code, index) - second(code, index)


_threads, _off = _list("threads"), _list("off")
_enabled = _minus(_threads, _off)
_issued, _sectors, _wavefronts = _list("issued"), _list("sectors"), _list("wavefronts")
_ideal, _l1_sectors = _list("ideal_wavefronts"), _list("l1_sectors")


def _accessing(*accesses: Access, spaces: Iterable[Space]) -> frozenset[str]:
    """Base opcodes that access one of these memories in one of these ways."""
    wanted = frozenset(spaces)
    return names_where(lambda row: row.access in accesses and row.space in wanted)


_EITHER_GLOBAL, _EITHER_SHARED = (Space.GLOBAL, Space.GENERIC), (Space.SHARED, Space.GENERIC)
_ACCESSES = {"ld": Access.LOAD, "st": Access.STORE, "red": Access.REDUCTION, "atom": Access.ATOMIC}
#: Global operations by ncu's name; the generic opcodes count as global unless the address says otherwise.
_GLOBAL = {op: _accessing(access, spaces=_EITHER_GLOBAL) for op, access in _ACCESSES.items()}
_COPIES = _accessing(Access.COPY, spaces=[Space.GLOBAL])
_MATRIX_LOADS = _accessing(Access.MATRIX_LOAD, spaces=[Space.SHARED])
_ALL_GLOBAL = frozenset().union(*_GLOBAL.values(), _COPIES)
#: wgmma, whose factors lie in shared memory.
_WARPGROUP_PRODUCTS = frozenset(("HGMMA", "QGMMA", "IGMMA"))
_ALL_SHARED = (
    _COPIES | _WARPGROUP_PRODUCTS | names_where(lambda row: row.access is not None and row.space in _EITHER_SHARED)
)
_ALL_LOCAL = names_where(lambda row: row.access is not None and row.space is Space.LOCAL)
_BRANCHES = names_where(lambda row: row.is_branch)
_GROUP_SYNC = ("WARPSYNC",)
#: Issues of branches. WARPSYNC.EXCLUSIVE, which sends the groups of a warp their ways, counts as one (H200,
#: ``tests/hardware/forms``): as divergent once for each group but the last, as uniform where there is but one.
_branches = _plus(_of(_BRANCHES, _list("warps")), _with("EXCLUSIVE", _of(_GROUP_SYNC, _list("warps"))))
_divergent = _plus(_of(_BRANCHES, _list("divergent")), _with("EXCLUSIVE", _of(_GROUP_SYNC, _list("divergent"))))
_uniform = _minus(
    _branches, _plus(_of(_BRANCHES, _list("divergent")), _with("EXCLUSIVE", _of(_GROUP_SYNC, _list("parted"))))
)


def _issued_in(space: Space, op: str) -> Share:
    """Requests of opcodes of a memory, and of the generic ones that went there."""
    access = _ACCESSES[op]
    own, generic = _accessing(access, spaces=[space]), _accessing(access, spaces=[Space.GENERIC])
    return _plus(_of(own, _issued), _of(generic, _list(space.value)))


def _metrics() -> dict[str, Share]:
    joined = _list("joined_threads")
    table: dict[str, Share] = {
        m.INSTRUCTIONS: _plus(_list("warps"), _list("joined")),
        m.THREAD_INSTRUCTIONS: _plus(_threads, joined),
        m.THREAD_INSTRUCTIONS_ON: _plus(_minus(_enabled, _list("untaken")), joined),
        m.SOURCE_EXECUTED: _list("warps"),
        m.SOURCE_THREADS: _threads,
        m.SOURCE_THREADS_ON: _enabled,
        m.BRANCHES: _plus(_uniform, _divergent),
        m.BRANCH_INSTRUCTIONS: _branches,
        m.BRANCHES_DIVERGENT: _divergent,
        m.BRANCHES_UNIFORM: _uniform,
    }
    for name, opcodes in {**OPERATIONS, **FLOPS}.items():
        table[m.thread_op(name)] = _of(opcodes, _enabled)
    return table | _global_metrics() | _local_metrics() | _shared_metrics() | _source_metrics()


def _global_metrics() -> dict[str, Share]:
    table: dict[str, Share] = {}
    for op, opcodes in _GLOBAL.items():
        issued, sectors = _of(opcodes, _issued), _of(opcodes, _sectors)
        table[m.memory_instructions(op, "global")] = issued
        table[m.sass_sectors(op)] = sectors
        if op in ("red", "atom"):
            sectors = _of(opcodes, _l1_sectors)
        if op == "ld":  # l1tex does not tell asynchronous copies from loads
            issued = _of(opcodes | _COPIES, _issued)
            sectors = _plus(sectors, _of(_COPIES, _l1_sectors))
        table[m.requests(op)] = issued
        table[m.sectors(op)] = sectors
    table[m.LDGSTS_INSTRUCTIONS] = _of(_COPIES, _list("copies"))
    table[m.sass_requests("ldgsts")] = _of(_COPIES, _issued)
    table[m.sass_sectors("ldgsts")] = _of(_COPIES, _list("copied_sectors"))
    table[m.GLOBAL_TAGS] = _of(_ALL_GLOBAL, _list("tags"))
    for op in ("ld", "st"):
        table[m.source_instructions(op, "global")] = _of(_GLOBAL[op], _issued)
    return table


def _by_words(share: Share) -> Share:
    """``share`` once per 32-bit word of the access: each word of the lanes of a warp is a line of its own."""
    widths = {"64": 2, "128": 4}

    def total(code: Code, index: int) -> int:
        modifiers = code.instructions[index].modifiers
        return share(code, index) * next((words for name, words in widths.items() if name in modifiers), 1)

    return total


def _local_metrics() -> dict[str, Share]:
    table: dict[str, Share] = {}
    for op in ("ld", "st"):
        issued = _issued_in(Space.LOCAL, op)
        sectors = _of(_accessing(_ACCESSES[op], spaces=[Space.LOCAL]), _sectors)
        table[m.memory_instructions(op, "local")] = issued
        table[m.requests(op, "local")] = _by_words(issued)
        table[m.sectors(op, "local")] = sectors
        table[m.sass_sectors(op, "local")] = sectors
        table[m.source_instructions(op, "local")] = issued
    return table


def _shared_metrics() -> dict[str, Share]:
    table: dict[str, Share] = {}
    for op in ("ld", "st", "atom"):
        table[m.shared_instructions(op)] = _issued_in(Space.SHARED, op)
        table[m.shared_wavefronts(op)] = _of(_accessing(_ACCESSES[op], spaces=_EITHER_SHARED), _wavefronts)
    table[m.LDSM_INSTRUCTIONS] = _of(_MATRIX_LOADS, _issued)
    table[m.shared_wavefronts("ldsm")] = _of(_MATRIX_LOADS, _wavefronts)
    table[m.shared_conflicts("ldsm")] = _of(_MATRIX_LOADS, _minus(_wavefronts, _ideal))
    copies = _of(_COPIES, _wavefronts)
    table[m.shared_wavefronts("ldgsts")] = copies
    table[m.shared_wavefronts("ldgsts_cache_access")] = _with("BYPASS", copies, present=False)
    table[m.shared_wavefronts("ldgsts_cache_bypass")] = _with("BYPASS", copies)
    conflicting = _of(_COPIES, _minus(_wavefronts, _ideal))
    table[m.shared_conflicts("ldgsts")] = _with("BYPASS", conflicting, present=False)
    table[m.SHARED_WAVEFRONTS_ALL] = _of(_ALL_SHARED, _wavefronts)
    for op in ("ld", "st"):
        table[m.source_instructions(op, "shared")] = _issued_in(Space.SHARED, op)
    return table


def _source_metrics() -> dict[str, Share]:
    """What the source view of Nsight Compute shows: actual and ideal numbers.

    Ideal is never above actual there (ncu 2025.3 on an H200): lanes that share a word or a sector need less than what
    their own bytes would fill.
    """
    wavefronts, ideal = _of(_ALL_SHARED, _wavefronts), _of(_ALL_SHARED, _ideal)
    sectors, ideal_sectors = _of(_ALL_GLOBAL, _sectors), _of(_ALL_GLOBAL, _list("ideal_sectors"))
    return {
        m.SHARED_WAVEFRONTS: wavefronts,
        m.SHARED_WAVEFRONTS_IDEAL: _least(wavefronts, ideal),
        m.GLOBAL_SECTORS: sectors,
        m.GLOBAL_SECTORS_IDEAL: _least(sectors, ideal_sectors),
        m.LOCAL_SECTORS: _of(_ALL_LOCAL, _sectors),
    }


METRICS: dict[str, Share] = _metrics()
_CLASS_METRICS = tuple(m.thread_op(name) for name in OPERATIONS)
_FLOP_METRICS = tuple(m.thread_op(name) for name in FLOPS)


def instruction_metrics(code: Code, index: int) -> dict[str, int]:
    """The metrics of one instruction that are not zero."""
    return {name: value for name, share in METRICS.items() if (value := share(code, index))}


def metric_names(capability: int) -> tuple[str, ...]:
    """All names that an emulated launch gives a value for on an architecture: those that Nsight Compute has there."""
    packed = frozenset(m.thread_op(flop.value) for flop in PACKED_FLOPS)
    absent = packed if capability < FIRST_WITH_PACKED_FLOPS else frozenset()
    return tuple(name for name in (*METRICS, m.WARPS_LAUNCHED) if name not in absent)


def unavailable_metrics(executed: Iterable[str]) -> dict[str, str]:
    """Metrics that have no value because of these executed base opcodes, each with its reason.

    An opcode whose class is not known may belong to any, so no class can be summed; likewise for the floating-point
    counters of single opcodes.
    """
    rows = [opcode(name) for name in sorted(set(executed))]
    classless = [row for row in rows if row.operation is Operation.UNKNOWN]
    unknown_flops = [row for row in rows if row.flop is Flop.UNKNOWN or not row.known]
    missing = dict.fromkeys(_CLASS_METRICS, _reason(classless, "class of operation")) if classless else {}
    if unknown_flops:
        missing |= dict.fromkeys(_FLOP_METRICS, _reason(unknown_flops, "floating-point counter"))
    return missing


def _reason(rows: Sequence[Opcode], what: str) -> str:
    names = ", ".join(row.name for row in rows)
    return f"{names} executed; under which {what} Nsight Compute counts {'it' if len(rows) == 1 else 'them'} is unknown"
