"""nvdisasm's text (``nvdisasm -c -hex -gi``) to a ``Disassembly``.

Two passes per section: the lines are gathered first, so that a label operand can be given its address when the
instructions are built. Operand texts repeat a lot, hence the memo per parse: 100,000 instructions take about a second.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from gpuprof.errors import DisassemblyError
from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.sass.model import Disassembly, Function, Instruction, Operand, OperandKind, SourceLine
from gpuprof.sass.operands import is_word, parse_operand

_TARGET = re.compile(r"\s*\.target\s+(\w+)")
#: Of a cubin in the ELF format before CUDA 13, which nvdisasm prints without ``.target``.
_HEADER_FLAGS = re.compile(r'\.headerflags\s+@"([^"]*)"')
_FLAG_ARCH = re.compile(r"\bEF_CUDA_SM(\d+)\b")
_FLAG_ACCELERATED = "EF_CUDA_ACCELERATORS"
_SECTION = re.compile(r'\s*\.section\s+"?([^",]+)"?')
_FUNCTION_TYPE = re.compile(r"\s*\.type\s+(\S+?)\s*,\s*@function")
_REGISTERS = re.compile(r".*SHI_REGISTERS=(\d+)")
_MNEMONIC = re.compile(r"[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_PREDICATE = re.compile(r"@!?U?P[T\d]")
_ANNOTATION = re.compile(r'\s*\(\*"(.*)"\*\)\s*$')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)")
_SOURCE = re.compile(r'//## File "([^"]*)", line (\d+)(?:.*? inlined at "([^"]*)", line (\d+))?')
_SPACES = re.compile(r"\s{2,}")
_TEXT_PREFIX = ".text."
_REGISTER_FILES = frozenset({OperandKind.REGISTER, OperandKind.UNIFORM})


#: One instruction as gathered: address, text, encoding, labels at it, source line.
_Line = tuple[int, str, int, tuple[str, ...], "SourceLine | None"]


@dataclass
class _Section:
    symbol: str
    lines: list[_Line] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    functions: set[str] = field(default_factory=set)
    registers: int | None = None


@dataclass
class _Memo:
    """What repeats within one parse."""

    operands: dict[str, Operand] = field(default_factory=dict)
    mnemonics: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    sources: dict[tuple[str, ...], SourceLine | None] = field(default_factory=dict)


def parse_disassembly(text: str) -> Disassembly:
    """All code sections of one cubin, by symbol.

    Raises DisassemblyError when the text names no architecture, that is, when it is not nvdisasm's. A line inside
    a code section that does not parse becomes an instruction with ``understood`` False, and is never dropped.
    """
    arch = _arch(text)
    memo = _Memo()
    with _no_collection():
        sections = _Gatherer(memo).gather(text)
        functions = {section.symbol: _function(section, memo) for section in sections}
    return Disassembly(arch, functions)


def _arch(text: str) -> str:
    """The ``.target`` line (``sm_90a``), or the header flags of the older ELF format (``EF_CUDA_SM90 ...``)."""
    target = _TARGET.search(text) if ".target" in text else None
    if target is not None:
        return target[1]
    flags = _HEADER_FLAGS.search(text)
    number = _FLAG_ARCH.search(flags[1]) if flags else None
    if flags is None or number is None:
        raise DisassemblyError("this is not nvdisasm's output: it has neither a .target line nor .headerflags")
    return f"sm_{number[1]}" + ("a" if _FLAG_ACCELERATED in flags[1] else "")


@contextmanager
def _no_collection() -> Iterator[None]:
    """Parsing makes some million small values and frees none: searching them for cycles takes a quarter of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Gatherer:
    """First pass: sections with their instruction lines, labels and source lines."""

    def __init__(self, memo: _Memo) -> None:
        self._memo = memo
        self._sections: list[_Section] = []
        self._section: _Section | None = None
        self._labels: list[str] = []
        self._source_lines: list[str] = []
        self._source: SourceLine | None = None

    def gather(self, text: str) -> list[_Section]:
        lines = text.splitlines()
        for number, line in enumerate(lines):
            start = line.find("/*")
            if start < 0:
                if line:
                    self._other(line)
            elif line[start + 2 : start + 3] != " ":  # "/* 0x" is the high word of the instruction before
                self._instruction(line, start, lines[number + 1] if number + 1 < len(lines) else "")
        self._close()
        return self._sections

    def _instruction(self, line: str, start: int, following: str) -> None:
        if self._section is None:
            return
        after = line.index("*/", start)
        end = line.find(";", after)
        low, encoding = line.find("/* 0x", after), 0
        if low >= 0:
            high = following.find("/* 0x")
            words = (
                following[high + 5 : high + 21] + line[low + 5 : low + 21] if high >= 0 else line[low + 5 : low + 21]
            )
            encoding = int(words, 16)
        text = line[after + 2 : end if end >= 0 else low if low >= 0 else len(line)].strip()
        address = int(line[start + 2 : after], 16)
        labels = self._take_labels(address) if self._labels else ()
        source = self._take_source() if self._source_lines else self._source
        self._section.lines.append((address, text, encoding, labels, source))

    def _take_labels(self, address: int) -> tuple[str, ...]:
        assert self._section is not None
        for label in self._labels:
            self._section.labels[label] = address
        labels = tuple(self._labels)
        self._labels.clear()
        return labels

    def _take_source(self) -> SourceLine | None:
        key = tuple(self._source_lines)
        self._source_lines.clear()
        if key not in self._memo.sources:
            self._memo.sources[key] = _source(key)
        self._source = self._memo.sources[key]
        return self._source

    def _other(self, line: str) -> None:
        if line[0] not in " \t/":
            if line.endswith(":"):
                self._label(line[:-1])
        elif "//## File" in line:
            self._source_lines.append(line)
        elif match := _SECTION.match(line):
            self._open(match[1])
        elif self._section is not None:
            self._directive(self._section, line)

    def _directive(self, section: _Section, line: str) -> None:
        if match := _FUNCTION_TYPE.match(line):
            section.functions.add(match[1])
        elif match := _REGISTERS.match(line):
            section.registers = int(match[1])

    def _label(self, name: str) -> None:
        if self._section is None:
            return
        if name in self._section.functions:  # a subroutine without line records does not belong to the line before it
            self._source = None
        if not name.startswith(_TEXT_PREFIX):
            self._labels.append(name)

    def _open(self, name: str) -> None:
        self._close()
        if name.startswith(_TEXT_PREFIX):
            self._section = _Section(name.removeprefix(_TEXT_PREFIX))
            self._sections.append(self._section)

    def _close(self) -> None:
        if self._section is not None and self._section.lines:
            self._take_labels(self._section.lines[-1][0] + INSTRUCTION_BYTES)
        self._labels.clear()
        self._source_lines.clear()
        self._source = None
        self._section = None


