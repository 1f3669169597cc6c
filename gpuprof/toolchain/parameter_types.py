"""The C++ types of a kernel's parameters, as far as a cubin tells them.

The mangled name has them all. A kernel of C linkage has the widths and kinds of its PTX (``.param .f32``), which
``-lineinfo`` leaves in the cubin, and its declaration in the source for what pointers point to.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from gpuprof.errors import GpuprofError
from gpuprof.isa.parameter_type import ParameterType
from gpuprof.toolchain.elf import read_cubin
from gpuprof.toolchain.names import demangle, signature_free

_PTX_SECTION = ".nv_debug_ptx_txt"
#: Spellings of source files for them.
_SPELLINGS = {
    "half": "__half",
    "nv_bfloat16": "__nv_bfloat16",
    "unsigned": "unsigned int",
    "uint": "unsigned int",
    "size_t": "unsigned long",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "short int": "short",
    "long int": "long",
    "long long int": "long long",
    "unsigned long int": "unsigned long",
    "unsigned long long int": "unsigned long long",
}
#: PTX's words for parameters: f32 is a float for certain, an integer's sign is not said.
_PTX_SCALARS = {"f32": "float", "f64": "double"}
_ENTRY = r"\.entry\s+{symbol}\s*\((?P<parameters>[^)]*)\)"
_QUALIFIERS = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict|__grid_constant__|struct)\b")


@lru_cache(maxsize=1024)
def parameter_types(cubin: Path, symbol: str, source: Path | None = None) -> tuple[ParameterType | None, ...]:
    """A type for each parameter, None where nothing says it; empty where not even their number is known."""
    demangled = demangle(symbol)
    if demangled != symbol:
        return tuple(_type(text) for text in _split(_signature(demangled)))
    from_ptx = _ptx_types(cubin, symbol)
    declared = _declared_types(source, symbol)
    if len(declared) != len(from_ptx):
        return from_ptx
    return tuple(_agreed(ptx, own) for ptx, own in zip(from_ptx, declared, strict=True))


def _signature(demangled: str) -> str:
    start = demangled.index(signature_free(demangled)) + len(signature_free(demangled))
    return demangled[start:].strip().removeprefix("(").rpartition(")")[0]


def _split(text: str) -> list[str]:
    """Parameters of a list, by the commas that no bracket holds."""
    parts, depth, current = [], 0, ""
    for letter in text:
        depth += (letter in "<([") - (letter in ">)]")
        if letter == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += letter
    parts.append(current)
    return [part.strip() for part in parts if part.strip() and part.strip() != "void"]


def _type(text: str) -> ParameterType | None:
    """A type in words without qualifiers; None for what is not a plain name or pointer to one."""
    name = re.sub(r"\s+", " ", _QUALIFIERS.sub(" ", text)).strip()
    name = re.sub(r"\s*\*", "*", name)
    match = re.fullmatch(r"([A-Za-z_][\w: ]*?)(\**)", name)
    if match is None or len(match[2]) > 1:
        return None
    base = match[1].strip()
    return ParameterType(_SPELLINGS.get(base, base) + match[2])


def _ptx_types(cubin: Path, symbol: str) -> tuple[ParameterType | None, ...]:
    try:
        section = read_cubin(cubin).sections.get(_PTX_SECTION)
    except GpuprofError:
        return ()
    text = section.data.replace(b"\0", b"\n").decode("utf-8", "replace") if section else ""
    entry = re.search(_ENTRY.format(symbol=re.escape(symbol)), text)
    if entry is None:
        return ()
    kinds = [re.search(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)", part) for part in _split(entry["parameters"])]
    return tuple(ParameterType(_PTX_SCALARS[kind[1]]) if kind and kind[1] in _PTX_SCALARS else None for kind in kinds)


def _declared_types(source: Path | None, name: str) -> tuple[ParameterType | None, ...]:
    """What the source's definition of a function says, where there is one and no macro or typedef hides it."""
    try:
        text = source.read_text("utf-8", "replace") if source is not None else ""
    except OSError:
        return ()
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    definition = rf"__global__[^;{{}}]*?\b{re.escape(name)}\s*\(([^;{{}}]*?)\)\s*[;{{]"
    found = {match[1] for match in re.finditer(definition, text)}
    if len(found) != 1:
        return ()
    return tuple(_declared(part) for part in _split(found.pop()))


def _declared(text: str) -> ParameterType | None:
    """``const float* __restrict__ x`` -> float*; only types that are known by name."""
    words = re.sub(r"\s*\*\s*", "* ", _QUALIFIERS.sub(" ", text.split("=", 1)[0])).split()
    found = _type(" ".join(words[:-1])) if len(words) > 1 else None
    return found if found is not None and found.scalar is not None else None


def _agreed(ptx: ParameterType | None, declared: ParameterType | None) -> ParameterType | None:
    """The declaration, unless PTX contradicts it: a macro, or another type of the same name."""
    if declared is None or declared == ptx:
        return ptx
    is_float = declared.scalar in ("float32", "float64") and not declared.is_pointer
    return ptx if ptx is not None or is_float else declared
