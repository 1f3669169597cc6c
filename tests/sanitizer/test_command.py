"""``gpuprof sanitize``: exit codes, JSON, SARIF, and what the YAML knows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli.sanitize import command
from tests.sanitizer.cases import cases
from tests.sanitizer.launching import KERNELS

YAML = """
name: known
buffers:
  a: {{dtype: int32, shape: 4096, fill: i % 101}}
  b: {{dtype: int32, shape: [64, 64], output: true}}
  f: {{dtype: float32, shape: 4096, fill: 1, output: true}}
{extra}
variants:
  one: {{source: shared_races.cu, kernel: {kernel}, block: 128, grid: 2, args: [a, b, f, 0]}}
"""


def sanitized(folder: Path, kernel: str, extra: str = "", *flags: str) -> tuple[int, dict]:
    for name in ("shared_races.cu", "common.cuh"):
        shutil.copy(KERNELS / name, folder / name)
    (folder / "known.yaml").write_text(YAML.format(kernel=kernel, extra=extra), encoding="utf-8")
    report = folder / "report.json"
    done = CliRunner().invoke(command, [str(folder / "known.yaml"), "--arch", "sm_89", "--json", str(report), *flags])
    assert report.exists(), done.output
    return done.exit_code, json.loads(report.read_text(encoding="utf-8"))


def lines_of(kernel: str) -> list[int]:
    return sorted(next(case for case in cases() if case.kernel == kernel and case.file == "shared_races.cu").lines)


def test_a_race_is_exit_code_1_with_its_lines_and_an_element(tmp_path: Path) -> None:
    sarif = tmp_path / "out.sarif"
    code, report = sanitized(tmp_path, "no_barrier", "", "--sarif", str(sarif))
    assert code == 1
    (finding,) = report["variants"][0]["findings"]
    assert finding["lines"] == lines_of("no_barrier")
    assert finding["example"]["space"] == "shared"
    result = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"][0]
    assert result["level"] == "error"
    places = (*result["locations"], *result["relatedLocations"])
    assert sorted(each["physicalLocation"]["region"]["startLine"] for each in places) == lines_of("no_barrier")


def test_a_repaired_kernel_is_exit_code_0(tmp_path: Path) -> None:
    code, report = sanitized(tmp_path, "no_barrier_ok")
    assert code == 0
    assert report["variants"][0]["findings"] == []


@pytest.mark.parametrize("key", ["expect: {race: LINES}", "suppress: [{lines: LINES, kernel: no_barrier}]"])
def test_a_known_race_is_no_failure(tmp_path: Path, key: str) -> None:
    code, report = sanitized(tmp_path, "no_barrier", key.replace("LINES", str(lines_of("no_barrier"))))
    assert code == 0
    assert report["variants"][0]["findings"] == []
    assert len(report["variants"][0]["suppressed"]) == 1


def test_an_expected_race_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    code, report = sanitized(tmp_path, "no_barrier_ok", "expect: {race: [12, 15]}")
    assert code == 1
    assert report["variants"][0]["missing"] == [[12, 15]]


def test_findings_fail_from_the_severity_that_is_asked_for(tmp_path: Path) -> None:
    assert sanitized(tmp_path, "same_flag", "", "--fail-on", "warning")[0] == 0
    assert sanitized(tmp_path, "same_flag", "", "--fail-on", "note")[0] == 1
    assert sanitized(tmp_path, "no_barrier", "", "--fail-on", "never")[0] == 0
