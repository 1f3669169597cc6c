"""Hold gpuprof against Nsight Compute on a GPU, and keep what both said.

    python benchmarks/ncu_session.py OUT [CONFIG ...] [--seconds N] [--variants N] [--emulate-budget N]

Needs a GPU with permission for its counters, ncu and pycuda. For gemm_1024 and every bundled config (or those named)
each variant runs once under ncu, a config in one process of it: the counters that repeat exactly, the rates of the
verdict, and ncu's own Speed Of Light section with its rule. Meanwhile the emulator executes the same variants on the
processor, each in a process of its own. All ends within ``--seconds``. Written after every config:

    OUT/session.json         per config the run with both devices' counters; per variant verdict, ncu's rule, agreement
    OUT/gemm_1024.txt        what ``gpuprof counters gemm_1024 --compare emulated,ncu`` printed
    OUT/summary.md           the tables for docs/results: counters equal and different, verdicts beside ncu's rule
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from gpuprof import experiment as experiments
from gpuprof.errors import GpuprofError, MissingDeviceError, MissingToolError
from gpuprof.experiment.bundled import configs
from gpuprof.experiment.model import Experiment, Variant
from gpuprof.profile.ncu.counters import Profiled, profile_with_ncu, require_ncu
from gpuprof.profile.ncu.jobs import NcuOptions
from gpuprof.profile.options import RunOptions
from gpuprof.profile.result_rows import bare_result
from gpuprof.profile.setup import Setup
from gpuprof.report.verdict import verdict
from gpuprof.results.agreement import DIFFERS, EQUAL, agreement
from gpuprof.results.json import encode, read_run
from gpuprof.results.metric_sets import resolve_metrics
from gpuprof.results.model import Result, Run, Status
from gpuprof.toolchain.ncu import read_rules

FIRST = "gemm_1024"
#: Kernels of different kinds first, with sizes that let the emulator run whole grids; the other configs follow.
ORDER: Mapping[str, Mapping[str, str]] = {
    FIRST: {},
    "transpose": {},
    "reduction": {"COUNT": "1048576"},
    "softmax": {},
    "saxpy": {},
    "bank_strides": {},
    "divergence": {},
    "histogram": {},
    "stencil_2d": {},
    "gemm_ladder": {"M": "512", "N": "512"},
    "hgemm": {},
    "wmma": {},
    "occupancy": {},
}
#: Seconds before the end when no further config is begun, and that the last one may take under ncu.
LAST_CONFIG = 15.0
#: Seconds that processes may take to end when the time is over.
LEEWAY = 5.0
#: One thread in each of the emulator's processes: there is one for every core.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

#: Words of ncu's SOLBottleneck rule -> what it calls the kernel. The first that fits.
RULE_WORDS = (
    (r"latency", "latency"),
    (r"well-balanced", "balanced"),
    (r"Memory is more heavily utilized", "memory"),
    (r"Compute is more heavily utilized", "compute"),
    (r"analyzing .* in the .*Memory Workload", "memory"),
    (r"analyzing .* in the .*Compute Workload", "compute"),
    (r"analyzing (?:DRAM|L1|L2)", "memory"),
    (r"too small to fill", "latency"),
)


@dataclass
class Config:
    """One config: what ncu said at once, what the emulator says when it is done."""

    experiment: Experiment
    setup: Setup
    variants: Sequence[Variant]
    by_ncu: Mapping[str, Profiled | str]
    rules: Mapping[str, str]
    ncu_seconds: float
    emulated: Mapping[str, Future[Result | str]]


@dataclass
class Session:
    """What has been seen so far. ``ends`` is on the monotonic clock."""

    ends: float
    out: Path
    scratch: Path
    pool: ThreadPoolExecutor
    variants: int
    budget: str
    configs: dict[str, Config] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def rule_side(text: str) -> str:
    """``memory``, ``compute``, ``latency`` or ``balanced``, from the text of ncu's rule; empty where it is silent."""
    return next((side for pattern, side in RULE_WORDS if re.search(pattern, text, re.IGNORECASE)), "")


