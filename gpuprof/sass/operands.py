"""One operand's text to its parts, and back.

The grammar is nvdisasm's for sm_75 to sm_121: registers with modifiers, constants, immediates, memory, descriptors,
labels and relocations. A text that is none of these is kind OTHER; ``is_word`` says whether that was to be expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gpuprof.sass.model import Operand, OperandKind

_REGISTER = re.compile(
    r"(?P<sign>[-~!]?)(?P<bar>\|?)(?P<file>UR|UP|R|P|B|SB)(?P<index>\d+|Z|T)(?P<inner>(?:\.[A-Za-z0-9_]+)*)\|?(?P<outer>(?:\.[A-Za-z0-9_]+)*)"
)
_HEX = re.compile(r"(-?)0x([0-9a-f]+)")
_FLOAT = re.compile(r"[-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|INF|QNAN|SNAN|NAN)")
_SPECIAL = re.compile(r"(?:SR_?[A-Za-z0-9_.]+|U?PR(?:\.B\d)?|Rpc\.(?:LO|HI)|CC|[A-Z][A-Z0-9_]*\.(?:LO|HI))")
#: Half instructions before sm_90 are printed with a blank in it: ``c[0x0] [0x168]``.
_CONSTANT = re.compile(
    r"(?P<sign>[-~]?)(?P<bar>\|?)(?P<space>cx?)\[(?P<bank>[^\]]*)\](?: ?\[(?P<inner>[^\]]*)\])?"
    r"\|?(?P<suffix>(?:\.[A-Za-z0-9_]+)*)"
)
_MEMORY = re.compile(r"(?:desc\[(?P<descriptor>[^\]]*)\])?\[(?P<inner>[^\]]*)\](?P<suffix>(?:\.[A-Za-z0-9_]+)*)")
_DESCRIPTOR = re.compile(r"(?P<name>[a-z]+)\[(?P<inner>[^\]]*)\](?P<suffix>(?:\.[A-Za-z0-9_]+)*)")
_LABEL = re.compile(r"(?P<relocation>[\w.]+@\w+)?(?P<tick>`?)\((?P<inner>.*)\)")
_LABEL_SUM = re.compile(r"\(?(?P<first>[^()+ ]+)(?: \+ (?P<second>[^()+ ]+))?\)?")
_WORD = re.compile(r"[A-Za-z0-9_.]+|\{[\d,]+\}")
_TERM = re.compile(r"`\((?:[^()]|\([^()]*\))*\)|[^+]+")

_FILES = {
    "R": OperandKind.REGISTER,
    "UR": OperandKind.UNIFORM,
    "P": OperandKind.PREDICATE,
    "UP": OperandKind.UNIFORM_PREDICATE,
    "B": OperandKind.BARRIER,
    "SB": OperandKind.SCOREBOARD,
}
#: What RZ, URZ, PT and UPT are numbered in the encoding.
_ZERO_INDEX = {"R": 255, "UR": 63, "P": 7, "UP": 7, "B": 0, "SB": 0}


def is_word(operand: Operand) -> bool:
    """Whether an operand of kind OTHER is a plain word of the instruction (``2D``, ``gsb0``, ``{4,3}``)."""
    return _WORD.fullmatch(operand.text.strip()) is not None


def parse_operand(text: str, labels: Mapping[str, int] | None = None) -> Operand:
    """The parts of one operand; ``labels`` gives label operands their address. ``text`` is kept as it is."""
    stripped = text.strip()
    for pattern, build in _FORMS:
        match = pattern.fullmatch(stripped)
        if match is not None:
            return build(text, match, labels or {})
    return Operand(text, OperandKind.OTHER, name=stripped)


def _register(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    file, number = match["file"], match["index"]
    words = [word for word in (match["inner"] + match["outer"]).split(".") if word]
    zero = not number.isdigit()
    return Operand(
        text,
        _FILES[file],
        index=_ZERO_INDEX[file] if zero else int(number),
        is_zero=zero,
        negate=match["sign"] in ("-", "!"),
        invert=match["sign"] == "~",
        absolute=bool(match["bar"]),
        reuse="reuse" in words,
        suffixes=tuple(word for word in words if word != "reuse"),
        wide="64" in words,
    )


def _hex(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    value = int(match[2], 16)
    return Operand(text, OperandKind.IMMEDIATE, value=-value if match[1] else value)


def _float(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    word = text.strip()
    return Operand(text, OperandKind.FLOAT, value=float(word.replace("QNAN", "nan").replace("SNAN", "nan")), name=word)


def _special(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    word = text.strip()
    return Operand(text, OperandKind.SPECIAL, name=word, is_zero=word == "SRZ")


def _constant(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    bank_text, inner = match["bank"], match["inner"]
    if inner is None:  # c[`(kernel.const_opt.1.2)]: bank and offset are the linker's to give
        bank_text, inner = "", bank_text
    number = _HEX.fullmatch(bank_text)
    parts = _sum(inner, labels)
    return Operand(
        text,
        OperandKind.CONSTANT,
        negate=match["sign"] == "-",
        invert=match["sign"] == "~",
        absolute=bool(match["bar"]),
        suffixes=_words(match["suffix"]),
        bank=int(number[2], 16) if number else None,
        descriptor=parse_operand(bank_text) if bank_text and not number else None,
        name=parts.name,
        value=parts.offset,
        base=parts.base or parts.uniform,
        uniform=parts.uniform,
    )


def _memory(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    parts = _sum(match["inner"], labels)
    base = parts.base
    scale = next((int(word[1:]) for word in base.suffixes if re.fullmatch(r"X\d+", word)), 1) if base else 1
    return Operand(
        text,
        OperandKind.MEMORY,
        suffixes=_words(match["suffix"]),
        name=parts.name,
        value=parts.offset,
        base=base,
        uniform=parts.uniform,
        scale=scale,
        wide=base is not None and base.wide,
        descriptor=parse_operand(match["descriptor"]) if match["descriptor"] is not None else None,
    )


def _descriptor(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    parts = _sum(match["inner"], labels)
    return Operand(
        text,
        OperandKind.DESCRIPTOR,
        name=match["name"],
        suffixes=_words(match["suffix"]),
        base=parts.base,
        uniform=parts.uniform,
        value=parts.offset,
    )


def _label(text: str, match: re.Match[str], labels: Mapping[str, int]) -> Operand:
    name, value = _label_target(match["inner"], labels)
    return Operand(text, OperandKind.LABEL, name=name, value=value, relocation=match["relocation"] or "")


def _label_target(inner: str, labels: Mapping[str, int]) -> tuple[str, int | None]:
    """Symbol and address of `` `(.L_x_3)``, ``(f + .L_x_3@srel)`` (a place in this section) or ``(s + 0x10)``."""
    match = _LABEL_SUM.fullmatch(inner)
    if match is None:
        return inner, labels.get(inner)
    first, second = match["first"], match["second"]
    if second is None:
        name = first.split("@")[0]
        return name, labels.get(name)
    if second.endswith("@srel"):
        name = second.removesuffix("@srel")
        return name, labels.get(name)
    known = labels.get(first)
    offset = _HEX.fullmatch(second)
    return first, known + int(second, 16) if known is not None and offset else None


class _Sum:
    """The terms of a bracket."""

    __slots__ = ("base", "name", "offset", "uniform")

    def __init__(self) -> None:
        self.base: Operand | None = None
        self.uniform: Operand | None = None
        self.name = ""
        self.offset = 0


def _sum(inner: str, labels: Mapping[str, int]) -> _Sum:
    """``R2.64+UR4+-0x10``: at most a register, uniform registers, a symbol and an offset."""
    result = _Sum()
    for term in _TERM.findall(inner):
        part = parse_operand(term, labels)
        if part.kind is OperandKind.IMMEDIATE:
            result.offset += int(part.value or 0)
        elif part.kind is OperandKind.LABEL:
            result.name = part.name
            addend = re.search(r"\+ (0x[0-9a-f]+)", term)
            result.offset += int(addend[1], 16) if addend else 0
        elif part.kind is OperandKind.UNIFORM:
            if result.uniform is not None:
                result.base = result.uniform
            result.uniform = part
        else:
            result.base = part
    return result


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(".") if word)


_Build = Callable[[str, "re.Match[str]", Mapping[str, int]], Operand]
_FORMS: tuple[tuple[re.Pattern[str], _Build], ...] = (
    (_REGISTER, _register),
    (_HEX, _hex),
    (_CONSTANT, _constant),
    (_MEMORY, _memory),
    (_FLOAT, _float),
    (_SPECIAL, _special),
    (_LABEL, _label),
    (_DESCRIPTOR, _descriptor),
)
