"""What a run tells while it works. A printer implements it; measuring code never prints."""

from __future__ import annotations

from typing import Protocol

from gpuprof.results.model import Result


class Observer(Protocol):
    """Called from the thread that called ``run_experiment``."""

    def note(self, text: str) -> None:
        """One line that the user should see (no GPU, chosen arch ...)."""
        ...

    def built(self, done: int, total: int, label: str) -> None:
        """``done`` of ``total`` builds have ended; ``label`` is the latest."""
        ...

    def checking(self, label: str) -> None:
        """A variant starts on a device."""
        ...

    def finished(self, done: int, total: int, result: Result) -> None:
        """A variant's row is final."""
        ...


class SilentObserver:
    """Says nothing."""

    def note(self, text: str) -> None: ...

    def built(self, done: int, total: int, label: str) -> None: ...

    def checking(self, label: str) -> None: ...

    def finished(self, done: int, total: int, result: Result) -> None: ...
