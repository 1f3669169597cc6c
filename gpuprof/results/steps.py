"""Which of a variant's kernel launches its row describes: the one that most of the work is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from gpuprof.isa.counters import Number
from gpuprof.isa.ncu_metrics import INSTRUCTIONS, TIME
from gpuprof.results.model import Result, StepFacts

#: What weighs a step, the first that all timed kernels have: words for it, and where it is.
_WEIGHTS: Sequence[tuple[str, Callable[[StepFacts], Number | None]]] = (
    ("time under ncu", lambda step: None if step.ncu is None else step.ncu.values.get(TIME)),
    ("warp instructions", lambda step: None if step.ncu is None else step.ncu.values.get(INSTRUCTIONS)),
    ("warp instructions", lambda step: None if step.counters is None else step.counters.values.get(INSTRUCTIONS)),
)


def described(result: Result) -> Result:
    """The row with build, launch, machine code and occupancy of its dominating step; as it is with one step."""
    kernels = timed_kernels(result.steps)
    if not kernels:
        return result
    step, share = dominating(kernels)
    sass = next((other.sass for other in result.steps if other.sass is not None and same_code(other, step)), None)
    return replace(
        result,
        build=step.build,
        launch=step.launch,
        occupancy=step.occupancy,
        sass=sass,
        missing=_missing(result.missing, step, has_sass=sass is not None),
        main_step=step.name,
        main_step_share=share,
    )


def timed_kernels(steps: Sequence[StepFacts]) -> list[StepFacts]:
    """The kernel launches that a row can describe: those that are timed, else all."""
    kernels = [step for step in steps if step.kind == "kernel"]
    return [step for step in kernels if step.timed] or kernels


def dominating(kernels: Sequence[StepFacts]) -> tuple[StepFacts, str]:
    """The launch with most of the work, and its share in words.

    Launches of the same code are weighed together. Where nothing was counted it is the last one.
    """
    for words, weight in _WEIGHTS:
        known: dict[str, Number] = {step.name: value for step in kernels if (value := weight(step)) is not None}
        whole = float(sum(value for value in known.values()))
        if len(known) == len(kernels) and whole:
            totals: list[Number] = [
                sum([known[kernel.name] for kernel in kernels if same_code(kernel, step)]) for step in kernels
            ]
            most = max(totals)
            group = [step for step, total in zip(kernels, totals, strict=True) if total == most]
            heaviest = max(group, key=lambda step: known[step.name])
            return heaviest, f"{100 * most / whole:.0f}% of the {words}"
    return kernels[-1], "the last timed launch"


def same_code(one: StepFacts, other: StepFacts) -> bool:
    """Whether two launches run the same kernel of the same build."""
    if one.build is None or other.build is None:
        return one is other
    return (one.build.cubin_sha256, one.build.kernel) == (other.build.cubin_sha256, other.build.kernel)


def _missing(missing: Mapping[str, str], step: StepFacts, *, has_sass: bool) -> dict[str, str]:
    """The row's reasons, those of the step in place of another step's."""
    own = {"occupancy"} if has_sass else {"occupancy", "sass"}
    kept = {name: why for name, why in missing.items() if name not in ("sass", "occupancy")}
    return {**kept, **{name: why for name, why in step.missing.items() if name in own}}


def as_result(result: Result, step: StepFacts) -> Result:
    """A step as a row of its own, for tables: the counters are its own, and it has no time and no verdict."""
    return replace(
        result,
        variant=step.name,
        build=step.build,
        launch=step.launch,
        sass=step.sass,
        occupancy=step.occupancy,
        timing=None,
        counters=step.counters,
        ncu=step.ncu,
        verification=None,
        steps=(),
    )
