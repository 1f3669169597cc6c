"""Starting Nsight Compute around a program: the only place that does.

The program is gpuprof's own launcher of variants. ncu gets an explicit list of metrics and writes its CSV to a log
of its own, so that the program's output cannot mix with it. Metrics that this ncu or chip lacks are taken out and the
rest is collected; they come back in ``unavailable`` with their nearest names.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuprof.errors import ProfilerError, ProfilerUnavailableError
from gpuprof.system.cleanup import shared_cleaner, temporary_folder
from gpuprof.system.processes import kill_group
from gpuprof.toolchain.ncu_csv import MAX_CHARACTERS, NcuLaunch, NcuRule, parse_ncu_csv, parse_ncu_rules
from gpuprof.toolchain.ncu_errors import explain, failure, near_names, unknown_metrics
from gpuprof.toolchain.tools import Tool

#: Seconds for one start of ncu: it replays a launch up to some fifty times and saves its buffers between.
DEFAULT_TIMEOUT = 600.0
#: How often metrics that this ncu does not have are taken out and the rest tried again.
ATTEMPTS = 3
#: Seconds for ``ncu --query-metrics``.
QUERY_TIMEOUT = 60.0


@dataclass(frozen=True)
class NcuRequest:
    """What to profile and what to collect.

    ``command`` is the program as an argument list; ``symbols`` are the mangled names of the kernels wanted (empty:
    every kernel), ``launches`` how many of their launches at most. ``report`` keeps the report for Nsight Compute's
    window. ``clock_control`` is ``none`` or ``base``, ``cache_control`` ``all`` (flushed before each pass) or ``none``.
    """

    command: tuple[str, ...]
    metrics: tuple[str, ...]
    symbols: tuple[str, ...] = ()
    launches: int | None = None
    sections: tuple[str, ...] = ()
    report: Path | None = None
    clock_control: str = "none"
    cache_control: str = "all"
    timeout: float = DEFAULT_TIMEOUT
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NcuReport:
    """The launches in order, and for every asked metric that has no value the reason.

    ``failure`` says what ended the program early: the launches are those before it. Empty where it ended well.
    """

    launches: tuple[NcuLaunch, ...]
    unavailable: Mapping[str, str]
    version: str
    failure: str = ""


def profile(tool: Tool, request: NcuRequest) -> NcuReport:
    """Run ``request.command`` under ncu.

    Raises:
        ProfilerError: ncu or the program failed, nothing was profiled, or the output is damaged; one sentence.
    """
    dropped: tuple[str, ...] = ()
    for _ in range(ATTEMPTS):
        metrics = tuple(name for name in request.metrics if name not in dropped)
        if not metrics and not request.sections:
            break
        outcome = _run(tool, replace(request, metrics=metrics))
        if outcome.launches:
            ended = explain(outcome.log, outcome.returncode, outcome.program_output) if outcome.returncode else ""
            missing = _unavailable(tool, request.metrics, outcome.launches)
            return NcuReport(outcome.launches, missing, tool.version, ended)
        unknown = unknown_metrics(outcome.log, metrics)
        if not unknown:
            raise failure(outcome.log, outcome.returncode, outcome.program_output)
        dropped += unknown
    near = _why_missing(tool, dropped)
    raise ProfilerUnavailableError(
        f"this ncu ({tool.version}) has none of the metrics asked for: {'; '.join(near.values())}"
    )


def read_report(tool: Tool, report: Path, *, timeout: float = DEFAULT_TIMEOUT) -> tuple[NcuLaunch, ...]:
    """The launches in a ``.ncu-rep`` file.

    Raises:
        ProfilerError: ncu cannot read it.
    """
    returncode, output = _read_page(tool, report, "raw", timeout)
    launches = parse_ncu_csv(output)
    if not launches:
        raise ProfilerError(f"{report}: {explain(output, returncode)}")
    return launches


def read_rules(tool: Tool, report: Path, *, timeout: float = DEFAULT_TIMEOUT) -> tuple[NcuRule, ...]:
    """What ncu's own rules say of the launches in a ``.ncu-rep`` file (of the sections that were collected).

    Raises:
        ProfilerError: ncu cannot read it.
    """
    return parse_ncu_rules(_read_page(tool, report, "details", timeout)[1])


def _read_page(tool: Tool, report: Path, page: str, timeout: float) -> tuple[int, str]:
    if not report.is_file():
        raise ProfilerError(f"no report {report}")
    command = [str(tool.path), "--import", str(report), "--csv", "--page", page, "--print-units", "base"]
    return _execute(command, timeout, {})


def ncu_arguments(request: NcuRequest, log: Path) -> list[str]:
    """The options of ncu, without the program: a list, never a shell line."""
    arguments = ["--csv", "--page", "raw", "--print-units", "base"]
    arguments += ["--clock-control", request.clock_control, "--cache-control", request.cache_control]
    arguments += ["--replay-mode", "kernel", "--target-processes", "application-only", "--log-file", str(log)]
    if request.metrics:
        arguments += ["--metrics", ",".join(request.metrics)]
    for section in request.sections:
        arguments += ["--section", section]
    if request.symbols:
        names = "|".join(re.escape(symbol) for symbol in dict.fromkeys(request.symbols))
        arguments += ["--kernel-name-base", "mangled", "--kernel-name", f"regex:^({names})$"]
    if request.launches is not None:
        arguments += ["--launch-count", str(request.launches)]
    if request.report is not None:
        arguments += ["--export", str(request.report), "--force-overwrite"]
    return arguments


@dataclass(frozen=True)
class _Outcome:
    launches: tuple[NcuLaunch, ...]
    returncode: int
    log: str
    program_output: str


def _run(tool: Tool, request: NcuRequest) -> _Outcome:
    """One start of ncu; the launches are empty where it yielded none."""
    with temporary_folder("gpuprof-ncu-") as folder:
        log = folder / "ncu.csv"
        before = _stamp(request.report)
        command = [str(tool.path), *ncu_arguments(request, log), *request.command]
        returncode, output = _execute(command, request.timeout, request.environment)
        text = _read_bounded(log)
    if request.report is not None and not parse_ncu_csv(text) and _stamp(request.report) not in (None, before):
        # with --export, several versions print no page
        launches = read_report(tool, _report_file(request.report), timeout=request.timeout)
        return _Outcome(launches, returncode, text, output)
    return _Outcome(parse_ncu_csv(text), returncode, text + "\n" + _own_messages(output), output)


def _report_file(report: Path) -> Path:
    """ncu adds its extension where the name has none."""
    return report if report.exists() or report.suffix == ".ncu-rep" else report.with_name(report.name + ".ncu-rep")


def _stamp(report: Path | None) -> int | None:
    """When the report was written, in ns: an earlier one does not stand for a session that wrote none."""
    path = None if report is None else _report_file(report)
    return path.stat().st_mtime_ns if path is not None and path.is_file() else None


def _own_messages(output: str) -> str:
    """ncu's lines among the program's: some failures come before the log is opened."""
    return "\n".join(line for line in output.splitlines() if line.startswith("=="))


def _read_bounded(path: Path) -> str:
    if not path.is_file():
        return ""
    if path.stat().st_size > MAX_CHARACTERS:
        raise ProfilerError(f"ncu wrote {path.stat().st_size:,} bytes; at most {MAX_CHARACTERS:,} are read")
    return path.read_text(encoding="utf-8", errors="replace")


def _execute(command: Sequence[str], timeout: float, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a command in its own process group; return code and output (stdout and stderr together)."""
    variables = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=variables,
            start_new_session=True,
        )
    except OSError as error:
        raise ProfilerError(f"cannot start {command[0]}: {error.strerror or error}") from None
    try:
        with shared_cleaner().group(process.pid):
            output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise ProfilerError(
            f"ncu did not end within {timeout:g} s: take fewer metrics (--ncu basic) or smaller sizes"
        ) from None
    finally:
        if process.poll() is None:
            kill_group(process)
            process.communicate()
    return process.returncode, output[:MAX_CHARACTERS].decode("utf-8", errors="replace")


