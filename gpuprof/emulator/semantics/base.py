"""The contract between the executor and the semantics of instructions.

A semantics is looked up once per instruction, when a kernel is decoded: it reads the modifiers, and returns the
function that executes the instruction on lanes. So nothing is parsed while a kernel runs::

    @semantics("FADD")
    def fadd(insn: Decoded) -> Execute:
        d, a, b = insn.operands
        def execute(lanes: Lanes) -> None:
            lanes.set_f32(d, lanes.f32(a) + lanes.f32(b))
        return execute

**Shapes.** Every value is an array of three axes (blocks, warps, lanes), each full or of length 1. Length 1 means
"the same along that axis": a constant is (1, 1, 1), threadIdx.x (1, warps, 32), blockIdx.x (blocks, 1, 1), a uniform
register (blocks or 1, warps or 1, 1). numpy's broadcasting keeps what is uniform small, so loop counters cost nothing
and tile addresses are computed once for all blocks.

**Immutability.** Arrays are never written in place, neither those received nor those handed over: registers of
several names, and fragments of several masks, may share one array.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import numpy as np

from gpuprof.sass.model import Instruction, Operand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    U32 = NDArray[np.uint32]
    S32 = NDArray[np.int32]
    U64 = NDArray[np.uint64]
    S64 = NDArray[np.int64]
    F32 = NDArray[np.float32]
    F64 = NDArray[np.float64]
    Bool = NDArray[np.bool_]

Function = TypeVar("Function", bound=Callable[..., Any])


class Lanes(Protocol):
    """The lanes that execute an instruction now: operands in, results out.

    Readers apply the operand's modifiers for the type they name: ``u32`` a two's complement ``-``, or ``~``; ``f32``
    first ``|x|``, then ``-`` on the sign bit. RZ, URZ read 0; PT, UPT read true. An immediate's bits come from the
    encoding. Constants read as broadcast (1, 1, 1) arrays. Results are merged under the lanes' mask by the setters,
    and writes to RZ and PT are dropped; a value may have any broadcastable shape.
    """

    @property
    def blocks(self) -> int: ...
    @property
    def warps(self) -> int: ...
    def active(self) -> Bool:
        """(blocks, warps, 32): lanes that execute this instruction: in the fragment, and guard true."""
        ...

    def full(self, value: NDArray[Any]) -> NDArray[Any]:
        """``value`` broadcast to (blocks, warps, 32)."""
        ...

    def u32(self, operand: Operand) -> U32: ...
    def s32(self, operand: Operand) -> S32: ...
    def raw(self, operand: Operand) -> U32:
        """The 32 bits without any modifier applied (HADD2 and others apply theirs per half)."""
        ...

    def u32_next(self, operand: Operand, step: int) -> U32:
        """Register ``step`` places behind the operand's (pairs, quads, fragments of a tensor instruction)."""
        ...

    def u64(self, operand: Operand) -> U64:
        """A register pair, a 64-bit constant, or an immediate (sign-extended); ``-`` and ``~`` act on 64 bits."""
        ...

    def s64(self, operand: Operand) -> S64: ...
    def f32(self, operand: Operand) -> F32: ...
    def f64(self, operand: Operand) -> F64:
        """A register pair or constant as double; an immediate is the high word, the low word 0."""
        ...

    def predicate(self, operand: Operand) -> Bool:
        """P, UP, PT; ``!`` applied."""
        ...

    def set_u32(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_u32_next(self, operand: Operand, step: int, value: NDArray[Any]) -> None: ...
    def set_u64(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_f32(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_f64(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_predicate(self, operand: Operand, value: NDArray[Any]) -> None: ...


Execute = Callable[[Lanes], None]


class Symbolic:
    """A value that a translator records instead of computing it (``emulator.compiled``)."""

    def apply(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The translation of a ``primitive`` on these arguments."""
        raise NotImplementedError

    def contiguous(self) -> Any:
        """The value itself: only arrays have a layout."""
        raise NotImplementedError


def primitive(name: str) -> Callable[[Function], Function]:
    """Mark a function of arrays that a translator replaces as a whole, since its steps depend on the data."""

    def mark(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            for argument in arguments:
                if isinstance(argument, Symbolic):
                    return argument.apply(name, arguments, options)
            return function(*arguments, **options)

        return cast("Function", call)

    return mark


def contiguous(value: NDArray[Any]) -> NDArray[Any]:
    """An array whose bytes follow each other, for views of another width."""
    if isinstance(value, Symbolic):
        return cast("NDArray[Any]", value.contiguous())
    return np.ascontiguousarray(value)


@dataclass(frozen=True)
class Decoded:
    """An instruction ready to be bound: what was parsed, and the architecture it was built for."""

    instruction: Instruction
    arch: int  #: 75, 80, 86, 89, 90, 100, 120

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.instruction.operands

    @property
    def modifiers(self) -> tuple[str, ...]:
        return self.instruction.modifiers

    def has(self, *names: str) -> bool:
        """Whether any of the modifiers is there."""
        return any(name in self.instruction.modifiers for name in names)


Semantics = Callable[[Decoded], Execute]

#: base opcode -> semantics. A semantics raises ``NotCovered`` for a modifier that it does not implement.
TABLE: dict[str, Semantics] = {}


class NotCovered(Exception):
    """This form of the opcode is not implemented; the executor turns it into UnknownInstructionError with its place."""


def semantics(*opcodes: str) -> Callable[[Semantics], Semantics]:
    """Register a semantics under its base opcodes."""

    def register(function: Semantics) -> Semantics:
        for opcode in opcodes:
            if opcode in TABLE:
                raise ValueError(f"two semantics for {opcode}")
            TABLE[opcode] = function
        return function

    return register
