# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""How a tensor core adds: the model that HMMA uses.

Products are exact. A block of them and the accumulator are aligned to the largest exponent among them and cut towards
zero ``bits`` places below it; the aligned integers add exactly; the sum is cut to float32, or rounded to nearest even
to FP16. The exponent of a product is the sum of its factors' (their product is not normalised first), and a denormal
has that of the smallest normal number. A product longer than a block goes through the blocks one after the other.

For sm_90 this gives an H200's 73,728 recorded sums bit for bit (tests/hardware/questions: FP16, BF16 and TF32, normal
deviates and terms of widely differing size). The other rows are from publications, not from a device of ours: M. Fasi,
N. Higham, M. Mikaitis, S. Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330, 2021. There the
error of a block is below (terms + 2) units of the last kept place.
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
#: The exponent of a zero: below every other.
LOWEST = -1000


def tensor_sum(left: Any, right: Any, addend: Any, *, arch: int, narrow: bool, smallest: int = -126) -> F64:
    """(…, 16, K) times (…, 8, K) transposed, plus (…, 16, 8): as doubles that are representable in the result type.

    ``smallest`` is the exponent of the factors' smallest normal number, which their denormals keep.
    """
    adder = ADDERS.get(arch, ADDERS[NEWEST])
    total = addend.astype(np.float64)
    factors = [value.astype(np.float64) for value in (left, right)]
    exponents = [np.maximum(np.frexp(value)[1] - 1, smallest) for value in factors]
    for start in range(0, factors[0].shape[-1], adder.block):
        part = slice(start, start + adder.block)
        products = factors[0][..., :, None, part] * factors[1][..., None, :, part]
        places = exponents[0][..., :, None, part] + exponents[1][..., None, :, part]
        total = _add_block(products, places, total, adder, narrow=narrow)
    return total


def _add_block(products: F64, places: Any, total: F64, adder: Adder, *, narrow: bool) -> F64:
    """One block added to the total; ``places`` are the sums of the factors' exponents."""
    own = np.where(total == 0, LOWEST, np.maximum(np.frexp(total)[1] - 1, -126))
    top = np.maximum(np.where(products == 0, LOWEST, places).max(axis=-1), own)
    unit = np.ldexp(1.0, top - adder.bits)
    with np.errstate(invalid="ignore", over="ignore"):
        kept = np.trunc(products / unit[..., None]).sum(axis=-1) + np.trunc(total / unit)
        value = kept * unit
        special = ~np.isfinite(products.sum(axis=-1) + total)
        if special.any():
            value = np.where(special, products.sum(axis=-1) + total, value)
    if narrow:
        return half_to_single(to_half(value)).astype(np.float64)
    return round_double(value, None, "RZ").astype(np.float64)
