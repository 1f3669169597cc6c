"""Why warps do not issue, under Nsight Compute's names."""

from __future__ import annotations

#: In the order of runtime/machine.hpp: the name on Nsight Compute's source page, and what it means here.
REASONS = {
    "selected": "the warp issues",
    "wait": "a fixed latency of the instruction before (its control code)",
    "long_scoreboard": "data of global or local memory",
    "short_scoreboard": "data of shared memory, of a shuffle, or of the special function unit",
    "math_pipe_throttle": "the pipe of the instruction is taken",
    "mio_throttle": "the queue to shared memory is full",
    "lg_throttle": "the queue to global and local memory is full",
    "not_selected": "another warp issues",
    "barrier": "other warps of the block have yet to reach the barrier",
    "branch_resolving": "the target of a branch",
    "no_instruction": "the code is not in the cache yet",
    "dispatch": "register banks: the operands of the instruction before are still being read",
}

#: Columns of ``ncu --page source`` (without ``stall_``) -> the reasons above.
NCU_COLUMNS = {
    "selected": "selected",
    "wait": "wait",
    "long_sb": "long_scoreboard",
    "short_sb": "short_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "lg": "lg_throttle",
    "not_selected": "not_selected",
    "barrier": "barrier",
    "branch_resolving": "branch_resolving",
    "no_inst": "no_instruction",
    "dispatch": "dispatch",
}
