"""What an opcode is: its kind, its memory space and width, and which opcodes write nothing.

Tables by base name, for sm_75 to sm_121. Names: NVIDIA's "CUDA Binary Utilities", chapter "Instruction Set
Reference"; sizes of tensor fragments: the PTX ISA's fragment layouts of ``mma``.
"""

from __future__ import annotations

import functools
from enum import Enum

from gpuprof.sass.model import Instruction


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


_KINDS: dict[Kind, str] = {
    Kind.FP32: "FFMA FADD FMUL FMNMX FMNMX3 FSEL FSWZADD FFMA2 FADD2 FMUL2 FFMA32I FADD32I FMUL32I FCHK RRO",
    Kind.FP64: "DFMA DADD DMUL DMNMX",
    Kind.FP16: "HFMA2 HADD2 HMUL2 HMNMX2 HSET2 HFMA2_32I HADD2_32I HMUL2_32I",
    Kind.TENSOR: "HMMA IMMA DMMA BMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    Kind.INTEGER: "IMAD IADD3 IADD IADD2 LEA LOP3 LOP SHF SHL SHR IMNMX VIADD VIMNMX VIMNMX3 VIADDMNMX IABS POPC FLO"
    " BREV BMSK SGXT PRMT IDP IDP4A VABSDIFF VABSDIFF4 ISCADD IMUL XMAD BFE BFI IADD32I LOP32I IMUL32I"
    " VHMNMX SCADD IMAD32I",
    Kind.CONVERSION: "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND",
    Kind.SPECIAL_FUNCTION: "MUFU",
    Kind.COMPARE: "ISETP FSETP DSETP HSETP2 PLOP3 PSETP CSETP FSET PSET ISET R2P P2R VSETP",
    Kind.MOVE: "MOV SEL S2R CS2R S2UR CS2UR R2UR UMOV MOV32I MOVM UR2UP UP2UR R2B B2R",
    Kind.GLOBAL: "LDG STG RED REDG ATOMG LDGSTS LDGDEPBAR LDGMC CCTL UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG"
    " UTMAPF UTMACCTL UTMACMDFLUSH",
    Kind.SHARED: "LDS STS ATOMS LDSM STSM STAS REDAS SYNCS LDT STT LDTM STTM UTCCP UTCATOMSWS UTCBAR UTCSHIFT",
    Kind.LOCAL: "LDL STL CCTLL",
    Kind.CONSTANT: "LDC ULDC LDCU",
    Kind.GENERIC: "LD ST ATOM QSPC CCTLT LEPC MATCHG",
    Kind.TEXTURE: "TEX TLD TLD4 TXD TXQ TMML TXA SULD SUST SURED SUATOM SUQUERY TTUOPEN TTULD TTUST",
    Kind.WARP: "SHFL VOTE VOTEU MATCH REDUX CREDUX ELECT",
    Kind.BARRIER: "BAR MEMBAR ERRBAR CGAERRBAR DEPBAR WARPSYNC FENCE ARRIVES UCGABAR_ARV UCGABAR_WAIT BARRIER"
    " WARPGROUP WARPGROUPSET",
    Kind.CONTROL: "BRA BRX BRXU JMP JMX JMXU EXIT RET CALL BSSY BSYNC BREAK BMOV BPT KILL YIELD NANOSLEEP NOP RTT"
    " ENDCOLLECTIVE PREEXIT ACQBULK RPCMOV IDE PMTRIG USETMAXREG USETSHMSZ",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Opcodes whose first operand is no destination.
NO_DESTINATION = _names(
    "ST STG STS STL STAS STSM STT STTM RED REDG REDAS LDGSTS LDGDEPBAR CCTL CCTLL CCTLT BRA BRX BRXU JMP JMX JMXU EXIT"
    " RET CALL BSSY BSYNC BREAK BPT KILL YIELD NANOSLEEP NOP BAR MEMBAR ERRBAR CGAERRBAR DEPBAR WARPSYNC FENCE ARRIVES"
    " ENDCOLLECTIVE PREEXIT ACQBULK SUST SURED UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL"
    " UTMACMDFLUSH UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCCP UTCBAR UTCSHIFT UCGABAR_ARV UCGABAR_WAIT WARPGROUP"
    " WARPGROUPSET USETMAXREG USETSHMSZ PMTRIG RTT R2B TTUST"
)
#: Opcodes whose leading operands are two predicate destinations, then sources.
SET_PREDICATES = _names("ISETP FSETP DSETP HSETP2 PLOP3 PSETP CSETP UISETP UPLOP3 UPSETP UFSETP VSETP UDSETP UHSETP2")
#: Opcodes whose destination register may follow a predicate destination.
PREDICATE_FIRST = _names(
    "LOP3 ULOP3 SHFL ATOM ATOMG ATOMS R2UR MATCH QSPC VOTE VOTEU ELECT SUATOM IMNMX UIMNMX VIMNMX UVIMNMX LDG TEX TLD"
    " TLD4 TXD TXQ TMML SYNCS"
)
_BRANCHES = frozenset(("BRA", "JMP"))


@functools.lru_cache(maxsize=4096)
def kind_of_opcode(opcode: str) -> Kind:
    """The kind of a base opcode; a uniform-datapath name (``UIADD3``) has the kind of its vector form."""
    return _KIND_OF.get(opcode) or (_KIND_OF.get(opcode[1:]) if opcode.startswith("U") else None) or Kind.OTHER


def kind_of(instruction: Instruction) -> Kind:
    """The kind of an instruction; idioms count as what they do (``IMAD.MOV`` is a move)."""
    opcode = instruction.opcode
    if opcode == "IMAD" and instruction.modifiers[:1] == ("MOV",):
        return Kind.MOVE
    if opcode == "HFMA2" and is_half_constant(instruction):
        return Kind.MOVE
    return kind_of_opcode(opcode) if instruction.understood else Kind.OTHER


def is_half_constant(instruction: Instruction) -> bool:
    """``HFMA2 R5, -RZ, RZ, a, b``: how a constant is put into a register through the half pipe."""
    return all(operand.is_zero for operand in instruction.operands[1:3])


def is_math(instruction: Instruction, opcode: str) -> bool:
    """Whether it is arithmetic of that opcode (and not the constant idiom of HFMA2)."""
    return instruction.opcode == opcode and (opcode != "HFMA2" or not is_half_constant(instruction))


#: Opcodes that are the arithmetic a kernel is about, in the order in which a loop's main one is chosen on a tie.
MATH_OPCODES = (
    "HMMA", "IMMA", "DMMA", "QMMA", "OMMA", "BMMA", "HGMMA", "IGMMA", "QGMMA", "UTCHMMA", "UTCIMMA", "UTCQMMA",
    "FFMA", "FFMA2", "DFMA", "HFMA2", "FADD", "FMUL", "DADD", "DMUL", "HADD2", "HMUL2", "IDP",
)  # fmt: skip

LOADS = {"LDG": "global", "LDS": "shared", "LDL": "local", "LD": "generic", "LDSM": "shared", "LDGSTS": "global"}
STORES = {"STG": "global", "STS": "shared", "STL": "local", "ST": "generic", "STSM": "shared"}
ATOMICS = {"ATOMG": "global", "ATOM": "generic", "ATOMS": "shared", "RED": "global", "REDG": "global"}
_MATRICES = {"1": 1, "2": 2, "4": 4}


def access_bits(instruction: Instruction) -> int:
    """Bits per lane that a memory instruction moves: 8, 16, 32, 64, 128 or 256."""
    modifiers = instruction.modifiers
    if instruction.opcode in ("LDSM", "STSM"):
        return 32 * next((_MATRICES[word] for word in reversed(modifiers) if word in _MATRICES), 1)
    for word in modifiers:
        if word in ("64", "128", "256"):
            return int(word)
        if word in ("U8", "S8"):
            return 8
        if word in ("U16", "S16"):
            return 16
    return 32


def is_conditional_branch(instruction: Instruction) -> bool:
    """Whether control may also fall through: guarded, or with a condition operand."""
    if guarded(instruction):
        return True
    first = instruction.operands[0] if instruction.operands else None
    return instruction.opcode in _BRANCHES and len(instruction.operands) > 1 and first is not None


def guarded(instruction: Instruction) -> bool:
    """Whether it stands under a predicate that is not always true."""
    predicate = instruction.predicate
    return predicate is not None and not (predicate.is_zero and not predicate.negate)
