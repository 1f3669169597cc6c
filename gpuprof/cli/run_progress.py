"""What ``gpuprof run`` shows while it works: a progress bar on a terminal, plain lines on standard error elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpuprof.results.model import Result, Status

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


@contextmanager
def make_observer(*, quiet: bool) -> Iterator[PlainObserver | BarObserver]:
    """The observer that fits standard error; ``quiet``: notes and failures only, standard output being a file."""
    from gpuprof.report.console import make_console

    console = make_console(stderr=True)
    if not console.is_terminal:
        yield PlainObserver(console, quiet)
        return
    progress = _bars(console)
    with progress:
        yield BarObserver(progress)


def _bars(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<7}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, TextColumn("{task.fields[label]}"), console=console, transient=True)


class PlainObserver:
    """One line per event that a log reader wants."""

    def __init__(self, console: Console, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self.messages: list[str] = []  #: the notes, which the table need not repeat

    def note(self, text: str) -> None:
        self.messages.append(text)
        self._console.print(text)

    def built(self, done: int, total: int, label: str) -> None:
        if not self._quiet:
            self._console.print(f"built {done}/{total}: {label}")

    def checking(self, label: str) -> None: ...

    def finished(self, done: int, total: int, result: Result) -> None:
        if result.status is not Status.OK or not self._quiet:
            self._console.print(f"done {done}/{total}: {result.variant}: {result.status.value}")


class BarObserver:
    """Two bars that vanish when the table comes."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.messages: list[str] = []  #: the notes, which the table need not repeat
        self._build = progress.add_task("build", total=None, label="")
        self._run = progress.add_task("run", total=None, label="")

    def note(self, text: str) -> None:
        self.messages.append(text)
        self._progress.console.print(text)

    def built(self, done: int, total: int, label: str) -> None:
        self._progress.update(self._build, completed=done, total=total, label=label)

    def checking(self, label: str) -> None:
        self._progress.update(self._run, label=label)

    def finished(self, done: int, total: int, result: Result) -> None:
        self._progress.update(self._run, completed=done, total=total)
