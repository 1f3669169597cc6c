"""Every bundled experiment: it loads, its kernels are described, and on the emulator it does what it says.

The runs go through the command line as a user's do, with a budget small enough for the suite; ``expect:`` lines that
need a clock stay undecided there.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuprof.experiment.model import HostStep, KernelStep, Reference
from gpuprof.results.expectations import load_experiment as load
from gpuprof.toolchain import find_tools

ROOT = Path(__file__).parents[2]
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))
KERNELS = sorted((ROOT / "kernels").glob("*.cu"))

#: Thread instructions per launch: a quarter of the default, so that all configs together take two minutes.
BUDGET = 25_000_000

needs_tools = pytest.mark.skipif(
    find_tools().nvcc is None or find_tools().nvdisasm is None, reason="needs nvcc and nvdisasm"
)


def name_of(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_loads_with_a_description_and_expectations(config: Path) -> None:
    experiment = load(config)
    assert experiment.name == config.stem
    assert experiment.description
    assert experiment.expect
    assert all(variant.reference != Reference() for variant in experiment.variants)


def test_every_kernel_file_is_used_by_a_config() -> None:
    steps = [step for config in CONFIGS for variant in load(config).variants for step in variant.steps]
    used = {step.source.name for step in steps if isinstance(step, (KernelStep, HostStep))}
    assert {path.name for path in KERNELS} == used


@pytest.mark.parametrize("kernel", KERNELS, ids=name_of)
def test_a_kernel_file_opens_with_one_line_that_says_what_it_is(kernel: Path) -> None:
    first, second, *_rest = kernel.read_text().splitlines()
    assert first.startswith("// ")
    assert first.endswith((".", ":", ")")) or second == "//"
    assert max(len(line) for line in kernel.read_text().splitlines()) <= 120


def run(config: Path, folder: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the run's JSON, and what was printed."""
    out = folder / "run.json"
    command = [sys.executable, "-m", "gpuprof", "run", str(config), "--device", "emulated"]
    command += ["--arch", load(config).arch or "sm_89"]
    command += ["--check", "--no-history", "--emulate-budget", str(BUDGET), "--json", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return done.returncode, json.loads(out.read_text()), done.stdout + done.stderr


@needs_tools
@pytest.mark.slow
@pytest.mark.timeout(280)
@pytest.mark.parametrize("config", CONFIGS, ids=name_of)
def test_runs_verified_and_as_expected_without_a_gpu(config: Path, tmp_path: Path) -> None:
    code, result, printed = run(config, tmp_path)
    assert code == 0, printed
    host_only = {variant.label for variant in load(config).variants if variant.host_only}
    statuses = {row["variant"]: row["status"] for row in result["results"]}
    assert {label for label, status in statuses.items() if status == "skipped"} == host_only
    assert all(status == "ok" for label, status in statuses.items() if label not in host_only), statuses
    assert all(outcome["held"] is not False for outcome in result["expectations"])
    assert any(outcome["held"] for outcome in result["expectations"])


@needs_tools
@pytest.mark.slow
@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        ("gemm_1024", {"M": 37, "N": 50, "K": 29}),
        ("micro_gemm", {"M": 65, "N": 63, "K": 7}),
        ("gemm_ladder", {"M": 131, "N": 132, "K": 20}),
        ("gemm_scaled", {"ALPHA": 0, "BETA": 3}),
        ("transpose", {"ROWS": 33, "COLUMNS": 31}),
        ("reduction", {"COUNT": 1001}),
        ("scan", {"COUNT": 1025}),
        ("stencil_2d", {"ROWS": 9, "COLUMNS": 33}),
        ("softmax", {"ROWS": 3, "COLUMNS": 33}),
        ("layernorm", {"ROWS": 9, "COLUMNS": 31}),
        ("gemv", {"M": 5, "N": 36}),
        ("histogram", {"COUNT": 999}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_any_size_is_right(config: str, sizes: dict[str, int], tmp_path: Path) -> None:
    """Sizes that are no multiple of any tile; what the expectations say of counters may not hold there."""
    options = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    _code, result, printed = run(ROOT / "configs" / f"{config}.yaml", tmp_path, *options)
    statuses = {row["variant"]: row["status"] for row in result["results"]}
    assert set(statuses.values()) <= {"ok", "skipped"}, printed
    assert "ok" in statuses.values()
