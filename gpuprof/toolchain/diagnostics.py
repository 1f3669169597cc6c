"""nvcc's page of output as one sentence: known failures by their cause and repair, others by their first error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuprof.toolchain.names import base_name, demangle
from gpuprof.toolchain.nvcc import UNIT_NAME
from gpuprof.toolchain.sources import enclosing_function, scan_kernels

#: ``file(line): error: text`` of NVIDIA's front end, ``file:line:column: error: text`` of the host compiler.
_EDG = re.compile(r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)$", re.M)
_GCC = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)$", re.M)
_PTXAS = re.compile(r"^ptxas .*?(?:error|fatal)\s*: (?P<text>.*)$", re.M)
_NVCC = re.compile(r"^(?:nvcc|nvlink) (?:error|fatal)\s*: (?P<text>.*)$", re.M)
_TEXT_LIMIT = 300
_LISTED = 6
#: What the front end says where a macro has put something that cannot be there, and how far above the cause may be.
_SYNTAX = r"^expected |^declaration |^invalid |^this declaration |type specifier|is not a type"
_LINES_BEFORE = 2
_TYPES = frozenset(("bool", "char", "short", "int", "long", "unsigned", "float", "double", "half", "void", "size_t"))
_NO_TYPES = frozenset(("return", "case", "else", "sizeof", "goto", "throw", "and", "or", "not"))

#: The fix for an undefined name, by name.
_HEADERS = {
    "printf": "<cstdio>",
    "fprintf": "<cstdio>",
    "assert": "<cassert>",
    "malloc": "<cstdlib>",
    "free": "<cstdlib>",
    "exit": "<cstdlib>",
    "memcpy": "<cstring>",
    "memset": "<cstring>",
    "INT_MAX": "<climits>",
    "FLT_MAX": "<cfloat>",
    **dict.fromkeys(
        ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t"), "<cstdint>"
    ),
    "__half": "<cuda_fp16.h>",
    "half": "<cuda_fp16.h>",
    "half2": "<cuda_fp16.h>",
    "__half2": "<cuda_fp16.h>",
    "__nv_bfloat16": "<cuda_bf16.h>",
    "nv_bfloat16": "<cuda_bf16.h>",
    "nvcuda": "<mma.h>",
    "wmma": "<mma.h>, and say nvcuda::wmma",
    "cub": "<cub/cub.cuh>",
    "thrust": "the thrust header that declares it",
    "cooperative_groups": "<cooperative_groups.h>",
}


#: Repairs for errors whose own text names none.
_ADVICE = (
    (r"calling a __host__ function", "; declare it __device__, or __host__ __device__"),
    (r"calling a constexpr __host__ function", "; the flag --expt-relaxed-constexpr allows it"),
    (r"asm operand type size|unknown specifier .* in asm", "; the letter in the asm constraint does not fit the type"),
)


@dataclass(frozen=True)
class Failure:
    """What is known when nvcc has failed."""

    log: str
    source: Path
    arch: str
    instances: tuple[str, ...]
    folders: Sequence[Path]  #: searched for quoted includes
    known_archs: Callable[[], Sequence[str]]  #: asks nvcc; called only when the arch is the trouble
    defines: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Error:
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text[:_TEXT_LIMIT]}"


def explain(failure: Failure) -> str:
    """What went wrong, its place, and the repair where one is known."""
    for rule in _RULES:
        message = rule(failure)
        if message:
            return message
    return _last_line(failure.log)


def _first(log: str) -> _Error | None:
    matches = [match for pattern in (_EDG, _GCC) for match in pattern.finditer(log)]
    if not matches:
        return None
    match = min(matches, key=lambda each: each.start())
    return _Error(match["file"], int(match["line"]), match["text"])


def _unknown_arch(failure: Failure) -> str:
    if not re.search(r"Unsupported gpu architecture|is not defined for option '(?:gpu-architecture|arch)", failure.log):
        return ""
    wanted = _digits(failure.arch)
    known = sorted(failure.known_archs(), key=lambda name: abs(_digits(name) - wanted))
    return f"this nvcc does not know {failure.arch}; it knows {', '.join(known) or 'others'} (nearest first)"


def _host_compiler_missing(failure: Failure) -> str:
    match = re.search(
        r"^(?:sh: .*?)?(\S*(?:gcc|g\+\+|clang)\S*): (?:No such file|not found|command not found)", failure.log, re.M
    )
    if match is None and failure.log.strip():
        return ""
    program = match.group(1) if match else "g++"
    return f"nvcc's host compiler is missing ({program}): install g++, or name another with --ccbin"


def _host_compiler_unsupported(failure: Failure) -> str:
    match = re.search(r"#error -- unsupported (GNU|clang|Microsoft Visual Studio)[^!]*! ?([^!]*)!", failure.log)
    if match is None:
        return ""
    detail = f" ({match.group(2).strip()})" if match.group(2).strip() else ""
    return f"nvcc does not support this host compiler{detail}: name an older one with --ccbin, as in --ccbin g++-12"


def _missing_header(failure: Failure) -> str:
    match = re.search(
        r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: fatal error: (?P<name>.+?): No such file", failure.log, re.M
    ) or re.search(
        r"^(?P<file>.+?)\((?P<line>\d+)\): .*cannot open source file \"(?P<name>[^\"]+)\"", failure.log, re.M
    )
    if match is None:
        return ""
    folders = ", ".join(str(folder) for folder in dict.fromkeys(failure.folders))
    return (
        f"{match['file']}:{match['line']}: no header {match['name']}; searched {folders} and the toolkit's. "
        "Add its folder with include: or -I"
    )


def _in_the_unit(failure: Failure) -> str:
    """An error in the generated lines: the template instance that was asked for does not exist."""
    error = _first(failure.log)
    if error is None or Path(error.file).name != UNIT_NAME or not failure.instances:
        return ""
    instance = failure.instances[min(max(0, error.line - 2), len(failure.instances) - 1)]
    kernels = scan_kernels(_text(failure.source))
    same = [kernel for kernel in kernels if kernel.name == base_name(instance)] or list(kernels)
    have = ", ".join(str(kernel) for kernel in same[:_LISTED]) + (", ..." if len(same) > _LISTED else "")
    there = f"; {failure.source.name} has {have}" if have else ""
    name = _undefined_name(error, failure)
    fix = f"; #include {_HEADERS[name]} in it" if name in _HEADERS else there
    return f"kernel '{instance}' cannot be instantiated: {error.text}{fix}"


def _replaced_by_a_define(failure: Failure) -> str:
    """A define whose name the code uses for something of its own: syntax errors that nobody understands.

    nvcc includes headers of the toolkit before the source, whose template parameters are called T and N as well.
    """
    error = _first(failure.log)
    if error is None or not re.search(_SYNTAX, error.text):
        return ""
    lines = _text(Path(error.file)).split("\n")[max(0, error.line - _LINES_BEFORE) : error.line]
    for name, value in failure.defines:
        if any(_declares(line, name) for line in lines):
            place = f"{error.file}:{error.line} ({error.text[:_TEXT_LIMIT]})"
            return (
                f"-D {name}={value} replaces the name {name} in {place}: "
                f"rename the parameter, or use it as {{{name}}} in the name of the kernel"
            )
    return ""


def _declares(line: str, name: str) -> bool:
    """Whether a line seems to declare a name rather than use it: a word that may be a type is before it."""
    before = re.search(rf"(\w+)(?:\s+|\s*[*&]+\s*){re.escape(name)}\b", line)
    if before is None or line.lstrip().startswith("#"):
        return False
    is_pointer = re.search(rf"[*&]\s*{re.escape(name)}\b", before.group()) is not None
    return before.group(1) in _TYPES if is_pointer else before.group(1) not in _NO_TYPES


def _in_host_code(failure: Failure) -> str:
    """An error outside every kernel: nvcc reads host code too, though nothing of it is needed."""
    error = _first(failure.log)
    if error is None or Path(error.file) != failure.source or "__device__" in error.text or "__global__" in error.text:
        return ""
    head = enclosing_function(_text(failure.source), error.line)
    if not head or re.search(r"__(?:global|device)__|\b(?:class|struct|union|enum)\b", head):
        return ""
    return f"{error} (in host code, not in a kernel{_cure(error, failure)})"


def _cure(error: _Error, failure: Failure) -> str:
    name = _undefined_name(error, failure)
    if name in _HEADERS:
        return f"; add #include {_HEADERS[name]}"
    if name.isupper():
        lines = _text(failure.source).split("\n")
        called = error.line <= len(lines) and re.search(rf"\b{name}\s*\(", lines[error.line - 1])
        return f"; add -D '{name}(x)=x'" if called else f"; add -D {name}=value"
    return "; put it into #ifndef __CUDA_ARCH__ or a file of its own"


def _other_file(failure: Failure) -> str:
    names = re.findall(r"(?:Unresolved extern (?:function|variable)|Undefined reference to) '([^']+)'", failure.log)
    if not names:
        return ""
    wanted = ", ".join(dict.fromkeys(demangle(name) for name in names))
    return (
        f"{failure.source}: {wanted} is declared here and defined in another file, but a variant is one file: "
        "#include the file that defines it"
    )


def _too_much_shared(failure: Failure) -> str:
    match = re.search(
        r"Entry function '(\S+)' uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)", failure.log
    )
    if match is None:
        return ""
    kernel, used, limit = demangle(match.group(1)), int(match.group(2), 16), int(match.group(3), 16)
    return (
        f"{kernel} declares {used:,} bytes of static shared memory, at most {limit:,} are allowed: make it dynamic "
        "(extern __shared__, and shared: in the YAML)"
    )


def _instruction_of_another_arch(failure: Failure) -> str:
    match = re.search(r"^ptxas .*?: ((?:Instruction|Feature|Modifier) '.*)$", failure.log, re.M)
    return f"{failure.source}: {match.group(1)}: build it for another --arch" if match else ""


def _in_device_code(failure: Failure) -> str:
    """An undefined name with its repair, where that is known."""
    error = _first(failure.log)
    name = _undefined_name(error, failure) if error else ""
    if name in _HEADERS:
        return f"{error}; add #include {_HEADERS[name]}"
    return f"{error}; if it is a parameter, give it with -D {name}=value" if name.isupper() else ""


def _undefined_name(error: _Error, failure: Failure) -> str:
    """The name that an error is about; for a namespace, which the message does not name, from the source's line."""
    match = re.search(r'identifier "(\w+)" is undefined', error.text)
    if match:
        return match.group(1)
    if 'name followed by "::"' not in error.text or Path(error.file) != failure.source:
        return ""
    lines = _text(failure.source).split("\n")
    scopes = re.findall(r"(\w+)\s*::", lines[error.line - 1]) if error.line <= len(lines) else []
    return next((scope for scope in scopes if scope in _HEADERS), "")