def _source(lines: tuple[str, ...]) -> SourceLine | None:
    """The innermost source line of consecutive ``//##`` lines, with the call sites it was inlined at."""
    found = [match for line in lines if (match := _SOURCE.search(line))]
    if not found:
        return None
    first = found[0]
    chain = []
    for match in found:
        if match[3] is None:
            break
        chain.append(SourceLine(_file_name(match[3]), int(match[4])))
    return SourceLine(_file_name(first[1]), int(first[2]), tuple(chain))


def _file_name(text: str) -> str:
    r"""nvdisasm writes a byte that is no ASCII letter as ``\303``."""
    if "\\" not in text:
        return text
    raw = _ESCAPE.sub(_unescaped, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if code.isdigit() else code


def _function(section: _Section, memo: _Memo) -> Function:
    local: dict[str, Operand] = {}
    instructions = tuple(_build(line, section.labels, memo, local) for line in section.lines)
    subroutines = {
        name: address
        for name, address in section.labels.items()
        if name in section.functions and name != section.symbol and not name.startswith(".L")
    }
    return Function(section.symbol, instructions, section.labels, subroutines, registers=section.registers)


def _build(line: _Line, labels: dict[str, int], memo: _Memo, local: dict[str, Operand]) -> Instruction:
    """Second pass: one instruction from its text. ``local`` holds operands that name this section's labels."""
    address, text, encoding, marks, source = line
    annotation = ""
    if text[-1:] == ")" and (match := _ANNOTATION.search(text)):
        annotation, text = match[1], text[: match.start()]
    rest, predicate = text, None
    if text[:1] == "@":
        guard, _, rest = text.partition(" ")
        if not _PREDICATE.fullmatch(guard):
            return _raw(line)
        predicate = _operand(guard[1:], labels, memo, local)
        rest = rest.lstrip()
    mnemonic, _, tail = rest.partition(" ")
    names = memo.mnemonics.get(mnemonic)
    if names is None:
        if not _MNEMONIC.fullmatch(mnemonic):
            return _raw(line)
        opcode, *modifiers = mnemonic.split(".")
        names = memo.mnemonics[mnemonic] = (opcode, tuple(modifiers))
    operands = _operands(tail, labels, memo, local) if tail else ()
    if operands is None:
        return _raw(line)
    targets = _targets(annotation) if annotation else ()
    return Instruction(
        address, text, predicate, *names, operands, encoding, marks, source, targets, annotation=annotation
    )


def _operands(tail: str, labels: dict[str, int], memo: _Memo, local: dict[str, Operand]) -> tuple[Operand, ...] | None:
    """The operands of one instruction, or None when one is none that the grammar knows."""
    found = []
    known = memo.operands
    for piece in tail.split(", "):
        operand = known.get(piece)
        if operand is None:
            if " " in piece and (glued := _split_glued(piece)) is not None:
                found.append(_operand(glued[0], labels, memo, local))
                operand = replace(_operand(glued[1], labels, memo, local), glued=True)
            else:
                operand = _operand(piece, labels, memo, local)
                if operand.kind is OperandKind.OTHER and not is_word(operand):
                    return None
        found.append(operand)
    return tuple(found)


def _split_glued(piece: str) -> tuple[str, str] | None:
    """``R6 `(f)`` and ``R4 -0x120``: two operands that only a blank parts."""
    first, _, second = piece.strip().partition(" ")
    if second and parse_operand(first).kind in _REGISTER_FILES:
        return first, second.strip()
    return None


def _operand(text: str, labels: dict[str, int], memo: _Memo, local: dict[str, Operand]) -> Operand:
    known = memo.operands.get(text) or local.get(text)
    if known is None:
        known = parse_operand(text, labels)
        if "(" in text:
            local[text] = known
        elif known.kind is not OperandKind.OTHER or is_word(known):
            memo.operands[text] = known
    return known


def _targets(annotation: str) -> tuple[str, ...]:
    words = annotation.split(None, 1)
    return tuple(words[1].split(",")) if len(words) == 2 and words[0] == "BRANCH_TARGETS" else ()


def _raw(line: _Line) -> Instruction:
    """A line that does not parse, kept as it is."""
    address, text, encoding, labels, source = line
    text = _SPACES.sub(" ", text)
    words = text.split()
    opcode = next((word for word in words if not word.startswith("@")), "?")
    return Instruction(address, text, None, opcode, (), (), encoding, labels, source, understood=False)
