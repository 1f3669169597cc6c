"""Several variants in one process of ncu: whose rows are whose, and what happens when one of them ends the process.

The program that stands where ncu would reads the launcher's specification and plays its jobs: one row per kernel call,
a line of progress per job that ends. ``plan.json`` says which jobs fail, and how.
"""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuprof.device.jobs import BufferReference, BufferSpec, FillCall, HostCall, Job, KernelCall
from gpuprof.device.launcher import jobs_ended, read_spec, write_spec
from gpuprof.errors import ProfilerError
from gpuprof.profile.ncu.jobs import TOGETHER, JobLaunches, NcuOptions, profile_jobs
from gpuprof.toolchain.tools import Tool

INSTRUCTIONS = "smsp__inst_executed.sum"

NCU = """#!{python}
import json, pathlib, sys
here = pathlib.Path(__file__).parent
plan = json.loads((here / "plan.json").read_text())
arguments = sys.argv[1:]
if "--query-metrics" in arguments:
    sys.exit(0)
if "--import" in arguments:
    print(pathlib.Path(arguments[arguments.index("--import") + 1]).read_text())
    sys.exit(0)
spec = json.loads(pathlib.Path(arguments[-2]).read_text())
log = pathlib.Path(arguments[arguments.index("--log-file") + 1])
with (here / "calls.jsonl").open("a") as file:
    file.write(json.dumps([arguments, [job["label"] for job in spec["jobs"]]]) + "\\n")
if "machine" in plan:
    log.write_text(plan["machine"])
    sys.exit(1)
head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size"'
rows = [head + ',"smsp__inst_executed.sum"', '"","","","","","","","","","inst"']
def finish(code, message=""):
    if message:
        print(message)
        rows.insert(0, "==ERROR== The application returned an error code (1).")
    target = log
    if "--export" in arguments:
        target = pathlib.Path(arguments[arguments.index("--export") + 1])
        log.write_text(rows[0] if message else "")
    if plan.get("lose_rows") and message:
        del rows[1:]
    target.write_text("\\n".join(rows))
    sys.exit(code)
number = 0
progress = pathlib.Path(spec["progress"])
progress.write_text("")
for job in spec["jobs"]:
    for call in job["calls"]:
        if call["kind"] != "kernel" or (call["symbol"] == plan.get("never")):
            continue
        if call["symbol"] == plan.get("unseen") and len(spec["jobs"]) > 1:
            continue
        if job["label"] in plan.get("faults", []):
            finish(1, "error: " + job["label"] + ": an illegal memory access")
        value = call["shared_bytes"]
        cells = (number, call["symbol"], tuple(call["block"]), tuple(call["grid"]), value)
        rows.append('"%d","1","p","h","%s","1","7","%s","%s","%d"' % cells)
        number += 1
    with progress.open("a") as file:
        file.write(job["label"] + "\\n")
finish(0)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Any:
    folder = tmp_path / "ncu folder"
    folder.mkdir()
    program = folder / "ncu"
    program.write_text(NCU.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def plan(**answers: object) -> Tool:
        (folder / "plan.json").write_text(json.dumps(answers))
        (folder / "calls.jsonl").unlink(missing_ok=True)
        return Tool(program, "2025.3", "PATH")

    plan.calls = lambda: [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    return plan


def call(value: int, grid: int = 4, *, timed: bool = True, symbol: str = "_Z1kPf") -> KernelCall:
    """A launch whose row will say ``value``."""
    return KernelCall("k", Path("k.cubin"), symbol, (grid, 1, 1), (32, 1, 1), value, (BufferReference("x"),), timed)


def job(label: str, *calls: Any) -> Job:
    return Job(label, (BufferSpec("x", "float32", (4,), 16),), calls)


#: One launch; two with a fill between; one of another grid.
JOBS = [job("a", call(10)), job("b", call(20, timed=False), FillCall("zero", "x", 0), call(21)), job("c", call(30, 7))]
OPTIONS = NcuOptions((INSTRUCTIONS,))


def values(found: dict[str, Any]) -> dict[str, Any]:
    """Per variant its launches' values, or the words of the error."""
    return {
        label: [launch.values[INSTRUCTIONS] for launch in outcome.launches]
        if isinstance(outcome, JobLaunches)
        else str(outcome)
        for label, outcome in found.items()
    }


def together(stand_in: Any) -> list[list[str]]:
    return [labels for _, labels in stand_in.calls()]


def test_one_process_for_all_and_every_variant_its_own_rows(stand_in: Any) -> None:
    found = dict(profile_jobs(stand_in(), JOBS, OPTIONS, ordinal=3))
    assert values(found) == {"a": [10], "b": [20, 21], "c": [30]}
    assert [launch.identifier for launch in found["b"].launches] == ["1", "2"]
    assert [each.timed for each in found["b"].calls] == [False, True]
    ((arguments, labels),) = stand_in.calls()
    assert labels == ["a", "b", "c"]
    assert arguments[-5:-2] == [sys.executable, "-m", "gpuprof.device.launcher"]
    assert arguments[-1] == "3"
    assert arguments[arguments.index("--kernel-name") + 1] == "regex:^(_Z1kPf)$"


