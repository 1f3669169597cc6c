# mypy: disable-error-code="no-any-return"
# (numpy's stubs give Any for many mixed operators; the signatures here say what comes out)
"""The interpolator behind MUFU, with the hardware's own coefficients: the same bits as an H200.

The unit evaluates c0 + c1 x + c2 x^2 with coefficients chosen by the mantissa's upper bits (S. Oberman, M. Siu, "A
High-Performance Area-Efficient Multifunction Interpolator", ARITH 2005), x its lower bits. Its squarer drops all
partial products below 2^-15. With that squarer a linear program per segment finds coefficients that reproduce every
recorded result (tests/hardware/questions); without it there are none. RCP, RSQ, EX2, LG2 and SQRT come from all 2^23
mantissas, so they are the hardware's bits throughout; SIN (of a quarter turn, 2^23 positions) from 95 % of them.

Other generations than sm_90 are taken to have the same tables, which was not measured.

``mufu_tables.npz`` (made by tests/hardware/questions/fit_mufu.py) holds the coefficients: float64
(segments, 3), in the result's last place (SIN, LG2: 2^-24).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.semantics.primitives import primitive

if TYPE_CHECKING:
    from numpy.typing import NDArray

TABLES = Path(__file__).with_name("mufu_tables.npz")
SQUARE_BITS = 15


@dataclass(frozen=True, eq=False)
class Interpolator:
    """One function's coefficients by segment, scaled for an integer x of ``low_bits`` bits."""

    low_bits: int
    constant: NDArray[np.float64]
    linear: NDArray[np.float64]
    quadratic: NDArray[np.float64]
    squares: NDArray[np.uint16]  #: x^2 as the hardware has it, in 2^-15, for every x

    def __call__(self, position: NDArray[np.int32]) -> NDArray[np.int32]:
        """The result in units of its last place, cut to a whole number."""
        return np.floor(self.value(position)).astype(np.int32)

    @primitive("interpolate")
    def value(self, position: NDArray[np.int32]) -> NDArray[np.float64]:
        """The polynomial at each position: segment and x as one integer."""
        segment = position >> np.int32(self.low_bits)
        x = position & np.int32((1 << self.low_bits) - 1)
        result = self.quadratic[segment] * self.squares[x]
        result += self.linear[segment] * x
        result += self.constant[segment]
        return result


@cache
def interpolator(name: str) -> Interpolator:
    """RCP, RSQ, SQRT, EX2, LG2 or SIN."""
    with np.load(TABLES) as tables:
        coefficients = tables[name]
    low_bits = int(23 - np.log2(len(coefficients) // (2 if name in ("RSQ", "SQRT") else 1)))
    return Interpolator(
        low_bits,
        coefficients[:, 0].copy(),
        coefficients[:, 1] / 2**low_bits,
        coefficients[:, 2] / 2**SQUARE_BITS,
        truncated_squares(low_bits),
    )


def truncated_squares(bits: int) -> NDArray[np.uint16]:
    """The square of every ``bits``-bit fraction, partial products below 2^-15 dropped, in units of 2^-15."""
    lowest = 2 * bits - SQUARE_BITS
    values = np.arange(1 << bits, dtype=np.int64)
    digits = [(values >> place) & 1 for place in range(bits)]
    total: Any = np.zeros_like(values)
    for low in range(bits):
        if 2 * low >= lowest:
            total += digits[low] << 2 * low
        for high in range(max(low + 1, lowest - low - 1), bits):
            total += (digits[low] & digits[high]) << (low + high + 1)
    return (total >> lowest).astype(np.uint16)
