"""Which variant is called best, and by what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gpuprof.isa import ncu_metrics as m
from gpuprof.report.conclusion import best_line, conclusion_lines
from gpuprof.results.best import best_of
from gpuprof.results.json import read_run
from gpuprof.results.model import Counters, Result, Run, SassFacts, Status, Timing

ENVIRONMENT = read_run(Path(__file__).parent / "data" / "emulated_run.json").environment


def counted(name: str, instructions: int, wavefronts: int = 0, sectors: int = 0, size: int = 1) -> Result:
    values = {m.INSTRUCTIONS: instructions, m.SHARED_WAVEFRONTS: wavefronts, m.GLOBAL_SECTORS: sectors}
    return Result(name, name, {}, {"N": size}, Status.OK, counters=Counters(values, "emulator", 1, 1))


def timed(name: str, median: float, half: float) -> Result:
    timing = Timing((median,), median, (median - half, median + half), median, median, "cold", 0.0)
    return Result(name, name, {}, {"N": 1}, Status.OK, timing=timing)


def run_of(*results: Result) -> Run:
    return Run("e", "", "", "", 0.0, ENVIRONMENT, results)


def test_a_bank_conflict_outweighs_fewer_instructions() -> None:
    best = best_of(run_of(counted("conflicts", 400, wavefronts=3200), counted("padded", 800, wavefronts=100)))
    assert best is not None
    assert (best.result.variant, best.basis, best.value, best.next_value) == ("padded", "issue", 200, 3200)
    assert best_line(best).startswith("fewest issue cycles: padded, at least 200; then conflicts, 3,200")


def test_the_basis_is_the_busiest_part() -> None:
    best = best_of(run_of(counted("a", 4, sectors=4000), counted("b", 4, sectors=8000)))
    assert best is not None
    assert (best.basis, best.value) == ("sectors", 1000)


def test_equal_variants_are_all_named() -> None:
    best = best_of(run_of(*(counted(name, 400) for name in "abc"), counted("d", 500)))
    assert best is not None
    assert best.equal == ("a", "b", "c")


def test_time_decides_where_there_is_one_and_doubt_is_said() -> None:
    best = best_of(run_of(timed("a", 10.0, 0.1), replace(timed("b", 9.0, 0.1), counters=counted("b", 9).counters)))
    assert best is not None
    assert (best.result.variant, best.basis, best.clear) == ("b", "time", True)
    unclear = best_of(run_of(timed("a", 10.0, 2.0), timed("b", 9.0, 2.0)))
    assert unclear is not None
    assert "no clear winner" in best_line(unclear)


def test_nothing_is_best_of_one_of_wrong_ones_or_of_unequal_sizes() -> None:
    wrong = replace(counted("b", 1), status=Status.DIFFERS)
    assert best_of(run_of(counted("a", 4), wrong)) is None
    assert best_of(run_of(counted("a", 4), counted("b", 1, size=2))) is None
    assert best_of(run_of()) is None


def test_the_first_finding_of_each_variant_stands_below_the_table() -> None:
    first = replace(counted("a", 4), sass=SassFacts(1, {}, 0, 0, finding="2 LDS with 8 wavefronts: pad"))
    second = replace(counted("b", 4), sass=SassFacts(1, {}, 0, 0))
    lines = [line for _, line in conclusion_lines(run_of(first, second))]
    assert lines[1:] == ["finding: a: 2 LDS with 8 wavefronts: pad"]


def test_a_variant_of_other_work_is_not_in_the_race() -> None:
    gemm = [replace(counted(name, number), work_flop=64.0) for name, number in (("a", 400), ("b", 300))]
    best = best_of(replace(run_of(*gemm, counted("convert", 8)), baseline="a"))
    assert best is not None
    assert best.result.variant == "b"
