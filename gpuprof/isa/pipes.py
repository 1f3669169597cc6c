"""Which pipe of an SM executes an opcode, and when what it sets is there: the facts that a timeline is built on.

The pipes are those of Nsight Compute's metrics ``inst_executed_pipe_*``. Sources: NVIDIA's "CUDA C++ Programming Guide"
(throughput of arithmetic instructions), "Kernel Profiling Guide" (pipelines), and for single opcodes Jia et al.
(arXiv 1804.06826, 1903.07486), Abdelkhalik et al. (arXiv 2208.11174) and Huerta et al. (arXiv 2503.20481).
"""

from __future__ import annotations

from enum import IntEnum

from gpuprof.isa.opcodes import OPCODES, Access, Control, Datapath, Kind, Space


class Pipe(IntEnum):
    """Where an instruction issues. FMA has two halves of which FMA_HEAVY is the one that also multiplies integers."""

    FMA = 0
    FMA_HEAVY = 1
    ALU = 2
    XU = 3
    FP64 = 4
    TENSOR = 5
    LSU = 6
    UNIFORM = 7
    CONTROL = 8
    ADDRESS = 9


class Completion(IntEnum):
    """What decides when a scoreboard is free that the instruction sets."""

    FIXED = 0
    SPECIAL_REGISTER = 1
    SHUFFLE = 2
    TRANSCENDENTAL = 3
    CONSTANT = 4
    MEMORY = 5
    DOUBLE = 6
    MATRIX = 7
    BARRIER = 8
    EXIT = 9
    COPY_FENCE = 10
    DRAIN_TO = 11
    UNIFORM_RESULT = 12


_NAMED = {
    Pipe.FMA: "FFMA FADD FMUL FFMA32I FADD32I FMUL32I FSWZADD HFMA2 HADD2 HMUL2 HADD2_32I HFMA2_32I HMUL2_32I",
    Pipe.FMA_HEAVY: "IMAD IMUL IMAD32I IMUL32I IDP IDP4A FFMA2 FADD2 FMUL2",
    Pipe.XU: "MUFU POPC FLO BREV I2F F2I F2F FRND I2I F2IP",
    Pipe.FP64: "DFMA DADD DMUL DSETP DMNMX",
    Pipe.TENSOR: "HMMA IMMA",
    Pipe.LSU: "SHFL MATCH",
    Pipe.UNIFORM: "R2UR S2UR VOTEU",
    Pipe.CONTROL: "BRA BRX BRXU JMP JMX JMXU CALL RET EXIT BSSY BSYNC BREAK WARPSYNC BMOV YIELD NANOSLEEP BPT KILL "
    "ENDCOLLECTIVE RPCMOV NOP PREEXIT ACQBULK PMTRIG",
    Pipe.ADDRESS: "S2R B2R LDC BAR DEPBAR LDGDEPBAR MEMBAR ERRBAR FENCE CCTL CCTLL LEPC CGAERRBAR",
    Pipe.ALU: "FSEL FMNMX FMNMX3 FCHK FSET VOTE CS2R MOV MOV32I SEL P2R R2P PRMT REDUX CREDUX ELECT MOVM",
}
_PIPES = {name: pipe for pipe, names in _NAMED.items() for name in names.split()}
#: Kinds whose opcodes, where they are not named above, issue to the ALU.
_ALU_KINDS = frozenset((Kind.INTEGER, Kind.COMPARE, Kind.CONVERSION, Kind.FP16))
_MEMORY_SPACES = frozenset((Space.GLOBAL, Space.SHARED, Space.LOCAL, Space.GENERIC))
_COMPLETIONS = {
    "SHFL": Completion.SHUFFLE,
    "MATCH": Completion.SHUFFLE,
    "S2R": Completion.SPECIAL_REGISTER,
    "S2UR": Completion.SPECIAL_REGISTER,
    "B2R": Completion.SPECIAL_REGISTER,
    "LDC": Completion.CONSTANT,
    "LDCU": Completion.CONSTANT,
    "ULDC": Completion.CONSTANT,
    "LDGDEPBAR": Completion.COPY_FENCE,
    "DEPBAR": Completion.DRAIN_TO,
}
_BY_PIPE = {
    Pipe.XU: Completion.TRANSCENDENTAL,
    Pipe.FP64: Completion.DOUBLE,
    Pipe.TENSOR: Completion.MATRIX,
    Pipe.UNIFORM: Completion.UNIFORM_RESULT,
}


def pipe_of(opcode: str) -> Pipe | None:
    """The pipe of a base opcode; None where no source says it, or the model lacks it (TMA, WGMMA, textures)."""
    if opcode in _PIPES:
        return _PIPES[opcode]
    row = OPCODES.get(opcode)
    if row is None or row.kind in (Kind.TENSOR, Kind.TEXTURE):
        return None
    if row.datapath is Datapath.UNIFORM and row.access is None and row.kind not in (Kind.GLOBAL, Kind.SHARED):
        return Pipe.UNIFORM
    if row.space is Space.CONSTANT:
        return Pipe.UNIFORM
    if row.space in _MEMORY_SPACES and isinstance(row.access, Access):
        return Pipe.LSU
    return Pipe.ALU if row.kind in _ALU_KINDS else None


def completion_of(opcode: str, modifiers: tuple[str, ...] = ()) -> Completion:
    """What decides when its result is there, for an opcode that has a pipe."""
    if opcode in _COMPLETIONS:
        return _COMPLETIONS[opcode]
    row = OPCODES[opcode]
    if row.control is Control.BLOCK_BARRIER:
        return Completion.FIXED if "ARV" in modifiers else Completion.BARRIER
    if row.control is Control.EXIT:
        return Completion.EXIT
    pipe = pipe_of(opcode)
    if pipe is Pipe.LSU:
        return Completion.MEMORY
    return Completion.FIXED if pipe is None else _BY_PIPE.get(pipe, Completion.FIXED)
