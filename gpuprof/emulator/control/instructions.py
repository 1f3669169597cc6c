"""Control flow: branches, calls, exits, convergence and block barriers.

A *terminator* ends a straight run of instructions: it returns the next program counter of its fragment, or PARKED
when the fragment was split, waits, or has ended. A *step* goes on to the next instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Batch, Decoded, Fragment, NotCovered, Step, Terminator, Waiting
from gpuprof.emulator.control import barriers
from gpuprof.emulator.control.barriers import (
    GROUP_SLOT,
    PARKED,
    PHASE_SLOT,
    WARPSYNC_SLOT,
    ballot,
)
from gpuprof.emulator.memory import transaction_barriers
from gpuprof.emulator.state.faults import first_lane, lane_location
from gpuprof.emulator.state.operands import FALSE, TRUE, bound, scalar
from gpuprof.errors import DeviceAssertError, InstructionLimitError
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Site

    Bool = NDArray[np.bool_]

Condition = Callable[[Batch], "Bool"]

_PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)
_REGISTERS = (OperandKind.REGISTER, OperandKind.UNIFORM)


def _guard(decoded: Decoded) -> Condition | None:
    predicate = decoded.instruction.predicate
    return None if predicate is None else bound(predicate).read_predicate


def _split(batch: Batch, fragment: Fragment, condition: Bool) -> tuple[Bool, Bool, int]:
    """Lanes of the fragment for which the condition holds, the others, and how many hold."""
    if condition.size == 1:
        return batch.mask, batch.mask, fragment.lanes if condition.flat[0] else 0
    yes = condition if batch.mask.size == 1 else np.logical_and(batch.mask, condition)
    on = batch.count_lanes(yes)
    if on in (0, fragment.lanes):
        return batch.mask, batch.mask, on
    no = np.logical_not(condition)
    return yes, no if batch.mask.size == 1 else np.logical_and(batch.mask, no), on


def _count_divergent(batch: Batch, site: Site, yes: Bool, no: Bool) -> None:
    both = np.logical_and(yes.any(axis=2), no.any(axis=2))
    factor = batch.block_count * batch.warp_count // both.size
    batch.counters.divergent[site.index] += int(np.count_nonzero(both)) * factor


def branch(decoded: Decoded, site: Site) -> Terminator:
    """BRA, JMP: to a label, by guard and (``BRA P1, t``, ``BRA.U UP0, t``) a second predicate.

    On an H200 ``smsp__thread_inst_executed_pred_on`` has the lanes for which both hold, and the counters by kind of
    operation those with a true guard (kernel ``earlyexit``).
    """
    if decoded.has("DIV", "CONV"):
        return _branch_on_convergence(decoded, site)
    target, guard = site.target(decoded.operands[-1]), _guard(decoded)
    second = [operand for operand in decoded.operands[:-1] if operand.kind in _PREDICATES]
    extra = bound(second[0]).read_predicate if second else None
    if guard is None and extra is None:
        return _jump(decoded, site, target)
    voted = "ANY" if decoded.has("ANY") else "ALL" if decoded.has("ALL") else ""

    def execute(batch: Batch, fragment: Fragment) -> int:
        condition = TRUE if guard is None else guard(batch)
        off = _off(batch, fragment, condition)
        batch.counters.off[site.index] += off
        if extra is not None:
            condition = np.logical_and(condition, extra(batch))
            batch.counters.untaken[site.index] += _off(batch, fragment, condition) - off
        if voted:
            condition = _voted(batch, condition, voted)
        return _go(batch, fragment, site, condition, target)

    return execute


def _voted(batch: Batch, condition: Bool, how: str) -> Bool:
    """BRA.U.ANY and .ALL: the active lanes of a warp go together, by any or all of their conditions."""
    if how == "ANY":
        return np.asarray(np.logical_and(batch.mask, condition).any(axis=2, keepdims=True))
    return np.asarray(np.logical_or(~batch.mask, condition).all(axis=2, keepdims=True))


def _jump(decoded: Decoded, site: Site, target: int) -> Terminator:
    endless = target == site.pc

    def execute(batch: Batch, fragment: Fragment) -> int:
        if endless:
            where = first_lane(batch, batch.mask)
            place = lane_location(batch, decoded.instruction, where)
            raise InstructionLimitError("an endless loop: the branch goes to itself", place)
        return target

    return execute


def _count_off(batch: Batch, fragment: Fragment, site: Site, condition: Bool) -> None:
    batch.counters.off[site.index] += _off(batch, fragment, condition)


def _off(batch: Batch, fragment: Fragment, condition: Bool) -> int:
    """How many lanes of the fragment have a false condition."""
    if condition.size == 1:
        return 0 if condition.flat[0] else fragment.lanes
    return fragment.lanes - batch.count_lanes(
        condition if batch.mask.size == 1 else np.logical_and(batch.mask, condition)
    )


def _go(batch: Batch, fragment: Fragment, site: Site, condition: Bool, target: int) -> int:
    """Lanes with a true condition go to ``target``, the others to the next instruction."""
    yes, no, on = _split(batch, fragment, condition)
    if on == fragment.lanes:
        return target
    if on == 0:
        return site.next
    _count_divergent(batch, site, yes, no)
    batch.push(target, yes, fragment.steps)
    batch.push(site.next, no, fragment.steps)
    return PARKED


def _branch_on_convergence(decoded: Decoded, site: Site) -> Terminator:
    """BRA.DIV UR, t: to the slow path unless all lanes of UR are here; BRA.CONV: to t if they are.

    Lanes that exited or never existed are not waited for.
    """
    target, wanted = site.target(decoded.operands[-1]), decoded.operands[0]
    diverged = decoded.has("DIV")
    guard = _guard(decoded)

    def execute(batch: Batch, fragment: Fragment) -> int:
        missing = batch.u32(wanted) & ballot(batch.live) & ~ballot(batch.mask)
        condition = (missing != 0) if diverged else (missing == 0)
        if guard is not None:
            condition = np.logical_and(condition, guard(batch))
        return _go(batch, fragment, site, condition, target)

    return execute


def indirect(decoded: Decoded, site: Site) -> Terminator:
    """CALL, RET, BRX, JMX: to a label, a register, or their sum; ``.ABS`` takes an absolute address."""
    operands = [operand for operand in decoded.operands if operand.kind not in _PREDICATES]
    labels = [operand for operand in operands if operand.kind not in _REGISTERS]
    registers = [operand for operand in operands if operand.kind in _REGISTERS]
    target = site.target(labels[-1]) if labels else 0
    guard = _guard(decoded)
    if not registers and site.holds(target):
        return branch(decoded, site)
    absolute = decoded.has("ABS") or decoded.instruction.opcode == "JMX"
    outside = np.full((1, 1, 1), target, np.int64)

    def targets(batch: Batch) -> NDArray[Any]:
        return _targets(batch, registers[0], target, absolute) if registers else outside

    def execute(batch: Batch, fragment: Fragment) -> int:
        if guard is not None:
            condition = guard(batch)
            _count_off(batch, fragment, site, condition)
            yes, no, on = _split(batch, fragment, condition)
            if on == 0:
                return site.next
            if on < fragment.lanes:
                batch.push(site.next, no, fragment.steps)
                return _scatter(batch, fragment, site, yes, targets(batch))
        return _scatter(batch, fragment, site, batch.mask, targets(batch))

    return execute


def _targets(batch: Batch, register: Operand, target: int, absolute: bool) -> NDArray[Any]:
    value = batch.u64(register).view(np.int64)
    if absolute:
        return value - batch.code_base
    return value + target


def _scatter(batch: Batch, fragment: Fragment, site: Site, mask: Bool, targets: NDArray[Any]) -> int:
    """Send each lane of ``mask`` to its own target."""
    spread, enabled = np.broadcast_arrays(targets, mask)
    places = np.unique(spread[enabled]).tolist()
    if len(places) == 1 and mask is batch.mask:
        return _enter(batch, site, places[0])
    _count_repeats(batch, site, np.stack([np.logical_and(enabled, spread == place).sum(axis=2) for place in places]))
    first = np.where(enabled, spread, places[-1]).min(axis=2, keepdims=True)
    lowest = np.logical_and(enabled, spread == first)
    _count_divergent(batch, site, lowest, np.logical_and(batch.mask, ~lowest))
    for place in places:
        part = np.logical_and(enabled, spread == place)
        old, batch.mask, batch.write_mask = (batch.mask, batch.write_mask), part, part
        pc = _enter(batch, site, place)
        batch.mask, batch.write_mask = old
        batch.push(pc, part, fragment.steps)
    return PARKED


def _enter(batch: Batch, site: Site, pc: int) -> int:
    """Go to a computed program counter: code, or a function of the device runtime."""
    if site.holds(pc):
        return pc
    where = first_lane(batch, batch.mask)
    return batch.launch.runtime.call(batch, pc, lane_location(batch, site.instruction, where))


def _count_repeats(batch: Batch, site: Site, lanes: NDArray[Any]) -> None:
    """Lanes per target and warp: one target's leave, the fewest first, and the rest issues the instruction again.

    Measured on an H200 for two targets (kernels ``pointers_to_leaves`` and ``function_pointers``).
    """
    factor = batch.block_count * batch.warp_count // lanes[0].size
    left = lanes.sum(axis=0) - np.cumsum(np.sort(lanes, axis=0), axis=0)
    repeats = np.logical_and(left > 0, np.sort(lanes, axis=0) > 0)
    batch.counters.joined[site.index] += int(np.count_nonzero(repeats)) * factor
    batch.counters.joined_threads[site.index] += int(left[repeats].sum()) * factor


def exit_lanes(decoded: Decoded, site: Site) -> Terminator:
    """EXIT: the lanes end."""
    guard = _guard(decoded)
    if guard is None and not any(operand.kind in _PREDICATES for operand in decoded.operands):

        def end(batch: Batch, fragment: Fragment) -> int:
            barriers.leave(batch, batch.mask, site.pc)
            return PARKED

        return end
    extra = [operand for operand in decoded.operands if operand.kind in _PREDICATES]

    def execute(batch: Batch, fragment: Fragment) -> int:
        condition = TRUE if guard is None else guard(batch)
        _count_off(batch, fragment, site, condition)
        for operand in extra:
            condition = np.logical_and(condition, batch.predicate(operand))
        yes, no, on = _split(batch, fragment, condition)
        if on == 0:
            return site.next
        if on < fragment.lanes:
            batch.push(site.next, no, fragment.steps)
        barriers.leave(batch, yes, site.pc)
        return PARKED

    return execute


def guarded(terminator: Terminator, decoded: Decoded, site: Site) -> Terminator:
    """A terminator under a guard: lanes with a false one go on to the next instruction."""
    guard = _guard(decoded)
    if guard is None:
        return terminator

    def execute(batch: Batch, fragment: Fragment) -> int:
        condition = guard(batch)
        _count_off(batch, fragment, site, condition)
        yes, no, on = _split(batch, fragment, condition)
        if on == fragment.lanes:
            return terminator(batch, fragment)
        if on == 0:
            return site.next
        batch.push(site.next, no, fragment.steps)
        batch.mask = batch.write_mask = yes
        pc = terminator(batch, fragment)
        if pc != PARKED:
            batch.push(pc, yes, fragment.steps)
        return PARKED

    return execute


def bsync(decoded: Decoded, site: Site) -> Terminator:
    """BSYNC: wait for the lanes of the barrier's mask."""
    slot = decoded.operands[0].index

    def execute(batch: Batch, fragment: Fragment) -> int:
        return barriers.arrive(batch, slot, site.next, fragment.steps, pooled=fragment.pooled)

    return guarded(execute, decoded, site)


