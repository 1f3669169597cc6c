"""Reading files that a user names: regular files of a sensible size, checked before they are opened.

Opening a FIFO waits for a writer, and reading ``/dev/zero`` never ends: both are refused by what ``stat`` says.
"""

from __future__ import annotations

import stat
from pathlib import Path

from gpuprof.errors import UnreadableFileError

#: Source files, headers and configurations above this are refused (the largest CUDA header has 1.5 MB).
MAX_TEXT_BYTES = 64 << 20
#: Cubins and libraries above this are refused (libcublasLt has 0.7 GB).
MAX_CODE_BYTES = 4 << 30

#: ``.npy`` files above this are refused (MAX_BUFFER_BYTES of experiment.limits, and a header).
MAX_ARRAY_BYTES = (1 << 36) + 65_536

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISSOCK, "a socket"),
)


def reason_unreadable(path: Path, max_bytes: int | None = None) -> str | None:
    """Why a file is refused before it is opened, as ``it is a named pipe, not a regular file``; None if it is not.

    Links are followed; ``max_bytes`` None allows any size.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        return _reason(error)
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for test, name in _KINDS if test(status.st_mode)), "a special file")
        return f"it is {kind}, not a regular file"
    if max_bytes is not None and status.st_size > max_bytes:
        return f"it has {status.st_size:,} bytes; at most {max_bytes:,} are read"
    return None


def check_regular(path: Path, max_bytes: int | None = None) -> None:
    """Raise UnreadableFileError for what is not a regular file of at most ``max_bytes``."""
    reason = reason_unreadable(path, max_bytes)
    if reason is not None:
        raise UnreadableFileError(f"cannot read {path}: {reason}")


def read_regular(path: Path, max_bytes: int) -> bytes:
    """The content of a regular file; raises UnreadableFileError as ``check_regular`` does, or when reading fails."""
    check_regular(path, max_bytes)
    try:
        with path.open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise UnreadableFileError(f"cannot read {path}: {_reason(error)}") from None


def exists(path: Path) -> bool:
    """Whether there is anything of that name; False for a name that no file can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether a regular file has that name; False for a name that no file can have."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_dir(path: Path) -> bool:
    """Whether a folder has that name; False for a name that no folder can have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def expand_user(path: Path) -> Path:
    """``~`` and ``~name`` resolved; raises UnreadableFileError for a user that does not exist."""
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise UnreadableFileError(f"cannot read {path}: {error}") from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
