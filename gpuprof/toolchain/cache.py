"""The cache on disk: where it is, and small atomic reads and writes in it.

Entries are files under ``<cache>/<kind>/<first two hex digits>/<key>``; an entry appears by a rename, so that a
reader sees all of it or nothing, and carries its own digest where its key is not already one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gpuprof.errors import GpuprofError

ENVIRONMENT_VARIABLE = "GPUPROF_CACHE_DIR"
_DIGEST_BYTES = 32
_LOCK_POLL_S = 0.5


@dataclass(frozen=True)
class CacheUsage:
    """What one kind of entry takes: how many files and bytes."""

    kind: str
    files: int
    bytes: int


@dataclass(frozen=True)
class Cache:
    """A folder that can be written. ``note`` says why it is not the usual one, when it is not."""

    root: Path
    note: str = ""

    def path(self, kind: str, key: str, suffix: str = "") -> Path:
        """Where an entry is. ``key`` is hex digits."""
        return self.root / kind / key[:2] / (key + suffix)

    def store(self, kind: str, key: str, data: bytes) -> None:
        """Keep ``data`` (any bytes) with a digest in front; a cache that cannot be written is not an error."""
        with suppress(OSError):
            write_atomically(self.path(kind, key), hashlib.sha256(data).digest() + data)

    def load(self, kind: str, key: str) -> bytes | None:
        """The bytes that ``store`` kept, or None where there are none or the file is damaged."""
        try:
            content = self.path(kind, key).read_bytes()
        except OSError:
            return None
        digest, data = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        return data if hashlib.sha256(data).digest() == digest else None

    @contextmanager
    def lock(self, kind: str, key: str, give_up: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Hold ``key`` against other processes; without locks (some network disks) both simply do the work.

        Raises InterruptedError when ``give_up()`` turns true while another process holds it.
        """
        from filelock import FileLock, Timeout

        path = self.path("locks", hashlib.sha256(f"{kind}/{key}".encode()).hexdigest())
        lock = FileLock(str(path))
        with suppress(OSError, NotImplementedError):
            path.parent.mkdir(parents=True, exist_ok=True)
            while not lock.is_locked:
                with suppress(Timeout):
                    lock.acquire(timeout=_LOCK_POLL_S)
                if give_up():
                    break
        try:
            if give_up():
                raise InterruptedError("interrupted")
            yield
        finally:
            if lock.is_locked:
                lock.release()

    def usage(self) -> tuple[CacheUsage, ...]:
        """Files and bytes of each kind, by name; locks are not counted."""
        kinds = sorted(entry for entry in _folders(self.root) if entry.name != "locks")
        return tuple(_measure(folder) for folder in kinds)

    def clear(self) -> tuple[CacheUsage, ...]:
        """Remove every entry; returns what there was. Files that others hold or own stay."""
        before = self.usage()
        for folder in _folders(self.root):
            shutil.rmtree(folder, ignore_errors=True)
        return before


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` by a rename; raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def open_cache(folder: Path | None = None) -> Cache:
    """The cache: ``folder``, else ``GPUPROF_CACHE_DIR``, else the user's cache folder, else a private temporary one.

    Raises GpuprofError where nothing at all can be written.
    """
    wanted = folder or _configured()
    problem = "no home folder" if wanted is None else _why_unusable(wanted)
    if wanted is not None and not problem:
        return Cache(wanted)
    fallback = Path(tempfile.gettempdir()) / f"gpuprof-cache-{os.getuid()}"
    trouble = _why_unusable(fallback) or _why_foreign(fallback)
    if trouble:
        raise GpuprofError(
            f"no folder for the build cache: {wanted or '(no home folder)'}: {problem}; {fallback}: {trouble}. "
            f"Set {ENVIRONMENT_VARIABLE} to a folder that can be written"
        )
    reason = f"{wanted}: {problem}" if wanted is not None else problem
    return Cache(fallback, note=f"{reason}; using {fallback} (set {ENVIRONMENT_VARIABLE} to choose)")


def _configured() -> Path | None:
    chosen = os.environ.get(ENVIRONMENT_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    usual = Path(platformdirs.user_cache_dir("gpuprof", appauthor=False))
    return usual if usual.is_absolute() else None


def _why_unusable(folder: Path) -> str:
    """An empty text when files can be made in ``folder``, else the reason."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _why_foreign(folder: Path) -> str:
    """A shared temporary folder may hold another user's trap under our name: take only a folder that is ours."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        return "belongs to another user"
    return ""


def _folders(root: Path) -> list[Path]:
    try:
        return [entry for entry in root.iterdir() if entry.is_dir() and not entry.is_symlink()]
    except OSError:
        return []


def _measure(folder: Path) -> CacheUsage:
    files = total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                files += 1
                total += status.st_size
    return CacheUsage(folder.name, files, total)