def warpsync(decoded: Decoded, site: Site) -> Terminator:
    """WARPSYNC of a mask (immediate or register) or .ALL: wait, and go on as one.

    .EXCLUSIVE and .COLLECTIVE: exactly the lanes of the mask go on together, without any other of their fragment, so
    that REDUX and the uniform datapath after it see that group alone. Lanes may come to .COLLECTIVE from several
    places; one of them executes for all up to ENDCOLLECTIVE, from where each goes to the target of its own.
    """
    masks = [operand for operand in decoded.operands if operand.kind not in (*_PREDICATES, OperandKind.LABEL)]
    mask = None if decoded.has("ALL") or not masks else masks[0]
    if decoded.has("EXCLUSIVE", "COLLECTIVE"):
        if mask is None:
            raise NotCovered(decoded.instruction.text)
        return guarded(_group_sync(decoded, site, mask), decoded, site)

    def execute(batch: Batch, fragment: Fragment) -> int:
        words = scalar(0xFFFFFFFF) if mask is None else batch.u32(mask)
        barriers.set_barrier(batch, WARPSYNC_SLOT, words)
        return barriers.arrive(batch, WARPSYNC_SLOT, site.next, fragment.steps)

    return guarded(execute, decoded, site)


def _group_sync(decoded: Decoded, site: Site, mask: Operand) -> Terminator:
    collective = decoded.has("COLLECTIVE")
    target = scalar(site.target(decoded.operands[-1]) if collective else 0, np.uint64)

    def execute(batch: Batch, fragment: Fragment) -> int:
        barriers.set_barrier(batch, GROUP_SLOT, batch.u32(mask))
        if collective:
            batch.set_return(target)
        return barriers.arrive_group(batch, site.next, fragment.steps)

    return execute