def test_a_fault_costs_its_own_variant_and_one_start_more_each_side(stand_in: Any) -> None:
    found = values(dict(profile_jobs(stand_in(faults=["b"]), JOBS, OPTIONS)))
    assert (found["a"], found["c"]) == ([10], [30])
    assert "code 1: error: b: an illegal memory access" in found["b"]
    assert together(stand_in) == [["a", "b", "c"], ["b"], ["c"]]


def test_rows_that_were_lost_with_the_fault_are_collected_again(stand_in: Any) -> None:
    found = values(dict(profile_jobs(stand_in(faults=["b", "c"], lose_rows=True), JOBS, OPTIONS)))
    assert found["a"] == [10]
    assert "b: an illegal" in found["b"]
    assert "c: an illegal" in found["c"]
    assert together(stand_in) == [["a", "b", "c"], ["a"], ["b"], ["c"]]


def test_rows_that_do_not_fit_the_launches_are_given_to_nobody(stand_in: Any) -> None:
    jobs = [*JOBS, job("d", call(40, symbol="_Z1dPf"))]
    found = values(dict(profile_jobs(stand_in(unseen="_Z1dPf"), jobs, OPTIONS)))
    assert found == {"a": [10], "b": [20, 21], "c": [30], "d": [40]}
    assert together(stand_in) == [["a", "b", "c", "d"], ["a"], ["b"], ["c"], ["d"]]


def test_other_launches_than_the_variants_are_an_error(stand_in: Any) -> None:
    jobs = [job("d", call(40, symbol="_Z1dPf"), call(41)), job("e", call(42))]
    found = values(dict(profile_jobs(stand_in(never="_Z1dPf"), jobs, OPTIONS)))
    assert found["d"] == "ncu saw 1 launches where the variant makes 2"
    assert found["e"] == [42]


def test_what_is_wrong_with_the_machine_is_asked_once(stand_in: Any) -> None:
    tool = stand_in(machine="==ERROR== ERR_NVGPUCTRPERM - The user does not have permission")
    found = values(dict(profile_jobs(tool, JOBS, OPTIONS)))
    assert len(stand_in.calls()) == 1
    assert all("NVreg_RestrictProfilingToAdminUsers=0" in text for text in found.values())
    assert list(found) == ["a", "b", "c"]


def test_what_keeps_ncu_from_starting_the_program_is_asked_once(stand_in: Any) -> None:
    found = values(dict(profile_jobs(stand_in(machine="==ERROR== Unknown option"), JOBS, OPTIONS)))
    assert len(stand_in.calls()) == 1
    assert found == dict.fromkeys("abc", "ncu failed: Unknown option")


def test_the_report_has_the_name_that_was_asked_for(stand_in: Any, tmp_path: Path) -> None:
    report = tmp_path / "all of it.ncu-rep"
    found = dict(profile_jobs(stand_in(), JOBS, NcuOptions((INSTRUCTIONS,), report=report)))
    assert values(found) == {"a": [10], "b": [20, 21], "c": [30]}
    assert {outcome.report for outcome in found.values()} == {report}


def test_reports_of_variants_that_ran_apart_are_named_after_them(stand_in: Any, tmp_path: Path) -> None:
    wanted = NcuOptions((INSTRUCTIONS,), report=tmp_path / "r.ncu-rep")
    found = dict(profile_jobs(stand_in(faults=["b"]), JOBS, wanted))
    assert found["a"].report == tmp_path / "r.ncu-rep"
    assert found["c"].report == tmp_path / "r.c.ncu-rep"
    assert isinstance(found["b"], ProfilerError)


def test_an_earlier_report_does_not_stand_for_a_session_without_one(stand_in: Any, tmp_path: Path) -> None:
    report = tmp_path / "r.ncu-rep"
    wanted = NcuOptions((INSTRUCTIONS,), report=report)
    assert values(dict(profile_jobs(stand_in(), JOBS[:1], wanted))) == {"a": [10]}
    found = dict(profile_jobs(stand_in(machine="==ERROR== An unknown failure"), JOBS[:1], wanted))
    assert "An unknown failure" in str(found["a"])


def test_many_variants_are_taken_in_groups(stand_in: Any) -> None:
    jobs = [job(f"v{number}", call(number)) for number in range(TOGETHER + 3)]
    found = values(dict(profile_jobs(stand_in(), jobs, OPTIONS)))
    assert found == {f"v{number}": [number] for number in range(TOGETHER + 3)}
    assert [len(labels) for labels in together(stand_in)] == [TOGETHER, 3]


def test_a_library_baseline_has_no_kernel_of_its_own(stand_in: Any) -> None:
    library = job("cublas", HostCall("gemm", Path("lib.so"), "f", ()))
    found = values(dict(profile_jobs(stand_in(), [library, JOBS[0]], OPTIONS)))
    assert "no kernel of its own" in found["cublas"]
    assert found["a"] == [10]


def test_the_launchers_files(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    write_spec(JOBS, spec, progress=tmp_path / "p")
    assert read_spec(spec) == tuple(JOBS)
    write_spec(JOBS[0], spec)
    assert read_spec(spec) == (JOBS[0],)
    assert jobs_ended(tmp_path / "p") == 0
    (tmp_path / "p").write_text("a\nb\n")
    assert jobs_ended(tmp_path / "p") == 2
