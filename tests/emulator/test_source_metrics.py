"""The ideal numbers of the source view, against what Nsight Compute gave for the same kernels on an H200."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.toolchain import find_tools

pytestmark = pytest.mark.skipif(
    find_tools().nvcc is None or find_tools().nvdisasm is None, reason="needs nvcc and nvdisasm"
)


def test_ideal_numbers_are_never_above_the_actual_ones(tmp_path: Path) -> None:
    """ncu at 1024: naive 134,348,800 sectors actual and ideal, though the lanes' bytes would fill twice as many.

    At 64: 2 * 64^3 / 32 loads of 2 sectors (16 columns, or two rows' one element each), and 64^2 stored floats.
    """
    target = tmp_path / "run.json"
    sizes = [word for name in "MNK" for word in ("--set", f"{name}=64")]
    command = [sys.executable, "-m", "gpuprof", "counters", "gemm_1024", *sizes, "--json", str(target)]
    subprocess.run(command, check=True, capture_output=True)
    rows = {row["variant"]: row["counters"]["values"] for row in json.loads(target.read_text())["results"]}
    assert rows["naive"]["memory_l2_theoretical_sectors_global"] == 2 * (2 * 64**3 // 32) + 64**2 // 8
    assert rows["naive"]["memory_l2_theoretical_sectors_global_ideal"] == 2 * (2 * 64**3 // 32) + 64**2 // 8
    for values in rows.values():
        assert values["memory_l1_wavefronts_shared_ideal"] == values["memory_l1_wavefronts_shared"]
