"""Timelines of a few instructions, with cycles computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.isa.pipes import Completion, Pipe
from gpuprof.model.launch_trace import AccessKind
from gpuprof.model.stalls import REASONS
from gpuprof.model.timeline import SmTime, run_timeline
from tests.model.traces import LEAVE, instruction, machine, trace, work


def stalls_of(time: SmTime, site: int) -> dict[str, float]:
    assert time.stalls is not None
    return {name: value for name, value in zip(REASONS, time.stalls[site].tolist(), strict=True) if value}


def test_stall_counts_of_one_warp_add_up() -> None:
    """Issued at 0, 4 and 9; EXIT issues at 9 + 2 and ends a cycle later."""
    code = [*(instruction(Pipe.FMA, stall) for stall in (4, 5, 2)), LEAVE]
    time = run_timeline(work(code, trace(code)), 1, machine(), stalls=True)
    assert time.cycles == 12
    assert stalls_of(time, 1) == {"selected": 1, "wait": 3}
    assert stalls_of(time, 2) == {"selected": 1, "wait": 4}


def test_warps_of_one_scheduler_share_its_pipe() -> None:
    """ALU takes a warp instruction every two cycles: eight warps are two per scheduler, of ten instructions each."""
    code = [*(instruction(Pipe.ALU, 1) for _ in range(10)), LEAVE]
    time = run_timeline(work(code, trace(code, warps=8)), 1, machine(), stalls=True)
    assert 2 * 20 - 1 <= time.cycles <= 2 * 20 + 2
    assert time.stalls is not None
    assert time.stalls[1:10, list(REASONS).index("math_pipe_throttle")].sum() > 0


def test_both_halves_of_the_fma_pipe_issue_every_cycle() -> None:
    code = [*(instruction(Pipe.FMA, 1) for _ in range(20)), LEAVE]
    assert run_timeline(work(code, trace(code)), 1, machine()).cycles == 21


def test_a_load_of_shared_memory_is_waited_for() -> None:
    """Taken at 0 with one wavefront, its data at 20: the dependent instruction issues then, EXIT a cycle later."""
    code = [
        instruction(Pipe.LSU, 2, completion=Completion.MEMORY, write_barrier=0),
        instruction(Pipe.FMA, 1, wait_mask=1),
        LEAVE,
    ]
    made = trace(code, accesses=[(0, AccessKind.SHARED, 1, ())])
    time = run_timeline(work(code, made), 1, machine(), stalls=True)
    assert time.cycles == 22
    assert stalls_of(time, 1) == {"selected": 1, "wait": 1, "short_scoreboard": 18}


@pytest.mark.parametrize("ways", [1, 4, 32])
def test_bank_conflicts_take_a_cycle_each(ways: int) -> None:
    code = [
        instruction(Pipe.LSU, 2, completion=Completion.MEMORY, write_barrier=0),
        instruction(Pipe.FMA, 1, wait_mask=1),
        LEAVE,
    ]
    made = trace(code, accesses=[(0, AccessKind.SHARED, ways, ())])
    assert run_timeline(work(code, made), 1, machine()).cycles == 22 + ways - 1


def test_a_load_from_the_dram_then_one_that_hits() -> None:
    """Four cold sectors: the DRAM's 128 bytes take 8 cycles more; the same line again is in the L1."""
    code = [
        instruction(Pipe.LSU, 2, completion=Completion.MEMORY, write_barrier=0),
        instruction(Pipe.LSU, 2, completion=Completion.MEMORY, write_barrier=0, wait_mask=1),
        instruction(Pipe.FMA, 1, wait_mask=1),
        LEAVE,
    ]
    made = trace(code, accesses=[(0, AccessKind.LOAD, 0, range(4)), (1, AccessKind.LOAD, 0, range(4))])
    time = run_timeline(work(code, made, cold=True), 1, machine(), stalls=True)
    first = 4 + 128 / 16 + 500
    assert time.cycles == first + 30 + 2
    assert (time.l1_hits, time.l1_misses) == (4, 4)
    assert stalls_of(time, 1)["long_scoreboard"] == first - 2


def test_a_barrier_opens_when_the_last_warp_comes() -> None:
    code = [
        instruction(Pipe.ADDRESS, 1, completion=Completion.BARRIER),
        instruction(Pipe.FMA, 1),
        LEAVE,
    ]
    time = run_timeline(work(code, trace(code, warps=4)), 1, machine(), stalls=True)
    assert time.cycles == 10 + 2
    assert stalls_of(time, 1)["barrier"] > 0


def test_a_second_wave_starts_when_a_block_ends() -> None:
    code = [*(instruction(Pipe.FMA, 4) for _ in range(10)), LEAVE]
    made = trace(code, blocks=2)
    both = run_timeline(work(code, made, slots=2), 2, machine()).cycles
    in_turn = run_timeline(work(code, made, slots=1), 2, machine()).cycles
    assert both < 50
    assert in_turn == 2 * 41


def test_register_banks_delay_the_next_instruction() -> None:
    """Three reads of one bank take three cycles: FFMA that do nothing else issue every three."""
    code = [*(instruction(Pipe.FMA, 1, even_reads=3) for _ in range(40)), LEAVE]
    time = run_timeline(work(code, trace(code)), 1, machine(), stalls=True)
    assert time.cycles == pytest.approx(3 * 40, abs=5)
    assert time.stalls is not None
    assert time.stalls[:, list(REASONS).index("dispatch")].sum() > 60


def test_every_issue_is_counted() -> None:
    code = [*(instruction(Pipe.ALU, 2) for _ in range(5)), LEAVE]
    time = run_timeline(work(code, trace(code, warps=3, blocks=2), slots=2), 2, machine(), stalls=True)
    assert time.issued == 6 * 6
    assert time.stalls is not None
    assert np.array_equal(time.stalls[:, 0], np.full(6, 6.0))
