"""Stall reasons of the model beside those that Nsight Compute sampled.

    python benchmarks/compare_stalls.py tests/hardware/stalls/h200.json.gz [--gpu h200] [--only CONFIG ...] [--shares]

The recording is what ``benchmarks/record_stalls.py`` wrote, by kernel and instruction. For each kernel: the leading
reason of both (beside ``selected``), whether they agree, and of the source lines with at least 3 % of the samples how
many agree in theirs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuprof import experiment as experiments
from gpuprof.arch.gpu_constants import GpuConstants, gpu_constants
from gpuprof.errors import GpuprofError
from gpuprof.experiment.naming import select_all
from gpuprof.model.launch_time import TracedLaunch
from gpuprof.model.pass_time import pass_time
from gpuprof.model.stalls import NCU_COLUMNS, REASONS
from gpuprof.profile.modelling import trace_variants

CONFIGS = Path(__file__).resolve().parent.parent / "configs"
#: A line with fewer of the samples is not judged.
MIN_SHARE = 0.03
#: Reasons that Nsight Compute tells apart and whose order is within its sampling: agreeing in either is agreeing.
CLOSE = 0.9


@dataclass(frozen=True)
class Compared:
    """One kernel: warp cycles by reason of both sides, and lines that agree of those that were judged."""

    name: str
    sampled: Counter[str]
    modelled: Counter[str]
    lines: int
    agreeing: int

    @property
    def agrees(self) -> bool:
        return agree(self.sampled, self.modelled)


def leading(reasons: Mapping[str, float]) -> list[str]:
    """The reasons near the largest, apart from issuing itself."""
    stalls = {name: count for name, count in reasons.items() if name != "selected"}
    most = max(stalls.values(), default=0)
    return [name for name, count in stalls.items() if most and count >= CLOSE * most]


def agree(sampled: Mapping[str, float], modelled: Mapping[str, float]) -> bool:
    return bool(set(leading(sampled)) & set(leading(modelled)))


def compare(name: str, rows: list[list[Any]], launch: TracedLaunch, gpu: GpuConstants) -> Compared:
    """One recorded kernel beside its modelled launch."""
    stalls = pass_time([launch], gpu, stalls=True).launches[0].sm.stalls
    assert stalls is not None
    total: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    by_line: dict[tuple[str, int], tuple[Counter[str], Counter[str]]] = {}
    for (_, _, samples), instruction, cycles in zip(rows, launch.instructions, stalls.tolist(), strict=False):
        source = instruction.source.of_user if instruction.source else None
        line = by_line.setdefault((source.file, source.line) if source else ("", 0), (Counter(), Counter()))
        sampled = Counter({NCU_COLUMNS[key]: count for key, count in samples.items() if key in NCU_COLUMNS})
        modelled = Counter(dict(zip(REASONS, cycles, strict=True)))
        for pair in (total, line):
            pair[0].update(sampled)
            pair[1].update(modelled)
    judged = [pair for pair in by_line.values() if pair[0].total() >= MIN_SHARE * total[0].total()]
    return Compared(name, total[0], total[1], len(judged), sum(agree(*pair) for pair in judged))


def compared(recording: list[dict[str, Any]], gpu: GpuConstants, only: list[str]) -> Iterator[Compared]:
    for entry in recording:
        if only and entry["config"] not in only:
            continue
        overrides = dict(each.split("=", 1) for each in entry["sets"].split())
        experiment = experiments.load(CONFIGS / f"{entry['config']}.yaml", overrides=overrides)
        variants = [each for each in select_all(experiment.variants, ()) if each.label in entry["variants"]]
        traced = {variant.label: found for variant, found, _ in trace_variants(experiment, variants, gpu)}
        kernels = {each["kernel"]: each for each in reversed(entry["kernels"])}
        for label in entry["variants"]:
            found = traced.get(label)
            if found is None or isinstance(found, GpuprofError):
                print(f"{entry['config']} {label}: {found or 'no such variant now'}", file=sys.stderr)
                continue
            number = entry["variants"].index(label) if len(entry["kernels"]) == len(entry["variants"]) else None
            chosen = entry["kernels"][number] if number is not None else _by_code(kernels, found[0])
            if chosen is None or not _same_code(chosen["rows"], found[0]):
                print(f"{entry['config']} {label}: recorded with other code", file=sys.stderr)
                continue
            yield compare(f"{entry['config']} {label}", chosen["rows"], found[0], gpu)


def _by_code(kernels: Mapping[str, dict[str, Any]], launch: TracedLaunch) -> dict[str, Any] | None:
    return next((each for each in kernels.values() if _same_code(each["rows"], launch)), None)


def _same_code(rows: list[list[Any]], launch: TracedLaunch) -> bool:
    """Whether the recorded opcodes are those of the code that is built now."""
    recorded = [next(word for word in text.split() if not word.startswith("@")).split(".")[0] for text, _, _ in rows]
    now = [each.opcode for each in launch.instructions[: len(recorded)]]
    return sum(a == b for a, b in zip(recorded, now, strict=False)) >= 0.95 * len(recorded)


def main() -> int:
    """Print the comparison; 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--gpu", default="h200")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--shares", action="store_true", help="print the shares of all reasons")
    flags = parser.parse_args()
    with gzip.open(flags.recording, "rt", encoding="utf-8") as file:
        recording = json.load(file)
    found = []
    for each in compared(recording, gpu_constants(flags.gpu), flags.only):
        found.append(each)
        sampled, modelled = ", ".join(leading(each.sampled)), ", ".join(leading(each.modelled))
        print(
            f"{each.name:42} {sampled:32} {modelled:32} {'yes' if each.agrees else 'NO':4} {each.agreeing}/{each.lines}"
        )
        if flags.shares:
            for name in REASONS:
                left, right = each.sampled[name] / each.sampled.total(), each.modelled[name] / each.modelled.total()
                if max(left, right) > 0.02:
                    print(f"    {name:22} {left:6.1%} {right:6.1%}")
    lines = sum(each.lines for each in found)
    print(
        f"{len(found)} kernels: the leading reason agrees in {sum(each.agrees for each in found)}; "
        f"of {lines} source lines in {sum(each.agreeing for each in found)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
