"""Ctrl-C: once, and the running variant ends; twice, and everything ends now."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any


class Interrupts:
    """While open, SIGINT and SIGTERM set ``stopping``; a second one calls what ``at_once`` was given and raises.

    Outside the main thread, where Python delivers no signals, it changes nothing.
    """

    def __init__(self) -> None:
        self.stopping = False
        self._at_once: list[Callable[[], None]] = []
        self._before: dict[int, Any] = {}

    def at_once(self, action: Callable[[], None]) -> None:
        """Call ``action`` at the second interrupt."""
        self._at_once.append(action)

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self.stopping:
            self.stopping = True
            return
        for action in self._at_once:
            action()
        raise KeyboardInterrupt
