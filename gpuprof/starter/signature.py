"""Kernels of a CUDA source as text: names, parameters, launch bounds, template parameters and bodies.

The compiler is not asked: a file is read as people write it, and what cannot be read is left to a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_BOUNDS = re.compile(r"__launch_bounds__\s*\(\s*([^,()]+)")
_VOID = re.compile(r"\bvoid\b")
_NAME = re.compile(r"\s*(?:__launch_bounds__\s*\([^()]*\)\s*)?(\w+)\s*\(")
_OPENING = re.compile(r"\s*\{")
_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*([\w\s:]+);|\btypedef\s+([\w\s:]+?)\s+(\w+)\s*;")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_CONSTANT = re.compile(r"\b(?:constexpr|const)\s+(?:static\s+)?(?:unsigned\s+)?(?:int|size_t)\s+(\w+)\s*=\s*([^;]+);")
_TEMPLATE = re.compile(r"template\s*<([^<>]*)>\s*(?:static\s+|inline\s+|extern\s+\"C\"\s+)*$")
_WORDS = ("const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "struct", "std::")


@dataclass(frozen=True)
class Parameter:
    """``type`` without ``const`` and aliases: ``float``, ``unsigned int``; ``constant``: what it points to is."""

    name: str
    type: str
    pointers: int
    constant: bool


@dataclass(frozen=True)
class Kernel:
    """One ``__global__`` function. ``template`` is its template parameters as (kind, name)."""

    name: str
    parameters: tuple[Parameter, ...]
    body: str
    bounds: int | None
    template: tuple[tuple[str, str], ...]


def constants(text: str) -> dict[str, int]:
    """Whole numbers that ``#define`` and ``constexpr int`` give names."""
    found: dict[str, int] = {}
    pairs = (*_DEFINE.findall(text), *_CONSTANT.findall(text))
    for name, value in pairs:
        number = whole(value, found)
        if number is not None:
            found[name] = number
    return found


def whole(text: str, known: dict[str, int]) -> int | None:
    """The value of a product or sum of numbers and known names; None for anything else."""
    text = re.sub(r"\b[A-Za-z_]\w*\b", lambda match: str(known.get(match[0], "?")), text.strip())
    if not re.fullmatch(r"[\d\s+*()-]+", text) or "**" in text:
        return None
    from gpuprof.errors import ExpressionError
    from gpuprof.experiment.expressions import parse

    try:
        value = parse(text).evaluate({})
    except ExpressionError:
        return None
    return int(value) if isinstance(value, (int, float)) else None


def kernels_of(source: str) -> list[Kernel]:
    """Every kernel that the text defines, in its order."""
    text = _COMMENT.sub(" ", source)
    aliases = {**dict(_DEFINE.findall(text)), **{a or d: b or c for a, b, c, d in _ALIAS.findall(text)}}
    return list(_kernels(text, aliases))


def _kernels(text: str, aliases: dict[str, str]) -> Iterator[Kernel]:
    known = constants(text)
    for match in re.finditer(r"__global__", text):
        head = _VOID.search(text, match.end())
        name = _NAME.match(text, head.end()) if head else None
        if head is None or name is None:
            continue
        close = _closing(text, name.end() - 1, "()")
        start = _OPENING.match(text, close + 1)
        if start is None:  # a declaration
            continue
        bounds = _BOUNDS.search(text, match.end(), name.end())
        template = _TEMPLATE.search(text[: match.start()].rstrip())
        yield Kernel(
            name[1],
            tuple(_parameter(part, aliases) for part in _split(text[name.end() : close]) if part not in ("", "void")),
            text[start.end() : _closing(text, start.end() - 1, "{}")],
            whole(bounds[1], known) if bounds else None,
            tuple(_template_parameter(part) for part in _split(template[1])) if template else (),
        )


def _closing(text: str, start: int, pair: str) -> int:
    depth = 0
    for index in range(start, len(text)):
        depth += (text[index] == pair[0]) - (text[index] == pair[1])
        if depth == 0:
            return index
    return len(text)


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth, last = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and depth == 0:
            parts.append(text[last:index].strip())
            last = index + 1
    return [*parts, text[last:].strip()]


def _parameter(text: str, aliases: dict[str, str]) -> Parameter:
    text = text.split("=")[0].strip()
    array = text.count("[")
    text = re.sub(r"\[[^\]]*\]", "", text).strip()
    match = re.search(r"(\w+)$", text)
    name = match[1] if match else ""
    kind = text[: -len(name)] if name else text
    pointers = kind.count("*") + array
    constant = bool(re.search(r"\bconst\b", kind.split("*")[0]))
    words = [word for word in re.sub(r"[*&]", " ", kind).split() if word not in _WORDS]
    for _ in range(4):  # an alias may name another
        words = [part for word in words for part in aliases.get(word, word).split()]
    return Parameter(name, " ".join(words), pointers, constant)


def _template_parameter(text: str) -> tuple[str, str]:
    words = text.split("=")[0].split()
    return (" ".join(words[:-1]), words[-1]) if len(words) > 1 else ("typename", text)
