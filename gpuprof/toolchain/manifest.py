"""What a cached build depends on: which files it read, and whether they are still the same."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gpuprof.toolchain.cache import Cache

FORMAT = 1
_KIND = "manifests"
_KEPT = 8  #: versions of the headers that one source is remembered with
_SYSTEM = ("/usr/include/", "/usr/lib/", "/usr/local/lib/gcc/")


class FileHashes:
    """SHA-256 and times of files, each looked at once in the lifetime of this object."""

    def __init__(self) -> None:
        self._known: dict[str, str | None] = {}
        self._stamps: dict[str, tuple[str, int, int]] = {}

    def stamp(self, path: str) -> tuple[str, int, int]:
        """Path, size and modification time."""
        if path not in self._stamps:
            self._stamps[path] = _stamp(path)
        return self._stamps[path]

    def of(self, path: str) -> str | None:
        """Hex digest, or None for a file that cannot be read."""
        if path not in self._known:
            try:
                self._known[path] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            except OSError:
                self._known[path] = None
        return self._known[path]


@dataclass(frozen=True)
class Entry:
    """One finished build: the files it read, and what came out.

    ``files`` are the user's, by content; ``system`` the host compiler's, by size and time (there are hundreds, and
    they change with the system's packages only); the toolkit's are covered by nvcc's version in the key.
    """

    files: tuple[tuple[str, str], ...]
    system: tuple[tuple[str, int, int], ...]
    absent: tuple[str, ...]  #: places searched earlier, where a new file would hide one that was included
    sha256: str  #: of what came out
    symbol: str
    command: tuple[str, ...]
    seconds: float
    log: str

    def is_current(self, hashes: FileHashes) -> bool:
        """True while every file is what it was, and no new file hides one that was included."""
        return (
            all(hashes.of(path) == digest for path, digest in self.files)
            and all(hashes.stamp(known[0]) == known for known in self.system)
            and not any(Path(path).exists() for path in self.absent)
        )


def load_entries(cache: Cache, key: str) -> list[Entry]:
    """The entries of a key, newest first; none where the manifest is missing or damaged."""
    data = cache.load(_KIND, key)
    if data is None:
        return []
    return [_entry(record) for record in json.loads(data)]


def store_entry(cache: Cache, key: str, entry: Entry) -> None:
    """Put an entry in front of those of its key."""
    kept = [old for old in load_entries(cache, key) if old.files != entry.files][: _KEPT - 1]
    cache.store(_KIND, key, json.dumps([vars(known) for known in (entry, *kept)]).encode())


def _entry(record: dict[str, object]) -> Entry:
    fields = dict(record)
    for name in ("files", "system", "absent", "command"):
        values = fields[name]
        assert isinstance(values, list)
        fields[name] = tuple(tuple(value) if isinstance(value, list) else value for value in values)
    return Entry(**fields)  # type: ignore[arg-type]


def read_dependencies(text: str) -> list[str]:
    """The files of a make rule, as ``nvcc -MD`` writes it (blanks and ``#`` after a backslash, ``$$`` for ``$``)."""
    rule = text.split(": ", 1)[-1].replace("\\\n", " ")
    words = re.findall(r"(?:\\.|[^\s\\])+", rule)
    return [re.sub(r"\\(.)", r"\1", word).replace("$$", "$") for word in words]


@dataclass(frozen=True)
class Dependencies:
    """The files that a compile read, sorted by how they are watched."""

    files: tuple[str, ...]
    system: tuple[str, ...]


def sort_dependencies(paths: Iterable[str], toolkit: Sequence[Path], own: Path) -> Dependencies:
    """Leave out the toolkit's headers and the generated unit in folder ``own``.

    The toolkit's include folder is where ``cuda_runtime.h`` is, which nvcc includes in every file.
    """
    paths = [path for path in dict.fromkeys(paths) if not path.startswith(f"{own}/")]
    roots = [str(folder.resolve()) for folder in toolkit]
    roots += [str(Path(path).resolve().parent) for path in paths if path.endswith("/cuda_runtime.h")]
    kept = [path for path in paths if not any(_resolved(path).startswith(f"{root}/") for root in roots)]
    system = [path for path in kept if _resolved(path).startswith(_SYSTEM)]
    return Dependencies(tuple(path for path in kept if path not in set(system)), tuple(system))


def stamps(paths: Iterable[str]) -> tuple[tuple[str, int, int], ...]:
    """Path, size and modification time of each file."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        status = Path(path).stat()
    except OSError:
        return path, -1, -1
    return path, status.st_size, status.st_mtime_ns


@lru_cache(maxsize=8192)
def _resolved(path: str) -> str:
    """Kept, since the units of a sweep read the same hundreds of headers."""
    return str(Path(path).resolve())


def absent_places(files: Iterable[str], folders: Sequence[Path]) -> tuple[str, ...]:
    """Where a file would be found before one of ``files``, given the search order of ``folders``."""
    places: dict[str, None] = {}
    for path in files:
        for position, folder in enumerate(folders):
            if path.startswith(f"{folder}/"):
                relative = path[len(str(folder)) + 1 :]
                places.update((str(earlier / relative), None) for earlier in folders[:position])
    return tuple(place for place in places if not Path(place).exists())
