"""A kernel's code, decoded: each instruction bound once, straight-line code gathered into runs.

A *run* starts at some program counter and ends with the first instruction that may send lanes elsewhere. Runs are made
when a program counter is first reached, so code that never executes is never bound, and an instruction that the
emulator does not know stops a launch only when it is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Batch, Decoded, Fragment, NotCovered, Site, Step, StraightCode, Terminator
from gpuprof.emulator.control.instructions import STEPS, TERMINATORS, wait_for_phase
from gpuprof.emulator.memory import (
    async_copy,
    atomics,
    constants,
    generic_access,
    global_access,
    local_access,
    shared_access,
    shared_atomics,
    tensor_copy,
    transaction_barriers,
    warpgroup_products,
)
from gpuprof.emulator.modifiers import check_modifiers
from gpuprof.emulator.semantics.base import TABLE
from gpuprof.emulator.semantics.fast_paths import specialise
from gpuprof.emulator.state import special
from gpuprof.emulator.state.faults import code_location
from gpuprof.emulator.state.operands import bind_instruction, bound
from gpuprof.emulator.state.symbols import with_addresses
from gpuprof.errors import EmulationError, UnknownInstructionError
from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.isa.opcodes import OPCODES, Access, Space
from gpuprof.sass.model import Disassembly, Instruction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Observer
    from gpuprof.sass.cfg import Graph


Binder = Callable[[Decoded, int], Step]

#: Memory and access -> what binds the opcodes that have them in the opcode table.
_ACCESSES: dict[tuple[Space, Access], Binder] = {
    (Space.GLOBAL, Access.LOAD): global_access.load,
    (Space.GLOBAL, Access.STORE): global_access.store,
    (Space.GLOBAL, Access.COPY): async_copy.copy,
    (Space.GLOBAL, Access.ATOMIC): atomics.global_memory,
    (Space.GLOBAL, Access.REDUCTION): atomics.global_memory,
    (Space.GENERIC, Access.LOAD): generic_access.load,
    (Space.GENERIC, Access.STORE): generic_access.store,
    (Space.GENERIC, Access.ATOMIC): generic_access.atomic,
    (Space.SHARED, Access.LOAD): shared_access.load,
    (Space.SHARED, Access.STORE): shared_access.store,
    (Space.SHARED, Access.MATRIX_LOAD): shared_access.load_matrix,
    (Space.SHARED, Access.MATRIX_STORE): shared_access.store_matrix,
    (Space.SHARED, Access.ATOMIC): shared_atomics.shared,
    (Space.LOCAL, Access.LOAD): local_access.load,
    (Space.LOCAL, Access.STORE): local_access.store,
    (Space.CONSTANT, Access.LOAD): constants.load,
}


def _memory_opcodes() -> dict[str, Binder]:
    places = {row.name: (row.space, row.access) for row in OPCODES.values() if row.emulated}
    return {
        name: _ACCESSES[space, access]
        for name, (space, access) in places.items()
        if space is not None and access is not None and (space, access) in _ACCESSES
    }


#: opcode -> memory and special-register instructions: (decoded, instruction number) -> what executes it.
ENGINE: dict[str, Binder] = {
    **_memory_opcodes(),
    "QSPC": generic_access.query_space,
    "LEPC": constants.load_program_counter,
    "S2R": special.read_special,
    "S2UR": special.read_special,
    "CS2R": special.read_special,
    "CS2UR": special.read_special,
    "SYNCS": transaction_barriers.bind,
    "ARRIVES": transaction_barriers.copies_arrive,
    "UBLKCP": transaction_barriers.bulk_copy,
    "UTMALDG": tensor_copy.load,
    "UTMASTG": tensor_copy.store,
    "HGMMA": warpgroup_products.bind,
    "QGMMA": warpgroup_products.bind,
    "IGMMA": warpgroup_products.bind,
    "R2UR": special.to_uniform,
    "ELECT": special.elect,
}


class Program:
    """All code of a cubin, with the kernel's section first. Program counters count from there.

    ``locate`` gives the address of a symbol that instructions name (a variable, a function of the runtime); without it
    such an instruction has no value.
    """

    def __init__(
        self,
        disassembly: Disassembly,
        kernel: str,
        arch: int,
        locate: Callable[[str, Program], int] | None = None,
    ) -> None:
        _load_semantics()
        self.kernel = kernel
        self._observer: Observer | None = None
        self.function = disassembly.functions[kernel]
        self.arch = arch
        self.sections: dict[str, int] = {}
        self.instructions: list[Instruction] = []
        self._starts: list[int] = []
        names = [kernel, *(name for name in disassembly.functions if name != kernel)]
        for name in names:
            self._append(name, disassembly.functions[name].instructions)
        self.end = len(self.instructions) * INSTRUCTION_BYTES
        self.jumped_to: set[int] = set()  #: instruction numbers that only running showed to be targets
        self._runs: dict[int, StraightCode] = {}
        self._lock = Lock()
        self._locate = locate

    def address_of(self, symbol: str) -> int | None:
        """Where a symbol is that the code names; None where nobody knows."""
        return None if self._locate is None else self._locate(symbol, self)

    def _append(self, name: str, instructions: tuple[Instruction, ...]) -> None:
        start = len(self.instructions) * INSTRUCTION_BYTES
        self.sections[name] = start
        self.instructions.extend(instructions)
        self._starts.extend([start] * len(instructions))

    def observed_by(self, observer: Observer) -> Program:
        """The same code, with every step bound through the observer."""
        other = copy(self)
        other._observer, other._runs, other._lock = observer, {}, Lock()
        return other

    def uses(self, opcodes: frozenset[str]) -> bool:
        """Whether the kernel's own section holds any of these base opcodes."""
        length = min((start for start in self.sections.values() if start), default=self.end) // INSTRUCTION_BYTES
        return any(instruction.opcode in opcodes for instruction in self.instructions[:length])

    @cached_property
    def graph(self) -> Graph:
        """Control flow of the kernel's own section."""
        from gpuprof.sass.cfg import build_graph

        return build_graph(self.function)

    @property
    def runs(self) -> Mapping[int, StraightCode]:
        return self._runs

    def run_at(self, pc: int) -> StraightCode:
        """The run that starts at a program counter; raises UnknownInstructionError."""
        with self._lock:
            found = self._runs.get(pc)
            if found is None:
                found = self._runs[pc] = self._make_run(pc)
            return found

    def _make_run(self, pc: int) -> StraightCode:
        first = index = pc // INSTRUCTION_BYTES
        steps: list[Step] = []
        while index < len(self.instructions):
            opcode = self.instructions[index].opcode
            if opcode == "BAR" and index != first:  # a part of a batch stops before it
                return StraightCode(first, tuple(steps), None, index * INSTRUCTION_BYTES)
            if ends_run(self.instructions[index]):
                return StraightCode(first, tuple(steps), self._terminator(index), (index + 1) * INSTRUCTION_BYTES)
            steps.append(self._step(index))
            index += 1
        raise EmulationError("the code ends without EXIT", self.location(index - 1))

    def _site(self, index: int) -> tuple[Decoded, Site]:
        instruction = bind_instruction(with_addresses(self.instructions[index], self.address_of))
        site = Site(index, index * INSTRUCTION_BYTES, self._starts[index], instruction, self)
        return Decoded(instruction, self.arch), site

    def bound(self, index: int) -> tuple[Decoded, Site]:
        """An instruction with bound operands, and where it is."""
        return self._site(index)

    def label_at(self, section: int, name: str) -> int:
        """The number of the instruction at a label of a section (by its first program counter); -1: no such label."""
        return self._labels.get((section, name), -1)

    @cached_property
    def _labels(self) -> dict[tuple[int, str], int]:
        return {
            (self._starts[index], name): index
            for index, instruction in enumerate(self.instructions)
            for name in instruction.labels
        }

    def why_not(self, index: int) -> str | None:
        """Why an instruction cannot be executed, or None when it can."""
        decoded, site = self._site(index)
        try:
            with self._faults_of_ours(index):
                if ends_run(decoded.instruction):
                    bind_terminator(decoded, site)
                else:
                    bind_step(decoded, site)
        except NotCovered as reason:
            return str(reason)
        return None

    @contextmanager
    def _faults_of_ours(self, index: int) -> Iterator[None]:
        """What goes wrong here other than NotCovered is not an unknown instruction, and is reported with its place."""
        try:
            yield
        except (NotCovered, EmulationError):
            raise
        except Exception as error:
            message = f"the emulator failed on an instruction ({error!r})"
            raise EmulationError(message, self.location(index)) from error

    def _terminator(self, index: int) -> Terminator:
        decoded, site = self._site(index)
        try:
            with self._faults_of_ours(index):
                return bind_terminator(decoded, site)
        except NotCovered as reason:
            error = self.unknown(index, str(reason))

            def stop(batch: Batch, fragment: Fragment) -> int:
                raise error

            return stop

    def _step(self, index: int) -> Step:
        decoded, site = self._site(index)
        try:
            with self._faults_of_ours(index):
                bare = bind_step(decoded, site)
                if self._observer is not None:
                    bare = self._observer.bind(decoded, index, bare)
                step = guard_step(bare, decoded, index)
                if decoded.instruction.opcode == "LDGSTS" and async_copy.misreads_guard(decoded):
                    return async_copy.with_misread_guard(step, decoded, index)
                return step
        except NotCovered as reason:
            return self._stopper(index, str(reason))

    def _stopper(self, index: int, reason: str) -> Step:
        """An unknown instruction stops the launch when it is reached, not when its neighbours are."""

        def execute(batch: Batch) -> None:
            raise self.unknown(index, reason)

        return execute

    def unknown(self, index: int, reason: str) -> UnknownInstructionError:
        """The error that an instruction which cannot be executed ends a launch with."""
        opcode = self.instructions[index].opcode
        return UnknownInstructionError(f"the emulator does not know this {opcode} ({reason})", self.location(index))

    def location(self, index: int) -> Any:
        """The place of an instruction number."""
        return code_location(self.kernel, self.instructions[index])


