"""One timing run at a time on a GPU: an advisory lock per uuid, which the kernel releases when its holder ends.

The lock is a file in the machine's temporary folder that every user may open, so that runs of different users and
folders see each other; ``--no-lock`` times without it. Other programs do not know it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType

#: Seconds between two attempts.
POLL_SECONDS = 0.2


def lock_path(uuid: str) -> Path:
    """The lock file of a GPU."""
    return Path(tempfile.gettempdir()) / f"gpuprof-{uuid}.lock"


class GpuLocks:
    """Holds the locks of some GPUs while open. ``note`` gets one line for each GPU that has to be waited for.

    The locks are taken in the order of the uuids, so that two runs never wait for each other. A lock file that cannot
    be opened is a note too: the run goes on without it.
    """

    def __init__(self, uuids: Iterable[str], note: Callable[[str], None]) -> None:
        self._uuids = sorted(set(uuids))
        self._note = note
        self._descriptors: list[int] = []

    def __enter__(self) -> GpuLocks:
        try:
            for uuid in self._uuids:
                self._acquire(uuid)
        except BaseException:
            self._release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._release()

    def _acquire(self, uuid: str) -> None:
        path = lock_path(uuid)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        except OSError as error:
            self._note(f"{uuid} is not locked against other runs: cannot open {path} ({error.strerror})")
            return
        self._descriptors.append(descriptor)
        with suppress(OSError):
            os.fchmod(descriptor, 0o666)  # whatever the umask
        waiting = False
        while not _try_lock(descriptor):
            if not waiting:
                holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
                self._note(f"Waiting for {uuid}: {holder or 'another run'} is using it (--no-lock times beside it).")
                waiting = True
            time.sleep(POLL_SECONDS)
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"process {os.getpid()}".encode(), 0)

    def _release(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
