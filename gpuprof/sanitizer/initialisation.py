"""Which load of memory that nobody set matters: its value is changed in one run, and the results are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.sanitizer.access_forms import READ, AccessForm, access_forms, before_global_stores, flip_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, Decoded, Step

    Bool = NDArray[np.bool_]

#: Turns one poison into another number, of the other sign.
FLIP = np.uint32(0xA9F35C6B)


class _Quiet:
    """What an observer does that has nothing to do."""

    def begin(self, batch: Batch) -> None:
        return None

    def end(self, batch: Batch) -> None:
        return None

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None:
        return None

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None:
        return None

    def phase(self, batch: Batch, addresses: Any, lanes: Bool) -> None:
        return None


class PoisonFlipper(_Quiet):
    """Implements ``emulator.contract.Observer``: one load's poison reads as another number."""

    def __init__(self, index: int, poison: int) -> None:
        self._index = index
        self._poison = poison

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        form = next((form for form in access_forms(decoded, index) if form.verb == READ), None)
        if index != self._index:
            return step
        if form is None or form.data is None:
            return self._flip_memory(access_forms(decoded, index), step)
        target, words = form.data, form.words
        field = np.uint32({1: 0xFF, 2: 0xFFFF}.get(form.width, 0xFFFFFFFF))
        poison = np.uint32(self._poison)

        def execute(batch: Batch) -> None:
            step(batch)
            for number in range(words):
                value = batch.registers[target.index + number]
                same = np.bitwise_and(value, field) == np.bitwise_and(poison, field)
                batch.set_u32_next(target, number, np.where(same, value ^ (FLIP & field), value))

        return execute

    def _flip_memory(self, forms: tuple[AccessForm, ...], step: Step) -> Step:
        """An atomic's poison is turned where it is, each time before the atomic."""

        def execute(batch: Batch) -> None:
            for form in forms:
                for space, places, mask in form.places(batch):
                    if space != "local":
                        flip_words(batch, space, places, np.logical_and(mask, batch.live), self._poison, FLIP)
            step(batch)

        return execute


class LastStore(_Quiet):
    """Implements ``emulator.contract.Observer``: which instruction stored last to a word, and whose lane it was."""

    def __init__(self, word: int) -> None:
        self.found: tuple[int, int, int, int] | None = None  #: (instruction, block, warp, lane)
        self._word = word

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        return before_global_stores(decoded, index, step, self._look)

    def _look(self, batch: Batch, form: AccessForm, places: Any, mask: Bool) -> None:
        near = (places >> 2) - self._word
        here = np.logical_and(np.logical_and(mask, batch.live), (near <= 0) & (near > -form.words))
        if here.any():
            from gpuprof.emulator.state.faults import first_lane

            row, warp, lane = first_lane(batch, here)
            self.found = (form.index, int(batch.block_ids[row]), warp, lane)
