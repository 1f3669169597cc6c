"""Kernel arguments against the cubin's parameter layout, before any launch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpuprof.device.jobs import BufferReference
from gpuprof.errors import UsageError
from gpuprof.experiment.model import Argument, BufferArgument
from gpuprof.toolchain.model import Parameter

POINTER_BYTES = 8


class ArgumentMismatchError(UsageError):
    """The YAML's ``args`` and the kernel's parameters do not agree."""


def pack_arguments(
    kernel: str, arguments: Sequence[Argument], layout: Sequence[Parameter]
) -> tuple[BufferReference | bytes, ...]:
    """The launch arguments in order; raises ArgumentMismatchError when count or byte sizes differ from the layout."""
    if len(arguments) != len(layout):
        raise ArgumentMismatchError(
            f"{kernel} takes {len(layout)} arguments ({_sizes(layout)}), and args gives {len(arguments)}"
        )
    ordered = sorted(layout, key=lambda parameter: parameter.ordinal)
    return tuple(
        _pack(kernel, n, argument, slot) for n, (argument, slot) in enumerate(zip(arguments, ordered, strict=True))
    )


def _sizes(layout: Sequence[Parameter]) -> str:
    ordered = sorted(layout, key=lambda parameter: parameter.ordinal)
    return ", ".join(f"{parameter.size} bytes" for parameter in ordered) or "none"


def _pack(kernel: str, position: int, argument: Argument, slot: Parameter) -> BufferReference | bytes:
    if isinstance(argument, BufferArgument):
        if slot.size != POINTER_BYTES:
            raise ArgumentMismatchError(
                f"argument {position} of {kernel} is buffer {argument.buffer}, an address of 8 bytes, "
                f"but the kernel takes {slot.size} bytes there"
            )
        return BufferReference(argument.buffer, argument.offset_bytes)
    data: bytes = np.array([argument.value], dtype=argument.dtype).tobytes()
    if slot.size != len(data):
        raise ArgumentMismatchError(
            f"argument {position} of {kernel} is {argument.dtype} {argument.value}, {len(data)} bytes, "
            f"but the kernel takes {slot.size}; give its type, as in {{value: {argument.value}, dtype: "
            f"{_suggest(argument.dtype, slot.size)}}}"
        )
    return data


def _suggest(dtype: str, size: int) -> str:
    stem = "float" if np.dtype(dtype).kind == "f" else "int"
    return f"{stem}{size * 8}" if size in (2, 4, 8) else "..."
