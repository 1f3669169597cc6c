"""Starting ncu and telling what went wrong, with a program that answers as recorded sessions of ncu did."""

from __future__ import annotations

import json
import stat
import sys
import time
from pathlib import Path

import pytest

from gpuprof.errors import ProfilerError
from gpuprof.toolchain.ncu import NcuRequest, ncu_arguments, profile, read_report
from gpuprof.toolchain.ncu_errors import explain, near_names, unknown_metrics
from gpuprof.toolchain.tools import Tool
from tests.waiting import PATIENCE_S

DATA = Path(__file__).parent / "data" / "ncu"

#: Stands where ncu would: keeps its arguments, prints a recorded log, runs the program if told to. It knows only the
#: metrics in ``known``; asked for others it answers as ncu does.
SCRIPT = """#!{python}
import json, pathlib, subprocess, sys, time
here = pathlib.Path(__file__).parent
plan = json.loads((here / "plan.json").read_text())
arguments = sys.argv[1:]
with (here / "calls.jsonl").open("a") as file:
    file.write(json.dumps(arguments) + "\\n")
if "--query-metrics" in arguments:
    print("\\n".join(plan.get("query", [])))
    sys.exit(0)
if "--import" in arguments:
    print(plan["log"])
    sys.exit(0)
time.sleep(plan.get("sleep", 0))
log = pathlib.Path(arguments[arguments.index("--log-file") + 1])
metrics = arguments[arguments.index("--metrics") + 1].split(",") if "--metrics" in arguments else []
unknown = [name for name in metrics if "known" in plan and name not in plan["known"]]
if unknown:
    log.write_text("==ERROR== Failed to access the following %d metrics: %s\\n" % (len(unknown), ", ".join(unknown)))
    sys.exit(1)
if "--export" in arguments:
    pathlib.Path(arguments[arguments.index("--export") + 1]).write_bytes(b"report")
else:
    log.write_text(plan["log"])
print(plan.get("stdout", ""))
sys.exit(plan.get("code", 0))
"""

RAW = (DATA / "raw_2024.1_french_constructed.csv").read_text(encoding="utf-8")
METRICS = (
    "gpu__time_duration.sum",
    "smsp__inst_executed.sum",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
)


