"""Find the coefficients of MUFU's tables from recorded results.

    python tests/hardware/questions/fit_mufu.py OUT.npz

Needs scipy, questions.npz and mufu_sweep.npz beside this file; mufu_more.npz, where it is, settles what the others
leave open in LG2, SIN and SQRT (the stored tables are made with it; ``record.py --more`` records it). Writes what
gpuprof/emulator/semantics/mufu_tables.npz is.

Model: the result is c0 + c1 x + c2 x^2 cut to its last place, x the mantissa's lower bits, the square without its
partial products below 2^-15 (``truncated_squares``). Each recorded result bounds the polynomial from both sides; per
segment a linear program finds the coefficients that keep farthest from all bounds. A negative margin would refute the
model.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.optimize import OptimizeResult, linprog

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from question_inputs import SETS  # noqa: E402
from record import more_inputs, more_results, sweep_inputs, turns  # noqa: E402

from gpuprof.emulator.semantics.interpolation import SQUARE_BITS, truncated_squares  # noqa: E402

LOW_BITS = {"RCP": 16, "RSQ": 17, "EX2": 17, "LG2": 17, "SIN": 17, "SQRT": 17}
MANTISSAS = 1 << 23
Points = tuple[np.ndarray, np.ndarray, np.ndarray]  #: position, lower bound, upper bound


def fit(low: np.ndarray, high: np.ndarray, features: np.ndarray) -> tuple[np.ndarray, float]:
    """Coefficients and margin: constraints are added where the last solution is tightest, until none is tighter."""
    chosen = set(np.linspace(0, low.size - 1, min(low.size, 120)).astype(int).tolist())
    base, width = low.mean(), features.shape[1]
    for _ in range(80):
        index = np.array(sorted(chosen))
        part, ones = features[index], np.ones(index.size)
        rows = np.vstack([np.c_[-part, ones], np.c_[part, ones]])
        limits = np.r_[-(low[index] - base), high[index] - base]
        solved = solve(np.r_[np.zeros(width), -1], rows, limits)
        value = features @ solved.x[:width] + base
        margin = np.minimum(value - low, high - value)
        tightest = np.argsort(margin)[:40]
        if margin[tightest[0]] >= solved.x[width] - 1e-7:
            break
        chosen |= set(tightest.tolist())
    found = np.r_[solved.x[0] + base, solved.x[1:width]], float(margin.min())
    return max(found, _rounded(low, high, features, found[0]), key=lambda each: each[1])


def _rounded(low: np.ndarray, high: np.ndarray, features: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, float]:
    """The same with slopes that are whole numbers, as the hardware's mostly are: exact where the program is not."""
    slopes = np.rint(near[1:])
    rest = features[:, 1:] @ slopes
    least, most = float((low - rest).max()), float((high - rest).min())
    return np.r_[(least + most) / 2, slopes], (most - least) / 2


def solve(cost: np.ndarray, rows: np.ndarray, limits: np.ndarray) -> OptimizeResult:
    """A linear program without bounds; the simplex method sometimes gives up where the interior point does not."""
    for method in ("highs", "highs-ipm", "highs-ds"):
        solved = linprog(cost, A_ub=rows, b_ub=limits, bounds=[(None, None)] * cost.size, method=method)
        if solved.status == 0:
            return solved
    raise RuntimeError(solved.message)


def table(name: str, points: Points, segments: int) -> np.ndarray:
    """(segments, 3) coefficients."""
    bits = LOW_BITS[name]
    squares = truncated_squares(bits) / 2.0**SQUARE_BITS
    position, low, high = points
    found, margins = [], []
    for segment in range(segments):
        here = position >> bits == segment
        x = position[here] & (1 << bits) - 1
        coefficients, margin = fit(low[here], high[here], np.c_[np.ones(x.size), x / 2.0**bits, squares[x]])
        found.append(coefficients)
        margins.append(margin)
    print(f"{name}: {segments} segments, smallest margin {min(margins):.2e}")
    return np.array(found)


