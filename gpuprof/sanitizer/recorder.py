"""The observer of the first look: logs every access, finds suspicious words, and loads that gave poison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.sanitizer.access_forms import ATOMIC, READ, AccessForm, access_forms, arrives, memory_words
from gpuprof.sanitizer.global_conflicts import GlobalConflicts
from gpuprof.sanitizer.shared_conflicts import SharedConflicts
from gpuprof.sanitizer.suspects import Suspects
from gpuprof.sanitizer.warp_masks import MaskRules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, Decoded, Step
    from gpuprof.emulator.memory.arena import Region

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]

#: How a load of fewer bytes gives poison: the same byte or half word, with and without a sign.
_NARROW = {1: 0xFF, 2: 0xFFFF}


class Recorder:
    """Implements ``emulator.contract.Observer``. Results: ``suspects``, ``unset_loads``, ``masks``."""

    def __init__(
        self,
        threads: int,
        written: Sequence[Region],
        poison: int,
        masks: MaskRules | None,
        *,
        races: bool = True,
        loads: bool = True,
    ) -> None:
        self.suspects = Suspects()
        self.unset_loads: dict[int, tuple[int, int, int]] = {}  #: instruction -> (block, warp, lane) of an example
        self.masks = masks
        self._globals = GlobalConflicts(written, threads, self.suspects)
        self._poison = poison
        self._races, self._watches_loads = races, loads
        self._log: SharedConflicts | None = None
        self._epochs = np.zeros(1, np.int32)

    def begin(self, batch: Batch) -> None:
        self._log = SharedConflicts(batch, self.suspects)
        self._epochs = np.zeros(batch.block_count, np.int32)

    def end(self, batch: Batch) -> None:
        if self._log is not None:
            self._log.end()

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        opcode = decoded.instruction.opcode
        if opcode == "LDGDEPBAR":
            return self._before(step, lambda batch: self._log.commit() if self._log else None)
        if opcode == "DEPBAR" and decoded.has("LE") and len(decoded.operands) > 1:
            newest = int(decoded.operands[1].value or 0)
            return self._before(step, lambda batch: self._log.wait(newest) if self._log else None)
        forms = access_forms(decoded, index)
        if not forms:
            return step if self.masks is None else self.masks.bind(decoded, index, step)
        observed = self._accesses(forms, step) if self._races else step
        if not self._watches_loads:
            return observed
        if forms[0].verb == ATOMIC:
            return self._atomics(forms[0], observed)
        load = next((form for form in forms if form.verb == READ and form.data is not None), None)
        return observed if load is None else self._loads(load, observed)

    @staticmethod
    def _before(step: Step, tell: Any) -> Step:
        def execute(batch: Batch) -> None:
            tell(batch)
            step(batch)

        return execute

    def _accesses(self, forms: tuple[AccessForm, ...], step: Step) -> Step:
        marks = arrives(forms[0].instruction)

        def execute(batch: Batch) -> None:
            log = self._log
            assert log is not None
            for form in forms:
                for space, addresses, mask in form.places(batch):
                    if space == "shared":
                        log.add(form, addresses, mask)
                        if marks:
                            words = np.unique(np.asarray(addresses)) >> 2
                            self.suspects.objects.update(words.tolist(), (words + 1).tolist())
                    elif space == "global":
                        self._globals.add(batch, form, addresses, mask, self._epochs)
            step(batch)

        return execute

    def _loads(self, form: AccessForm, step: Step) -> Step:
        """Look for poison in what a load gave; whose it is, and whether it matters, a later run says."""
        assert form.data is not None
        target, words = form.data, form.words
        if target.is_zero:
            return step
        poison, field = np.uint32(self._poison), np.uint32(_NARROW.get(form.width, 0xFFFFFFFF))
        narrow = np.bitwise_and(poison, field)

        def execute(batch: Batch) -> None:
            step(batch)
            for number in range(words):
                value = batch.registers[target.index + number]
                same = value == poison if field == 0xFFFFFFFF else np.bitwise_and(value, field) == narrow
                if same.any():
                    here = np.logical_and(same, np.logical_and(batch.mask, batch.live))
                    if here.any():
                        self._note(batch, form.index, here)

        return execute

    def _atomics(self, form: AccessForm, step: Step) -> Step:
        """Look for poison in what an atomic is about to change."""
        poison = np.uint32(self._poison)

        def execute(batch: Batch) -> None:
            for space, words, mask in form.places(batch):
                if space != "local":
                    unset = memory_words(batch, space, words) == poison
                    here = np.logical_and(np.logical_and(mask, batch.live), unset)
                    if here.any():
                        self._note(batch, form.index, here)
            step(batch)

        return execute

    def _note(self, batch: Batch, index: int, lanes: Bool) -> None:
        if index not in self.unset_loads:
            from gpuprof.emulator.state.faults import first_lane

            row, warp, lane = first_lane(batch, lanes)
            self.unset_loads[index] = (int(batch.block_ids[row]), warp, lane)

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None:
        log = self._log
        assert log is not None
        if arrived is batch.live or arrived.size == 1:
            blocks = np.ones(1, bool)
        else:
            came = np.logical_or(arrived, ~batch.live)
            blocks = np.asarray(came.all(axis=(1, 2)) & arrived.any(axis=(1, 2)) & leaving.any(axis=(1, 2)))
        if not blocks.any():
            return
        log.barrier(blocks)
        self._epochs = self._epochs + blocks.astype(np.int32)

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None:
        if self.masks is not None:
            self.masks.meet(batch, lanes, pc)

    def phase(self, batch: Batch, addresses: Array, lanes: Bool) -> None:
        return None