def missing_libraries(log: str) -> list[str]:
    """What the linker looked for in vain, as in ``-lcudart_static``."""
    return list(dict.fromkeys(re.findall(r"cannot find -l(\w+)", log)))


def _library_not_found(failure: Failure) -> str:
    names = missing_libraries(failure.log)
    if not names:
        return ""
    listed = ", ".join(f"lib{name}" for name in names)
    advice = "give a toolkit that has it with --cuda-home, or -L to its folder"
    return f"{failure.source}: the linker found no {listed}: {advice}"


def _killed(failure: Failure) -> str:
    match = re.search(r"'(\w+)' died due to signal 9", failure.log)
    if match is None:
        return ""
    repair = "fewer builds at once need less (`gpuprof run` and `counters` take --jobs)"
    return f"{failure.source}: {match.group(1)} was killed, likely for memory: {repair}"


def _first_error(failure: Failure) -> str:
    """``file:line: message``, or the first complaint of ptxas or nvcc itself."""
    error = _first(failure.log)
    if error is not None:
        advice = next((text for pattern, text in _ADVICE if re.search(pattern, error.text)), "")
        return f"{error}{advice}"
    for pattern, speaker in ((_PTXAS, "ptxas"), (_NVCC, "nvcc")):
        match = pattern.search(failure.log)
        if match:
            return f"{speaker}: {match['text'][:_TEXT_LIMIT]}"
    return ""


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    return f"nvcc failed: {lines[-1][:_TEXT_LIMIT]}" if lines else "nvcc failed without output"


def _digits(arch: str) -> int:
    return int(re.sub(r"\D", "", arch) or 0)


def _text(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_RULES: tuple[Callable[[Failure], str], ...] = (
    _unknown_arch,
    _host_compiler_missing,
    _host_compiler_unsupported,
    _missing_header,
    _in_the_unit,
    _replaced_by_a_define,
    _in_host_code,
    _other_file,
    _too_much_shared,
    _instruction_of_another_arch,
    _in_device_code,
    _library_not_found,
    _killed,
    _first_error,
)
