"""The CUDA math library's functions, compiled and emulated, within the errors that NVIDIA's guide states.

Bounds: CUDA C++ Programming Guide, mathematical functions appendix (maximum ulp error, full range).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.emulator.emulated_cubin import EmulatedCubin
from tests.emulator.test_semantics_programs import compiled

SINGLE: dict[str, tuple[float, Callable[[Any], Any], tuple[float, float]]] = {
    "expf": (1, np.exp, (-80, 80)),
    "exp2f": (2, np.exp2, (-120, 120)),
    "expm1f": (1, np.expm1, (-10, 40)),
    "logf": (1, np.log, (1e-30, 1e30)),
    "log2f": (1, np.log2, (1e-30, 1e30)),
    "log1pf": (1, np.log1p, (-0.9, 1e5)),
    "sinf": (2, np.sin, (-1000, 1000)),
    "cosf": (2, np.cos, (-1000, 1000)),
    "tanf": (4, np.tan, (-100, 100)),
    "tanhf": (2, np.tanh, (-9, 9)),
    "atanf": (2, np.arctan, (-50, 50)),
    "asinf": (2, np.arcsin, (-1, 1)),
    "cbrtf": (1, np.cbrt, (-1e20, 1e20)),
    "rsqrtf": (2, lambda x: 1 / np.sqrt(x), (1e-30, 1e30)),
    "sqrtf": (0, np.sqrt, (0, 1e30)),
}
DOUBLE: dict[str, tuple[float, Callable[[Any], Any], tuple[float, float]]] = {
    "exp": (1, np.exp, (-700, 700)),
    "log": (1, np.log, (1e-300, 1e300)),
    "sin": (2, np.sin, (-1000, 1000)),
    "cos": (2, np.cos, (-1000, 1000)),
    "tanh": (2, np.tanh, (-20, 20)),
    "cbrt": (1, np.cbrt, (-1e100, 1e100)),
    "sqrt": (0, np.sqrt, (0, 1e300)),
    "rsqrt": (1, lambda x: 1 / np.sqrt(x), (1e-300, 1e300)),
}
KERNEL = (
    'extern "C" __global__ void k_{name}({kind} *out, const {kind} *a, const {kind} *b, int n) {{\n'
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = {call};\n}}\n"
)
SOURCE = "".join(
    KERNEL.format(name=name, kind=kind, call=f"{name}(a[i])")
    for kind, functions in (("float", SINGLE), ("double", DOUBLE))
    for name in functions
) + "".join(
    KERNEL.format(name=name, kind=kind, call=call)
    for name, kind, call in (
        ("powf", "float", "powf(a[i], b[i])"),
        ("pow", "double", "pow(a[i], b[i])"),
        ("fdividef", "float", "__fdividef(a[i], b[i])"),
        ("fast_exp", "float", "__expf(a[i])"),
        ("fast_sin", "float", "__sinf(a[i])"),
    )
)


@pytest.fixture(scope="module")
def cubin(tmp_path_factory: pytest.TempPathFactory) -> EmulatedCubin:
    source = tmp_path_factory.mktemp("math") / "functions.cu"
    source.write_text(SOURCE)
    return EmulatedCubin(compiled(source, "sm_89"))


def samples(low: float, high: float, dtype: Any, count: int = 384) -> np.ndarray:
    """Spread evenly, and for wide positive ranges evenly in the exponent as well."""
    random = np.random.default_rng(1)
    values = random.uniform(low, high, count)
    if high > 1e3 and low >= 0:
        values[::2] = np.exp(random.uniform(np.log(max(low, 1e-35)), np.log(high), values[::2].size))
    return values.astype(dtype)


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance from the correctly rounded value in units of its last place, as the guide counts."""
    rounded = exact.astype(got.dtype)
    return np.abs(got.astype(np.longdouble) - rounded) / np.spacing(np.abs(rounded))


def evaluate(cubin: EmulatedCubin, name: str, a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    return cubin.run(f"k_{name}", np.zeros_like(a), (a, a if b is None else b), np.int32(a.size))


@pytest.mark.parametrize("name", sorted(SINGLE) + sorted(DOUBLE))
def test_within_the_guide_s_bound(cubin: EmulatedCubin, name: str) -> None:
    single = name in SINGLE
    bound, function, (low, high) = SINGLE[name] if single else DOUBLE[name]
    x = samples(low, high, np.float32 if single else np.float64)
    got = evaluate(cubin, name, x)
    exact = function(x.astype(np.longdouble))
    assert ulps(got, exact).max() <= bound


@pytest.mark.parametrize(("name", "dtype", "bound"), [("powf", np.float32, 4), ("pow", np.float64, 2)])
def test_powers(cubin: EmulatedCubin, name: str, dtype: Any, bound: float) -> None:
    x, y = samples(0.01, 50, dtype), samples(-9, 9, dtype)[::-1].copy()
    got = evaluate(cubin, name, x, y)
    assert ulps(got, x.astype(np.longdouble) ** y.astype(np.longdouble)).max() <= bound


def test_intrinsics(cubin: EmulatedCubin) -> None:
    """__fdividef: 2 ulp; __expf: 2 + 1.173 |x| ulp; __sinf: 2^-21.41 absolute on [-pi, pi]."""
    x, y = samples(-50, 50, np.float32), samples(0.1, 90, np.float32)[::-1].copy()
    assert ulps(evaluate(cubin, "fdividef", x, y), x.astype(np.longdouble) / y).max() <= 2
    exact = np.exp(x.astype(np.longdouble))
    assert (ulps(evaluate(cubin, "fast_exp", x), exact) <= 2 + np.floor(np.abs(1.173 * x))).all()
    angle = samples(-np.pi, np.pi, np.float32)
    assert np.abs(evaluate(cubin, "fast_sin", angle) - np.sin(angle.astype(np.longdouble))).max() <= 2.0**-21.41
