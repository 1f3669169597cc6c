"""Verification: what passes, what never does, and where the wrong elements are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gpuprof.experiment.model import Buffer, Fill, Tolerance
from gpuprof.profile.messages import Check
from gpuprof.profile.verification.cache import Comparer, Limits
from gpuprof.profile.verification.compare import CHUNK, OutputCheck, compare_output, explain, not_compared, summarize
from gpuprof.profile.verification.error_pattern import picture, where_wrong
from gpuprof.profile.verification.tolerance import reduction_length

EXACT = Tolerance(0.0, 0.0)


def test_the_bound_is_atol_plus_rtol_times_want() -> None:
    want = np.array([100.0, 100.0, 0.0, 0.0])
    got = np.array([101.1, 101.2, 0.1, 0.11], np.float64)
    check = compare_output("C", got, want, Tolerance(rtol=0.01, atol=0.1 + 1e-12))
    # bounds are 1.1, 1.1, 0.1, 0.1: the second and the fourth are out
    assert check.wrong == 2
    assert check.max_abs == pytest.approx(1.2)
    assert check.max_rel == pytest.approx(0.012)  # zeros of the reference have no relative difference
    assert check.first is not None
    assert (check.first.index, check.first.got, check.first.expected) == ((1,), 101.2, 100.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_inf_never_pass_unless_the_reference_has_them(bad: float) -> None:
    generous = Tolerance(rtol=1e30, atol=1e30)
    got = np.array([1.0, bad], np.float32)
    assert compare_output("C", got, np.array([1.0, 2.0]), generous).wrong == 1
    assert compare_output("C", got, np.array([1.0, bad]), EXACT).wrong == 0
    assert compare_output("C", np.array([1.0, 2.0], np.float32), np.array([1.0, bad]), generous).wrong == 1


def test_integers_are_compared_as_integers() -> None:
    got = np.array([2**53 + 1], np.int64)
    want = np.array([2**53], np.int64)
    assert compare_output("C", got, want, EXACT).wrong == 1  # equal as float64


def test_an_unwritten_boolean_is_not_true() -> None:
    got = np.array([1, 0, 0xFF], np.uint8).view(np.bool_)
    check = compare_output("C", got, np.array([True, False, True]), EXACT)
    assert (check.wrong, check.first.index if check.first else None) == (1, (2,))


def test_integers_are_compared_in_the_outputs_width() -> None:
    got = np.array([255, 7], np.uint8)
    assert compare_output("C", got, np.array([-1, 7], np.int64), EXACT).wrong == 0
    huge = np.array([2**64 - 1], np.uint64)
    assert compare_output("C", huge, np.array([2**64 - 2], np.uint64), EXACT).wrong == 1


def test_only_written_elements_are_checked_of_a_sample() -> None:
    got = np.array([1.0, np.nan, 3.0, np.nan])
    check = compare_output("C", got, np.arange(1.0, 5.0), EXACT, np.array([True, False, True, False]))
    assert (check.wrong, check.checked, check.total, check.max_abs) == (0, 2, 4, 0.0)


def test_a_difference_beyond_the_first_chunk_is_found_at_its_index() -> None:
    got = np.zeros((400, 400), np.float32)
    got[399, 17] = 1.0
    check = compare_output("C", got, np.zeros((400, 400)), EXACT)
    assert check.first is not None
    assert check.first.index == (399, 17)


def test_the_verdict_and_its_sentence() -> None:
    got = np.array([[1.0, 2.0], [3.0, 5.0]], np.float32)
    verdict = summarize([compare_output("C", got, np.array([[1, 2], [3, 4]]), EXACT)], "tolerance from the YAML")
    assert verdict.verdict == "differs"
    text = explain(verdict)
    assert text is not None
    assert "1 of 4" in text
    assert "C[1, 1]: got 5.0, expected 4" in text
    assert explain(not_compared(4, "no reference")) is None


MASKS = {
    "all": np.s_[:, :],
    "bottom right corner": np.s_[60:, 58:],
    "top left corner": np.s_[:3, :5],
    "bottom edge": np.s_[63:, :],
    "right edge": np.s_[:, 61:],
    "stripe": np.s_[20:24, :],
    "block": np.s_[16:32, 16:32],
    "one element": np.s_[5:6, 6:7],
    "stripes (rows), every 2": np.s_[::2, :],
    "stripes (columns), every 4": np.s_[:, 1::4],
}


@pytest.mark.parametrize("word", MASKS)
def test_where_wrong_names_the_shape(word: str) -> None:
    mask = np.zeros((64, 64), np.bool_)
    mask[MASKS[word]] = True
    assert where_wrong(mask) == word


@pytest.mark.parametrize(
    ("word", "mask"),
    [
        ("the diagonal", np.eye(64, dtype=np.bool_)),
        ("all but the diagonal: transposed?", ~np.eye(64, dtype=np.bool_)),
        ("upper triangle", np.triu(np.ones((64, 64), np.bool_))),
        ("lower triangle", np.tril(np.ones((64, 64), np.bool_), -1)),
    ],
)
def test_where_wrong_knows_a_square_s_diagonal(word: str, mask: NDArray[np.bool_]) -> None:
    assert where_wrong(mask) == word
    assert where_wrong(np.vstack([mask, np.zeros((1, 64), np.bool_)])) != word  # no square


def test_wrong_elements_at_a_distance() -> None:
    flat = np.zeros(64 * 64, np.bool_)
    flat[5::67] = True
    assert where_wrong(flat.reshape(64, 64)) == "one element in 67"


def test_scattered_and_none() -> None:
    generator = np.random.default_rng(1)
    assert where_wrong(generator.random((64, 64)) < 0.02) == "scattered"
    assert where_wrong(np.zeros((4, 4), np.bool_)) == "none"


def test_the_picture_marks_cells_without_with_some_and_with_only_wrong_elements() -> None:
    mask = np.zeros((16, 64), np.bool_)
    mask[14:, :] = True  # the last of 8 rows of two
    mask[0, 0] = True
    drawn = picture(mask)
    assert len(drawn) == 8
    assert drawn[0] == "x" + "." * 31
    assert drawn[3] == "." * 32
    assert drawn[7] == "#" * 32


def test_the_last_row_of_a_flat_output_ends_where_the_output_does() -> None:
    assert picture(np.ones(65, np.bool_)) == ("#" * 16,) * 4 + ("#",)
    assert set("".join(picture(np.ones(1000, np.bool_)))) == {"#"}


def matrix(name: str, *shape: int) -> Buffer:
    return Buffer(name, "float32", shape, Fill("constant"))


def test_reduction_length_reads_the_expression() -> None:
    buffers = {"A": matrix("A", 64, 300), "B": matrix("B", 300, 50), "x": matrix("x", 1000)}
    assert reduction_length("A @ B", buffers) == 300
    assert reduction_length("sum(x)", buffers) == 1000
    assert reduction_length("sum(A, axis=0)", buffers) == 64
    assert reduction_length("2 * x + 1", buffers) == 1


def test_equal_outputs_are_compared_once_and_other_bits_again(tmp_path: Path) -> None:
    want = tmp_path / "want.npy"
    np.save(want, np.zeros(4))
    request = Check((), (), EXACT, (), 0xFF)
    comparer = Comparer()

    def compare(values: list[float]) -> OutputCheck:
        found = comparer.compare(request, {"C": want}, {"C": np.array(values, np.float32)}, {})
        (check,) = found.checks
        return check

    first = compare([0.0, 0.0, 0.0, 0.0])
    assert compare([0.0, 0.0, 0.0, 0.0]) is first
    assert compare([0.0, -0.0, 0.0, 0.0]) is not first  # equal in value, another bit
    assert compare([0.0, 1.0, 0.0, 0.0]).wrong == 1
    assert compare([0.0, np.nan, 0.0, 0.0]).wrong == 1


def test_outputs_that_are_known_need_not_be_read(tmp_path: Path) -> None:
    want = tmp_path / "want.npy"
    np.save(want, np.zeros(4))
    request, comparer = Check((), (), EXACT, (), 0xFF), Comparer()
    known = [np.array([0.0, value, 0.0, 0.0], np.float32) for value in (0.0, 1.0)]
    checks = [comparer.compare(request, {"C": want}, {"C": output}, {}).checks for output in known]

    def recall(held: np.ndarray) -> tuple[OutputCheck, ...] | None:
        found = comparer.recall(request, {"C": want}, ["C"], lambda _, output: output.tobytes() == held.tobytes())
        return None if found is None else found.checks

    assert recall(known[0]) == checks[0]  # the latest but one is kept as well
    assert recall(known[1]) == checks[1]
    assert recall(np.array([0.0, 2.0, 0.0, 0.0], np.float32)) is None
    assert comparer.recall(request, {}, ["C"], lambda *_: True) is None  # never compared without a reference


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.001])
def test_one_element_among_many_that_pass_is_found(bad: float) -> None:
    """Chunks that pass are taken in one sweep: the last element of the last, short one must count too."""
    generator = np.random.default_rng(7)
    want = generator.uniform(1, 2, 2 * CHUNK + 5)
    got = want.astype(np.float32)
    rule = Tolerance(1e-6, 1e-6)
    clean = compare_output("C", got, want, rule)
    assert clean.wrong == 0
    assert clean.max_abs == np.max(np.abs(got - want))
    assert clean.max_rel == np.max(np.abs(got - want) / want)
    got[-1] = got[-1] + np.float32(bad)
    check = compare_output("C", got, want, rule)
    assert (check.wrong, check.first and check.first.index) == (1, (2 * CHUNK + 4,))
    assert check.max_abs == (pytest.approx(0.001, rel=1e-2) if bad == 0.001 else np.inf)


def test_a_reference_of_zeros_has_no_relative_difference() -> None:
    got = np.full(CHUNK + 1, 1e-9, np.float32)
    check = compare_output("C", got, np.zeros(CHUNK + 1), Tolerance(0.0, 1e-6))
    assert (check.wrong, check.max_rel) == (0, 0.0)
    assert check.max_abs == pytest.approx(1e-9)


def test_a_sampled_reference_is_compared_where_both_wrote(tmp_path: Path) -> None:
    reference = tmp_path / "C.npy"
    np.save(reference, np.array([1.0, 2.0, np.nan, np.nan]))
    np.save(tmp_path / "C.written.npy", np.array([True, True, False, False]))
    got = np.array([np.nan, 2.0, 3.0, np.nan])
    mask = np.array([False, True, True, False])
    found = Comparer().compare(Check((), (), EXACT, (), 0xFF), {"C": reference}, {"C": got}, {"C": Limits(mask)})
    (check,) = found.checks
    assert (check.checked, check.wrong) == (1, 0)
    nothing = np.array([False, False, True, True])
    found = Comparer().compare(Check((), (), EXACT, (), 0xFF), {"C": reference}, {"C": got}, {"C": Limits(nothing)})
    assert summarize(found.checks, "").verdict == "unchecked"
