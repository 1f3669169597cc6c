"""From ncu's launches to a variant's counters, and from ncu's rules to the words of the verdict."""

from __future__ import annotations

from pathlib import Path

from gpuprof.device.jobs import BufferReference, KernelCall
from gpuprof.isa.ncu_metrics import TIME
from gpuprof.profile.ncu.counters import Profiled, profiled, with_ncu
from gpuprof.profile.ncu.jobs import JobLaunches, report_of
from gpuprof.results.json import read_run
from gpuprof.results.model import Counters
from gpuprof.toolchain.ncu_csv import NcuLaunch, parse_ncu_rules

ROOT = Path(__file__).parent.parent.parent
DATA = Path(__file__).parent / "data" / "ncu"


def call(name: str = "k", *, timed: bool = True, grid: tuple[int, int, int] = (4, 1, 1)) -> KernelCall:
    return KernelCall(name, Path("k.cubin"), f"_Z1{name}Pf", grid, (32, 1, 1), 0, (BufferReference("x"),), timed=timed)


def launch(**values: float) -> NcuLaunch:
    names = {
        "time": TIME,
        "inst": "smsp__inst_executed.sum",
        "share": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    }
    return NcuLaunch("0", "k", None, None, {names.get(key, key): value for key, value in values.items()})


def counters_of(calls: list[KernelCall], *launches: NcuLaunch, **unavailable: str) -> Counters:
    return profiled(JobLaunches(tuple(calls), launches, unavailable)).counters


def test_one_launch_is_taken_as_it_is() -> None:
    values = launch(time=2000, inst=23, share=40.5, device__attribute_clock_rate=1980000, launch__grid_size=4)
    counters = counters_of([call()], values, missing="not here")
    assert counters.values == {
        TIME: 2000,
        "smsp__inst_executed.sum": 23,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 40.5,
    }
    assert (counters.source, counters.blocks_run, counters.blocks_total) == ("ncu", 4, 4)
    assert counters.unavailable == {"missing": "not here"}


def test_timed_launches_add_up_and_shares_are_weighted_by_time() -> None:
    """Three launches of which the first is not timed: (1000 * 80 + 3000 * 20) / 4000 = 35."""
    calls = [call("a", timed=False), call("b"), call("b", grid=(2, 3, 1))]
    launches = [
        launch(time=9999, inst=1000, share=99),
        launch(time=1000, inst=10, share=80, a__b_ratio=1.5),
        launch(time=3000, inst=7, share=20, a__b_ratio=2.5),
    ]
    counters = counters_of(calls, *launches)
    assert counters.values == {
        TIME: 4000,
        "smsp__inst_executed.sum": 17,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 35.0,
    }
    assert counters.unavailable == {"a__b_ratio": "2 launches: cannot be combined"}
    assert counters.blocks_total == 4 + 6


def test_a_counter_that_one_launch_lacks_is_not_half_a_sum() -> None:
    counters = counters_of([call(), call()], launch(time=1, inst=5), launch(time=1))
    assert "smsp__inst_executed.sum" not in counters.values
    assert "smsp__inst_executed.sum" in counters.unavailable


def test_counters_and_reasons_reach_their_rows() -> None:
    run = read_run(ROOT / "tests" / "results" / "data" / "gpu_run.json")
    counters = Counters({"smsp__inst_executed.sum": 7}, "ncu", 1, 1)
    found = with_ncu(run, [("naive", Profiled(counters)), ("tiled/TILE=16", "no permission")])
    assert found.results[0].ncu == counters
    assert found.results[1].missing["ncu"] == "no permission"
    assert found.results[2].missing["ncu"] == "not profiled"


def test_a_report_is_named_after_its_variant() -> None:
    assert report_of(Path("/o/a.ncu-rep"), "tiled/TILE=16") == Path("/o/a.tiled_TILE=16.ncu-rep")
    assert report_of(Path("a"), "v") == Path("a.v.ncu-rep")
    assert report_of(None, "v") is None


def test_ncus_rules_are_read_from_a_details_page() -> None:
    (rule,) = parse_ncu_rules((DATA / "details_2023.2_rules_constructed.csv").read_text())
    assert (rule.kernel, rule.rule, rule.kind) == ("branch()", "SOLBottleneck", "OPT")
    assert rule.text == 'This kernel, at 12.5%, is "latency" bound'
    assert parse_ncu_rules((DATA / "raw_2025.3.1_h200.csv").read_text()) == ()
