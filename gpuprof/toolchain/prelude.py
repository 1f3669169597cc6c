"""What has to be known of a source's text before nvcc reads it.

Parameters that reach a source as ``constexpr`` variables, because a macro cannot.

nvcc's preprocessor leaves the operand of ``#pragma unroll NAME`` as it is, so that a macro of that name no longer
exists when the pragma is read ("identifier is undefined"); a constant of that name does. Names that an ``#if`` asks
for stay macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from gpuprof.system.files import MAX_TEXT_BYTES, is_file, reason_unreadable
from gpuprof.toolchain.nvcc import Unit

NAME = "gpuprof_parameters.h"
#: More headers than this are not searched.
_MAX_FILES = 100
_WORD = re.compile(r"[A-Za-z_]\w*")
_UNROLL = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+(?:unroll|GCC[ \t]+unroll)\b(.*)$|_Pragma\(\s*\"unroll\b([^\"]*)\"", re.M
)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|define|undef)\b(.*)$", re.M)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+)\"", re.M)
#: A variable in a GPU's memory: after the word nothing of a function's head is before the name ends.
_VARIABLE = re.compile(r"__(?:device|constant|managed)__[^;(){}]*[;={\[]")
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?[lL]{0,2}")


def constants(unit: Unit) -> tuple[tuple[str, str], ...]:
    """The defines of a unit that have to be constants: integers that an unroll pragma names and no directive does."""
    candidates = {name for name, value in unit.defines if _INTEGER.fullmatch(value)}
    if not candidates:
        return ()
    texts = list(_texts(unit.source, unit.search_folders))
    unrolled = candidates & _words("".join(found) for text in texts for found in _UNROLL.findall(text))
    if not unrolled:
        return ()
    asked = _words(found for text in texts for found in _CONDITION.findall(text))
    return tuple((name, value) for name, value in unit.defines if name in unrolled - asked)


def has_device_variables(source: Path, include: Iterable[Path] = ()) -> bool:
    """Whether a source, or a header that it includes in quotes, declares a variable in device memory."""
    return any(_VARIABLE.search(text) for text in _texts(source, include))


def text_of(values: Iterable[tuple[str, str]]) -> str:
    """The header that declares them."""
    return "".join(f"static constexpr {_type(value)} {name} = {value};\n" for name, value in values)


def _type(value: str) -> str:
    number = int(value.rstrip("uUlL"), 0) if value.strip("+-0123456789uUlL") else int(value.rstrip("uUlL"))
    return "int" if -(2**31) <= number < 2**31 else "long long"


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text)}


def _texts(source: Path, folders: Iterable[Path]) -> Iterable[str]:
    """The source and the headers that it includes in quotes, as far as they can be read."""
    waiting, seen = [source], set[Path]()
    places = tuple(folders)
    while waiting and len(seen) < _MAX_FILES:
        file = waiting.pop()
        if file in seen or not is_file(file) or reason_unreadable(file, MAX_TEXT_BYTES) is not None:
            continue
        seen.add(file)
        text = file.read_text(encoding="utf-8", errors="replace")
        yield text
        for name in _INCLUDE.findall(text):
            waiting += [folder / name for folder in (file.parent, *places) if is_file(folder / name)][:1]
