"""Which modifiers the emulator knows of control, memory and special-register instructions; any other one stops it.

A modifier may change the result (``WARPSYNC.EXCLUSIVE``, ``ATOMG.E.ADD.F16x8``), so one that nobody has looked at is
refused by its name. The semantics of ``TABLE`` name theirs themselves (``forms.allow``).

Names and forms: nvdisasm 12 and 13 over the code of public repositories. Cache, scope and ordering words do not change
what a sequential machine computes; they are known here so that everything that is not is refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpuprof.emulator.contract import Decoded, NotCovered


def _words(*texts: str) -> frozenset[str]:
    return frozenset(word for text in texts for word in text.split())


_SCOPES = "STRONG WEAK CONSTANT PRIVATE MMIO CTA SM GPU SYS"
_CACHE = "E EF EL LU EU NA LTC64B LTC128B LTC256B PF1 PF2 PF3 PF4"
_WIDTHS = "U8 S8 U16 S16 32 64 128"
_INTEGERS = "ADD MIN MAX AND OR XOR INC DEC EXCH CAS S32 U32 64 S64 U64"
_FLOATS = "F32 F64 FTZ RN F16x2 BF16x2 BF16_V2"
_GLOBAL = _words(_SCOPES, _CACHE, _WIDTHS)
_ATOMIC = _words(_SCOPES, _CACHE, _INTEGERS, _FLOATS)
_NOTHING = _words("")
_ORDER = _words("SC ALL CTA SM GPU SYS VC VIEW ASYNC S G T PROXY ALIAS TENSORMAP GENERIC")

#: Base opcode -> its modifiers.
KNOWN: dict[str, frozenset[str]] = {
    # control
    "BRA": _words("U ANY ALL DIV CONV INC DEPTH"),
    "JMP": _words("U INC"),
    "BRX": _words("INC"),
    "JMX": _words("INC"),
    "CALL": _words("ABS REL NOINC INC"),
    "RET": _words("ABS REL NODEC"),
    "EXIT": _NOTHING,
    "BSSY": _words("RECONVERGENT RELIABLE"),
    "BSYNC": _words("RECONVERGENT RELIABLE"),
    "BREAK": _words("RELIABLE"),
    "BMOV": _words("32 CLEAR"),
    "WARPSYNC": _words("ALL EXCLUSIVE COLLECTIVE"),
    "ENDCOLLECTIVE": _NOTHING,
    "BAR": _words("SYNC ARV RED POPC AND OR DEFER_BLOCKING"),
    "B2R": _words("RESULT"),
    "BPT": _words("TRAP"),
    # without effect on data in a sequential machine
    "NOP": _NOTHING,
    "YIELD": _NOTHING,
    "NANOSLEEP": _words("WARP SYNCS"),
    "DEPBAR": _words("LE"),
    "LDGDEPBAR": _NOTHING,
    "MEMBAR": _ORDER,
    "FENCE": _ORDER,
    "ERRBAR": _NOTHING,
    "CGAERRBAR": _NOTHING,
    "CCTL": _words("IVALL E PF1 PF1.5 PF2 D C U IV WB RS RSLB"),
    "CCTLL": _words("IVALL IV WB RS RSLB PF1 PF2 PF1.5"),
    "PREEXIT": _NOTHING,
    "ACQBULK": _NOTHING,
    "WARPGROUP": _words("ARRIVE DEPBAR LE"),
    "USETMAXREG": _words("TRY_ALLOC DEALLOC CTAPOOL"),
    # memory
    "LDG": _GLOBAL,
    "STG": _GLOBAL,
    "LD": _GLOBAL,
    "ST": _GLOBAL,
    "LDL": _words(_CACHE, _WIDTHS),
    "STL": _words(_CACHE, _WIDTHS),
    "LDS": _words(_WIDTHS, "U"),
    "STS": _words(_WIDTHS),
    "LDSM": _words("16 M88 MT88 2 4"),
    "STSM": _words("16 M88 MT88 2 4"),
    "LDC": _words("U8 S8 U16 S16 32 64"),
    "ULDC": _words("U8 S8 U16 S16 32 64"),
    "LDCU": _words("U8 S8 U16 S16 32 64 128"),
    "LDGSTS": _words(_SCOPES, _CACHE, "32 64 128 BYPASS ACCESS ZFILL"),
    "ATOMS": _words(_INTEGERS, "POPC CAST SPIN 32 ARRIVE"),
    "ATOMG": _ATOMIC,
    "ATOM": _ATOMIC,
    "RED": _ATOMIC,
    "REDG": _ATOMIC | _words("F32x2 F32x4 F16x4 F16x8 BF16x4 BF16x8"),
    "QSPC": _words("E S G L"),
    "LEPC": _NOTHING,
    "SYNCS": _words("EXCH 64 ARRIVE TRANS64 A1T0 ART0 A0TR A0T1 RED PHASECHK TRYWAIT CCTL IV IVALL"),
    "ARRIVES": _words("LDGSTSBAR 64 ARVCNT TRANSCNT"),
    "UBLKCP": _words("S G"),
    "UTMALDG": _words("1D 2D 3D 4D 5D"),
    "UTMASTG": _words("1D 2D 3D 4D 5D"),
    "UTMACCTL": _words("PF IV"),
    "UTMAPF": _words("L2 1D 2D 3D 4D 5D"),
    "UTMACMDFLUSH": _NOTHING,
    # special registers
    "S2R": _NOTHING,
    "S2UR": _NOTHING,
    "CS2R": _words("32 64"),
    "CS2UR": _words("32 64"),
    "R2UR": _NOTHING,
    "ELECT": _NOTHING,
}


def check_modifiers(decoded: Decoded) -> None:
    """Raise ``NotCovered`` for a modifier that is not known of an opcode of ``KNOWN``; other opcodes pass."""
    known = KNOWN.get(decoded.instruction.opcode)
    if known is not None:
        refuse(decoded, (word for word in decoded.modifiers if word not in known))


def refuse(decoded: Decoded, words: Iterable[str]) -> None:
    """Raise ``NotCovered`` with the mnemonic and these modifiers, if there are any."""
    unknown = tuple(words)
    if unknown:
        raise NotCovered(f"{decoded.instruction.mnemonic}: modifier .{'.'.join(unknown)}")
