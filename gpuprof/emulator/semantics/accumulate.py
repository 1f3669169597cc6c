# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""How a tensor core adds: the model that HMMA uses.

Model (M. Fasi, N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021,
and later measurements of newer parts): the products are exact; a block of them and the accumulator are aligned to the
largest exponent among them and cut towards zero a few bits below float32's last place; the aligned integers add
exactly; the sum is cut to float32, or rounded to nearest even to FP16. A product longer than a block goes through the
blocks one after the other. The error of one block is below (terms + 2) units of the largest term's last kept place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.narrow import half_to_single, to_half
from gpuprof.emulator.semantics.rounding import round_double

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import F64


@dataclass(frozen=True)
class Adder:
    """One generation's adder."""

    block: int  #: products added at once
    bits: int  #: fraction bits kept below the largest term's leading bit


ADDERS: dict[int, Adder] = {
    75: Adder(4, 24),
    80: Adder(8, 24),
    86: Adder(8, 24),
    89: Adder(8, 24),
    90: Adder(16, 25),
    100: Adder(16, 25),
    120: Adder(16, 25),
}
NEWEST = 120


def tensor_sum(left: Any, right: Any, addend: Any, *, arch: int, narrow: bool) -> F64:
    """(…, 16, K) times (…, 8, K) transposed, plus (…, 16, 8): as doubles that are representable in the result type."""
    adder = ADDERS.get(arch, ADDERS[NEWEST])
    total = addend.astype(np.float64)
    first, second = left.astype(np.float64), right.astype(np.float64)
    for start in range(0, first.shape[-1], adder.block):
        part = slice(start, start + adder.block)
        products = first[..., :, None, part] * second[..., None, :, part]
        total = _add_block(products, total, adder, narrow=narrow)
    return total


def _add_block(products: F64, total: F64, adder: Adder, *, narrow: bool) -> F64:
    largest = np.maximum(np.abs(products).max(axis=-1), np.abs(total))
    _, exponent = np.frexp(largest)
    unit = np.ldexp(1.0, exponent - 1 - adder.bits)
    with np.errstate(invalid="ignore", over="ignore"):
        kept = np.trunc(products / unit[..., None]).sum(axis=-1) + np.trunc(total / unit)
        value = kept * unit
    special = ~np.isfinite(largest)
    if special.any():
        value = np.where(special, products.sum(axis=-1) + total, value)
    if narrow:
        return half_to_single(to_half(value)).astype(np.float64)
    return round_double(value, None, "RZ").astype(np.float64)
