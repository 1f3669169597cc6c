"""Warnings of one kind become one line."""

from __future__ import annotations

from gpuprof.report.grouping import grouped, merged

ADVICE = "lock the clocks (nvidia-smi -lgc)"


def noise(percent: str) -> str:
    return f"noise {percent} is above 0.5%: {ADVICE}"


def test_one_line_per_kind_with_the_range_of_its_numbers() -> None:
    said = [("a", noise("3.7%")), ("a", "the GPU throttled: SW power cap"), ("b", noise("12.0%")), ("c", noise("2.1%"))]
    assert list(grouped(said, 5)) == [
        f"a, b, c: noise 2.1% to 12.0% is above 0.5%: {ADVICE}",
        "a: the GPU throttled: SW power cap",
    ]


def test_many_variants_are_counted_and_some_named() -> None:
    said = [(f"v{n}", noise(f"{n}.5%")) for n in range(2, 14)]
    (line,) = grouped(said, 20)
    assert line == f"12 of 20 variants (v2, v3, v4, v5 and 8 more): noise 2.5% to 13.5% is above 0.5%: {ADVICE}"


def test_what_concerns_all_names_none() -> None:
    assert list(grouped([("a", noise("3.7%")), ("b", noise("3.7%"))], 2)) == [noise("3.7%")]


def test_other_words_are_another_kind() -> None:
    said = [("a", noise("3.7%")), ("b", "noise 3.7% is above 0.5%: give it more time (--timeout)")]
    assert len(list(grouped(said, 9))) == 2


def test_signs_thousands_and_digits_in_words() -> None:
    drift = "times drifted by {} during the run"
    assert merged([drift.format("+3.1%"), drift.format("-2.4%")]) == drift.format("-2.4% to +3.1%")
    assert merged(["1,200 samples of float32 in L2", "90 samples of float32 in L2"]) == (
        "90 to 1,200 samples of float32 in L2"
    )
    short = "{} us is too short: try --batch 20"
    assert merged([short.format(9.1), short.format(3.5)]) == short.format("3.5 to 9.1")
