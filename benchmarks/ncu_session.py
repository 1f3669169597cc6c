"""Hold gpuprof against Nsight Compute on a GPU, and keep what both said.

    python benchmarks/ncu_session.py OUT [CONFIG ...] [--seconds N] [--variants N]

Needs a GPU with permission for its counters, ncu and pycuda. For gemm_1024 and every bundled config (or those named)
each variant runs once under ncu: the counters that repeat exactly, the rates of the verdict, and ncu's own Speed Of
Light section with its rule. Then the emulator executes the same cubins, whole grids while the time lasts. Writes

    OUT/session.json         per config the run with both devices' counters; per variant verdict, ncu's rule, agreement
    OUT/gemm_1024.txt        what ``gpuprof counters gemm_1024 --compare emulated,ncu`` printed
    OUT/summary.md           the tables for docs/results: counters equal and different, verdicts beside ncu's rule
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpuprof import experiment as experiments
from gpuprof.errors import GpuprofError
from gpuprof.experiment.bundled import configs
from gpuprof.experiment.model import Experiment
from gpuprof.profile.ncu_counters import NcuOptions, count_with_ncu, report_of, with_ncu
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import EMULATE_BUDGET, RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.profile.setup import prepare_run
from gpuprof.report.verdict import verdict
from gpuprof.results.agreement import agreement
from gpuprof.results.json import encode
from gpuprof.results.metric_sets import resolve_metrics
from gpuprof.results.model import Result, Run
from gpuprof.toolchain.ncu import read_rules

FIRST = "gemm_1024"
#: Whole grids above this many thread instructions are sampled once half the time is gone.
LARGE = 2_000_000_000

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
class Session:
    """What has been seen so far."""

    ends: float
    configs: dict[str, Any] = field(default_factory=dict)
    variants: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def rule_side(text: str) -> str:
    """``memory``, ``compute``, ``latency`` or ``balanced``, from the text of ncu's rule; empty where it is silent."""
    return next((side for pattern, side in RULE_WORDS if re.search(pattern, text, re.IGNORECASE)), "")


