"""The YAML text for a kernel that was read: sizes, buffers, block, grid and arguments, guessed from names and use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword

from gpuprof.errors import UsageError
from gpuprof.starter.signature import Kernel, Parameter, constants, kernels_of, whole

#: C's name of an element -> (numpy's, elements that it holds).
ELEMENTS: Mapping[str, tuple[str, int]] = {
    **dict.fromkeys(("float",), ("float32", 1)),
    **{f"float{n}": ("float32", n) for n in (2, 3, 4)},
    **{f"int{n}": ("int32", n) for n in (2, 3, 4)},
    **{f"uint{n}": ("uint32", n) for n in (2, 3, 4)},
    **{f"uchar{n}": ("uint8", n) for n in (2, 3, 4)},
    **{f"double{n}": ("float64", n) for n in (2,)},
    "double": ("float64", 1),
    **dict.fromkeys(("half", "__half"), ("float16", 1)),
    **dict.fromkeys(("half2", "__half2"), ("float16", 2)),
    **dict.fromkeys(("int", "int32_t", "signed int", "signed"), ("int32", 1)),
    **dict.fromkeys(("unsigned", "unsigned int", "uint32_t", "uint"), ("uint32", 1)),
    **dict.fromkeys(("long", "long long", "long long int", "int64_t", "ptrdiff_t"), ("int64", 1)),
    **dict.fromkeys(("unsigned long", "unsigned long long", "size_t", "uint64_t"), ("uint64", 1)),
    **dict.fromkeys(("short", "int16_t"), ("int16", 1)),
    **dict.fromkeys(("unsigned short", "uint16_t", "ushort"), ("uint16", 1)),
    **dict.fromkeys(("char", "signed char", "int8_t"), ("int8", 1)),
    **dict.fromkeys(("unsigned char", "uint8_t", "uchar"), ("uint8", 1)),
    "bool": ("bool", 1),
}
#: Values of whole-number parameters whose names say what they are; the others are sizes.
NAMED_VALUES: Sequence[tuple[str, int]] = (
    (r"^(offset|start|begin|first|shift|seed|base|device|rank)", 0),
    (r"^(stride|step|inc|pitch_step|alpha|beta|scale)", 1),
    (r"(iter|steps|rounds|repeat|times|radius|bins?$|heads)", 4),
)
SIZE_1D, SIZE_2D, SIZE_3D = 4096, 64, 16
_SHARED = re.compile(r"(?<!extern )__shared__\s+[\w\s:]+?\w+\s*((?:\[[^\]]+\])+)")


def yaml_name(name: str) -> str:
    """The parameter's name where the YAML may use it, else one with an underscore: ``in``, ``i``, ``min``."""
    from gpuprof.experiment.functions import FUNCTIONS

    return f"{name}_" if iskeyword(name) or name in FUNCTIONS or name in ("i", "pi", "inf", "nan") else name


@dataclass(frozen=True)
class Starter:
    """``text`` is the YAML; ``guesses`` what it guessed that a person should look at."""

    text: str
    guesses: tuple[str, ...]


def starter_for(source: str, file: str, name: str, wanted: str | None = None) -> Starter:
    """The YAML for a kernel of ``source``, which the YAML calls ``file``.

    Raises:
        UsageError: no kernel, several of which none was named, or a parameter that no YAML argument can be.
    """
    kernel = _pick(kernels_of(source), file, wanted)
    return _write(kernel, _Shape.of(kernel, constants(source)), file, name)


def _pick(kernels: Sequence[Kernel], file: str, wanted: str | None) -> Kernel:
    names = ", ".join(kernel.name for kernel in kernels)
    if not kernels:
        raise UsageError(f"{file} defines no __global__ function")
    chosen = [kernel for kernel in kernels if wanted in (None, kernel.name)]
    if not chosen:
        raise UsageError(f"{file} has no kernel '{wanted}'; it has {names}")
    if len(chosen) > 1 and wanted is None:
        raise UsageError(f"{file} has {len(chosen)} kernels; name one with --kernel: {names}")
    return chosen[0]


