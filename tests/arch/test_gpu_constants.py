"""Files of GPU constants: the bundled ones, and what is no such file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuprof.arch.gpu_constants import REQUIRED, as_json, gpu_constants, known_gpus
from gpuprof.errors import UsageError


@pytest.mark.parametrize("name", known_gpus())
def test_bundled_files_have_every_constant_with_its_source(name: str) -> None:
    gpu = gpu_constants(name)
    assert gpu.constants.keys() >= REQUIRED
    assert all(each.source for each in gpu.constants.values())


def test_the_h200_is_calibrated_and_agrees_with_the_pipeline_that_was_measured() -> None:
    from gpuprof.arch.pipeline import pipeline_facts

    gpu, measured = gpu_constants("h200"), pipeline_facts("sm_90").latencies
    assert gpu.calibrated
    assert gpu["shared_latency"] == measured["LDS"].value
    assert gpu["shuffle_latency"] == measured["SHFL"].value


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(as_json(gpu_constants("h200").changed({"sms": 114}))), encoding="utf-8")
    assert gpu_constants(str(path))["sms"] == 114


@pytest.mark.parametrize(
    "text", ["", "[]", '{"name": "x"}', '{"name": "x", "arch": "sm_90", "calibrated": true, "constants": {}}']
)
def test_anything_else_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"bad\.json: not a file of GPU constants"):
        gpu_constants(str(path))


def test_an_unknown_name_lists_the_bundled_ones() -> None:
    with pytest.raises(UsageError, match=r"bundled are .*h200"):
        gpu_constants("b300")
