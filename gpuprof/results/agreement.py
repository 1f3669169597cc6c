"""The emulator's counters against ncu's, name by name: equal or different."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuprof.results.model import Counters, Number, Result


@dataclass(frozen=True)
class CounterPair:
    """One counter in both; ``equal`` is None where one of them has no value (``why``) or a sample was scaled."""

    name: str
    emulated: Number | None
    ncu: Number | None
    equal: bool | None
    why: str = ""


@dataclass(frozen=True)
class Agreement:
    """One variant; ``scaled`` when the emulator ran a sample of the blocks, so that equality is not to be expected."""

    variant: str
    pairs: tuple[CounterPair, ...]
    scaled: bool

    @property
    def equal(self) -> int:
        return sum(1 for pair in self.pairs if pair.equal)

    @property
    def different(self) -> int:
        return sum(1 for pair in self.pairs if pair.equal is False)


def agreement(result: Result) -> Agreement | None:
    """The comparison of a result that both counted, or None."""
    emulated, ncu = result.counters, result.ncu
    if emulated is None or ncu is None:
        return None
    names = [name for name in emulated.values if name in ncu.values]
    scaled = emulated.blocks_run < emulated.blocks_total
    pairs = [_pair(name, emulated, ncu) for name in (*names, *_one_sided(emulated, ncu))]
    return Agreement(result.variant, tuple(pairs), scaled)


def _one_sided(emulated: Counters, ncu: Counters) -> Sequence[str]:
    """Counters of the emulator that ncu was asked for and has no value for."""
    return [name for name in emulated.values if name not in ncu.values and name in ncu.unavailable]


def _pair(name: str, emulated: Counters, ncu: Counters) -> CounterPair:
    mine, theirs = emulated.values.get(name), ncu.values.get(name)
    if mine is None or theirs is None:
        reasons = (ncu.unavailable, emulated.unavailable)
        return CounterPair(name, mine, theirs, None, next((part[name] for part in reasons if name in part), ""))
    return CounterPair(name, mine, theirs, mine == theirs)
