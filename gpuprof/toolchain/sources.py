"""What kernels a CUDA source writes down: found in its text, without compiling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
_GLOBAL = re.compile(r"\b__global__\b")
_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*")
_TEMPLATE = re.compile(r"\btemplate\s*<")
_WORDS_BEFORE_A_NAME = {"void", "static", "inline", "extern", "__noinline__", "__forceinline__", "const"}
_WORDS_WITH_ARGUMENTS = {"__launch_bounds__", "__maxnreg__", "__cluster_dims__", "__block_size__", "__attribute__"}


@dataclass(frozen=True)
class SourceKernel:
    """A ``__global__`` function in a source; ``template`` is its parameter list, None for a plain function.

    ``namespace`` ends with ``::``, or is empty; an unnamed one is ``(anonymous namespace)::``, as demanglers print it.
    """

    name: str
    line: int
    template: str | None = None
    namespace: str = ""

    @property
    def default_name(self) -> str:
        """What to ask the compiler for: ``f``, or ``f<>`` for a template (whose parameters may have defaults)."""
        return self.namespace + (self.name if self.template is None else f"{self.name}<>")

    def __str__(self) -> str:
        return self.namespace + (self.name if self.template is None else f"{self.name}<{self.template}>")


def scan_kernels(text: str) -> tuple[SourceKernel, ...]:
    """The kernels of a source in order, each name once; comments and strings are looked through."""
    plain = _NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    found: dict[str, SourceKernel] = {}
    for match in _GLOBAL.finditer(plain):
        name = _name_after(plain, match.end())
        if name and not _is_instantiation(plain, match.start()):
            line = plain.count("\n", 0, match.start()) + 1
            template = _template_before(plain, match.start())
            found.setdefault(name, SourceKernel(name, line, template, _namespace_at(plain, match.start())))
    return tuple(found.values())


def qualify(instance: str, kernels: Sequence[SourceKernel]) -> str:
    """A template instance with the namespace that its template is in, where it was left out and only one fits."""
    name = instance.split("<", 1)[0].strip()
    places = [kernel.namespace for kernel in kernels if kernel.name == name and kernel.template is not None]
    return places[0] + instance if len(places) == 1 else instance


def default_kernel(text: str, stem: str) -> str | None:
    """The kernel that a source of that file stem is about: its only one, or the one that bears its name."""
    kernels = scan_kernels(text)
    if len(kernels) == 1:
        return kernels[0].default_name
    near = [kernel for kernel in kernels if kernel.name in (stem, f"{stem}_kernel")]
    return near[0].default_name if near else None


def enclosing_function(text: str, line: int) -> str:
    """The text before the brace of the outermost function or type that a line (from 1) lies in, or an empty text."""
    plain = _NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    starts = [0, *(match.end() for match in re.finditer("\n", plain)), len(plain) + 1]
    if not 1 <= line < len(starts):
        return ""
    first, last = starts[line - 1], starts[line] - 1
    heads = [head for head, start, end in _outer_blocks(plain) if start <= last and end >= first]
    return heads[-1] if heads else ""


def _outer_blocks(text: str) -> list[tuple[str, int, int]]:
    """Head, first and last position of each block that is not itself in one; namespaces are looked through."""
    blocks: list[tuple[str, int, int]] = []
    depth, start, head = 0, 0, ""
    for position, letter in enumerate(text):
        if letter == "{" and depth == 0 and _is_namespace(text[start:position]):
            start = position + 1
        elif letter == "{":
            if depth == 0:
                head = text[start:position].strip()
                start += len(text[start:position]) - len(text[start:position].lstrip())
            depth += 1
        elif letter == "}" and depth:
            depth -= 1
            if depth == 0:
                blocks.append((head, start, position))
                start = position + 1
        elif letter in ";}" and depth == 0:
            start = position + 1
    return [*blocks, (head, start, len(text))] if depth else blocks


def _is_namespace(head: str) -> bool:
    """``namespace x`` or ``extern "C"`` (its string already blanked): what is inside is still outermost."""
    return re.search(r"\bnamespace\b[^()=]*$|\bextern\s*$", head) is not None


def _namespace_at(text: str, position: int) -> str:
    """The namespaces around a position, each with ``::`` after it; ``inline`` and nested ones included."""
    stack: list[str] = []
    for match in re.finditer(r"(?:\bnamespace\s*([\w:\s]*?)\s*)?\{|\}", text[:position]):
        if match.group() == "}":
            del stack[-1:]
        elif match.group().startswith("namespace"):
            stack.append(f"{match.group(1) or '(anonymous namespace)'}::")
        else:
            stack.append("")
    return "".join(stack)


def _name_after(text: str, position: int) -> str | None:
    """The function's name: the first word that is followed by ``(`` and is not an attribute."""
    for _ in range(16):
        match = _NAME.match(text, position)
        if match is None:
            return None
        word, position = match.group(1), match.end()
        following = text[position : position + 1]
        if word in _WORDS_WITH_ARGUMENTS and following == "(":
            position = _closing(text, position, "(", ")")
        elif following == "(" and word not in _WORDS_BEFORE_A_NAME:
            return word
    return None


def _template_before(text: str, position: int) -> str | None:
    """The parameter list of the template head that ends right before a declaration."""
    start = max(text.rfind(mark, 0, position) for mark in ";}{")
    for match in _TEMPLATE.finditer(text, max(0, text.rfind("template", 0, position)), position):
        if match.start() > start or "{" not in text[match.end() : position]:
            end = _closing_angle(text, match.end() - 1)
            return " ".join(text[match.end() : end - 1].split())
    return None


def _is_instantiation(text: str, position: int) -> bool:
    """``template __global__ void f<float>(...)`` names a kernel that is written elsewhere."""
    return re.search(r"\btemplate\s+$", text[max(0, position - 40) : position]) is not None


def _closing_angle(text: str, position: int) -> int:
    """Behind the ``>`` that closes a template list; one inside parentheses is a comparison."""
    depth = nested = 0
    for index in range(position, len(text)):
        nested += (text[index] in "([{") - (text[index] in ")]}")
        if nested == 0:
            depth += (text[index] == "<") - (text[index] == ">")
            if depth == 0:
                return index + 1
    return len(text)


def _closing(text: str, position: int, opening: str, closing: str) -> int:
    depth = 0
    for index in range(position, len(text)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index + 1
    return len(text)
