"""Kernel names: demangling, and finding a kernel by whatever name a person typed."""

from __future__ import annotations

import ctypes
import ctypes.util
import difflib
import functools
import re
from collections.abc import Callable, Sequence

from gpuprof.errors import KernelNotFoundError

_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1")
_LISTED = 12

#: Spellings of one type or literal; the left one is what people write, the right one what the demangler prints.
_SPELLINGS = (
    (re.compile(r"\b(\d+)[uUlL]+\b"), r"\1"),
    (re.compile(r"\((?:unsigned |signed )?(?:int|long|short|char|bool)\)(?=-?\d)"), ""),
    (re.compile(r"\bunsigned\b(?! (?:int|long|char|short))"), "unsigned int"),
    (re.compile(r"(?<!_)\bhalf(2?)\b"), r"__half\1"),
    (re.compile(r"(?<!_)\b(?:nv_)?bfloat16(2?)\b"), r"__nv_bfloat16\1"),
    (re.compile(r"\buint(32_t)?\b"), "unsigned int"),
    (re.compile(r"\bint32_t\b"), "int"),
    (re.compile(r"\bint8_t\b"), "signed char"),
    (re.compile(r"\buint8_t\b"), "unsigned char"),
)


@functools.cache
def _demangler() -> Callable[[bytes], bytes | None] | None:
    """``__cxa_demangle`` of the C++ runtime, which is there wherever a host compiler is."""
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            function, free = library.__cxa_demangle, ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        function.restype = ctypes.c_void_p
        function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
        free.argtypes = (ctypes.c_void_p,)
        return functools.partial(_call_demangler, function, free)
    return None


def _call_demangler(function: Callable[..., int | None], free: Callable[..., None], name: bytes) -> bytes | None:
    status = ctypes.c_int()
    address = function(name, None, None, ctypes.byref(status))
    if not address:
        return None
    text = ctypes.string_at(address)
    free(address)
    return text


@functools.lru_cache(maxsize=4096)
def demangle(symbol: str) -> str:
    """``void f<float, 32>(float*)`` for ``_Z1fIfLi32EEvPT_``; the symbol itself when it is not mangled."""
    call = _demangler() if symbol.startswith("_Z") else None
    text = call(symbol.encode("utf-8", "surrogateescape")) if call else None
    return text.decode("utf-8", "replace") if text else symbol


def signature_free(demangled: str) -> str:
    """The name without return type and parameters: ``f<float, 32>``, ``space::g``."""
    name = demangled.replace("(anonymous namespace)", "{anonymous}")
    depth, start, end = 0, 0, len(name)
    for position, letter in enumerate(name):
        if letter == "<":
            depth += 1
        elif letter == ">":
            depth -= 1
        elif letter == " " and depth == 0:
            start = position + 1
        elif letter == "(" and depth == 0:
            end = position
            break
    return name[start:end].replace("{anonymous}", "(anonymous namespace)")


def with_parameters(symbol: str) -> str:
    """The demangled name with its parameters and without a return type: what tells overloads apart."""
    demangled = demangle(symbol)
    return demangled[demangled.find(signature_free(demangled)) :]


def normalize(name: str) -> str:
    """A name in one spelling: no blanks that do not matter, types and literals as the demangler prints them."""
    for pattern, replacement in _SPELLINGS:
        name = pattern.sub(replacement, name)
    return re.sub(r"\s*([<>,*&:()])\s*", r"\1", name.strip()).replace("::(anonymous namespace)::", "::")


def base_name(name: str) -> str:
    """Without template arguments and namespaces: ``f`` for ``space::f<float, 32>``."""
    return name.split("<", 1)[0].split("::")[-1].strip()


def find_kernel(wanted: str, symbols: Sequence[str]) -> str:
    """The symbol that ``wanted`` names: mangled, demangled, plain, an instance, or a part that only one has.

    Raises KernelNotFoundError with what there is, nearest first; also when a name fits several.
    """
    if wanted in symbols:
        return wanted
    if not symbols:
        raise KernelNotFoundError(no_kernel_message(wanted))
    names = {symbol: normalize(signature_free(demangle(symbol))) for symbol in symbols}
    target = normalize(wanted)
    for fits in _rules(target):
        matches = [symbol for symbol, name in names.items() if fits(symbol, name)]
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise KernelNotFoundError(f"'{wanted}' names {len(matches)} kernels: {_listing(matches, wanted)}")
    raise KernelNotFoundError(f"no kernel '{wanted}'; available: {_listing(symbols, wanted)}")


def _rules(target: str) -> tuple[Callable[[str, str], bool], ...]:
    """From exact to loose; the first rule that fits any kernel decides."""
    plain = target.split("(", 1)[0] if not target.startswith("(") else target
    return (
        lambda symbol, name: normalize(demangle(symbol)) == target,
        lambda symbol, name: name == plain,
        lambda symbol, name: name.split("::")[-1] == plain or _without_namespace(name) == plain,
        lambda symbol, name: "<" not in plain and base_name(name) == plain,
        lambda symbol, name: plain.endswith("<>") and base_name(name) == base_name(plain),
        lambda symbol, name: "<" in plain and (name.startswith(plain.rstrip(">") + ",") or name == plain),
        lambda symbol, name: plain in name or plain in symbol,
    )


def _without_namespace(name: str) -> str:
    head, bracket, rest = name.partition("<")
    return head.split("::")[-1] + bracket + rest


def no_kernel_message(wanted: str, templates: Sequence[str] = ()) -> str:
    """What to say about a file that compiled to no kernel; ``templates`` are the kernels it writes, with parameters."""
    if templates:
        example = f"{base_name(templates[0])}<...>"
        written = f" (it writes {', '.join(templates)})"
    else:
        example, written = f"{base_name(wanted) or 'f'}<float, 32>", ""
    return (
        f"the source compiles to no kernel, so there is no '{wanted}'{written}: a __global__ template is compiled only "
        f"when it is instantiated; name an instance, as in kernel: {example}"
    )


def _listing(symbols: Sequence[str], wanted: str) -> str:
    """Demangled names, nearest first, cut to a line or two."""
    target = normalize(wanted)
    plain = [signature_free(demangle(symbol)) for symbol in symbols]
    names = [
        with_parameters(symbol) if plain.count(name) > 1 else name for symbol, name in zip(symbols, plain, strict=True)
    ]
    names.sort(key=lambda name: _distance(name, target))
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _distance(name: str, target: str) -> float:
    return -difflib.SequenceMatcher(None, normalize(name).lower(), target.lower()).ratio()
