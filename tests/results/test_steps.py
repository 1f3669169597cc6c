"""Which step a row of several launches describes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuprof.isa.ncu_metrics import INSTRUCTIONS, TIME
from gpuprof.results.json import from_json, to_json
from gpuprof.results.model import (
    BuildFacts,
    Counters,
    Environment,
    LaunchFacts,
    OccupancyFacts,
    Result,
    Run,
    SassFacts,
    Status,
    StepFacts,
)
from gpuprof.results.steps import described, dominating


def step(
    name: str, instructions: int | None, kernel: str = "", *, timed: bool = True, percent: float = 50
) -> StepFacts:
    """A kernel step that executed so many warp instructions."""
    return StepFacts(
        name=name,
        kind="kernel",
        timed=timed,
        build=BuildFacts((), 0, True, "", f"cubin of {kernel or name}", "", kernel=kernel or name),
        launch=LaunchFacts((1, 1, 1), (32, 1, 1)),
        occupancy=OccupancyFacts(1, 1, 48, percent, "warps"),
        sass=SassFacts(len(name), {}, 0, 0),
        counters=None if instructions is None else Counters({INSTRUCTIONS: instructions}, "emulator", 1, 1),
    )


def row(*steps: StepFacts) -> Result:
    return Result("v", "v", {}, {}, Status.OK, steps=steps)


def test_the_row_is_of_the_step_with_most_instructions() -> None:
    found = described(row(step("attend", 900, percent=11), step("sum", 100, percent=100)))
    assert (found.main_step, found.main_step_share) == ("attend", "90% of the warp instructions")
    assert found.occupancy is not None
    assert found.occupancy.percent == 11
    assert found.build is not None
    assert found.build.kernel == "attend"
    assert found.sass is not None
    assert found.sass.instructions == len("attend")


def test_launches_of_the_same_code_weigh_together() -> None:
    repeated = [step(f"small {number}", 40, "small") for number in range(4)]
    chosen, share = dominating([step("big", 100), *repeated])
    assert (chosen.name, share) == ("small 0", "62% of the warp instructions")


def test_time_under_ncu_comes_before_instructions_and_untimed_steps_do_not_count() -> None:
    slow, many = step("slow", 10), step("many", 1000)
    slow = replace(slow, ncu=Counters({TIME: 7000, INSTRUCTIONS: 10}, "ncu", 1, 1))
    many = replace(many, ncu=Counters({TIME: 3000, INSTRUCTIONS: 1000}, "ncu", 1, 1))
    found = described(row(step("prepare", 9999, timed=False), slow, many))
    assert (found.main_step, found.main_step_share) == ("slow", "70% of the time under ncu")


def test_without_counts_it_is_the_last_timed_launch() -> None:
    found = described(row(step("first", None), step("last", None), step("after", None, timed=False)))
    assert (found.main_step, found.main_step_share) == ("last", "the last timed launch")


@pytest.mark.parametrize("steps", [(), (StepFacts("clear", "fill", False),)])
def test_a_row_without_kernels_stays_as_it_is(steps: tuple[StepFacts, ...]) -> None:
    assert described(row(*steps)).main_step is None


def test_steps_survive_the_json() -> None:
    environment = Environment("0", "3", "linux", "emulated")
    result = described(row(step("attend", 900), step("sum", 100)))
    run = Run("e", "", "e.yaml", "2026-01-01T00:00:00+00:00", 1.0, environment, (result,))
    assert from_json(to_json(run)).results[0] == result
