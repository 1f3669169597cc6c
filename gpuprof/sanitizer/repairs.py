"""The kinds of faults: what each is called, how bad it is, and how it is usually repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuprof.sanitizer.findings import Severity, Tool


@dataclass(frozen=True)
class Kind:
    """A kind of fault. ``says`` completes "the write at line 12 and the read at line 15 ..." for a race."""

    tool: Tool
    severity: Severity
    says: str
    repair: str


_RACE, _INIT, _SYNC, _MEMORY = Tool.RACECHECK, Tool.INITCHECK, Tool.SYNCCHECK, Tool.MEMCHECK
_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

KINDS: Mapping[str, Kind] = {
    "race between warps": Kind(
        _RACE, _ERROR, "are of different warps and nothing orders them", "put a __syncthreads() between the two"
    ),
    "race within a warp": Kind(
        _RACE,
        _WARNING,
        "are of lanes of one warp and nothing orders them: lanes may run apart, and volatile does not change that",
        "put a __syncwarp() between the two",
    ),
    "race between blocks": Kind(
        _RACE,
        _ERROR,
        "are of different blocks and nothing orders them",
        "use an atomic on it, or release it (__threadfence(), an atomic) and acquire it, or end the kernel between",
    ),
    "one element, different values": Kind(
        _RACE, _ERROR, "are one store: lanes give one element different values", "let one lane store, or use an atomic"
    ),
    "equal values": Kind(
        _RACE, _NOTE, "store the same value without order", "let one thread store, if it is meant so it may stay"
    ),
    "atomic and plain access": Kind(
        _RACE,
        _ERROR,
        "are an atomic and a plain access, and nothing orders them",
        "put a barrier between the two, or make both atomic with a scope that includes both threads",
    ),
    "asynchronous copy": Kind(
        _RACE,
        _ERROR,
        "are an asynchronous copy that was not waited for, and an access to its bytes",
        "wait for its group (__pipeline_wait_prior, cp.async.wait_group), then __syncthreads()",
    ),
    "uninitialised read": Kind(
        _INIT,
        _ERROR,
        "reads {space} memory that nobody set, and the value reaches a result",
        "set it before (and put a barrier after it, where other threads set it)",
    ),
    "unset variable": Kind(
        _INIT, _ERROR, "stores a value that depends on a variable that was never set", "give the variable a value"
    ),
    "divergent barrier": Kind(_SYNC, _ERROR, "", "let all threads of the block reach the same __syncthreads()"),
    "barrier that never completes": Kind(
        _SYNC, _ERROR, "", "name as many threads as reach the barrier, or let the others reach it"
    ),
    "caller not in mask": Kind(
        _SYNC,
        _ERROR,
        "is called by lane {lane}, which its own mask does not name",
        "build the mask before the branch, from those who take it: __ballot_sync",
    ),
    "lanes never come": Kind(
        _SYNC,
        _ERROR,
        "names lanes {lanes} that never come",
        "name only lanes that reach it, or move it out of the branch",
    ),
    "shuffle from an absent lane": Kind(
        _SYNC,
        _ERROR,
        "reads a lane that takes no part; what it gives is undefined",
        "let the lane that is read execute the shuffle as well",
    ),
    "out of bounds": Kind(_MEMORY, _ERROR, "", "check the index against the array's length"),
    "endless": Kind(_SYNC, _ERROR, "", "see that what the loop waits for comes"),
    "order": Kind(
        _RACE,
        _ERROR,
        "gives other results when warps or blocks run in another order",
        "find what is read before it is final: a barrier, an atomic, or a fixed order of sums is missing",
    ),
    "rounding": Kind(
        _RACE,
        _NOTE,
        "rounds differently when warps or blocks run in another order: a sum of floats by atomics",
        "nothing, where the tolerance allows it; else sum in a fixed order",
    ),
}
