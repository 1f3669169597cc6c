"""Expressions: exact, bounded, and unable to reach Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expressions import nearest, parse
from gpuprof.experiment.functions import FUNCTIONS


def value(text: str, **scope: object) -> object:
    return parse(text, texts=True).evaluate(scope)  # type: ignore[arg-type]


integers = st.integers(-(2**40), 2**40)


@st.composite
def integer_expressions(draw: st.DrawFn, depth: int = 3) -> str:
    """Random integer expressions over a, b and literals, in the syntax that Python shares."""
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["a", "b", *map(str, range(1, 20))]))
    operator = draw(st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]))
    left = draw(integer_expressions(depth=depth - 1))
    right = draw(integer_expressions(depth=depth - 1))
    return f"({left} {operator} {right})"


@settings(max_examples=300, deadline=None)
@given(integer_expressions(), integers, integers)
def test_integer_arithmetic_is_pythons(text: str, a: int, b: int) -> None:
    try:
        expected = eval(text, {}, {"a": a, "b": b})
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="divides by zero"):
            value(text, a=a, b=b)
        return
    assert value(text, a=a, b=b) == expected
    assert type(value(text, a=a, b=b)) is int


@settings(max_examples=200, deadline=None)
@given(integer_expressions(), st.lists(integers, min_size=1, max_size=5), integers)
def test_over_arrays_it_is_exact_or_refused(text: str, elements: list[int], b: int) -> None:
    """Element by element what Python gives, or an error: never a wrapped number."""
    try:
        result = value(text, a=np.array(elements), b=b)
    except ExpressionError:
        return
    expected = [eval(text, {}, {"a": a, "b": b}) for a in elements]
    assert np.broadcast_to(np.asarray(result), (len(elements),)).tolist() == expected


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**30), 10**30), st.integers(1, 10**20))
def test_cdiv_is_exact(a: int, b: int) -> None:
    assert value("cdiv(a, b)", a=a, b=b) == -(-a // b)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 * M if M > 3 else 0", 8),
        ("1 <= M < 5 and not M == 3", True),
        ("1 <= M < 4", False),
        ("M == 4 or 1 // 0", True),
        ("7 / 2", 3.5),
        ("2 ** 10", 1024),
        ("2 ** -1", 0.5),
        ("1 << 10", 1024),
        ("~5", -6),
        ("-M", -4),
        ("min(3, M, 9)", 3),
        ("max(3, M)", 4),
        ("abs(-3)", 3),
        ("gcd(12, 18)", 6),
        ("floor(3.7)", 3),
        ("round(2.5)", 2),
        ("uint32(-1)", 4294967295),
        ("int32(2**31)", -2147483648),
        ("uint32(12345 * 1103515245 + 12345)", (12345 * 1103515245 + 12345) % 2**32),
        ("float16(0.1)", 0.0999755859375),
        ("1e-5", 1e-5),
        ("T == 'half'", True),
    ],
)
def test_scalars(text: str, expected: object) -> None:
    result = value(text, M=4, T="half")
    assert result == expected
    assert type(result) is type(expected)


def test_arrays() -> None:
    a = np.arange(6.0).reshape(2, 3)
    cases = {
        "A @ T(A)": a @ a.T,
        "A / sum(A, axis=1)": a / a.sum(axis=1, keepdims=True),
        "A - max(A, axis=1)": a - a.max(axis=1, keepdims=True),
        "max(A, 2.5)": np.maximum(a, 2.5),
        "A > 2": a > 2,
        "A > 1 and A < 4": (a > 1) & (a < 4),
        "not A > 2": ~(a > 2),
        "A if A > 2 else 0": np.where(a > 2, a, 0),
        "cumsum(A, axis=1)": a.cumsum(axis=1),
        "cumsum(reshape(A, 6))": a.ravel().cumsum(),
        "shift(A, 1)": [[0, 0, 1], [0, 3, 4]],
        "shift(A, -2, fill=9)": [[2, 9, 9], [5, 9, 9]],
        "shift(A, 1, axis=0, fill=7)": [[7, 7, 7], [0, 1, 2]],
        "shift(A, 5)": np.zeros((2, 3)),
        "roll(A, 1, axis=1)": np.roll(a, 1, axis=1),
        "take(A, arange(3) * 2)": [0, 2, 4],
        "take(A, arange(2, 0, -1), axis=1)": a[:, [2, 1]],
        "histogram(int32(A) // 2, 4)": [2, 2, 2, 0],
        "sort(0 - A)": np.sort(-a),
        "var(A, axis=1)": a.var(axis=1, keepdims=True),
        "concat(A, A, axis=0)": np.concatenate([a, a]),
        "argmax(A, axis=1)": [[2], [2]],
    }
    for text, expected in cases.items():
        np.testing.assert_array_equal(np.asarray(value(text, A=a)), np.asarray(expected), err_msg=text)


def test_integer_matmul_is_exact() -> None:
    a = np.array([[2**30, 1], [1, 2**30]])
    assert value("A @ A", A=a).tolist() == (a.astype(object) @ a.astype(object)).tolist()  # type: ignore[attr-defined]
    with pytest.raises(ExpressionError, match="leaves the range"):
        value("A @ A", A=a * 2)


ESCAPES = [
    "__import__('os')",
    "().__class__.__bases__",
    "A.ctypes",
    "A.__array_interface__",
    "A[0]",
    "[x for x in A]",
    "(lambda: 1)()",
    "(x := 5)",
    "f'{A}'",
    "open('/etc/passwd')",
    "eval('1')",
    "getattr(A, 'x')",
    "sum.__globals__",
    "min(*A)",
    "max(**A)",
    "sum",
    "print(1)",
    "cdiv",
    "A is A",
    "1 in A",
    "[1, 2]",
    "(1, 2)",
    "{1: 2}",
    "yield 1",
    "await A",
    "1; 2",
    "import os",
    "b'x'",
    "...",
    "None",
    "1j",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_no_way_to_python(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse(text, texts=True).evaluate({"A": np.arange(3)})


BOMBS = {
    "2 ** 2 ** 30": "over the limit",
    "9 ** 9 ** 9 ** 9": "over the limit",
    "2 ** 513": "over the limit",
    "1 << 64": "a shift is from 0 to 63",
    "1 << -1": "a shift is from 0 to 63",
    "arange(10 ** 12)": "over the limit of 2 GiB",
    "full(0, 2 ** 20, 2 ** 20)": "over the limit of 2 GiB",
    "repeat(A, 10 ** 12)": "over the limit of 2 GiB",
    "reshape(arange(100000), 100000, 1) * arange(100000)": "over the limit of 2 GiB",
    "reshape(arange(100000), 100000, 1) @ reshape(arange(100000), 1, 100000)": "over the limit of 2 GiB",
    "diag(arange(100000))": "over the limit of 2 GiB",
    "A * 10 ** 18 * 10 ** 18": "leaves the range",
    "A ** 64": "leaves the range",
    "A << 62": "leaves the range",
    "10 ** 300 * 1.0 ** 2": "over the limit",
    "(" * 300 + "1" + ")" * 300: "not an expression",
    "-" * 1500 + "1": "nested too deeply",
    "+".join(["1"] * 1500): "over the limit of 2000",
    "'x' * 1000": "text, not a number",
    "exp(10 ** 400)": "over the limit of 512",
    "A @ 3": "two arrays",
    "A @ arange(2)": "inner extents differ",
    "A + arange(2)": "do not fit together",
    "A % 0": "divides by zero",
    "5 // (A - 1)": "divides by zero",
    "take(A, 3 + A)": "take reads index 5",
    "histogram(A, 2)": "meets the value 2",
    "cdiv(1)": "cdiv",
    "sqrt(1, 2, 3)": "sqrt",
    "sum(A, axes=1)": "axes",
    "sum(A, axis=0.5)": "axis must be an integer",
    "sum(A, axis=3)": "axis 3 is out of bounds",
    "": "an expression is expected",
    "1 +": "not an expression",
    "\x00": "not an expression",
}


@pytest.mark.parametrize("text", BOMBS)
def test_bounds_and_mistakes_are_one_sentence(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(text, texts=True).evaluate({"A": np.arange(3)})
    assert BOMBS[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_function_says_what_it_does() -> None:
    assert all(function.meaning for function in FUNCTIONS.values())


def test_nearest_ignores_case() -> None:
    assert nearest("tile", ["TILE", "BM"]) == "TILE"
    assert nearest("xyz", ["TILE"]) is None
