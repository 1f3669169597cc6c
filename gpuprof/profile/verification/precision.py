"""In which precision a kernel's machine code does its arithmetic: what its results can be as good as."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuprof.isa.opcodes import Computes, Kind, Operation, names_where

if TYPE_CHECKING:
    from gpuprof.sass.model import Instruction

#: Significant bits of the formats; half a unit in the last place is ``2**-bits`` of a value.
BITS = {"float8_e5m2": 3, "float8_e4m3fn": 4, "bfloat16": 8, "float16": 11, "float32": 24, "float64": 53}

_ARITHMETIC = (Computes.ADD, Computes.MULTIPLY, Computes.MULTIPLY_ADD)
_HALF = names_where(lambda row: row.kind is Kind.FP16 and row.computes in (*_ARITHMETIC, Computes.MIN_MAX))
_SINGLE = names_where(lambda row: row.kind is Kind.FP32 and row.computes in _ARITHMETIC)
_DOUBLE = names_where(
    lambda row: row.operation is Operation.FP64 and row.computes in (*_ARITHMETIC, Computes.MATRIX_PRODUCT)
)
#: Tensor products of integers and bits, whose sums are exact.
_EXACT_TENSOR = ("IMMA", "BMMA", "IGMMA", "BGMMA", "UTCIMMA")
_TENSOR = names_where(lambda row: row.kind is Kind.TENSOR and row.name not in (*_DOUBLE, *_EXACT_TENSOR))
#: Approximations of MUFU that are worse than two units in the last place of a float32.
_COARSE = {"TANH": 2.0**-10.5, "SIN": 2.0**-18, "COS": 2.0**-18, "EX2": 2.0**-18, "LG2": 2.0**-18}
#: What products lose when a tensor core takes its inputs in a narrower format than the buffers have.
_NARROWED = {"TF32": 2.0**-11, "BF16": 2.0**-8, "E4M3": 2.0**-4, "E5M2": 2.0**-3}


@dataclass(frozen=True)
class Precision:
    """``accumulator``: the narrowest format that sums are kept in. ``inputs``: relative error of a product's factors.

    ``tensor``: a tensor core adds, which truncates. ``coarse``: relative error of a hardware approximation.
    """

    accumulator: str
    inputs: float = 0.0
    tensor: bool = False
    coarse: float = 0.0


def usual_precision(dtype: str) -> Precision:
    """What an output of ``dtype`` is summed in unless the machine code says otherwise: float32 for narrower ones."""
    return Precision("float64" if dtype == "float64" else "float32")


def precision_of(instructions: Iterable[Instruction], dtype: str) -> Precision:
    """What the machine code does for an output of ``dtype``.

    HADD2.F32 converts, and HFMA2 of two zeros makes a constant: neither computes in half.
    """
    half = bfloat = single = double = tensor = tensor_half = converted = False
    inputs = coarse = 0.0
    for instruction in instructions:
        opcode, words = instruction.opcode, set(instruction.modifiers)
        if opcode in _TENSOR:
            tensor = True
            tensor_half |= "F32" not in words
            inputs = max(inputs, 2.0**-11, *(_NARROWED.get(word, 0.0) for word in words))
        elif opcode in _HALF and "F32" not in words and not _makes_constant(instruction):
            bfloat |= "BF16_V2" in words or "BF16" in words
            half = True
        elif opcode in _SINGLE:
            single = True
        elif opcode in _DOUBLE:
            double = True
        elif opcode == "MUFU":
            coarse = max(coarse, *(_COARSE.get(word, 0.0) for word in words), 0.0)
        elif opcode == "F2F" and {"F64", "F32"} <= words:
            converted = True
    if bfloat or half or tensor_half:
        accumulator = "bfloat16" if bfloat else "float16"
    elif dtype == "float64" and (double or not (converted and single)):
        accumulator = "float64"
    else:
        accumulator = "float32"
    return Precision(accumulator, inputs, tensor, coarse)


def _makes_constant(instruction: Instruction) -> bool:
    return sum(operand.is_zero for operand in instruction.operands[1:]) >= 2
