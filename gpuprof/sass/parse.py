"""nvdisasm's text (``nvdisasm -c -hex -gi``) to a ``Disassembly``.

Two passes per section: the lines are gathered first, so that a label operand can be given its address when the
instructions are built. Operand texts repeat a lot, hence the memo per parse: 100,000 instructions take about a second.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from gpuprof.errors import DisassemblyError
from gpuprof.sass.model import Disassembly, Function, Instruction, Operand, OperandKind, SourceLine
from gpuprof.sass.operands import is_word, parse_operand

_TARGET = re.compile(r"\s*\.target\s+(\w+)")
_SECTION = re.compile(r'\s*\.section\s+"?([^",]+)"?')
_FUNCTION_TYPE = re.compile(r"\s*\.type\s+(\S+?)\s*,\s*@function")
_REGISTERS = re.compile(r".*SHI_REGISTERS=(\d+)")
_MNEMONIC = re.compile(r"[A-Z][A-Z0-9_]*(?:\.[A-Za-z0-9_]+)*")
_PREDICATE = re.compile(r"@!?U?P[T\d]")
_ANNOTATION = re.compile(r'\s*\(\*"(.*)"\*\)\s*$')
_SOURCE = re.compile(r'//## File "([^"]*)", line (\d+)(?:.*? inlined at "([^"]*)", line (\d+))?')
_SPACES = re.compile(r"\s{2,}")
_TEXT_PREFIX = ".text."
_REGISTER_FILES = frozenset({OperandKind.REGISTER, OperandKind.UNIFORM})


@dataclass
class _Line:
    """One instruction as gathered: its labels and source are already known."""

    address: int
    text: str
    encoding: int
    labels: tuple[str, ...]
    source: SourceLine | None


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

    Raises DisassemblyError when the text has no ``.target`` line, that is, when it is not nvdisasm's. A line inside
    a code section that does not parse becomes an instruction with ``understood`` False, and is never dropped.
    """
    target = _TARGET.search(text) if ".target" in text else None
    if target is None:
        raise DisassemblyError("this is not nvdisasm's output: it has no .target line")
    memo = _Memo()
    sections = _Gatherer(memo).gather(text)
    return Disassembly(target[1], {section.symbol: _function(section, memo) for section in sections})


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
            if start >= 0 and line[start + 2 : start + 3] != " " and "*/" in line:
                following = lines[number + 1] if number + 1 < len(lines) else ""
                self._instruction(line, start, following)
            elif line:
                self._other(line)
        self._close()
        return self._sections

    def _instruction(self, line: str, start: int, following: str) -> None:
        if self._section is None:
            return
        after = line.index("*/", start)
        end = line.find(";", after)
        low = line.rfind("/* 0x")
        encoding = int(line[low + 5 : low + 21], 16) if low > after else 0
        high = following.find("/* 0x")
        if low > after and high >= 0:
            encoding |= int(following[high + 5 : high + 21], 16) << 64
        text = line[after + 2 : end if end >= 0 else (low if low > after else len(line))].strip()
        address = int(line[start + 2 : after], 16)
        self._section.lines.append(_Line(address, text, encoding, self._take_labels(address), self._take_source()))

    def _take_labels(self, address: int) -> tuple[str, ...]:
        if not self._labels:
            return ()
        assert self._section is not None
        for label in self._labels:
            self._section.labels[label] = address
        labels = tuple(self._labels)
        self._labels.clear()
        return labels

    def _take_source(self) -> SourceLine | None:
        if self._source_lines:
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
            self._take_labels(self._section.lines[-1].address + 16)
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
        chain.append(SourceLine(match[3], int(match[4])))
    return SourceLine(first[1], int(first[2]), tuple(chain))


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
    text, annotation = line.text, ""
    if "(*" in text and (match := _ANNOTATION.search(text)):
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
    operands = tuple(_operands(tail, labels, memo, local)) if tail else ()
    if any(operand.kind is OperandKind.OTHER and not is_word(operand) for operand in operands):
        return _raw(line)
    targets = _targets(annotation) if annotation else ()
    return Instruction(
        line.address,
        text,
        predicate,
        names[0],
        names[1],
        operands,
        line.encoding,
        line.labels,
        line.source,
        targets,
        True,
        annotation,
    )


def _operands(tail: str, labels: dict[str, int], memo: _Memo, local: dict[str, Operand]) -> list[Operand]:
    found = []
    for piece in tail.split(", "):
        if " " in piece and (glued := _split_glued(piece)) is not None:
            first, second = glued
            found.append(_operand(first, labels, memo, local))
            found.append(replace(_operand(second, labels, memo, local), glued=True))
        else:
            found.append(_operand(piece, labels, memo, local))
    return found


def _split_glued(piece: str) -> tuple[str, str] | None:
    """``R6 `(f)`` and ``R4 -0x120``: two operands that only a blank parts."""
    first, _, second = piece.strip().partition(" ")
    if second and parse_operand(first).kind in _REGISTER_FILES:
        return first, second.strip()
    return None


def _operand(text: str, labels: dict[str, int], memo: _Memo, local: dict[str, Operand]) -> Operand:
    known = memo.operands.get(text)
    if known is not None:
        return known
    known = local.get(text)
    if known is None:
        known = parse_operand(text, labels)
        store = local if "(" in text else memo.operands
        store[text] = known
    return known


def _targets(annotation: str) -> tuple[str, ...]:
    words = annotation.split(None, 1)
    return tuple(words[1].split(",")) if len(words) == 2 and words[0] == "BRANCH_TARGETS" else ()


def _raw(line: _Line) -> Instruction:
    """A line that does not parse, kept as it is."""
    text = _SPACES.sub(" ", line.text)
    opcode = text.split()[-1] if text.startswith("@") else text.split(" ")[0]
    return Instruction(
        line.address, text, None, opcode, (), (), line.encoding, line.labels, line.source, (), understood=False
    )
