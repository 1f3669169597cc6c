"""The emulator's counters against ncu's, name by name: equal, different, or as near as a counter of the hardware is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuprof.isa.counters import Number
from gpuprof.results.metric_sets import is_exact
from gpuprof.results.model import Counters, Result

#: Share by which a counter of the hardware may be off: what an H200 was seen to lose was 0.033 %.
HARDWARE_WITHIN = 1e-3

EQUAL, NEAR, DIFFERS = "equal", "within 0.1 % (hardware counter)", "differs"


@dataclass(frozen=True)
class CounterPair:
    """One counter in both; ``equal`` is None where one of them has no value (``why``) or a sample was scaled.

    ``exact``: ncu sees every event of it (``metric_sets.is_exact``).
    """

    name: str
    emulated: Number | None
    ncu: Number | None
    equal: bool | None
    why: str = ""
    exact: bool = True

    @property
    def near(self) -> bool:
        """Not equal, but no further off than a counter of the hardware may be."""
        if self.equal is not False or self.exact or self.emulated is None or self.ncu is None:
            return False
        return abs(self.emulated - self.ncu) <= HARDWARE_WITHIN * max(abs(self.emulated), abs(self.ncu))

    @property
    def word(self) -> str:
        """``equal``, ``differs``, ``within 0.1 % (hardware counter)``, or ``-`` where there is nothing to compare."""
        if self.equal is None:
            return "-"
        return EQUAL if self.equal else NEAR if self.near else DIFFERS

    @property
    def kind(self) -> str:
        """``exact`` or ``hardware``."""
        return "exact" if self.exact else "hardware"


@dataclass(frozen=True)
class Agreement:
    """One variant; ``scaled`` when the emulator ran a sample of the blocks, so that equality is not to be expected."""

    variant: str
    pairs: tuple[CounterPair, ...]
    scaled: bool

    def count(self, word: str, *, exact: bool | None = None) -> int:
        """How many counters have that word: all, or the exact or the hardware's ones."""
        return sum(pair.word == word for pair in self.pairs if exact in (None, pair.exact))

    @property
    def equal(self) -> int:
        return self.count(EQUAL)

    @property
    def different(self) -> int:
        """Those that differ, a hardware counter's 0.1 % aside."""
        return self.count(DIFFERS)

    @property
    def near(self) -> int:
        return self.count(NEAR)


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
    exact = is_exact(name)
    if mine is None or theirs is None:
        reasons = (ncu.unavailable, emulated.unavailable)
        return CounterPair(name, mine, theirs, None, next((part[name] for part in reasons if name in part), ""), exact)
    return CounterPair(name, mine, theirs, mine == theirs, exact=exact)
