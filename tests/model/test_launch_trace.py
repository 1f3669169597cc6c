"""Loops in traces: found where they repeat exactly, and shortened by whole turns."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.isa.pipes import Pipe
from gpuprof.model.launch_trace import AccessKind, main_loop, only_block, shortened
from tests.model.traces import LEAVE, instruction, trace

CODE = [*(instruction(Pipe.FMA, 1) for _ in range(30)), LEAVE]


def looping(turns: int, warps: int = 2):  # type: ignore[no-untyped-def]
    """A prologue, ``turns`` times two runs, and an epilogue."""
    runs = [(0, 5), *[(5, 10), (10, 20)] * turns, (20, 31)]
    return trace(CODE, warps=warps, runs=runs)


def test_a_loop_is_found_with_its_period() -> None:
    loop = main_loop(looping(40))
    assert loop is not None
    assert (loop.period, loop.turns) == (2, 40)
    assert loop.starts == (1, 1)


def test_few_turns_are_no_loop() -> None:
    assert main_loop(looping(5)) is None


def test_warps_that_go_round_unequally_are_no_loop() -> None:
    whole = looping(40)
    runs = whole.runs.copy()
    runs["first"][whole.runs_of[1] + 9] = 3  # the second warp does something else once
    from dataclasses import replace

    assert main_loop(replace(whole, runs=runs)) is None


@pytest.mark.parametrize("turns", [6, 20])
def test_shortened_keeps_prologue_and_epilogue(turns: int) -> None:
    whole = looping(40)
    loop = main_loop(whole)
    assert loop is not None
    short = shortened(whole, loop, turns)
    assert short.instructions == 2 * (5 + 15 * turns + 11)
    assert np.array_equal(short.runs["first"][: short.runs_of[1]][-1:], [20])


def test_accesses_of_left_out_turns_go_too() -> None:
    runs = [(0, 5), *[(5, 10)] * 30, (20, 31)]
    made = trace(CODE, runs=runs, accesses=[(6, AccessKind.LOAD, 0, range(4))] * 30)
    made.accesses["run"] = np.arange(1, 31)
    loop = main_loop(made)
    assert loop is not None
    short = shortened(made, loop, 10)
    assert len(short.accesses) == 10
    assert short.accesses["run"].tolist() == list(range(1, 11))


def test_one_block_of_several() -> None:
    made = trace(CODE, warps=2, blocks=3)
    alone = only_block(made, 1)
    assert alone.blocks.tolist() == [1]
    assert alone.instructions * 3 == made.instructions