def bind_terminator(decoded: Decoded, site: Site) -> Terminator:
    """What executes an instruction that ends a straight run; raises NotCovered."""
    check_modifiers(decoded)
    if decoded.instruction.opcode == "SYNCS":
        return wait_for_phase(decoded, site)
    return TERMINATORS[decoded.instruction.opcode](decoded, site)


def ends_run(instruction: Instruction) -> bool:
    """Whether the instruction may send lanes elsewhere, or make them wait."""
    if instruction.opcode == "SYNCS":
        return transaction_barriers.is_wait(instruction.modifiers, instruction.predicate is not None)
    return instruction.opcode in TERMINATORS


def bind_step(decoded: Decoded, site: Site) -> Step:
    """What executes an instruction that is not a terminator, its guard aside; raises NotCovered."""
    opcode = decoded.instruction.opcode
    if not decoded.instruction.understood:
        raise NotCovered("the disassembly was not understood")
    check_modifiers(decoded)
    if opcode in STEPS:
        return STEPS[opcode](decoded, site)
    if opcode in ENGINE:
        return ENGINE[opcode](decoded, site.index)
    fast = specialise(decoded)
    if fast is not None:
        return fast
    if opcode in TABLE:
        return TABLE[opcode](decoded)
    raise NotCovered(f"opcode {decoded.instruction.mnemonic}")


def guard_step(step: Step, decoded: Decoded, index: int) -> Step:
    """A step under its guard: only lanes with a true one take part; the others are counted as off."""
    predicate = decoded.instruction.predicate
    if predicate is None:
        return step
    read = bound(predicate).read_predicate

    def execute(batch: Batch) -> None:
        condition: NDArray[np.bool_] = read(batch)
        mask = batch.mask
        if condition.size == 1:
            if condition.flat[0]:
                step(batch)
            else:
                batch.counters.off[index] += batch.lanes_on
            return
        enabled = condition if mask.size == 1 else np.logical_and(mask, condition)
        on = batch.count_lanes(enabled)
        if on == batch.lanes_on:
            step(batch)
            return
        batch.counters.off[index] += batch.lanes_on - on
        if on == 0:
            return
        write_mask = batch.write_mask
        batch.mask = enabled
        batch.write_mask = condition if write_mask is None else enabled
        step(batch)
        batch.mask, batch.write_mask = mask, write_mask

    return execute


def _load_semantics() -> None:
    import gpuprof.emulator.semantics.catalog  # noqa: F401 - registers every semantics
