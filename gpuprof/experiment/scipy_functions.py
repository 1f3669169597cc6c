"""Convolution, Fourier transforms and special functions of scipy, as functions of the YAML's expressions.

scipy is imported when one of them is computed; without it the file that calls one gets one line about it.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuprof.errors import ExpressionError, ShapeError
from gpuprof.experiment.operators import Array, Function, Value, check_bytes

_MODES = ("full", "same", "valid")
_BOUNDARIES = ("fill", "wrap", "symm")


def is_installed() -> bool:
    """Whether scipy can be imported; it is not."""
    return importlib.util.find_spec("scipy") is not None


def missing(functions: frozenset[str]) -> str | None:
    """What to say of an expression that calls ``functions``; None where all of them can be computed."""
    needed = sorted(functions & SCIPY_FUNCTIONS.keys())
    if not needed or is_installed():
        return None
    return (
        f"{', '.join(needed)} need{'s' if len(needed) == 1 else ''} scipy: pip install '.[scipy]' in gpuprof's checkout"
    )


def _operands(name: str, dimensions: tuple[int, ...], *values: Value) -> list[Array]:
    arrays = [np.asarray(value) for value in values]
    if any(array.ndim not in dimensions for array in arrays) or len({array.ndim for array in arrays}) > 1:
        shapes = " and ".join(str(list(array.shape)) for array in arrays)
        raise ShapeError(f"{name} takes two arrays of the same {' or '.join(map(str, dimensions))} axes, got {shapes}")
    return arrays


def _word(value: Value, allowed: tuple[str, ...], what: str) -> str:
    if value not in allowed:
        raise ExpressionError(f"{what} is {value!r}; expected one of {', '.join(allowed)}")
    return str(value)


def _checked_size(shapes: tuple[int, ...], other: tuple[int, ...], name: str) -> None:
    check_bytes(tuple(a + b for a, b in zip(shapes, other, strict=True)), name)


def _convolution(name: str) -> Callable[..., Any]:
    def call(array: Value, taps: Value, mode: Value = "same") -> Any:
        from scipy import signal

        a, b = _operands(name, (1, 2, 3), array, taps)
        _checked_size(a.shape, b.shape, name)
        exact = a.dtype.kind in "bi" and b.dtype.kind in "bi"
        return getattr(signal, name)(a, b, mode=_word(mode, _MODES, "mode"), method="direct" if exact else "auto")

    return call


def _convolution_2d(name: str) -> Callable[..., Any]:
    def call(array: Value, taps: Value, mode: Value = "same", boundary: Value = "fill", fill: Value = 0) -> Any:
        from scipy import signal

        a, b = _operands(name, (2,), array, taps)
        _checked_size(a.shape, b.shape, name)
        edges = _word(boundary, _BOUNDARIES, "boundary")
        return getattr(signal, name)(a, b, mode=_word(mode, _MODES, "mode"), boundary=edges, fillvalue=fill)

    return call


def _transform(name: str, axes: int) -> Callable[..., Any]:
    def call(array: Value, n: Value | None = None, axis: Value = -1) -> Any:
        from scipy import fft

        values = np.asarray(array)
        if values.ndim < axes:
            raise ShapeError(f"{name} takes an array of {axes} axes or more, got the shape {list(values.shape)}")
        if axes == 2:
            return getattr(fft, name)(values)
        length = None if n is None else int(n)
        check_bytes((values.size, 1 if length is None else -(-length // values.shape[-1])), name)
        return getattr(fft, name)(values, n=length, axis=int(axis))

    return call


def _special(name: str) -> Callable[[Value], Any]:
    def call(value: Value) -> Any:
        from scipy import special

        return getattr(special, name)(np.asarray(value, dtype=np.float64))

    return call


def _softmax(value: Value, axis: Value = -1) -> Any:
    from scipy import special

    return special.softmax(np.asarray(value, dtype=np.float64), axis=int(axis))


def _gaussian(array: Value, sigma: Value) -> Any:
    from scipy import ndimage

    if not isinstance(sigma, (int, float)) or not 0 < sigma < math.inf:
        raise ExpressionError(f"gaussian's sigma is {sigma!r}; expected a number above 0")
    return ndimage.gaussian_filter(np.asarray(array, dtype=np.float64), sigma)


def _median(array: Value, size: Value) -> Any:
    from scipy import ndimage

    if not isinstance(size, int) or not 1 <= size <= 31:
        raise ExpressionError(f"median's size is {size!r}; expected an integer from 1 to 31")
    return ndimage.median_filter(np.asarray(array), size=size)


def _rank(array: Value) -> Any:
    from scipy import stats

    return stats.rankdata(np.asarray(array), method="ordinal").astype(np.int64).reshape(np.shape(array)) - 1


SCIPY_FUNCTIONS: Mapping[str, Function] = {
    "convolve": Function(
        _convolution("convolve"), "convolve(x, taps, mode='same'), 1 to 3 axes (scipy.signal)", texts=True
    ),
    "correlate": Function(
        _convolution("correlate"), "correlate(x, taps, mode='same'): not turned (scipy.signal)", texts=True
    ),
    "convolve2d": Function(
        _convolution_2d("convolve2d"),
        "convolve2d(x, taps, mode='same', boundary='fill', fill=0) (scipy.signal)",
        texts=True,
    ),
    "correlate2d": Function(
        _convolution_2d("correlate2d"), "the same with the taps not turned (scipy.signal)", texts=True
    ),
    "fft": Function(_transform("fft", 1), "fft(x, n=, axis=-1) (scipy.fft)"),
    "ifft": Function(_transform("ifft", 1), "the inverse of fft, divided by n (scipy.fft)"),
    "rfft": Function(_transform("rfft", 1), "the first n // 2 + 1 values of a real array's fft (scipy.fft)"),
    "irfft": Function(_transform("irfft", 1), "the inverse of rfft (scipy.fft)"),
    "fft2": Function(_transform("fft2", 2), "fft over the last two axes (scipy.fft)"),
    "ifft2": Function(_transform("ifft2", 2), "the inverse of fft2 (scipy.fft)"),
    "dct": Function(_transform("dct", 1), "discrete cosine transform, type II (scipy.fft)"),
    "rank": Function(_rank, "the place of each element in sorted order, from 0; equal ones in order (scipy.stats)"),
    "erf": Function(_special("erf"), "error function (scipy.special)", True),
    "expit": Function(_special("expit"), "1 / (1 + exp(-x)) (scipy.special)", True),
    "gammaln": Function(_special("gammaln"), "logarithm of the gamma function (scipy.special)", True),
    "softmax": Function(_softmax, "softmax(x, axis=-1) (scipy.special)"),
    "gaussian": Function(_gaussian, "gaussian(x, sigma): a Gaussian filter (scipy.ndimage)"),
    "median": Function(_median, "median(x, size): a median filter (scipy.ndimage)"),
}
