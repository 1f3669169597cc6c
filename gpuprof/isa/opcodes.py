"""The opcode table: one row per base opcode, read from ``data/opcodes.csv``; every room that asks by opcode asks here.

Columns: ``kind`` (the row of an instruction mix), ``operation`` (the class under which Nsight Compute counts it, one
of ``Operation``), ``flop`` (its floating-point counter, if it has one), ``space`` and ``access`` of a memory
instruction, ``destinations`` and ``widths`` of its operands, ``computes`` (what static analysis may rely on),
``control`` and ``conditional`` (modifiers by which a branch may also fall through), ``datapath``, ``emulated``, and
``measured`` (architectures on which the operation class was confirmed by Nsight Compute; empty: it follows its
neighbours in NVIDIA's "CUDA Binary Utilities", chapter "Instruction Set Reference", from which the names come too).

What Nsight Compute counts was solved from launches recorded on an H200 (``tests/hardware``): ISETP, LOP3, SHF, FLO,
POPC and every IMAD are integer, MOV, S2R, CS2R, S2UR, BMOV and DEPBAR misc, PRMT, BREV, SEL, PLOP3 and P2R bit, LDC
memory, ULDC uniform, MATCH communication. Single opcodes were measured there by ``record_operation_classes.py``: IDP is
integer and VABSDIFF misc, PREEXIT, ACQBULK and FENCE misc, BMMA bit, I2IP integer, WARPGROUP communication.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType

_TABLE = Path(__file__).parent / "data" / "opcodes.csv"


class Kind(str, Enum):
    """The colour of an instruction in the listing, and the row it counts to in the mix by kind."""

    FP32 = "fp32"
    FP64 = "fp64"
    FP16 = "fp16"
    TENSOR = "tensor"
    INTEGER = "integer"
    CONVERSION = "conversion"
    SPECIAL_FUNCTION = "special function"
    COMPARE = "compare"
    MOVE = "move"
    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    CONSTANT = "constant"
    GENERIC = "generic"
    TEXTURE = "texture"
    WARP = "warp"
    BARRIER = "barrier"
    CONTROL = "control"
    OTHER = "other"


#: Kinds that compute on floating-point numbers.
FLOATING = frozenset((Kind.FP32, Kind.FP64, Kind.FP16, Kind.TENSOR))


class Operation(str, Enum):
    """The classes of ``smsp__sass_thread_inst_executed_op_<class>_pred_on``.

    UNKNOWN where no source says it; NONE where a recorded launch shows that the opcode counts to no class.
    """

    INTEGER = "integer"
    BIT = "bit"
    CONTROL = "control"
    CONVERSION = "conversion"
    MEMORY = "memory"
    MISC = "misc"
    INTER_THREAD_COMMUNICATION = "inter_thread_communication"
    UNIFORM = "uniform"
    FP16 = "fp16"
    FP32 = "fp32"
    FP64 = "fp64"
    NONE = "none"
    UNKNOWN = "unknown"


#: The classes that Nsight Compute has a counter for.
COUNTED_OPERATIONS = tuple(each for each in Operation if each not in (Operation.NONE, Operation.UNKNOWN))


class Flop(str, Enum):
    """The floating-point counters of single opcodes; UNKNOWN where no source says to which one an opcode counts."""

    FADD = "fadd"
    FMUL = "fmul"
    FFMA = "ffma"
    DADD = "dadd"
    DMUL = "dmul"
    DFMA = "dfma"
    HADD = "hadd"
    HMUL = "hmul"
    HFMA = "hfma"
    FADD2 = "fadd2"  #: packed FP32, which Nsight Compute counts from sm_100 on
    FMUL2 = "fmul2"
    FFMA2 = "ffma2"
    UNKNOWN = "unknown"


#: Floating-point counters that only sm_100 and later have.
PACKED_FLOPS = (Flop.FADD2, Flop.FMUL2, Flop.FFMA2)
FIRST_WITH_PACKED_FLOPS = 100


class Space(str, Enum):
    """Which memory an instruction addresses; GENERIC is decided by the address."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"
    GENERIC = "generic"
    CONSTANT = "constant"
    TENSOR = "tensor"


class Access(str, Enum):
    """What a memory instruction does there; a COPY reads global and writes shared memory."""

    LOAD = "load"
    STORE = "store"
    MATRIX_LOAD = "matrix_load"
    MATRIX_STORE = "matrix_store"
    ATOMIC = "atomic"
    REDUCTION = "reduction"
    COPY = "copy"


class Destinations(str, Enum):
    """Which leading operands are written."""

    NONE = "none"
    DATA = "data"  #: a register, then up to two predicates
    PREDICATE_FIRST = "predicate_first"  #: up to two predicates may come before the register
    PREDICATE = "predicate"  #: one predicate
    PREDICATES = "predicates"  #: two predicates
    VOTE = "vote"  #: a register and a predicate, or a predicate alone
    TEXTURE = "texture"  #: as PREDICATE_FIRST, and a second register
    PREDICATE_MASK = "predicate_mask"  #: R2P: the predicates that its mask names


class Widths(str, Enum):
    """How many registers a data operand names."""

    MODIFIERS = "modifiers"  #: a pair with .64, .F64, .U64 or .S64; a destination also with .WIDE
    WORDS = "words"  #: one, whatever the modifiers
    PAIRS = "pairs"  #: two
    ACCESS = "access"  #: the width of the memory access
    CONVERSION = "conversion"  #: by the two types that the modifiers name
    MULTIPLY_ADD = "multiply_add"  #: as MODIFIERS; the addend is a pair with .WIDE or .HI
    SPECIAL = "special"  #: two, one with .32
    TENSOR = "tensor"  #: by shape and types


