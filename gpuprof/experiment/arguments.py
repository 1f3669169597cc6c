"""Kernel arguments: from the YAML's, against the cubin's layout, to bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprof.errors import ExpressionError
from gpuprof.experiment.element_types import (
    FLOATS,
    SCALARS,
    bits_of,
    integer_limits,
    kind_of,
    storage_dtype,
    to_storage,
    value_dtype,
)
from gpuprof.experiment.model import (
    Argument,
    BufferArgument,
    HostStep,
    KernelStep,
    MembersArgument,
    NullArgument,
    Number,
    ScalarArgument,
    StructArgument,
    TensorMapArgument,
    Variant,
    ZeroArgument,
)
from gpuprof.isa.constant_bank import Parameter
from gpuprof.isa.parameter_type import ParameterType
from gpuprof.isa.tensor_map import MAP_BYTES

POINTER_BYTES = 8
_WIDER = {8: ("int64", "float64"), 4: ("int32", "float32"), 2: ("int16", "float16"), 1: ("int8", "int8")}


def scalar_argument(value: Number, dtype: str | None = None) -> ScalarArgument:
    """A number as an argument: int32, or float32 when it has a point, unless ``dtype`` says otherwise.

    Raises ExpressionError where the dtype cannot hold the value.
    """
    given = dtype is not None
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    if dtype not in SCALARS:
        raise ExpressionError(f"a {dtype} cannot be an argument by value; give a vector as a list: [re, im]")
    if kind_of(dtype) in "iu":
        if isinstance(value, float):
            if not value.is_integer():
                raise ExpressionError(f"{value} is not a valid {dtype}")
            value = int(value)
        least, greatest = integer_limits(dtype)
        if not least <= value <= greatest:
            raise ExpressionError(
                f"{value} is outside {dtype}'s {least} to {greatest}; "
                f"write {{value: ..., dtype: {'int64' if abs(value) < 1 << 63 else 'uint64'}}} if the kernel takes one"
            )
    return ScalarArgument(value, dtype, given)


def pack_scalar(argument: ScalarArgument) -> bytes:
    """The argument's bytes, little-endian, in the width of its dtype."""
    with np.errstate(over="ignore"):
        return to_storage(np.asarray([argument.value]).astype(value_dtype(argument.dtype)), argument.dtype).tobytes()


def argument_bytes(argument: Argument) -> int:
    """What the argument takes in the parameter space."""
    if isinstance(argument, ZeroArgument):
        return argument.nbytes
    if isinstance(argument, StructArgument):
        return len(argument.data)
    if isinstance(argument, TensorMapArgument):
        return MAP_BYTES
    return bits_of(argument.dtype) // 8 if isinstance(argument, ScalarArgument) else POINTER_BYTES


def describe_argument(variant: Variant, argument: Argument) -> str:
    """``A (a pointer, 8 bytes)``, ``1024 (int32, 4 bytes)``."""
    if isinstance(argument, BufferArgument):
        dtype = variant.buffers[argument.buffer].dtype if argument.buffer in variant.buffers else "?"
        return f"{argument.buffer} ({dtype}*, {POINTER_BYTES} bytes)"
    size = argument_bytes(argument)
    if not isinstance(argument, ScalarArgument):
        return f"{_shown(argument)} ({size} byte{'s' if size != 1 else ''})"
    return f"{argument.value} ({argument.dtype}, {size} byte{'s' if size != 1 else ''})"


def fitted(argument: Argument, wanted: ParameterType | None) -> Argument:
    """The argument in the type of its parameter, where the YAML leaves the type open and the value allows it.

    A whole number becomes any number; one with a fraction another floating-point number.
    """
    if not isinstance(argument, ScalarArgument) or argument.given or wanted is None or wanted.is_pointer:
        return argument
    dtype = wanted.scalar
    if dtype is None or dtype == argument.dtype or dtype not in _FITTING:
        return argument
    if dtype in _FLOATS:
        return ScalarArgument(float(argument.value), dtype)
    whole = isinstance(argument.value, int)
    if dtype == "bool":
        return ScalarArgument(bool(argument.value), dtype) if argument.value in (0, 1) and whole else argument
    least, greatest = integer_limits(dtype)
    fits = whole and least <= argument.value <= greatest
    return ScalarArgument(int(argument.value), dtype) if fits else argument