@dataclass(frozen=True)
class _Shape:
    """How the kernel is launched: dimensions that it uses, threads in each, and the extent of a size."""

    dimensions: int
    block: tuple[int, ...]
    size: int

    @classmethod
    def of(cls, kernel: Kernel, known: dict[str, int]) -> _Shape:
        body = kernel.body
        dimensions = 3 if re.search(r"(threadIdx|blockIdx)\s*\.\s*z", body) else 2 if _uses_y(body) else 1
        arrays = [re.findall(r"\[([^\]]+)\]", match) for match in _SHARED.findall(body)]
        extents = [found for array in arrays if (found := whole(array[-1].split("+")[0], known))]
        if dimensions == 1:
            block: tuple[int, ...] = (kernel.bounds or min([256, *(extent for extent in extents if extent >= 32)]),)
        elif dimensions == 2:
            side = min([16, *extents]) if not extents or extents[0] not in (8, 32) else extents[0]
            block = (side, side) if kernel.bounds is None or side * side <= kernel.bounds else (kernel.bounds, 1)
        else:
            block = (8, 8, 4)
        several = len(_sizes(kernel)) > 1 or bool(re.search(r"\*\s*\(?\w+", body) and _multiplies(kernel))
        size = {1: SIZE_2D if several else SIZE_1D, 2: SIZE_2D, 3: SIZE_3D}[dimensions]
        return cls(dimensions, block, size)


def _uses_y(body: str) -> bool:
    return bool(re.search(r"(threadIdx|blockIdx)\s*\.\s*y", body))


def _sizes(kernel: Kernel) -> list[Parameter]:
    """Whole-number parameters that are extents, by their names."""
    whole_numbers = [p for p in kernel.parameters if not p.pointers and _is_whole(p.type)]
    return [p for p in whole_numbers if _named_value(p.name) is None]


def _is_whole(name: str) -> bool:
    return name in ELEMENTS and ELEMENTS[name][0].startswith(("int", "uint")) and ELEMENTS[name][1] == 1


def _named_value(name: str) -> int | None:
    return next((value for pattern, value in NAMED_VALUES if re.search(pattern, name, re.IGNORECASE)), None)


def _multiplies(kernel: Kernel) -> bool:
    """Whether an index is multiplied by one of the sizes, as a matrix's row is."""
    names = "|".join(re.escape(size.name) for size in _sizes(kernel))
    return bool(names) and bool(re.search(rf"\*\s*({names})\b|\b({names})\s*\*", kernel.body))


def _write(kernel: Kernel, shape: _Shape, file: str, name: str) -> Starter:
    types = {word: "float" for kind, word in kernel.template if kind in ("typename", "class")}
    values = {word: shape.block[0] for kind, word in kernel.template if kind not in ("typename", "class")}
    sizes = _sizes(kernel)
    guesses: list[str] = []
    extent = " * ".join(yaml_name(size.name) for size in sizes) if sizes else "N"
    if len(sizes) == 1 and (shape.dimensions > 1 or _multiplies(kernel)):
        extent = " * ".join([yaml_name(sizes[0].name)] * max(2, shape.dimensions))
    elif not sizes and shape.dimensions > 1:
        extent = " * ".join(["N"] * shape.dimensions)
    size_names = [yaml_name(size.name) for size in sizes] or ["N"]
    pointers = [p for p in kernel.parameters if p.pointers]
    written = {p.name for p in pointers if not p.constant and _is_written(p.name, kernel.body)}
    outputs = written or {p.name for p in pointers if not p.constant}
    buffers = [_buffer(p, types, extent, size_names[0], p.name in outputs) for p in pointers]
    arguments = [yaml_name(p.name) if p.pointers else _argument(p, types, guesses) for p in kernel.parameters]
    given = ", ".join([*(types[word] if word in types else str(values[word]) for _, word in kernel.template)])
    called = f"{kernel.name}<{given}>" if kernel.template else kernel.name
    if kernel.template:
        guesses.append(f"template arguments {given}")
    if any(p.type in ELEMENTS and _is_whole(p.type) and p.constant for p in pointers):
        guesses.append("whole-number inputs are filled with i % size: indices have to stay inside the buffers")
    guesses.append(f"every buffer has {extent} elements, the grid covers {', '.join(size_names)}")
    axes = [size_names[-1 - n] if n < len(size_names) else size_names[0] for n in range(shape.dimensions)]
    grid = ", ".join(f'"cdiv({axis}, {threads})"' for axis, threads in zip(axes, shape.block, strict=True))
    lines = [
        f"# Written by gpuprof new --from {file}: look at sizes, fills and grid, then give a reference.",
        f"name: {name}",
        f"sizes: {{{', '.join(f'{size_name}: {shape.size}' for size_name in size_names)}}}",
        "buffers:",
        *buffers,
        "# Without a reference the outputs are not checked: per output an expression over buffers and sizes.",
        *(f"# reference: {{{yaml_name(output)}: ...}}" for output in sorted(outputs)[:1]),
        "variants:",
        f"  {kernel.name}:",
        f"    source: {file}",
        f'    kernel: "{called}"',
        f"    block: [{', '.join(map(str, shape.block))}]",
        f"    grid: [{grid}]",
        *(["    shared: 16384    # the kernel has extern __shared__ memory"] if _dynamic(kernel) else []),
        f"    args: [{', '.join(arguments)}]",
    ]
    return Starter("\n".join(lines) + "\n", tuple(guesses))


