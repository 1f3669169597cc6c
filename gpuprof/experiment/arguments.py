"""Kernel arguments: from the YAML's, against the cubin's layout, to bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprof.errors import ExpressionError
from gpuprof.experiment.model import Argument, BufferArgument, HostStep, KernelStep, Number, ScalarArgument, Variant
from gpuprof.isa.constant_bank import Parameter

POINTER_BYTES = 8
_WIDER = {8: ("int64", "float64"), 4: ("int32", "float32"), 2: ("int16", "float16"), 1: ("int8", "int8")}


def scalar_argument(value: Number, dtype: str | None = None) -> ScalarArgument:
    """A number as an argument: int32, or float32 when it has a point, unless ``dtype`` says otherwise.

    Raises ExpressionError where the dtype cannot hold the value.
    """
    if dtype is None:
        dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    kind = np.dtype(dtype).kind
    if kind in "iu":
        if isinstance(value, float):
            if not value.is_integer():
                raise ExpressionError(f"{value} is no {dtype}")
            value = int(value)
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise ExpressionError(
                f"{value} is outside {dtype}'s {limits.min} to {limits.max}; "
                f"write {{value: ..., dtype: {'int64' if abs(value) < 1 << 63 else 'uint64'}}} if the kernel takes one"
            )
    return ScalarArgument(value, dtype)


def pack_scalar(argument: ScalarArgument) -> bytes:
    """The argument's bytes, little-endian, in the width of its dtype."""
    return np.asarray(argument.value).astype(np.dtype(argument.dtype).newbyteorder("<")).tobytes()


def argument_bytes(argument: Argument) -> int:
    """What the argument takes in the parameter space."""
    return POINTER_BYTES if isinstance(argument, BufferArgument) else np.dtype(argument.dtype).itemsize


def describe_argument(variant: Variant, argument: Argument) -> str:
    """``A (a pointer, 8 bytes)``, ``1024 (int32, 4 bytes)``."""
    if isinstance(argument, BufferArgument):
        dtype = variant.buffers[argument.buffer].dtype if argument.buffer in variant.buffers else "?"
        return f"{argument.buffer} ({dtype}*, {POINTER_BYTES} bytes)"
    size = argument_bytes(argument)
    return f"{argument.value} ({argument.dtype}, {size} byte{'s' if size != 1 else ''})"


def check_arguments(variant: Variant, step: KernelStep | HostStep, parameters: Sequence[Parameter]) -> list[str]:
    """What does not match between ``args`` and the kernel's parameters in the cubin; empty when all does.

    Only counts and sizes can be known: the cubin does not tell a float from an int.
    """
    name = step.kernel if isinstance(step, KernelStep) else step.function
    expected = sorted(parameters, key=lambda parameter: parameter.ordinal)
    if len(step.args) != len(expected):
        sizes = ", ".join(str(parameter.size) for parameter in expected) or "none"
        given = ", ".join(describe_argument(variant, argument) for argument in step.args) or "nothing"
        count = f"{len(expected)} parameter{'s' if len(expected) != 1 else ''}"
        return [f"{name} takes {count} (bytes: {sizes}), and args gives {len(step.args)}: {given}"]
    return [
        f"{name}: argument {position} is {describe_argument(variant, argument)}, "
        f"and the kernel's parameter has {parameter.size} bytes{_hint(argument, parameter.size)}"
        for position, (argument, parameter) in enumerate(zip(step.args, expected, strict=True))
        if argument_bytes(argument) != parameter.size
    ]


def _hint(argument: Argument, size: int) -> str:
    """The repair: another dtype, or the other kind of argument."""
    if isinstance(argument, BufferArgument):
        return ": it takes a value there, not a pointer" if size < POINTER_BYTES else ": a struct cannot be passed"
    if size not in _WIDER:
        return ": a struct cannot be passed"
    dtype = _WIDER[size][np.dtype(argument.dtype).kind == "f"]
    pointer = ", or a buffer if it is a pointer" if size == POINTER_BYTES else ""
    return f": write {{value: {argument.value}, dtype: {dtype}}}{pointer}"