def _unavailable(tool: Tool, asked: Iterable[str], launches: Sequence[NcuLaunch]) -> Mapping[str, str]:
    return _why_missing(tool, [name for name in asked if not any(has_metric(launch, name) for launch in launches)])


def has_metric(launch: NcuLaunch, name: str) -> bool:
    """Whether the launch has that metric, or one of its rollups where the name has no suffix."""
    if name in launch.values or name in launch.texts:
        return True
    return "." not in name and any(known.startswith(f"{name}.") for known in launch.values)


def _why_missing(tool: Tool, names: Sequence[str]) -> Mapping[str, str]:
    """A sentence for each name, with near matches from ncu's own list."""
    if not names:
        return {}
    known = query_metrics(tool)
    reasons = {}
    for name in names:
        near = near_names(name, known)
        hint = f"; near: {', '.join(near)}" if near else ""
        reasons[name] = f"{name}: this ncu or chip has no value for it{hint}"
    return reasons


def query_metrics(tool: Tool) -> tuple[str, ...]:
    """The metrics (without suffixes) that ncu lists for this machine's chip; empty where it cannot say."""
    try:
        _, output = _execute([str(tool.path), "--query-metrics", "--csv"], QUERY_TIMEOUT, {})
    except ProfilerError:
        return ()
    words = (re.match(r'"?([a-z][A-Za-z0-9_]+__[A-Za-z0-9_]+)\b', line) for line in output.splitlines())
    return tuple(dict.fromkeys(match[1] for match in words if match))
