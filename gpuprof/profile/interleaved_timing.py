"""The variants that one device times side by side, round by round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median

from gpuprof.profile import statistics
from gpuprof.profile.messages import Sample, Sampled
from gpuprof.profile.options import TimingOptions
from gpuprof.profile.stopping import StoppingRule, stopping_rule

#: Variants in a round besides the baseline: more would put pairs far apart and lose more when a run is killed.
ROUND_SIZE = 16
#: A turn of one variant: long enough that asking for it (some 0.1 ms) costs little, short enough to interleave.
TURN_SECONDS = 0.02
MAX_SAMPLES_PER_TURN = 50
#: A fixed number of samples is spread over at least this many rounds, where it is that large: rounds are the pairs
#: that a ratio is estimated from.
ROUNDS = 25
#: Samples taken below this share of the highest SM clock seen are thrown away (nvbench's default), at most so often.
THROTTLE_SHARE = 0.75
MAX_DISCARDED_TURNS = 10


#: A GPU that idled this long has lowered its clocks; this much work, or a clock that stands still, raises them again.
IDLE_SECONDS = 0.5
#: A clock that stands still at this share of the highest one seen has risen already: checks of further variants lie
#: between two turns as well, and they keep the GPU awake.
WARM_UP_SECONDS = 0.25
MAX_WARM_UP_SECONDS = 2.0
RISEN_SHARE = 0.98


@dataclass
class Track:
    """One variant's samples so far."""

    label: str
    baseline: str | None
    rule: StoppingRule
    samples: list[float] = field(default_factory=list)
    rounds: dict[int, float] = field(default_factory=dict)
    discarded: int = 0
    discarded_turns: int = 0
    seconds_per_sample: float = 0.0
    clocks_mhz: list[float] = field(default_factory=list)
    throttle_reasons: set[str] = field(default_factory=set)
    remarks: dict[str, None] = field(default_factory=dict)
    total: int | None = None  #: how many samples were asked for in all

    def turn_size(self) -> int:
        """How many samples the next turn takes."""
        if not self.samples:
            return 1
        fitting = math.ceil(TURN_SECONDS / max(self.seconds_per_sample, 1e-6))
        size = max(1, min(MAX_SAMPLES_PER_TURN, fitting))
        wanted = self.rule.wanted
        if wanted is None:
            return size
        spread = math.ceil((self.total or wanted) / ROUNDS)
        return max(1, min(size, spread, wanted) if wanted > 0 else min(size, spread))

    def take(self, number: int, sampled: Sampled) -> None:
        """Keep the samples of a turn in round ``number``."""
        kept = statistics.valid(sampled.samples_us)
        self.samples += kept
        self.rule.add(sampled.samples_us, sampled.seconds)
        self.seconds_per_sample = sampled.seconds / max(1, len(sampled.samples_us))
        self.remarks.update(dict.fromkeys(sampled.remarks))
        if kept:
            self.rounds[number] = median(kept)


