"""Machine code as values: instructions with their operands, control codes, labels and source lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class OperandKind(Enum):
    """What an operand is; see ``Operand`` for which fields each kind uses."""

    __hash__ = object.__hash__  # members are single objects; Enum's own is Python and slow

    REGISTER = "register"  #: R0..R254, RZ          index (255 = RZ)
    UNIFORM = "uniform"  #: UR0..UR62, URZ        index (63, or 255 on sm_100+, = URZ: see is_zero)
    PREDICATE = "predicate"  #: P0..P6, PT            index (7 = PT), negate is ``!``
    UNIFORM_PREDICATE = "uniform_predicate"  #: UP0..UP6, UPT
    BARRIER = "barrier"  #: B0..B15               convergence barrier
    SCOREBOARD = "scoreboard"  #: SB0..SB5
    SPECIAL = "special"  #: SR_TID.X, SRZ, PR     name
    IMMEDIATE = "immediate"  #: 0x1f, -0x1            value (a Python int as printed, sign kept)
    FLOAT = "float"  #: 3, -126, +INF, -QNAN     value is the printed number; bits come from the encoding
    CONSTANT = "constant"  #: c[0x0][0x160], c[0x0][R2+0x160], c[0x3][UR5+0x8]    bank, base, value = offset
    MEMORY = "memory"  #: [R2.64+UR4+0x10]      base, uniform, value = offset, scale, wide
    DESCRIPTOR = "descriptor"  #: gdesc[UR8], tmem[UR4+0x10], idesc[UR5] alone: name, base, value = offset
    LABEL = "label"  #: `(.L_x_3), 32@lo(f)   name, value = address in the section when known, relocation
    OTHER = "other"  #: anything else, ``text`` only (2D, SM texture words ...)


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand as printed, and its parts.

    ``text`` is exactly nvdisasm's; the parts are what analysis and execution read. ``suffixes`` are the dotted
    words after a register other than reuse (``H0_H0``, ``ROW``, ``64``, ``X4`` ...).
    """

    text: str
    kind: OperandKind
    index: int = 0
    is_zero: bool = False  #: RZ, URZ, PT, UPT, SRZ
    negate: bool = False  #: ``-`` on a number, ``!`` on a predicate
    invert: bool = False  #: ``~``
    absolute: bool = False  #: ``|x|``
    reuse: bool = False
    suffixes: tuple[str, ...] = ()
    name: str = ""
    value: int | float | None = None
    bank: int | None = None
    base: Operand | None = None  #: the register inside brackets
    uniform: Operand | None = None  #: the uniform register inside brackets
    scale: int = 1  #: ``.X4`` on the register inside brackets
    wide: bool = False  #: ``.64`` on the register inside brackets
    descriptor: Operand | None = None  #: ``desc[UR8]`` before a memory operand: the uniform register
    relocation: str = ""  #: ``32@lo``, ``32@hi`` before a label: which half of the address the word takes
    glued: bool = False  #: follows the operand before it after a blank, with no comma: ``R6 `(f)``


@dataclass(frozen=True, slots=True)
class Control:
    """The control bits of an instruction (bits 121:105 of the encoding). Barrier 7 means none and is stored as None.

    The encoding's yield bit is inverted: 0 asks the scheduler to prefer another warp.
    """

    stall: int
    yields: bool  #: ``Y`` in a listing: the scheduler may prefer another warp
    write_barrier: int | None
    read_barrier: int | None
    wait_mask: int
    reuse: int


#: Folders of the toolkit's headers: of an installation, of NVIDIA's wheels, of conda.
_TOOLKIT = re.compile(
    r"(?:^|/)(?:cuda(?:-[\d.]+)?|cu\d+|nvidia|cuda_(?:runtime|nvcc|cccl|crt)|targets/[\w-]+)/(?:.*/)?include/"
    r"|(?:^|/)include/(?:crt|cooperative_groups|cub|thrust|cuda|nv)/"
)


def is_toolkit_header(file: str) -> bool:
    """Whether a path is of a header that comes with CUDA."""
    return _TOOLKIT.search(file) is not None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of CUDA source; ``inlined_at`` is the chain of call sites, innermost first."""

    file: str
    line: int
    inlined_at: tuple[SourceLine, ...] = ()

    @property
    def of_user(self) -> SourceLine:
        """The innermost line of the chain that is in no header of the CUDA toolkit; else this line itself."""
        return next((place for place in (self, *self.inlined_at) if not is_toolkit_header(place.file)), self)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One 16-byte instruction. ``address`` counts from the start of its function's section."""

    address: int
    text: str  #: without address, encoding and semicolon; printing it gives nvdisasm's text back
    predicate: Operand | None
    opcode: str  #: the base name: ``IMAD``
    modifiers: tuple[str, ...]  #: ``("WIDE", "U32")``
    operands: tuple[Operand, ...]
    encoding: int  #: 128 bits, the first printed word low
    labels: tuple[str, ...] = ()  #: labels that are at this address
    source: SourceLine | None = None
    targets: tuple[str, ...] = ()  #: BRANCH_TARGETS of an indirect branch
    understood: bool = True  #: False: the line did not parse, ``text`` is all there is
    annotation: str = ""  #: what nvdisasm adds in ``(*"..."*)``, for example the targets of an indirect branch

    @property
    def mnemonic(self) -> str:
        """Opcode with modifiers, as printed."""
        return ".".join((self.opcode, *self.modifiers))

    @property
    def stall(self) -> int:
        """The stall count alone: cycles until this warp's next instruction may issue."""
        return self.encoding >> 105 & 15

    @property
    def control(self) -> Control:
        """The control bits, decoded."""
        bits = self.encoding >> 105
        write, read = bits >> 5 & 7, bits >> 8 & 7
        return Control(
            stall=bits & 15,
            yields=not bits >> 4 & 1,
            write_barrier=None if write == 7 else write,
            read_barrier=None if read == 7 else read,
            wait_mask=bits >> 11 & 63,
            reuse=bits >> 17 & 7,
        )


@dataclass(frozen=True)
class Function:
    """One code section: a kernel with the device functions that live after it."""

    symbol: str
    instructions: tuple[Instruction, ...]  #: all of the section, padding included
    labels: Mapping[str, int]  #: label or local function symbol -> address
    subroutines: Mapping[str, int] = field(default_factory=dict)  #: local function symbol -> entry address
    registers: int | None = None  #: per thread, where nvdisasm prints it (sm_75 to sm_89)

    @property
    def body_length(self) -> int:
        """How many instructions there are without the trailing self-branch and NOP padding."""
        count = len(self.instructions)
        while count and _is_padding(self.instructions[count - 1]):
            count -= 1
        return count

    @property
    def body(self) -> tuple[Instruction, ...]:
        """The instructions without trailing padding."""
        return self.instructions[: self.body_length]


@dataclass(frozen=True)
class Disassembly:
    """All code of one cubin."""

    arch: str  #: ``sm_89``
    functions: Mapping[str, Function]  #: by mangled symbol


def _is_padding(instruction: Instruction) -> bool:
    """NOP, or the unguarded branch to itself that ends a section."""
    if instruction.opcode == "NOP":
        return True
    if instruction.opcode != "BRA" or instruction.predicate is not None or not instruction.operands:
        return False
    return instruction.operands[-1].value == instruction.address