def end_collective(decoded: Decoded, site: Site) -> Terminator:
    """ENDCOLLECTIVE: each lane goes to the target that its WARPSYNC.COLLECTIVE named."""

    def execute(batch: Batch, fragment: Fragment) -> int:
        spread, enabled = np.broadcast_arrays(batch.returns[0], batch.mask)
        places = np.unique(spread[enabled]).tolist()
        if len(places) == 1:
            return int(places[0])
        for place in places:
            batch.push(place, np.logical_and(enabled, spread == place), fragment.steps)
        return PARKED

    return guarded(execute, decoded, site)


def bar(decoded: Decoded, site: Site) -> Terminator:
    """BAR.SYNC, BAR.ARV and BAR.RED.{POPC,AND,OR} with an immediate or register barrier number and thread count."""
    numbers = [operand for operand in decoded.operands if operand.kind not in _PREDICATES]
    predicates = [operand for operand in decoded.operands if operand.kind in _PREDICATES]
    kind = next((word for word in ("POPC", "AND", "OR") if decoded.has(word)), "")
    if not decoded.has("SYNC", "ARV", "RED") or (decoded.has("RED") and not (kind and predicates)):
        raise NotCovered("BAR other than SYNC, ARV and RED")
    waits = not decoded.has("ARV")

    def execute(batch: Batch, fragment: Fragment) -> int:
        number = _one_value(batch, numbers[0]) if numbers else 0
        threads = _one_value(batch, numbers[1]) if len(numbers) > 1 else None
        if decoded.has("RED"):
            value = batch.predicate(predicates[-1])
            return barriers.reduce_block(
                batch, number, site.next, fragment.steps, threads=threads, kind=kind, value=value
            )
        return barriers.arrive_block(batch, number, site.next, fragment.steps, threads=threads, waits=waits)

    return guarded(_per_barrier(execute, numbers, site), decoded, site)


