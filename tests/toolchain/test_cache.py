"""The cache on disk."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from gpuprof.toolchain.cache import Cache, open_cache

KEY = "ab" * 32


def test_what_is_stored_is_loaded(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.load("records", KEY) is None
    cache.store("records", KEY, b"\0data")
    assert cache.load("records", KEY) == b"\0data"


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: b"\1" * 40]
)
def test_a_damaged_entry_is_no_entry(tmp_path: Path, damage: object) -> None:
    cache = Cache(tmp_path)
    cache.store("records", KEY, b"data")
    path = cache.path("records", KEY)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.load("records", KEY) is None


def test_usage_and_clearing(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store("records", KEY, b"x" * 68)
    with cache.lock("records", KEY):
        pass
    (usage,) = cache.usage()
    assert (usage.kind, usage.files, usage.bytes) == ("records", 1, 100)  # 32 bytes of digest in front
    assert cache.clear() == (usage,)
    assert cache.usage() == ()


def test_the_variable_names_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUPROF_CACHE_DIR", str(tmp_path / "here"))
    assert open_cache() == Cache(tmp_path / "here")


def test_a_folder_that_cannot_be_made_falls_back_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GPUPROF_CACHE_DIR", str(blocked / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cache = open_cache()
    assert cache.root == tmp_path / f"gpuprof-cache-{os.getuid()}"
    assert str(blocked) in cache.note
    assert "GPUPROF_CACHE_DIR" in cache.note


def test_a_trap_in_the_shared_folder_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link under the name that would be used leads somewhere else: refuse it."""
    from gpuprof.errors import GpuprofError

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"gpuprof-cache-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GPUPROF_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(GpuprofError, match="belongs to another user"):
        open_cache()


def test_waiting_for_a_lock_can_be_given_up(tmp_path: Path) -> None:
    """Ctrl-C while another run builds the same thing must not wait for it."""
    cache = Cache(tmp_path)
    with cache.lock("units", KEY), pytest.raises(InterruptedError), cache.lock("units", KEY, lambda: True):
        pytest.fail("the lock was held")
    with cache.lock("units", KEY, lambda: False):
        pass