def type_mistake(variant: Variant, argument: Argument, wanted: ParameterType | None) -> str | None:
    """What is wrong with an argument's type, in both types' words; None where it fits or nothing is known."""
    if isinstance(argument, (StructArgument, MembersArgument)):
        single = wanted is not None and (wanted.is_pointer or wanted.scalar is not None)
        return f"a list of members, and the kernel's parameter is {wanted.name}" if single and wanted else None
    if isinstance(argument, TensorMapArgument):
        single = wanted is not None and (wanted.is_pointer or wanted.scalar is not None)
        return f"a tensor map, and the kernel's parameter is {wanted.name}" if single and wanted else None
    if wanted is None or isinstance(argument, ZeroArgument):
        return None
    if isinstance(argument, NullArgument):
        number = None if wanted.is_pointer or wanted.scalar is None else f"and the kernel's parameter is {wanted.name}"
        return f"a null pointer, {number}" if number else None
    if isinstance(argument, BufferArgument):
        if not wanted.is_pointer:
            return f"a pointer, and the kernel's parameter is {wanted.name}" if wanted.scalar else None
        element = wanted.scalar
        dtype = variant.buffers[argument.buffer].dtype if argument.buffer in variant.buffers else None
        if element is None or dtype is None or _may_stand_for(dtype, element):
            return None
        repair = f"; give {argument.buffer} dtype {element}" if element in _FITTING else ""
        return f"{dtype}*, and the kernel's parameter is {wanted.name}{repair}"
    if wanted.is_pointer:
        return f"a {argument.dtype}, and the kernel's parameter is {wanted.name}: it takes a buffer there"
    dtype = wanted.scalar
    if dtype is None or _alike(argument.dtype, dtype):
        return None
    if dtype not in _FITTING:
        return f"{argument.dtype}, and the kernel's parameter is {wanted.name}"
    whole = isinstance(argument.value, int) or float(argument.value).is_integer()
    value = int(argument.value) if dtype not in _FLOATS and whole else argument.value
    repair = f"; write {{value: {value}, dtype: {dtype}}}" if dtype in _FLOATS or whole else "; it takes a whole number"
    return f"{argument.dtype}, and the kernel's parameter is {wanted.name}{repair}"


def _alike(given: str, wanted: str) -> bool:
    """Scalars: equal, or whole numbers of one width."""
    if given == wanted:
        return True
    if "float" in given or "float" in wanted:
        return given in _RAW.get(wanted, ())
    return kind_of(given) in "iub" and bits_of(given) == bits_of(wanted)


def _may_stand_for(dtype: str, element: str) -> bool:
    """Buffers: as scalars, and also as raw bytes, or as words that hold several narrower numbers."""
    if element in ("int8", "uint8", "bool") or _alike(dtype, element):
        return True
    if kind_of(dtype) == "c":
        return bool(element == storage_dtype(dtype).name)
    return element in ("uint32", "uint64") and bits_of(dtype) < bits_of(element)


#: Types that a YAML can give.
_FITTING = SCALARS
_FLOATS = FLOATS
#: Bits of these types may be given as whole numbers.
_RAW = {
    "bfloat16": ("uint16", "int16"),
    "float16": ("uint16", "int16"),
    "float8_e4m3": ("uint8", "int8"),
    "float8_e5m2": ("uint8", "int8"),
}


def check_arguments(
    variant: Variant,
    step: KernelStep | HostStep,
    parameters: Sequence[Parameter],
    types: Sequence[ParameterType | None] = (),
) -> list[str]:
    """What does not match between ``args`` and the kernel's parameters in the cubin; empty when all does.

    Counts and sizes are always known, ``types`` mostly: see ``toolchain.parameter_types``.
    """
    name = step.kernel if isinstance(step, KernelStep) else step.function
    expected = sorted(parameters, key=lambda parameter: parameter.ordinal)
    if len(step.args) != len(expected):
        sizes = ", ".join(str(parameter.size) for parameter in expected) or "none"
        given = ", ".join(describe_argument(variant, argument) for argument in step.args) or "nothing"
        count = f"{len(expected)} parameter{'s' if len(expected) != 1 else ''}"
        return [f"{name} takes {count} (bytes: {sizes}), and args gives {len(step.args)}: {given}"]
    if len(types) == len(expected):
        by_type = [
            f"{name}: argument {position} ({_shown(argument)}) is {mistake}"
            for position, (argument, wanted) in enumerate(zip(step.args, types, strict=True))
            if (mistake := type_mistake(variant, argument, wanted)) is not None
        ]
        if by_type:
            return by_type
    return [
        f"{name}: argument {position} is {describe_argument(variant, argument)}, "
        f"and the kernel's parameter has {parameter.size} bytes{_hint(argument, parameter.size)}"
        for position, (argument, parameter) in enumerate(zip(step.args, expected, strict=True))
        if argument_bytes(argument) != parameter.size
    ]


def _shown(argument: Argument) -> str:
    if isinstance(argument, BufferArgument):
        return argument.buffer
    if isinstance(argument, ScalarArgument):
        return str(argument.value)
    if isinstance(argument, StructArgument):
        return argument.type_name
    if isinstance(argument, MembersArgument):
        return "members"
    if isinstance(argument, TensorMapArgument):
        return f"tensor map of {argument.buffer}"
    return "null" if isinstance(argument, NullArgument) else f"zeros: {argument.nbytes}"


def _hint(argument: Argument, size: int) -> str:
    """The repair: another dtype, or the other kind of argument."""
    if isinstance(argument, ZeroArgument):
        return f": write {{zeros: {size}}}"
    if isinstance(argument, (StructArgument, MembersArgument, TensorMapArgument)):
        return ""
    struct = f": a struct or vector is a list of its members, as [1, 2.0], or {{zeros: {size}}}"
    if not isinstance(argument, ScalarArgument):
        return ": it takes a value there, not a pointer" if size < POINTER_BYTES else struct
    if size not in _WIDER:
        return struct
    dtype = _WIDER[size][kind_of(argument.dtype) == "f"]
    pointer = ", or a buffer if it is a pointer" if size == POINTER_BYTES else ""
    return f": write {{value: {argument.value}, dtype: {dtype}}}{pointer}"