def swept(name: str, function: Callable[[np.ndarray], np.ndarray]) -> Points:
    """RCP, RSQ, EX2 from every mantissa: the result's bits, exactly; 1 / sqrt(1) is made apart from the table."""
    x = sweep_inputs(f"mufu_{name.lower()}")
    with np.load(HERE / "mufu_sweep.npz") as recorded:
        bits = function(x.astype(np.float64)).astype(np.float32).view(np.int32) + recorded[
            f"mufu_{name.lower()}"
        ].astype(np.int32)
    position = np.arange(x.size)
    kept = position[1:] if name == "RSQ" else position
    return kept, bits[kept].astype(float), bits[kept] + 1.0


def _place(value: np.ndarray) -> np.ndarray:
    """The last place of a single, of the size of these values in 2^-24."""
    return np.ldexp(1.0, np.frexp(value)[1] - 24)


def logarithms() -> Points:
    """LG2 in 2^-24: from the rounded distances, or from the results themselves where they were recorded."""
    position = np.arange(1, MANTISSAS)
    exact = np.log2(1 + position / MANTISSAS)
    if (HERE / "mufu_more.npz").exists():
        value = _more("mufu_lg2")[1:] * 2.0**24
        return position, value, value + np.maximum(_place(value), 2.0**-12)
    with np.load(HERE / "mufu_sweep.npz") as recorded:
        value = exact * 2.0**24 + recorded["mufu_lg2"][1:]
    whole = value >= 2.0**23
    low = np.where(whole, np.rint(value), value - 0.5)
    return position, low, np.where(whole, low + 1, value + 0.5 + _place(value))


def _more(name: str) -> np.ndarray:
    return more_results(HERE / "mufu_more.npz", name).view(np.float32).astype(np.float64)


def sines() -> Points:
    """SIN of a quarter turn in 2^-24, from SIN and COS of the questions folded into it."""
    x = SETS["mufu"]()[0].view(np.float32)
    turn = turns(x)
    kept = np.isfinite(x) & (np.abs(turn) < 2.0**30)
    magnitude = np.abs(turn[kept])
    places = ((magnitude - np.floor(magnitude)) * 2.0**25).astype(np.int64)
    positions, values = [], []
    with np.load(HERE / "questions.npz") as recorded:
        for kernel, shift in (("mufu_sin", 0), ("mufu_cos", 1)):
            quarter, position = (places >> 23) + shift, places & MANTISSAS - 1
            sign = np.where(quarter & 2, -1, 1) * (np.where(np.signbit(turn[kept]), -1, 1) if shift == 0 else 1)
            positions.append(np.where(quarter & 1, MANTISSAS - 1 - position, position))
            values.append(recorded[kernel].view(np.float32).astype(np.float64)[kept] * sign * 2.0**24)
    if (HERE / "mufu_more.npz").exists():
        positions.append((turns(more_inputs("mufu_sin")) * 2.0**25).astype(np.int64))
        values.append(_more("mufu_sin") * 2.0**24)
    position, value = np.concatenate(positions), np.concatenate(values)
    high = np.where(value >= 2.0**24, value + 8, value + np.maximum(_place(value), 2.0**-13))
    return position, value, high


def roots() -> Points:
    """SQRT over two binades, as the result's place above 1.0 plus 2^23."""
    if (HERE / "mufu_more.npz").exists():
        value = _more("mufu_sqrt") * 2.0**23
        return np.arange(value.size), value, value + 1
    x = SETS["mufu"]()[0]
    kept = np.isfinite(x.view(np.float32)) & (x.view(np.float32) >= 2.0**-126)
    exponent = (x[kept] >> np.uint32(23)).astype(np.int64) - 127
    odd = exponent & 1
    with np.load(HERE / "questions.npz") as recorded:
        result = recorded["mufu_sqrt"].view(np.float32).astype(np.float64)[kept]
    value = np.ldexp(result, -((exponent - odd) // 2)) * 2.0**23
    return odd << 23 | (x[kept] & np.uint32(MANTISSAS - 1)).astype(np.int64), value, value + 1


def main() -> None:
    tables = {
        "RCP": table("RCP", swept("RCP", np.reciprocal), 128),
        "RSQ": table("RSQ", swept("RSQ", lambda x: 1 / np.sqrt(x)), 128),
        "EX2": table("EX2", swept("EX2", np.exp2), 64),
        "LG2": table("LG2", logarithms(), 64),
        "SIN": table("SIN", sines(), 64),
        "SQRT": table("SQRT", roots(), 128),
    }
    np.savez_compressed(sys.argv[1], **tables)


if __name__ == "__main__":
    main()
