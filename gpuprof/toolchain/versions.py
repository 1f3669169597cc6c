"""Versions of programs, remembered by path and file times so that a second look starts no process."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from gpuprof.errors import GpuprofError
from gpuprof.toolchain.cache import Cache, open_cache

_KIND = "versions"
_VERSIONS = (
    re.compile(r"\bV(\d+\.\d+\.\d+)"),
    re.compile(r"\bVersion (\d[\d.]*\d)"),
    re.compile(r"\brelease (\d+\.\d+)"),
)
_SCRIPT_LIMIT_BYTES = 8192
_TIMEOUT_S = 60


class VersionStore:
    """Asks programs for their version once, and keeps the answers in the cache."""

    def __init__(self, cache: Cache | None = None) -> None:
        self._cache = cache
        if cache is None:
            with suppress(GpuprofError):
                self._cache = open_cache()
        self._key = hashlib.sha256(b"programs").hexdigest()
        self._known = self._read()
        self._changed = False

    def version_of(self, program: Path) -> str:
        """``13.0.88``, or an empty text when the program does not say."""
        signature = _signature(program)
        known = self._known.get(str(program))
        if known is not None and known[0] == signature:
            return known[1]
        version = ask_version(program)
        if version:
            self._known[str(program)] = (signature, version)
            self._changed = True
        return version

    def save(self) -> None:
        """Write what is new."""
        if self._changed and self._cache is not None:
            self._cache.store(_KIND, self._key, json.dumps(self._known).encode())

    def _read(self) -> dict[str, tuple[str, str]]:
        data = self._cache.load(_KIND, self._key) if self._cache is not None else None
        if data is None:
            return {}
        return {path: (signature, version) for path, (signature, version) in json.loads(data).items()}


def ask_version(program: Path) -> str:
    """Run ``program --version`` and read the number, or an empty text."""
    try:
        done = subprocess.run(
            [str(program), "--version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if done.returncode != 0:
        return ""
    matches = (pattern.search(done.stdout) for pattern in _VERSIONS)
    return next((match.group(1) for match in matches if match), "")


def _signature(program: Path) -> str:
    """Changes when the program does. A wrapper script stands for the programs that it names."""
    resolved = program.resolve()
    parts = [_stamp(resolved)]
    with suppress(OSError):
        if resolved.stat().st_size <= _SCRIPT_LIMIT_BYTES:
            text = resolved.read_bytes()
            if text.startswith(b"#!"):
                named = re.findall(rb"/[^\s\"'$;&|]+", text)
                paths = (Path(name.decode(errors="surrogateescape")).resolve() for name in named)
                parts += [_stamp(path) for path in paths if path.is_file() and os.access(path, os.X_OK)]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()


def _stamp(path: Path) -> str:
    try:
        status = path.stat()
    except OSError:
        return f"{path} missing"
    return f"{path} {status.st_size} {status.st_mtime_ns} {status.st_ino}"
