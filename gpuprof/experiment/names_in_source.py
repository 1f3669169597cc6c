"""Which parameters have to reach the compiler: those whose names the source, its headers or the flags use.

Any other define would cost a build for each value without changing the machine code, and might replace a name in a
header that has nothing to do with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from gpuprof.system.files import MAX_TEXT_BYTES, is_file, reason_unreadable

_WORD = re.compile(r"[A-Za-z_]\w*")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?:_next)?\b[ \t]*(.*)$", re.M)
_NAMED = re.compile(r'"([^"\n]+)"|<([^>\n]+)>')
#: Comments, and the strings in which something that looks like one is none.
_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)


#: With more headers than this every parameter is passed on.
_MAX_FILES = 200
_FORCED = ("-include", "--pre-include")
_FOLDERS = ("-I", "--include-path", "-isystem", "--system-include")


@dataclass(frozen=True)
class SourceNames:
    """``words``: every word of a source and of the headers beside it; ``whole``: False when a header was not found."""

    words: frozenset[str]
    whole: bool


@dataclass
class DefineFilter:
    """Keeps of the parameters those that a compile needs. Each source is read once."""

    _read: dict[tuple[tuple[Path, ...], tuple[Path, ...]], SourceNames] = field(default_factory=dict)

    def needed(
        self, defines: Mapping[str, str], source: Path, function: str, flags: Sequence[str], include: Sequence[Path]
    ) -> dict[str, str]:
        """The defines whose names the source uses, or ``function``, a flag or the value of another one of them."""
        sources = (source, *_values(flags, _FORCED))
        folders = (*include, *_values(flags, _FOLDERS))
        if (sources, folders) not in self._read:
            self._read[sources, folders] = names_in(sources, folders)
        names = self._read[sources, folders]
        if not names.whole:
            return dict(defines)
        words = names.words.union(_WORD.findall(" ".join((function, *flags))))
        needed: set[str] = set()
        while more := {name for name in defines if name in words} - needed:
            needed |= more
            words = words.union(*(_WORD.findall(defines[name]) for name in more))
        return {name: value for name, value in defines.items() if name in needed}


def _values(flags: Sequence[str], options: Sequence[str]) -> tuple[Path, ...]:
    """The values of some options, given as the next word or in the same one."""
    found = []
    for option in options:
        found += [Path(after) for word, after in pairwise(flags) if word == option]
        joined = [word.removeprefix(option).removeprefix("=") for word in flags if word.startswith(option)]
        found += [Path(value) for value in joined if value]
    return tuple(found)


def names_in(sources: Sequence[Path], folders: Sequence[Path]) -> SourceNames:
    """The words of sources outside comments, and of what they include from their folders or from ``folders``.

    Headers in angle brackets that are in none of them are the toolkit's. A quoted one that is not found, an
    ``#include`` of a macro, or a file that cannot be read leaves the answer open (``whole`` is False).
    """
    words: set[str] = set()
    beside = [source.parent for source in sources]
    waiting, seen, whole = list(sources), set[Path](), True
    while waiting and whole:
        file = waiting.pop().resolve()
        if file in seen:
            continue
        seen.add(file)
        text = _text(file)
        if text is None or len(seen) > _MAX_FILES:
            whole = False
            break
        words.update(_WORD.findall(text))
        for operand in _INCLUDE.findall(text):
            found, needed = _header(operand, (file.parent, *beside, *folders))
            waiting.extend(found)
            whole = whole and (bool(found) or not needed)
    return SourceNames(frozenset(words), whole)


def _header(operand: str, folders: Iterable[Path]) -> tuple[list[Path], bool]:
    """The first file of that name, and whether it would have to be there."""
    named = _NAMED.match(operand)
    if named is None:
        return [], True
    name = named[1] or named[2]
    return [folder / name for folder in folders if is_file(folder / name)][:1], named[1] is not None


def _text(file: Path) -> str | None:
    """A file without its comments. Raw strings may hold anything, so that a text with one is kept as it is."""
    if reason_unreadable(file, MAX_TEXT_BYTES) is not None:
        return None
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    if 'R"' in text:
        return text
    return _COMMENT.sub(lambda match: " " if match.group().startswith("/") else match.group(), text)