def profile_config(name: str, session: Session, limit: int) -> None:
    """Both devices over (``limit`` variants of) one config; appends to ``session``."""
    experiment = experiments.load(experiments.find_config(name))
    kept = tuple(variant for variant in experiment.variants if not variant.host_only)
    if not kept:
        return
    kept = kept[:: -(-len(kept) // limit)]
    on_gpu = RunOptions(devices=("gpu:0",), variants=tuple(variant.label for variant in kept))
    setup = prepare_run(experiment, on_gpu)
    on_gpu = replace(on_gpu, arch=setup.default_arch)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "session.ncu-rep"
        wanted = NcuOptions(resolve_metrics(["exact", "basic"]), sections=("SpeedOfLight",), report=report)
        started = time.monotonic()
        counts = dict(count_with_ncu(experiment, on_gpu, wanted))
        ncu_seconds = time.monotonic() - started
        rules = {label: rules_of(setup, report, label, len(kept)) for label in counts}
    run = with_ncu(emulated(experiment, on_gpu, session), counts.items())
    session.configs[name] = {"run": encode(without_lines(run)), "ncu_seconds": ncu_seconds}
    session.variants += [row(name, result, rules.get(result.variant, "")) for result in run.results]


def without_lines(run: Run) -> Run:
    """The run without its counters by instruction, which would be most of the file."""
    rows = [
        replace(row, counters=replace(row.counters, per_line=())) if row.counters is not None else row
        for row in run.results
    ]
    return replace(run, results=tuple(rows))


def rules_of(setup: Any, report: Path, label: str, variants: int) -> str:
    """The texts of ncu's Speed Of Light rules for a variant."""
    path = report if variants == 1 else report_of(report, label)
    try:
        found = read_rules(setup.tools.require("ncu"), path)
    except GpuprofError:
        return ""
    return " ".join(entry.text for entry in found if "SOL" in entry.rule or "SpeedOfLight" in entry.section)


def emulated(experiment: Experiment, on_gpu: RunOptions, session: Session) -> Run:
    """The emulator over the same cubins: whole grids, or samples once half the time is gone."""
    hurry = time.monotonic() > session.ends
    budget = EMULATE_BUDGET if hurry else LARGE
    return run_experiment(experiment, replace(on_gpu, devices=("emulated",), emulate_budget=budget), SilentObserver())


def row(config: str, result: Result, rule: str) -> dict[str, Any]:
    """One variant's line of the summary."""
    compared, said = agreement(result), verdict(result)
    return {
        "config": config,
        "variant": result.variant,
        "status": result.status.value,
        "why": result.reason or result.missing.get("ncu", ""),
        "equal": compared.equal if compared else None,
        "different": compared.different if compared else None,
        "sampled": compared.scaled if compared else None,
        "differing": [encode(pair) for pair in compared.pairs if pair.equal is False] if compared else [],
        "verdict": said.text if said else "",
        "side": said.side if said else "",
        "ncu_side": rule_side(rule),
        "ncu_rule": rule,
    }


def summary(session: Session) -> str:
    """The Markdown of the session."""
    whole = [entry for entry in session.variants if entry["equal"] is not None and not entry["sampled"]]
    agreed = [entry for entry in session.variants if entry["side"] and entry["ncu_side"]]
    same = [entry for entry in agreed if entry["side"] == entry["ncu_side"]]
    lines = [
        f"- counters of whole grids: {sum(entry['equal'] for entry in whole)} equal, "
        f"{sum(entry['different'] for entry in whole)} different, over {len(whole)} variants",
        f"- verdicts that agree with ncu's Speed Of Light rule: {len(same)} of {len(agreed)}",
        "",
        "| config | variant | equal | different | verdict | ncu's rule |",
        "| :--- | :--- | ---: | ---: | :--- | :--- |",
    ]
    for entry in session.variants:
        note = " (sampled)" if entry["sampled"] else ""
        cells = (entry["config"], entry["variant"], f"{entry['equal']}{note}", entry["different"])
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} | {entry['verdict']} | {entry['ncu_side'] or '-'} |")
    lines += ["", *(f"- not done: {problem}" for problem in session.problems)]
    return "\n".join(lines) + "\n"


def write(session: Session, out: Path) -> None:
    """What there is so far: an interrupted session keeps it."""
    data = {"configs": session.configs, "variants": session.variants, "problems": session.problems}
    (out / "session.json").write_text(json.dumps(data, indent=1, ensure_ascii=False), encoding="utf-8")
    (out / "summary.md").write_text(summary(session), encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("configs", nargs="*")
    parser.add_argument("--seconds", type=float, default=480.0, help="when this is over, no further config is begun")
    parser.add_argument("--variants", type=int, default=12, help="at most so many of a config, evenly chosen")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    session = Session(ends=start + arguments.seconds / 2)
    if not arguments.configs:
        command = [sys.executable, "-m", "gpuprof", "counters", FIRST, "--compare", "emulated,ncu", "--ncu", "exact"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        (arguments.out / f"{FIRST}.txt").write_text(f"$ gpuprof {' '.join(command[3:])}\n{done.stdout}{done.stderr}")
    for name in arguments.configs or [FIRST, *(path.stem for path in configs() if path.stem != FIRST)]:
        if time.monotonic() - start > arguments.seconds:
            session.problems.append(f"{name}: the time was over")
            continue
        began = time.monotonic()
        try:
            profile_config(name, session, arguments.variants)
        except GpuprofError as error:
            session.problems.append(f"{name}: {error}")
        print(f"{name}: {time.monotonic() - began:.0f} s", flush=True)
        write(session, arguments.out)
    print(summary(session))


if __name__ == "__main__":
    main()