class Computes(str, Enum):
    """What an instruction does to its operands, for analyses that follow values."""

    ADD = "add"
    MULTIPLY = "multiply"
    MULTIPLY_ADD = "multiply_add"
    DOT_PRODUCT = "dot_product"
    MATRIX_PRODUCT = "matrix_product"
    SHIFT_ADD = "shift_add"  #: LEA
    FUNNEL_SHIFT = "funnel_shift"  #: SHF
    SHIFT = "shift"
    LOGIC = "logic"  #: LOP3, a table over three words
    MOVE = "move"
    READ_SPECIAL = "read_special"
    LOAD_CONSTANT = "load_constant"
    INTEGER_COMPARE = "integer_compare"
    FLOAT_COMPARE = "float_compare"
    PREDICATE_LOGIC = "predicate_logic"
    SELECT = "select"
    MIN_MAX = "min_max"
    EXCHANGE = "exchange"  #: between the lanes of a warp
    CONVERT = "convert"
    PACK = "pack"  #: conversions of the arithmetic pipes, at full rate
    SPECIAL_FUNCTION = "special_function"


class Control(str, Enum):
    """Where control goes after an instruction."""

    JUMP = "jump"  #: to a label
    INDIRECT = "indirect"  #: to an address in a register
    CALL = "call"
    RETURN = "return"
    EXIT = "exit"
    BLOCK_BARRIER = "block_barrier"
    WARP_BARRIER = "warp_barrier"


class Datapath(str, Enum):
    """Where an instruction executes: once per lane, or once per warp on the uniform datapath."""

    VECTOR = "vector"
    UNIFORM = "uniform"


@dataclass(frozen=True, slots=True)
class Opcode:
    """One row of the table. ``known``: False for an opcode that the table does not have."""

    name: str
    kind: Kind = Kind.OTHER
    operation: Operation = Operation.UNKNOWN
    flop: Flop | None = None
    space: Space | None = None
    access: Access | None = None
    destinations: Destinations = Destinations.DATA
    widths: Widths = Widths.MODIFIERS
    computes: Computes | None = None
    control: Control | None = None
    conditional: tuple[str, ...] = ()
    datapath: Datapath = Datapath.VECTOR
    emulated: bool = False
    measured: tuple[str, ...] = ()
    known: bool = False

    @property
    def is_load(self) -> bool:
        """Whether it reads memory into registers or, as LDGSTS does, into shared memory; constants aside."""
        return self.access in _LOADING and self.space is not Space.CONSTANT

    @property
    def is_store(self) -> bool:
        return self.access in (Access.STORE, Access.MATRIX_STORE)

    @property
    def is_atomic(self) -> bool:
        """Whether it updates memory, with a result (an atomic) or without (a reduction)."""
        return self.access in (Access.ATOMIC, Access.REDUCTION)

    @property
    def is_branch(self) -> bool:
        """What Nsight Compute counts as a branch; EXIT, BSSY and BSYNC are not."""
        return self.control in (Control.JUMP, Control.INDIRECT, Control.CALL, Control.RETURN)

    @property
    def is_pure(self) -> bool:
        """Whether equal inputs give equal results: arithmetic, moves and what the uniform datapath does."""
        return (
            self.datapath is Datapath.UNIFORM
            or self.kind in (Kind.INTEGER, Kind.CONVERSION, Kind.SPECIAL_FUNCTION)
            or self.computes in (Computes.MOVE, Computes.READ_SPECIAL, Computes.LOAD_CONSTANT)
        )

    def is_conditional(self, modifiers: tuple[str, ...]) -> bool:
        """Whether these modifiers let control also fall through: BRA.DIV branches only when lanes have diverged."""
        return any(modifier in self.conditional for modifier in modifiers)


_LOADING = (Access.LOAD, Access.MATRIX_LOAD, Access.COPY)


def _row(cells: Mapping[str, str]) -> Opcode:
    return Opcode(
        name=cells["opcode"],
        kind=Kind(cells["kind"].replace("_", " ")),
        operation=Operation(cells["operation"]),
        flop=Flop(cells["flop"]) if cells["flop"] else None,
        space=Space(cells["space"]) if cells["space"] else None,
        access=Access(cells["access"]) if cells["access"] else None,
        destinations=Destinations(cells["destinations"]),
        widths=Widths(cells["widths"]),
        computes=Computes(cells["computes"]) if cells["computes"] else None,
        control=Control(cells["control"]) if cells["control"] else None,
        conditional=tuple(cells["conditional"].split()),
        datapath=Datapath(cells["datapath"]),
        emulated=cells["emulated"] == "yes",
        measured=tuple(cells["measured"].split()),
        known=True,
    )


def _read() -> Mapping[str, Opcode]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        rows = [_row(cells) for cells in csv.DictReader(file)]
    return MappingProxyType({row.name: row for row in rows})


#: Base opcode -> its row, in the table's order: kinds together, the most telling opcode of a kind first.
OPCODES: Mapping[str, Opcode] = _read()


@functools.lru_cache(maxsize=4096)
def opcode(name: str) -> Opcode:
    """The row of a base opcode. One that the table lacks is of kind OTHER and of no known class.

    A uniform form without a row of its own (``UFOO``) has the kind of its vector form, and stays of no known class.
    """
    found = OPCODES.get(name)
    if found is not None:
        return found
    vector = OPCODES.get(name[1:]) if name.startswith("U") else None
    if vector is None:
        return Opcode(name)
    return Opcode(
        name,
        vector.kind,
        destinations=vector.destinations,
        widths=vector.widths,
        computes=vector.computes,
        datapath=Datapath.UNIFORM,
    )


def names_where(holds: Callable[[Opcode], bool]) -> frozenset[str]:
    """The names of the rows for which ``holds`` is true."""
    return frozenset(row.name for row in OPCODES.values() if holds(row))