@pytest.fixture
def stand_in(tmp_path: Path):
    folder = tmp_path / "Nsight Compute ü"
    folder.mkdir()
    program = folder / "ncu"
    program.write_text(SCRIPT.format(python=sys.executable), encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def plan(**answers: object) -> Tool:
        (folder / "plan.json").write_text(json.dumps(answers))
        return Tool(program, "2024.1.0", "PATH")

    plan.calls = lambda: [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    return plan


def request(**changes: object) -> NcuRequest:
    return NcuRequest(**{"command": ("program", "a b"), "metrics": METRICS, **changes})


def test_the_arguments_are_a_list_with_everything_that_was_asked(tmp_path: Path) -> None:
    arguments = ncu_arguments(
        request(symbols=("_Z1fPf", "_Z1gPf", "_Z1fPf"), launches=2, sections=("SpeedOfLight",), clock_control="base"),
        tmp_path / "log",
    )
    text = " ".join(arguments)
    assert "--csv --page raw --print-units base" in text
    assert "--clock-control base" in text
    assert "--replay-mode kernel" in text
    assert arguments[arguments.index("--metrics") + 1] == ",".join(METRICS)
    assert arguments[arguments.index("--kernel-name") + 1] == "regex:^(_Z1fPf|_Z1gPf)$"
    assert arguments[arguments.index("--launch-count") + 1] == "2"
    assert arguments[arguments.index("--section") + 1] == "SpeedOfLight"


def test_a_session_yields_launches_and_ends_with_the_program(stand_in) -> None:
    report = profile(stand_in(log=RAW, known=METRICS), request())
    assert report.launches[0].values["smsp__inst_executed.sum"] == 1234567
    assert report.unavailable == {}
    assert stand_in.calls()[0][-2:] == ["program", "a b"]


def test_unknown_metrics_are_named_with_near_ones_and_the_rest_is_collected(stand_in) -> None:
    tool = stand_in(log=RAW, known=METRICS, query=["smsp__inst_executed", "smsp__inst_issued", "dram__bytes_read"])
    report = profile(tool, request(metrics=(*METRICS, "smsp__inst_execuded.sum", "tpc__nothing.sum")))
    assert report.launches[0].values["gpu__time_duration.sum"] == 2048
    assert set(report.unavailable) == {"smsp__inst_execuded.sum", "tpc__nothing.sum"}
    assert "near: smsp__inst_executed.sum" in report.unavailable["smsp__inst_execuded.sum"]


def test_nothing_but_unknown_metrics(stand_in) -> None:
    tool = stand_in(log=RAW, known=METRICS)
    with pytest.raises(ProfilerError, match=r"2024\.1\.0.*tpc__nothing\.sum"):
        profile(tool, request(metrics=("tpc__nothing.sum",)))


def test_a_kept_report_is_read_back(stand_in, tmp_path: Path) -> None:
    report = tmp_path / "Bericht 1.ncu-rep"
    found = profile(stand_in(log=RAW), request(report=report))
    assert report.read_bytes() == b"report"
    assert found.launches[0].values["smsp__inst_executed.sum"] == 1234567
    assert stand_in.calls()[1][:2] == ["--import", str(report)]


def test_a_report_that_is_not_there(stand_in, tmp_path: Path) -> None:
    with pytest.raises(ProfilerError, match="no report"):
        read_report(stand_in(log=RAW), tmp_path / "x.ncu-rep")


def test_a_hang_ends_at_the_limit(stand_in) -> None:
    start = time.monotonic()
    with pytest.raises(ProfilerError, match=r"did not end within 0\.5 s"):
        profile(stand_in(log=RAW, sleep=600), request(timeout=0.5))
    assert time.monotonic() - start < PATIENCE_S


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(ProfilerError, match="cannot start"):
        profile(Tool(tmp_path / "ncu", "0", "PATH"), request())


WITHOUT_NCU = "the emulator's counters need none of this: `gpuprof counters` without --ncu"
OTHER_DRIVER = (
    "this ncu does not fit the installed driver: install the Nsight Compute of the driver's CUDA version (or an older "
    "one), or a newer driver; " + WITHOUT_NCU
)
#: What ncu prints, and the message. From public reports of real failures, except for the one on
#: memory, which is written after the documentation of kernel replay.
FAILURES = [
    (
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on "
        "the target device 0. For instructions on enabling permissions and to get more information see "
        "https://developer.nvidia.com/ERR_NVGPUCTRPERM\n==ERROR== The application returned an error code (1).",
        "no permission for the GPU's counters (ERR_NVGPUCTRPERM): run as root, or give a container the capability "
        "SYS_ADMIN (docker run --cap-add=SYS_ADMIN), or let the administrator load the driver with "
        "'options nvidia NVreg_RestrictProfilingToAdminUsers=0' (/etc/modprobe.d) and reboot; " + WITHOUT_NCU,
    ),
    (
        "==ERROR== An error was reported by the driver:\n==ERROR== Cuda driver is not compatible with Nsight Compute.\n"
        "==ERROR== The application returned an error code (11).",
        OTHER_DRIVER,
    ),
    (
        "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\n"
        "==WARNING== No kernels were profiled.",
        "this ncu does not know this GPU (ncu --list-chips names those that it does): install the Nsight Compute that "
        "came out with the GPU or later; " + WITHOUT_NCU,
    ),
    (
        "==ERROR== Profiling is not supported on device 0 as it uses the Windows Subsystem for Linux (WSL).",
        "this driver does not profile under WSL: WSL 2 on Windows 11 with a driver from 525 on is needed; "
        + WITHOUT_NCU,
    ),
    (
        "==ERROR== Failed to initialize the profiler: LibraryNotLoaded. Check that a compatible driver is loaded.",
        OTHER_DRIVER,
    ),
    (
        "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on path?).\n"
        "==ERROR== The application returned an error code (1).",
        "ncu found a stub of libcuda instead of the driver's: take .../stubs out of LD_LIBRARY_PATH",
    ),
    (
        "==ERROR== Profiling failed: a driver resource was unavailable. Ensure that no other tool (like DCGM) is "
        "concurrently collecting profiling data.",
        "the GPU's counters are in use by another tool (DCGM, another ncu): stop it (dcgmi profile --pause)",
    ),
    (
        "==ERROR== Failed to save memory for replay: out of memory.",
        "no memory was left to save the buffers between ncu's passes: fewer metrics need fewer passes (--ncu basic), "
        "or take smaller sizes",
    ),
    (
        "==ERROR== Option '--section Speed' did not match any section.",
        "this ncu has no section 'Speed': ncu --list-sections names them",
    ),
    (
        "==PROF== Disconnected from process 9\n==WARNING== No kernels were profiled.",
        "ncu saw no launch of the kernel: it was not reached, or its name did not match",
    ),
    (
        "==ERROR== Unknown Error on device 0.\n==ERROR== Unknown Error on device 0.",
        "ncu failed: Unknown Error on device 0.",
    ),
    ("", "ncu ended with code 3 and printed no table"),
]


@pytest.mark.parametrize(("output", "message"), FAILURES)
def test_failures_are_reported_with_their_repair(stand_in, output: str, message: str) -> None:
    with pytest.raises(ProfilerError) as caught:
        profile(stand_in(log=output, code=3), request())
    assert str(caught.value) == message


def test_a_program_that_failed_says_its_last_line(stand_in) -> None:
    log = "==ERROR== The application returned an error code (1).\n==WARNING== No kernels were profiled.\n"
    tool = stand_in(log=log, stdout="loading\nerror: out of device memory: asked for 8 GiB, free 1 GiB", code=1)
    with pytest.raises(ProfilerError, match=r"code 1: error: out of device memory: asked for 8 GiB"):
        profile(tool, request())


def test_a_cut_table_is_an_error(stand_in) -> None:
    with pytest.raises(ProfilerError, match="cut short"):
        profile(stand_in(log=RAW[:-20]), request())


def test_a_signal_is_named() -> None:
    assert explain("", -9) == "ncu was ended by signal 9"


def test_only_asked_names_are_unknown() -> None:
    output = (
        "==WARNING== Metric a__b.sum not found, did you mean a__c.sum?\n==ERROR== Failed to find metric 'd__e.max'."
    )
    assert unknown_metrics(output, ["a__b.sum", "d__e.max", "f__g.sum"]) == ("a__b.sum", "d__e.max")


@pytest.mark.parametrize(
    ("message", "asked", "unknown"),
    [
        (r"Failed to find metric regex:^flop_count_sp\.(sum|min|max|avg)$", "flop_count_sp", True),
        (r"Failed to find metric regex:^a__b\.sum$", "a__b.sum", True),
        ("Failed to find metric a__b.sum.pct", "a__b.sum", False),
        ("Failed to find metric a__b.sum", "a__b", False),
        ("Failed to find metric xa__b.sum", "a__b.sum", False),
        ("Failed to access the following 2 metrics: c__d.sum, a__b.sum", "a__b.sum", True),
    ],
)
def test_the_forms_in_which_ncu_writes_a_name(message: str, asked: str, unknown: bool) -> None:
    assert unknown_metrics(f"==ERROR== {message}\n", [asked]) == ((asked,) if unknown else ())


def test_near_names_keep_the_suffix() -> None:
    known = ["smsp__inst_executed", "smsp__warps_active"]
    assert near_names("smsp__inst_execute.sum", known)[0] == "smsp__inst_executed.sum"
    assert near_names("zzz__y.sum", known) == ()
