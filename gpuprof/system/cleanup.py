"""Nothing outlives a killed process: a small cleaner removes its folders and ends its process groups.

``kill -9`` leaves no chance to tidy up, so that a second process has to: it reads what exists from a pipe, line by
line, and acts when the pipe closes, however its parent ended. It is started with the first thing that is registered.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

#: What the cleaner executes: ``+KIND NAME`` registers, ``-KIND NAME`` forgets; KIND is d (folder) or g (group).
_PROGRAM = """
import os, shutil, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
left = {}
for line in sys.stdin.buffer:
    entry = bytes.fromhex(line[1:].decode())
    if line[:1] == b"+":
        left[entry] = None
    else:
        left.pop(entry, None)
for entry in left:
    if entry[:1] == b"g":
        try:
            os.killpg(int(entry[1:]), signal.SIGKILL)
        except OSError:
            pass
for entry in left:
    if entry[:1] == b"d":
        shutil.rmtree(entry[1:], ignore_errors=True)
"""


class Cleaner:
    """Removes what was registered once this process has ended, however it ended; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pipe: int | None = None
        self._owner = 0

    @contextmanager
    def folder(self, path: Path) -> Iterator[Path]:
        """Remove ``path`` and its content should this process end within."""
        with self._registered(b"d" + os.fsencode(path)):
            yield path

    @contextmanager
    def group(self, leader: int) -> Iterator[None]:
        """Kill the process group of ``leader`` should this process end within."""
        with self._registered(b"g%d" % leader):
            yield

    def add_folder(self, path: Path) -> None:
        """As ``folder``, until ``forget_folder``."""
        self._send(b"+", b"d" + os.fsencode(path))

    def forget_folder(self, path: Path) -> None:
        """The folder is removed or belongs to somebody else."""
        self._send(b"-", b"d" + os.fsencode(path))

    @contextmanager
    def _registered(self, entry: bytes) -> Iterator[None]:
        self._send(b"+", entry)
        try:
            yield
        finally:
            self._send(b"-", entry)

    def _send(self, sign: bytes, entry: bytes) -> None:
        with self._lock, suppress(OSError):  # without a cleaner everything works, only a kill leaves things behind
            if self._pipe is None or self._owner != os.getpid():
                self._start()
            assert self._pipe is not None
            os.write(self._pipe, sign + entry.hex().encode() + b"\n")

    def _start(self) -> None:
        reading, writing = os.pipe()
        try:
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM],
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(reading)
        self._pipe, self._owner = writing, os.getpid()


@cache
def shared_cleaner() -> Cleaner:
    """The cleaner of this process."""
    return Cleaner()


@contextmanager
def temporary_folder(prefix: str, parent: str | None = None) -> Iterator[Path]:
    """A private folder, removed at the end and also when the process is killed."""
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as name,
        shared_cleaner().folder(Path(name)) as folder,
    ):
        yield folder