def profile_config(name: str, overrides: Mapping[str, str], session: Session) -> None:
    """Evenly chosen variants of one config under ncu; their emulation is begun beside."""
    experiment = experiments.load(experiments.find_config(name), overrides=overrides)
    own = tuple(variant for variant in experiment.variants if not variant.host_only)
    if not own:
        return
    chosen = own[:: -(-len(own) // session.variants)]
    options = RunOptions(devices=("gpu:0",), variants=tuple(variant.label for variant in chosen))
    setup = require_ncu(experiment, options)
    emulated = {
        variant.label: session.pool.submit(emulate, session, name, overrides, variant.label, setup.arch_of(variant))
        for variant in chosen
    }
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "session.ncu-rep"
        wanted = NcuOptions(
            resolve_metrics(["exact", "basic"]),
            sections=("SpeedOfLight",),
            report=report,
            timeout=max(session.ends - started, 1.0),
        )
        by_ncu = dict(profile_with_ncu(setup, experiment, options, wanted))
        seconds = time.monotonic() - started
        rules = rules_of(setup, by_ncu)
    session.configs[name] = Config(experiment, setup, chosen, by_ncu, rules, seconds, emulated)


def rules_of(setup: Setup, by_ncu: Mapping[str, Profiled | str]) -> dict[str, str]:
    """Per variant the texts of ncu's Speed Of Light rules; each report is read once."""
    found: dict[str, str] = {}
    seen = {label: outcome for label, outcome in by_ncu.items() if isinstance(outcome, Profiled)}
    for report in {outcome.report for outcome in seen.values() if outcome.report is not None}:
        try:
            rules = read_rules(setup.tools.require("ncu"), report)
        except GpuprofError:
            continue
        for label, outcome in seen.items():
            if outcome.report == report:
                mine = (rule for rule in rules if rule.identifier in outcome.launches)
                found[label] = " ".join(r.text for r in mine if "SOL" in r.rule or "SpeedOfLight" in r.section)
    return found


def emulate(session: Session, name: str, overrides: Mapping[str, str], label: str, arch: str) -> Result | str:
    """The variant's row from the emulator, in a process of its own that ends with the session; or why there is none."""
    left = session.ends - time.monotonic()
    if left <= 1:
        return "not emulated: the time was over"
    target = session.scratch / f"{name}.{label.replace('/', '_')}.json"
    command = [sys.executable, "-m", "gpuprof", "counters", name, "--variant", label, "--arch", arch]
    command += [word for key, value in overrides.items() for word in ("--set", f"{key}={value}")]
    command += ["--emulate-budget", session.budget, "--json", str(target)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=left, env={**os.environ, **ONE_THREAD}
        )
    except subprocess.TimeoutExpired:
        return "not emulated: the time was over"
    if not target.is_file():
        return f"not emulated: {done.stderr.strip()[-300:] or f'code {done.returncode}'}"
    rows = {result.variant: result for result in read_run(target).results}
    return rows.get(label, "not emulated: no row")


def run_of(config: Config) -> Run:
    """Both devices' counters in one run, as far as they are there."""
    results = []
    for variant in config.variants:
        future = config.emulated[variant.label]
        mine = future.result() if future.done() else "not emulated yet"
        missing = {"counters": mine} if isinstance(mine, str) else {}
        row = replace(bare_result(variant, Status.OK), missing=missing) if isinstance(mine, str) else mine
        theirs = config.by_ncu.get(variant.label, "not profiled")
        if isinstance(theirs, Profiled):
            row = replace(row, ncu=theirs.counters)
        else:
            row = replace(row, missing={**row.missing, "ncu": theirs})
        results.append(without_lines(row))
    return Run(
        experiment=config.experiment.name,
        description=config.experiment.description,
        config=str(config.experiment.path),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        seconds=config.ncu_seconds,
        environment=config.setup.environment,
        results=tuple(results),
    )


def without_lines(result: Result) -> Result:
    """The row without its counters by instruction, which would be most of the file."""
    counters = result.counters
    return result if counters is None else replace(result, counters=replace(counters, per_instruction=()))


def row(config: str, result: Result, rule: str) -> dict[str, Any]:
    """One variant's line of the summary."""
    compared, said = agreement(result), verdict(result)
    return {
        "config": config,
        "variant": result.variant,
        "status": result.status.value,
        "why": result.reason or result.missing.get("ncu") or result.missing.get("counters", ""),
        "equal": compared.count(EQUAL, exact=True) if compared else None,
        "different": compared.count(DIFFERS, exact=True) if compared else None,
        "hardware_equal": compared.count(EQUAL, exact=False) if compared else None,
        "hardware_near": compared.near if compared else None,
        "hardware_different": compared.count(DIFFERS, exact=False) if compared else None,
        "sampled": compared.scaled if compared else None,
        "differing": [encode(pair) for pair in compared.pairs if pair.equal is False] if compared else [],
        "verdict": said.text if said else "",
        "side": said.side if said else "",
        "ncu_side": rule_side(rule),
        "ncu_rule": rule,
    }


def summary(rows: Sequence[Mapping[str, Any]], session: Session) -> str:
    """The Markdown of the session."""
    whole = [entry for entry in rows if entry["equal"] is not None and not entry["sampled"]]
    agreed = [entry for entry in rows if entry["side"] and entry["ncu_side"]]
    same = [entry for entry in agreed if entry["side"] == entry["ncu_side"]]
    seconds = [config.ncu_seconds for config in session.configs.values()]

    def total(key: str) -> int:
        return sum(entry[key] for entry in whole)

    lines = [
        f"- {len(rows)} variants of {len(seconds)} configs under ncu, {sum(seconds):.0f} s",
        f"- exact counters of whole grids: {total('equal')} equal, {total('different')} different, "
        f"over {len(whole)} variants",
        f"- hardware counters of whole grids: {total('hardware_equal')} equal, {total('hardware_near')} within 0.1 %, "
        f"{total('hardware_different')} different",
        f"- verdicts that agree with ncu's Speed Of Light rule: {len(same)} of {len(agreed)}",
        "",
        "| config | variant | exact equal | different | hardware equal | within 0.1 % | different | verdict | ncu |",
        "| :--- | :--- | ---: | ---: | ---: | ---: | ---: | :--- | :--- |",
    ]
    for entry in rows:
        numbers = [entry[key] for key in COUNTED]
        words = ["-" if number is None else str(number) for number in numbers]
        words[0] += " (sampled)" if entry["sampled"] else ""
        said = entry["verdict"] or entry["why"]
        cells = (entry["config"], entry["variant"], *words, said, entry["ncu_side"] or "-")
        lines.append(f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |")
    lines += ["", *(f"- not done: {problem}" for problem in session.problems)]
    return "\n".join(lines) + "\n"


#: The columns of numbers of the summary.
COUNTED = ("equal", "different", "hardware_equal", "hardware_near", "hardware_different")


def write(session: Session) -> str:
    """What there is so far: an interrupted session keeps it. Returns the summary."""
    runs = {name: run_of(config) for name, config in session.configs.items()}
    rows = [
        row(name, result, session.configs[name].rules.get(result.variant, ""))
        for name, run in runs.items()
        for result in run.results
    ]
    stored = {
        name: {"run": encode(run), "ncu_seconds": session.configs[name].ncu_seconds} for name, run in runs.items()
    }
    data = {"configs": stored, "variants": rows, "problems": session.problems}
    (session.out / "session.json").write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")
    text = summary(rows, session)
    (session.out / "summary.md").write_text(text, encoding="utf-8")
    return text


def compare_first(session: Session) -> None:
    """The command of the issue, whole grids: most of its time is the emulator's. Ends with the session."""
    command = [sys.executable, "-m", "gpuprof", "counters", FIRST, "--compare", "emulated,ncu", "--ncu", "exact"]
    try:
        left = session.ends - time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=left)
        text = done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        text = "the time was over\n"
        session.problems.append(f"{FIRST} --compare: the time was over")
    head = f"$ gpuprof {' '.join(command[3:])}\n"
    (session.out / f"{FIRST}.txt").write_text(head + text, encoding="utf-8")


def profile_all(names: Sequence[str], session: Session) -> None:
    """One config after another, while there is time; a config that fails is a line."""
    for name in names:
        if time.monotonic() > session.ends - LAST_CONFIG:
            session.problems.append(f"{name}: the time was over")
            continue
        began = time.monotonic()
        try:
            profile_config(name, ORDER.get(name, {}), session)
        except (MissingDeviceError, MissingToolError):
            raise
        except GpuprofError as error:
            session.problems.append(f"{name}: {error}")
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        write(session)


def finish(session: Session) -> None:
    """Wait for the emulator, and write what it gave now and then; processes end by themselves with the session."""
    emulated = [future for config in session.configs.values() for future in config.emulated.values()]
    while not all(future.done() for future in emulated) and time.monotonic() < session.ends + LEEWAY:
        write(session)
        time.sleep(3)
    print(write(session))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("configs", nargs="*")
    parser.add_argument("--seconds", type=float, default=280.0, help="all ends within this time")
    parser.add_argument("--variants", type=int, default=8, help="at most so many of a config, evenly chosen")
    parser.add_argument("--emulate-budget", default="1e9", help="thread instructions above which grids are sampled")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    names = arguments.configs or [*ORDER, *(path.stem for path in configs() if path.stem not in ORDER)]
    workers = max(2, (os.cpu_count() or 2) - 3)
    ends = time.monotonic() + arguments.seconds
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(workers) as pool:
        session = Session(ends, arguments.out, Path(scratch), pool, arguments.variants, arguments.emulate_budget)
        first = None if arguments.configs else pool.submit(compare_first, session)
        profile_all(names, session)
        if first is not None:
            first.result()
        finish(session)


if __name__ == "__main__":
    try:
        main()
    except GpuprofError as error:
        sys.exit(f"error: {error}")