class TimingPool:
    """Tracks and rounds. ``sample`` asks the device for several turns and hands out their answers in order.

    Errors of a variant are raised with its label in ``running``. ``size`` is how many variants it takes at a time.
    """

    def __init__(
        self,
        options: TimingOptions,
        sample: Callable[[Sequence[Sample]], Generator[Sampled, None, None]],
        size: int = ROUND_SIZE,
    ) -> None:
        self._size = max(1, min(size, ROUND_SIZE))
        self._options = options
        self._sample = sample
        self._tracks: dict[str, Track] = {}
        self._active: list[str] = []
        self._round = 0
        self._clock_mhz = 0.0
        self._last_turn = -math.inf
        self.running = ""

    def add(self, label: str, baseline: str | None, iters: int | None) -> None:
        """A checked variant joins."""
        rule = stopping_rule(self._options, iters)
        self._tracks[label] = Track(label, baseline, rule, total=rule.wanted)
        self._active.append(label)

    def remove(self, label: str) -> None:
        """A variant has enough samples; as a baseline it still takes turns."""
        if label in self._active:
            self._active.remove(label)

    def forget(self, label: str) -> None:
        """A variant failed: its samples count for nothing."""
        self.remove(label)
        self._tracks.pop(label, None)

    @property
    def active(self) -> tuple[str, ...]:
        """Variants that still want samples, oldest first."""
        return tuple(self._active)

    @property
    def is_full(self) -> bool:
        """Are there as many as it takes? Then more variants would only hold memory, or be another device's work."""
        return len(self._active) >= self._size

    @property
    def labels(self) -> frozenset[str]:
        """Every variant that ever joined."""
        return frozenset(self._tracks)

    def track(self, label: str) -> Track:
        """A variant's samples."""
        return self._tracks[label]

    def round(self, waiting: Collection[str] = ()) -> tuple[str, ...]:
        """One turn for each of the oldest variants and their baselines; returns the labels that are finished.

        ``waiting`` are variants whose baseline is still to come: they take no turn.
        """
        self._round += 1
        turns = [label for label in self._active if label not in waiting][:ROUND_SIZE]
        companions = [self._tracks[label].baseline for label in turns]
        extra = [label for label in dict.fromkeys(companions) if label and label in self._tracks]
        order = [*(label for label in extra if label not in turns), *turns]
        if order and time.perf_counter() - self._last_turn > IDLE_SECONDS:
            self._warm_up(self._tracks[order[0]])
        self._take_turns([self._tracks[label] for label in order])
        return tuple(label for label in turns if self._tracks[label].rule.finished)

    def _ask(self, turns: Sequence[tuple[Track, int]]) -> Iterator[tuple[Track, Sampled]]:
        """Turns of that number of samples each, in order."""
        protocol, batch = self._options.protocol, self._options.batch
        requests = [Sample(track.label, protocol, count, batch) for track, count in turns]
        with closing(self._sample(requests)) as answers:
            for track, _ in turns:
                self.running = track.label
                sampled = next(answers)
                self._last_turn = time.perf_counter()
                yield track, sampled

    def _warm_up(self, track: Track) -> None:
        """Samples that count for nothing, until the clock has risen."""
        started, before = time.perf_counter(), None
        while (spent := time.perf_counter() - started) < MAX_WARM_UP_SECONDS:
            ((_, sampled),) = self._ask([(track, 1)])
            clock = sampled.clock_mhz
            if clock == before and (spent > WARM_UP_SECONDS or self._has_risen(clock)):
                return
            before = clock

    def _has_risen(self, clock: float | None) -> bool:
        return clock is not None and clock >= RISEN_SHARE * self._clock_mhz > 0

    def _take_turns(self, tracks: Sequence[Track]) -> None:
        """All are asked for at once, so that the device never waits for this process between two of them."""
        for track, sampled in self._ask([(track, track.turn_size()) for track in tracks]):
            self._keep(track, sampled)

    def _keep(self, track: Track, sampled: Sampled) -> None:
        self._clock_mhz = max(self._clock_mhz, sampled.clock_mhz or 0.0)
        track.throttle_reasons.update(sampled.throttle_reasons)
        if sampled.clock_mhz is not None:
            track.clocks_mhz.append(sampled.clock_mhz)
        if self._was_throttled(sampled) and track.discarded_turns < MAX_DISCARDED_TURNS:
            track.discarded += len(sampled.samples_us)
            track.discarded_turns += 1
            return
        track.take(self._round, sampled)

    def _was_throttled(self, sampled: Sampled) -> bool:
        return sampled.clock_mhz is not None and sampled.clock_mhz < THROTTLE_SHARE * self._clock_mhz

    def ratio(self, label: str) -> statistics.Ratio | None:
        """The variant against its baseline on this device; None without one or for the baseline itself."""
        track = self._tracks[label]
        if track.baseline is None or track.baseline == label or track.baseline not in self._tracks:
            return None
        return statistics.paired_ratio(self._tracks[track.baseline].rounds, track.rounds)

    def needed_baselines(self) -> frozenset[str]:
        """Labels that active variants are compared with."""
        return frozenset(baseline for label in self._active if (baseline := self._tracks[label].baseline))

    def missing_baselines(self) -> frozenset[str]:
        """Baselines of active variants that are not sampled here."""
        return self.needed_baselines() - self._tracks.keys()
