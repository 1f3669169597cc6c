"""Inputs and references in shared files: made once, found again, removed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from gpuprof.errors import StoreError
from gpuprof.experiment.model import Buffer, Fill, Reference, Variant, Work
from gpuprof.profile import shared_arrays as data_module
from gpuprof.profile.shared_arrays import SharedData, has_random_input, input_key, shared_bytes

RANDOM = Buffer("x", "float32", (8,), Fill("random", seed=3))
COUNTED = Buffer("i", "int32", (8,), Fill("expression", expression="i"))
OUTPUT = Buffer("y", "float32", (8,), Fill("poison"), output=True)
SCRATCH = Buffer("s", "float32", (1 << 20,), Fill("poison"), scratch=True)


def variant(label: str = "v", **parameters: int) -> Variant:
    buffers = {buffer.name: buffer for buffer in (RANDOM, COUNTED, OUTPUT, SCRATCH)}
    return Variant(
        label=label,
        family="v",
        parameters=parameters,
        sizes={"n": 8},
        buffers=buffers,
        steps=(),
        reference=Reference({"y": "x * 2"}),
        tolerance=None,
        work=Work(),
        iters=None,
        arch=None,
        flags=(),
        include=(),
    )


def test_a_file_is_made_once_and_another_seed_is_another_file() -> None:
    shared = SharedData()
    first = shared.input_file(RANDOM, 0)
    made = first.stat().st_mtime_ns
    assert shared.input_file(RANDOM, 0) == first
    assert first.stat().st_mtime_ns == made
    assert not np.array_equal(np.load(first), np.load(shared.input_file(RANDOM, 1)))
    assert shared.input_file(COUNTED, 0) == shared.input_file(COUNTED, 1)  # no seed changes it
    shared.close()
    assert not first.exists()


def test_variants_that_differ_in_a_parameter_the_reference_does_not_read_share_it() -> None:
    shared = SharedData()
    one, two = shared.references(variant(TILE=8)), shared.references(variant(TILE=16))
    assert one == two
    assert np.array_equal(np.load(one["y"]), 2.0 * np.load(shared.input_file(RANDOM, 0)).astype(np.float64))
    shared.close()


def test_specs_give_files_to_what_has_a_content() -> None:
    shared = SharedData()
    specs = {spec.name: spec for spec in shared.specs(variant())}
    assert specs["x"].file is not None
    assert specs["x"].is_input
    assert specs["y"].file is None
    assert (specs["s"].nbytes, specs["s"].is_input) == (4 << 20, False)
    shared.close()


def test_what_the_files_take_leaves_scratch_out() -> None:
    assert shared_bytes(variant()) == 3 * 8 * 8
    assert has_random_input(variant())


def test_the_key_follows_a_file_that_was_written_again(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    buffer = Buffer("a", "float32", (2,), Fill("file", file=path))
    np.save(path, np.zeros(2, np.float32))
    before = input_key(buffer, 0)
    os.utime(path, ns=(1, 1))
    assert input_key(buffer, 0) != before


def test_a_killed_runs_folder_is_removed_and_a_living_ones_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock decides: the folder's name has no process number, which another container would read wrongly."""
    monkeypatch.setattr(data_module, "_MEMORY_FOLDER", tmp_path)
    alive = SharedData()
    dead = tmp_path / "gpuprof-run-dead"
    dead.mkdir()
    (dead / "owner.lock").touch()
    SharedData().close()
    assert not dead.exists()
    assert alive.folder.exists()
    alive.close()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_a_sentence() -> None:
    shared = SharedData()
    shared.close()  # the folder is gone: nothing can be written
    with pytest.raises(StoreError, match="cannot keep 32 bytes of inputs"):
        shared.input_file(COUNTED, 0)