def _one_value(batch: Batch, operand: Operand) -> int:
    value, mask = np.broadcast_arrays(batch.u32(operand), batch.mask)
    return int(value[mask][0])


def _per_barrier(execute: Terminator, numbers: list[Operand], site: Site) -> Terminator:
    """A barrier number in a register may differ between warps: then each number is its own arrival."""
    registers = [operand for operand in numbers if operand.kind in _REGISTERS and not operand.is_zero]
    if not registers:
        return execute

    def split(batch: Batch, fragment: Fragment) -> int:
        key = np.zeros((1, 1, 1), np.int64)
        for operand in registers:
            key = key * 65536 + batch.u32(operand)
        spread, enabled = np.broadcast_arrays(key, batch.mask)
        values = np.unique(spread[enabled]).tolist()
        if len(values) == 1:
            return execute(batch, fragment)
        mask, batch.partial = batch.mask, True
        for value in values:
            batch.mask = batch.write_mask = np.logical_and(mask, key == value)
            pc = execute(batch, fragment)
            if pc != PARKED:
                batch.push(pc, batch.mask, fragment.steps)
        batch.partial = False
        return PARKED

    return split


def wait_for_phase(decoded: Decoded, site: Site) -> Terminator:
    """SYNCS.PHASECHK.TRYWAIT: a warp none of whose lanes finds its phase complete waits for that."""
    done, result = transaction_barriers.phase_done(decoded), transaction_barriers.result_of(decoded)
    addresses = transaction_barriers.object_addresses(decoded)

    def execute(batch: Batch, fragment: Fragment) -> int:
        found = np.logical_and(batch.active(), done(batch))
        going = found.any(axis=2, keepdims=True)
        waits = np.logical_and(batch.mask, ~going)
        batch.set_predicate(result, found)
        if batch.observer is not None and going.any():
            batch.observer.phase(batch, addresses(batch), found)
        if not waits.any():
            return site.next
        batch.push(site.next, np.logical_and(batch.mask, going), fragment.steps)
        batch.waits.append(Waiting(PHASE_SLOT, site.pc, waits, fragment.steps))
        return PARKED

    return execute


