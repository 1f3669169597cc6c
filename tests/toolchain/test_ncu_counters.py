"""From ncu's launches to a variant's counters, and from ncu's rules to the words of the verdict."""

from __future__ import annotations

import importlib.util
import json
import stat
import sys
from pathlib import Path

import pytest

from gpuprof.device.jobs import BufferReference, BufferSpec, FillCall, HostCall, Job, KernelCall
from gpuprof.errors import ProfilerError
from gpuprof.profile.ncu_counters import NcuOptions, counters_of_launches, profile_job, report_of, with_ncu
from gpuprof.results.json import read_run
from gpuprof.results.metrics import TIME
from gpuprof.results.model import Counters
from gpuprof.toolchain.ncu import NcuReport
from gpuprof.toolchain.ncu_csv import NcuLaunch, parse_ncu_rules
from gpuprof.toolchain.tools import Tool

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


def report(*launches: NcuLaunch, **unavailable: str) -> NcuReport:
    return NcuReport(launches, unavailable, "2025.3")


def test_one_launch_is_taken_as_it_is() -> None:
    values = launch(time=2000, inst=23, share=40.5, device__attribute_clock_rate=1980000, launch__grid_size=4)
    counters = counters_of_launches([call()], report(values, missing="not here"))
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
    counters = counters_of_launches(calls, report(*launches))
    assert counters.values == {
        TIME: 4000,
        "smsp__inst_executed.sum": 17,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 35.0,
    }
    assert counters.unavailable == {"a__b_ratio": "2 launches: no value of them all"}
    assert counters.blocks_total == 4 + 6


def test_a_counter_that_one_launch_lacks_is_not_half_a_sum() -> None:
    counters = counters_of_launches([call(), call()], report(launch(time=1, inst=5), launch(time=1)))
    assert "smsp__inst_executed.sum" not in counters.values
    assert "smsp__inst_executed.sum" in counters.unavailable


def test_other_launches_than_the_variants_are_an_error() -> None:
    with pytest.raises(ProfilerError, match="ncu saw 1 launches where the variant makes 2"):
        counters_of_launches([call(), call()], report(launch(time=1)))


def test_a_library_baseline_has_no_kernel_of_its_own() -> None:
    job = Job("cublas", (), (HostCall("gemm", Path("lib.so"), "f", ()),))
    with pytest.raises(ProfilerError, match="no kernel of its own"):
        profile_job(Tool(Path("ncu"), "2025.3", "PATH"), job, NcuOptions(("a__b.sum",)))


NCU = """#!{python}
import json, pathlib, sys
arguments = sys.argv[1:]
spec = arguments[-2]
kernels = [call for call in json.loads(pathlib.Path(spec).read_text())["calls"] if call["kind"] == "kernel"]
head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size"'
rows = [head + ',"smsp__inst_executed.sum"', '"","","","","","","","","","inst"']
for n, kernel in enumerate(kernels):
    rows.append('"%d","1","p","h","%s","1","7","(32, 1, 1)","(4, 1, 1)","1,%03d"' % (n, kernel["symbol"], n))
pathlib.Path(arguments[arguments.index("--log-file") + 1]).write_text("\\n".join(rows))
(pathlib.Path(__file__).parent / "call.json").write_text(json.dumps(arguments))
"""


def test_a_job_reaches_the_launcher_under_ncu(tmp_path: Path) -> None:
    """The stand-in reads the launcher's specification and answers with one row for each kernel in it."""
    program = tmp_path / "ncu"
    program.write_text(NCU.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    buffer = BufferSpec("x", "float32", (4,), 16)
    job = Job("v", (buffer,), (call("warm", timed=False), FillCall("zero", "x", 0), call("k")))
    counters = profile_job(Tool(program, "2025.3", "PATH"), job, NcuOptions(("smsp__inst_executed.sum",)), ordinal=3)
    assert counters.values == {"smsp__inst_executed.sum": 1001}
    arguments = json.loads((tmp_path / "call.json").read_text())
    assert arguments[-5:-2] == [sys.executable, "-m", "gpuprof.device.launcher"]
    assert arguments[-1] == "3"
    assert arguments[arguments.index("--kernel-name") + 1] == "regex:^(_Z1warmPf|_Z1kPf)$"


def test_counters_and_reasons_reach_their_rows() -> None:
    run = read_run(ROOT / "tests" / "results" / "data" / "gpu_run.json")
    counters = Counters({"smsp__inst_executed.sum": 7}, "ncu", 1, 1)
    found = with_ncu(run, [("naive", counters), ("tiled/TILE=16", "no permission")])
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


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("This workload exhibits low compute throughput and memory bandwidth utilization relative to the peak "
         "performance of this device. Achieved compute throughput and/or memory bandwidth below 60.0% of peak "
         "typically indicate latency issues.", "latency"),
        ("Memory is more heavily utilized than Compute: Look at the Memory Workload Analysis section to identify the "
         "L1 bottleneck.", "memory"),
        ("Compute is more heavily utilized than Memory: Look at the Compute Workload Analysis section.", "compute"),
        ("Compute and Memory are well-balanced: To reduce runtime, both must be reduced.", "balanced"),
        ("This workload is utilizing greater than 80.0% of the available compute or memory performance of this device. "
         "Start by analyzing DRAM in the Memory Workload Analysis section.", "memory"),
        ("This workload is utilizing greater than 80.0% of the available compute or memory performance of this device. "
         "Start by analyzing workloads in the Compute Workload Analysis section.", "compute"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_words_of_ncus_rule(text: str, side: str) -> None:
    spec = importlib.util.spec_from_file_location("ncu_session", ROOT / "benchmarks" / "ncu_session.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["ncu_session"] = module
    spec.loader.exec_module(module)
    assert module.rule_side(text) == side
