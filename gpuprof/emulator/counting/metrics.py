"""From event counts per instruction to Nsight Compute's metric names.

Each metric is a sum over instructions of some kinds. What belongs to a kind of operation was solved from launches
recorded on an H200 (``tests/hardware``): ISETP, LOP3, SHF, FLO, POPC and every IMAD are integer, MOV, S2R, CS2R, S2UR,
BMOV and DEPBAR misc, PRMT, BREV, SEL, PLOP3 and P2R bit, LDC memory, ULDC uniform, MATCH communication. Of IDP and
VABSDIFF, which came in equal numbers, one is integer and one misc. Opcodes that those launches lack follow their kin
in NVIDIA's instruction table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpuprof.emulator.counting.counters import Counters
from gpuprof.sass.model import Instruction


def _opcodes(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Kinds of operation by base opcode, for ``smsp__sass_thread_inst_executed_op_<kind>_pred_on``.
OPERATIONS: dict[str, frozenset[str]] = {
    "integer": _opcodes(
        "IADD IADD3 IADD32I IMAD IMUL IABS IDP IDP4A IMNMX ISETP ISCADD LEA LOP3 LOP SHF SHL SHR "
        "VIADD VIADDMNMX VIMNMX VIMNMX3 IMMA FLO POPC"
    ),
    "bit": _opcodes("PRMT BMSK BREV SGXT SEL PLOP3 PSETP P2R R2P"),
    "control": _opcodes(
        "BRA BRX CALL RET EXIT BSSY BSYNC BREAK JMP JMX WARPSYNC BPT KILL NANOSLEEP YIELD RPCMOV ENDCOLLECTIVE"
    ),
    "conversion": _opcodes("F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP"),
    "memory": _opcodes(
        "LD LDC LDG LDGSTS LDL LDS LDSM LDGDEPBAR ST STG STL STS STSM ATOM ATOMG ATOMS RED REDG CCTL CCTLL ERRBAR "
        "CGAERRBAR MEMBAR FENCE QSPC"
    ),
    "misc": _opcodes("MOV S2R CS2R S2UR DEPBAR NOP B2R BAR BMOV LEPC PMTRIG R2UR MOVM VABSDIFF VABSDIFF4"),
    "inter_thread_communication": _opcodes("SHFL VOTE VOTEU REDUX CREDUX MATCH"),
    "uniform": _opcodes(
        "UMOV ULEA ULDC LDCU ULOP3 UIADD3 UIMAD USHF UISETP USEL UPLOP3 UFLO UPOPC UPRMT UBREV USGXT UBMSK UP2UR R2UP "
        "CS2UR UFFMA UI2F UI2FP"
    ),
    "fp16": _opcodes("HADD2 HFMA2 HMUL2 HMNMX2 HSET2 HSETP2 HMMA"),
    "fp32": _opcodes("FADD FMUL FFMA FMNMX FMNMX3 FSEL FSET FSETP FCHK FSWZADD MUFU"),
    "fp64": _opcodes("DADD DMUL DFMA DMNMX DSETP DMMA"),
    "fadd": _opcodes("FADD"),
    "fmul": _opcodes("FMUL"),
    "ffma": _opcodes("FFMA"),
    "dadd": _opcodes("DADD"),
    "dmul": _opcodes("DMUL"),
    "dfma": _opcodes("DFMA"),
    "hadd": _opcodes("HADD2"),
    "hmul": _opcodes("HMUL2"),
    "hfma": _opcodes("HFMA2"),
}
#: What Nsight Compute counts as branches; EXIT, BSSY and BSYNC are none.
BRANCHES = _opcodes("BRA CALL RET BRX JMP JMX")


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
_branches = _of(BRANCHES, _list("warps"))
_divergent = _of(BRANCHES, _list("divergent"))

_GLOBAL = {
    "ld": ("LDG", "LD"),
    "st": ("STG", "ST"),
    "red": ("RED", "REDG"),
    "atom": ("ATOMG", "ATOM"),
}
_LOCAL = {"ld": "LDL", "st": "STL"}
#: Shared-memory operations: opcode that always goes there, generic opcode that may.
_SHARED = {"ld": ("LDS", "LD"), "st": ("STS", "ST"), "atom": ("ATOMS", "ATOM")}
_ALL_GLOBAL = ("LDG", "LD", "STG", "ST", "RED", "REDG", "ATOMG", "ATOM", "LDGSTS")
_ALL_SHARED = ("LDS", "STS", "ATOMS", "LDSM", "STSM", "LD", "ST", "ATOM")


def _shared_issued(own: str, generic: str) -> Share:
    return _plus(_of((own,), _issued), _of((generic,), _list("shared")))


def _local_issued(own: str, generic: str) -> Share:
    return _plus(_of((own,), _issued), _of((generic,), _list("local")))


def _metrics() -> dict[str, Share]:
    joined = _list("joined_threads")
    table: dict[str, Share] = {
        "smsp__inst_executed.sum": _plus(_list("warps"), _list("joined")),
        "smsp__thread_inst_executed.sum": _plus(_threads, joined),
        "smsp__thread_inst_executed_pred_on.sum": _plus(_minus(_enabled, _list("untaken")), joined),
        "smsp__sass_branch_targets.sum": _branches,
        "smsp__sass_inst_executed_op_branch.sum": _branches,
        "smsp__sass_branch_targets_threads_divergent.sum": _divergent,
        "smsp__sass_branch_targets_threads_uniform.sum": _minus(_branches, _divergent),
    }
    for kind, opcodes in OPERATIONS.items():
        table[f"smsp__sass_thread_inst_executed_op_{kind}_pred_on.sum"] = _of(opcodes, _enabled)
    return table | _global_metrics() | _local_metrics() | _shared_metrics() | _source_metrics()


def _global_metrics() -> dict[str, Share]:
    table: dict[str, Share] = {}
    for kind, opcodes in _GLOBAL.items():
        issued, sectors = _of(opcodes, _issued), _of(opcodes, _sectors)
        table[f"smsp__sass_inst_executed_op_global_{kind}.sum"] = issued
        table[f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_{kind}.sum"] = sectors
        if kind in ("red", "atom"):
            sectors = _of(opcodes, _l1_sectors)
        if kind == "ld":  # l1tex does not tell asynchronous copies from loads
            issued = _of((*opcodes, "LDGSTS"), _issued)
            sectors = _plus(sectors, _of(("LDGSTS",), _l1_sectors))
        table[f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum"] = issued
        table[f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum"] = sectors
    copies = _of(("LDGSTS",), _issued)
    table["smsp__sass_inst_executed_op_ldgsts.sum"] = _of(("LDGSTS",), _list("copies"))
    table["smsp__sass_l1tex_t_requests_pipe_lsu_mem_global_op_ldgsts.sum"] = copies
    table["smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ldgsts.sum"] = _of(("LDGSTS",), _list("copied_sectors"))
    table["smsp__sass_l1tex_tags_mem_global.sum"] = _of(_ALL_GLOBAL, _list("tags"))
    table["sass__inst_executed_global_loads"] = _of(_GLOBAL["ld"], _issued)
    table["sass__inst_executed_global_stores"] = _of(_GLOBAL["st"], _issued)
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
    for kind, opcode in _LOCAL.items():
        issued = _local_issued(opcode, _GLOBAL[kind][1])
        table[f"smsp__sass_inst_executed_op_local_{kind}.sum"] = issued
        table[f"l1tex__t_requests_pipe_lsu_mem_local_op_{kind}.sum"] = _by_words(issued)
        table[f"l1tex__t_sectors_pipe_lsu_mem_local_op_{kind}.sum"] = _of((opcode,), _sectors)
        table[f"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_local_op_{kind}.sum"] = _of((opcode,), _sectors)
        table[f"sass__inst_executed_local_{'loads' if kind == 'ld' else 'stores'}"] = issued
    return table


def _shared_metrics() -> dict[str, Share]:
    prefix = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_"
    conflicts = "smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_"
    table: dict[str, Share] = {}
    for kind, opcodes in _SHARED.items():
        table[f"smsp__sass_inst_executed_op_shared_{kind}.sum"] = _shared_issued(*opcodes)
        table[f"{prefix}{kind}.sum"] = _of(opcodes, _wavefronts)
    table["smsp__sass_inst_executed_op_ldsm.sum"] = _of(("LDSM",), _issued)
    table[f"{prefix}ldsm.sum"] = _of(("LDSM",), _wavefronts)
    table[f"{conflicts}ldsm.sum"] = _of(("LDSM",), _minus(_wavefronts, _ideal))
    copies = _of(("LDGSTS",), _wavefronts)
    table[f"{prefix}ldgsts.sum"] = copies
    table[f"{prefix}ldgsts_cache_access.sum"] = _with("BYPASS", copies, present=False)
    table[f"{prefix}ldgsts_cache_bypass.sum"] = _with("BYPASS", copies)
    conflicting = _of(("LDGSTS",), _minus(_wavefronts, _ideal))
    table[f"{conflicts}ldgsts.sum"] = _with("BYPASS", conflicting, present=False)
    table["smsp__sass_l1tex_pipe_lsu_wavefronts_mem_shared.sum"] = _of((*_ALL_SHARED, "LDGSTS"), _wavefronts)
    table["sass__inst_executed_shared_loads"] = _shared_issued(*_SHARED["ld"])
    table["sass__inst_executed_shared_stores"] = _shared_issued(*_SHARED["st"])
    return table


def _source_metrics() -> dict[str, Share]:
    """What the source view of Nsight Compute shows: actual and ideal numbers.

    Ideal is never above actual there (ncu 2025.3 on an H200): lanes that share a word or a sector need less than what
    their own bytes would fill.
    """
    wavefronts = _of((*_ALL_SHARED, "LDGSTS"), _wavefronts)
    ideal = _of((*_ALL_SHARED, "LDGSTS"), _ideal)
    sectors, ideal_sectors = _of(_ALL_GLOBAL, _sectors), _of(_ALL_GLOBAL, _list("ideal_sectors"))
    return {
        "memory_l1_wavefronts_shared": wavefronts,
        "memory_l1_wavefronts_shared_ideal": _least(wavefronts, ideal),
        "memory_l2_theoretical_sectors_global": sectors,
        "memory_l2_theoretical_sectors_global_ideal": _least(sectors, ideal_sectors),
        "memory_l2_theoretical_sectors_local": _of(_LOCAL.values(), _sectors),
    }


METRICS: dict[str, Share] = _metrics()
#: Counted per launch, not per instruction.
WARPS_LAUNCHED = "sm__warps_launched.sum"


def instruction_metrics(code: Code, index: int) -> dict[str, int]:
    """The metrics of one instruction that are not zero."""
    return {name: value for name, share in METRICS.items() if (value := share(code, index))}


def metric_names() -> tuple[str, ...]:
    """All names that an emulated launch gives a value for."""
    return (*METRICS, WARPS_LAUNCHED)
