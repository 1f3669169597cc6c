"""The variants of a run as a queue of independent jobs, taken by as many device lanes as there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Condition

from gpuprof.profile.built_variant import BuiltVariant


@dataclass(frozen=True)
class Ready:
    """A variant that can be executed."""

    built: BuiltVariant
    baseline: str | None  #: the label whose times it is compared with
    referenced: bool = False  #: are others compared with its outputs?

    @property
    def label(self) -> str:
        """The variant's label."""
        return self.built.variant.label


class Board:
    """Thread-safe. Variants whose reference is another variant wait until that one is settled."""

    def __init__(self) -> None:
        self._condition = Condition()
        self._waiting: list[Ready] = []
        self._known: dict[str, Ready] = {}
        self._settled: dict[str, bool] = {}  #: label -> are its outputs there?
        self._open = True
        self._stopped = False

    def put(self, ready: Ready) -> None:
        """A variant is built."""
        with self._condition:
            self._waiting.append(ready)
            self._known[ready.label] = ready
            self._condition.notify_all()

    def know(self, ready: Ready) -> None:
        """A variant whose row is kept from an earlier run: others may still be compared with its times."""
        with self._condition:
            self._known[ready.label] = ready

    def close(self) -> None:
        """No more variants will come."""
        with self._condition:
            self._open = False
            self._condition.notify_all()

    def stop(self) -> None:
        """Hand out nothing more."""
        with self._condition:
            self._stopped = True
            self._waiting.clear()
            self._condition.notify_all()

    def settle(self, label: str, has_outputs: bool) -> None:
        """A variant ended: those that are compared with its outputs may go."""
        with self._condition:
            self._settled[label] = has_outputs
            self._condition.notify_all()

    @property
    def stopped(self) -> bool:
        """Was the run interrupted?"""
        return self._stopped

    @property
    def building(self) -> bool:
        """May more variants come?"""
        return self._open and not self._stopped

    def settled(self) -> Mapping[str, bool]:
        """Which variants ended, and whether they left outputs."""
        with self._condition:
            return dict(self._settled)

    def expects(self, label: str) -> bool:
        """May that variant still be handed out? False once it was taken, failed, or will not come."""
        with self._condition:
            if label in self._settled or self._stopped:
                return False
            return self._open if label not in self._known else self._known[label] in self._waiting

    def find(self, label: str) -> Ready | None:
        """A variant that is known and does not wait to be taken; None for any other."""
        with self._condition:
            ready = self._known.get(label)
            return None if ready in self._waiting else ready

    def take(self, idle: Callable[[], bool]) -> Ready | None:
        """The next variant that can run now; None when there is none and the lane is not ``idle``, or none will come.

        ``idle`` is asked again whenever something changed on the board.
        """
        with self._condition:
            while not self._stopped:
                ready = next((ready for ready in self._waiting if self._can_run(ready)), None)
                if ready is not None:
                    self._waiting.remove(ready)
                    return ready
                if not idle() or not (self._open or self._waiting):
                    return None
                self._condition.wait(1.0)
            return None

    def _can_run(self, ready: Ready) -> bool:
        reference = ready.built.variant.reference.variant
        return reference is None or reference == ready.label or reference in self._settled