def trap(decoded: Decoded, site: Site) -> Terminator:
    """BPT.TRAP: __trap(), or code that cannot be reached."""

    def execute(batch: Batch, fragment: Fragment) -> int:
        where = first_lane(batch, batch.mask)
        source = decoded.instruction.source
        in_groups = source is not None and "cooperative_groups" in source.file
        message = "grid.sync() in a launch that is not cooperative: write `cooperative: true`" if in_groups else ""
        raise DeviceAssertError(message or "the kernel trapped", lane_location(batch, decoded.instruction, where))

    return guarded(execute, decoded, site)


def set_register_limit(decoded: Decoded, site: Site) -> Step:
    """USETMAXREG: setmaxnreg; registers are never short here, so that an allocation succeeds at once."""
    results = [operand for operand in decoded.operands if operand.kind is OperandKind.UNIFORM_PREDICATE]

    def execute(batch: Batch) -> None:
        for result in results:
            batch.set_predicate(result, TRUE)

    return execute


def bssy(decoded: Decoded, site: Site) -> Step:
    """BSSY: the barrier register takes the mask of the active lanes."""
    slot = decoded.operands[0].index

    def execute(batch: Batch) -> None:
        barriers.set_barrier(batch, slot, ballot(batch.mask))
        barriers.set_restored(batch, slot, FALSE)

    return execute


def break_barrier(decoded: Decoded, site: Site) -> Step:
    """BREAK: the enabled lanes leave the barrier's mask."""
    slot = decoded.operand(OperandKind.BARRIER).index

    def execute(batch: Batch) -> None:
        barriers.break_out(batch, slot, batch.mask)

    return execute


def bmov(decoded: Decoded, site: Site) -> Step:
    """BMOV.32[.CLEAR] R, B and BMOV.32 B, R: save and restore a barrier register."""
    target, source = decoded.operands[0], decoded.operands[1]
    if OperandKind.BARRIER not in (target.kind, source.kind):
        raise NotCovered("BMOV without a barrier register")
    clears = decoded.has("CLEAR")

    def save(batch: Batch) -> None:
        batch.set_u32(target, batch.barriers[source.index])
        if clears:
            barriers.set_barrier(batch, source.index, scalar(0))

    def restore(batch: Batch) -> None:
        barriers.set_barrier(batch, target.index, batch.u32(source))
        barriers.set_restored(batch, target.index, TRUE)

    return save if source.kind is OperandKind.BARRIER else restore


def barrier_result(decoded: Decoded, site: Site) -> Step:
    """B2R.RESULT Rd[, Pd]: what the last BAR.RED of the block gave."""
    if not decoded.has("RESULT"):
        raise NotCovered("B2R other than .RESULT")

    def execute(batch: Batch) -> None:
        for operand in decoded.operands:
            if operand.kind in _PREDICATES:
                batch.set_predicate(operand, batch.barrier_result != 0)
            else:
                batch.set_u32(operand, batch.barrier_result)

    return execute


def nothing(decoded: Decoded, site: Site) -> Step:
    """Instructions without effect on data in a sequential machine; they are issued and counted."""

    def execute(batch: Batch) -> None:
        return None

    return execute


#: opcode -> what ends a straight run.
TERMINATORS: dict[str, Callable[[Decoded, Site], Terminator]] = {
    "BRA": branch,
    "JMP": branch,
    "BRX": indirect,
    "JMX": indirect,
    "CALL": indirect,
    "RET": indirect,
    "EXIT": exit_lanes,
    "BSYNC": bsync,
    "WARPSYNC": warpsync,
    "ENDCOLLECTIVE": end_collective,
    "BAR": bar,
    "BPT": trap,
}

#: opcode -> control instructions that go on.
STEPS: dict[str, Callable[[Decoded, Site], Step]] = {
    "BSSY": bssy,
    "BREAK": break_barrier,
    "BMOV": bmov,
    "B2R": barrier_result,
    "YIELD": nothing,
    "NANOSLEEP": nothing,
    "NOP": nothing,
    "DEPBAR": nothing,
    "LDGDEPBAR": nothing,
    "MEMBAR": nothing,
    "ERRBAR": nothing,
    "CGAERRBAR": nothing,
    "CCTL": nothing,
    "CCTLL": nothing,
    "FENCE": nothing,
    "PREEXIT": nothing,
    "ACQBULK": nothing,
    "WARPGROUP": nothing,
    "UTMACCTL": nothing,
    "UTMAPF": nothing,
    "UTMACMDFLUSH": nothing,
    "USETMAXREG": set_register_limit,
}