def _dynamic(kernel: Kernel) -> bool:
    return bool(re.search(r"extern\s+(?:\w+\s*\(\d+\)\s*)?__shared__", kernel.body))


def _is_written(name: str, body: str) -> bool:
    place = rf"\b{re.escape(name)}\s*\[(?:[^\[\]]|\[[^\]]*\])*\](?:\.\w+)?\s*([-+*/|&^]|<<|>>)?=(?!=)"
    atomic = rf"atomic\w+\s*\(\s*&?\s*\(?{re.escape(name)}\b"
    other = rf"\*\s*\(?\s*{re.escape(name)}\b[^=;]*=(?!=)|\(\s*{re.escape(name)}\s*\)\s*\["
    return any(re.search(pattern, body) for pattern in (place, atomic, other))


def _element(parameter: Parameter, types: Mapping[str, str]) -> tuple[str, int]:
    found = ELEMENTS.get(types.get(parameter.type, parameter.type))
    if found is None or parameter.pointers > 1:
        stars = "*" * parameter.pointers
        raise UsageError(
            f"parameter '{parameter.name}' has the type {parameter.type}{stars}, which no argument of a YAML can be: "
            "wrap the kernel in one that takes plain numbers and pointers to them"
        )
    return found


def _buffer(parameter: Parameter, types: Mapping[str, str], extent: str, size: str, output: bool) -> str:
    dtype, lanes = _element(parameter, types)
    shape = extent if lanes == 1 else f"{lanes} * ({extent})"
    fill = f"i % {size}" if dtype.startswith(("int32", "uint32", "int64", "uint64")) else "i % 7"
    if output:
        return f'  {yaml_name(parameter.name)}: {{dtype: {dtype}, shape: "{shape}", fill: 0, output: true}}'
    return f'  {yaml_name(parameter.name)}: {{dtype: {dtype}, shape: "{shape}", fill: "{fill}"}}'


def _argument(parameter: Parameter, types: Mapping[str, str], guesses: list[str]) -> str:
    dtype, lanes = _element(parameter, types)
    if lanes > 1:
        raise UsageError(
            f"parameter '{parameter.name}' is a vector passed by value, which no argument of a YAML can be"
        )
    if not dtype.startswith(("int", "uint")):
        guesses.append(f"{parameter.name} is 1")
        return f"{{value: 1, dtype: {dtype}}}"
    value = _named_value(parameter.name)
    if value is not None:
        guesses.append(f"{parameter.name} is {value}")
    text = yaml_name(parameter.name) if value is None else str(value)
    return text if dtype == "int32" else f"{{value: {text}, dtype: {dtype}}}"
