"""References that are files or Python functions; names that are words of Python; functions that need scipy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpuprof import api
from gpuprof.errors import ExpressionError, UsageError
from gpuprof.experiment import scipy_functions
from gpuprof.experiment.expressions import parse
from gpuprof.experiment.model import Experiment, PythonFunction
from gpuprof.profile.python_reference import call_function

REFERENCE = "reference: {C: A @ B}"
MATRIX = np.arange(6.0).reshape(2, 3)


def with_function(body: str) -> tuple[str, str]:
    Path("ref.py").write_text(body)
    return REFERENCE, 'reference: {C: "ref.py:product"}'


def test_a_file_is_a_reference(loaded: Callable[..., Experiment], tmp_path: Path) -> None:
    np.save(tmp_path / "c_64.npy", np.zeros((64, 32)))
    reference = loaded((REFERENCE, "reference: {C: 'c_{M}.npy'}")).variants[0].reference
    assert dict(reference.files) == {"C": tmp_path / "c_64.npy"}


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((32, 64)), "the result has the shape [32, 64], and C [64, 32]"),
        (np.zeros((64, 32), "complex64"), "holds complex64, and C is float32"),
        (np.array(["a"]), "and C is float32"),
    ],
)
def test_a_file_that_does_not_fit_is_one_line(
    mistakes: Callable[..., list[str]], tmp_path: Path, array: np.ndarray, message: str
) -> None:
    np.save(tmp_path / "c.npy", array)
    assert message in mistakes((REFERENCE, "reference: {C: c.npy}"))[0]


def test_a_file_that_is_missing_is_one_line(mistakes: Callable[..., list[str]]) -> None:
    assert "c.npy cannot be read: No such file" in mistakes((REFERENCE, "reference: {C: c.npy}"))[0]


def test_python_runs_only_when_it_is_allowed(loaded: Callable[..., Experiment], tmp_path: Path) -> None:
    """The refusal comes before anything is built: k.cu has no kernel."""
    experiment = loaded(with_function("open('touched', 'w')\ndef product(A, B): return A @ B\n"))
    with pytest.raises(UsageError, match=r"reference\.C: ref\.py:product is Python code, .* only with --allow-python"):
        api.run(experiment, device="emulated")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def produkt(A, B): pass\n", "ref.py has no function product; did you mean 'produkt'?"),
        ("def product(A, X): pass\n", "ref.py:product takes 'X', which is not a buffer, size or parameter"),
        ("def product(*all): pass\n", "takes arguments by position only"),
        ("def product(A, B):\n", "ref.py is not Python"),
    ],
)
def test_a_function_is_checked_without_running_it(mistakes: Callable[..., list[str]], body: str, message: str) -> None:
    Path("ref.py").write_text(body)
    found = mistakes((REFERENCE, 'reference: {C: "ref.py:product"}'))
    assert len(found) == 1
    assert message in found[0]


def test_a_function_gets_what_it_names(tmp_path: Path) -> None:
    file = tmp_path / "ref.py"
    file.write_text("print('noise')\ndef scaled(x, K, factor=1): return {'y': x * K * factor}\n")
    arrays = {"x": np.arange(3.0), "other": np.zeros(1)}
    found = call_function(PythonFunction(file, "scaled"), "y", arrays, {"K": 2, "factor": 5, "M": 1})
    assert list(found) == [0, 10, 20]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def f(x):\n    return x['a']\n", r"ref\.py:f: IndexError: .* \(ref\.py:2\)"),
        ("def f(x): return 'text'\n", "returned str, not an array of numbers"),
        ("import os\ndef f(x): os._exit(3)\n", "ended with exit code 3"),
    ],
)
def test_what_goes_wrong_in_a_function_is_one_line(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "ref.py").write_text(body)
    with pytest.raises(ExpressionError, match=message):
        call_function(PythonFunction(tmp_path / "ref.py", "f"), "y", {"x": np.arange(3.0)}, {})


@pytest.mark.parametrize("text", ["in * 2", "is + in", "from - lambda", "sum(in) if is else class"])
def test_words_of_python_are_names(text: str) -> None:
    scope = dict.fromkeys(("in", "is", "from", "lambda", "class"), 3)
    assert parse(text).names <= scope.keys()
    parse(text).evaluate(scope)


def test_a_buffer_may_be_called_in(loaded: Callable[..., Experiment]) -> None:
    experiment = loaded(
        ("  A: {dtype", "  in: {dtype"),
        ("A @ B", "in @ B"),
        ("K, A, B, C]", "K, in, B, C]"),
        ("K, A, B, C]", "K, in, B, C]"),
    )
    assert experiment.variants[0].reference.expressions == {"C": "in @ B"}


def test_the_attribute_t_is_the_transpose() -> None:
    assert np.array_equal(parse("A.T @ (2 * A)").evaluate({"A": MATRIX}), MATRIX.T @ (2 * MATRIX))
    with pytest.raises(ExpressionError, match=r"attribute access \(\.shape\)"):
        parse("A.shape")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("convolve(x, taps, mode='full')", [0, 1, 4, 7, 6]),
        ("correlate(x, taps, mode='valid')", [2, 5]),
        ("round(real(ifft(fft(x))))", [0, 1, 2]),
        ("abs(fft(x))", [3, np.sqrt(3), np.sqrt(3)]),
        ("rank(0 - x)", [2, 1, 0]),
        ("take(x, argsort(0 - x))", [2, 1, 0]),
    ],
)
def test_functions_of_scipy(text: str, expected: list[float]) -> None:
    """By hand: [0 1 2] with the taps [1 2 3] turned or not; the magnitudes of its three-point transform."""
    pytest.importorskip("scipy")
    taps = np.array([1, 2, 3] if "full" in text else [1, 2])
    found = parse(text).evaluate({"x": np.arange(3), "taps": taps})
    assert np.allclose(found, expected)


def test_a_word_is_only_for_functions_that_take_one() -> None:
    with pytest.raises(ExpressionError, match="text is not allowed"):
        parse("sin('same')")


def test_without_scipy_one_line_says_how_to_get_it(
    mistakes: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scipy_functions, "is_installed", lambda: False)
    found = mistakes((REFERENCE, "reference: {C: 'fft(A @ B)'}"))
    assert found == ["9: reference.C: `fft(A @ B)`: fft needs scipy: pip install '.[scipy]' in gpuprof's checkout"]
