"""``gpuprof counters --by-instruction``: the counts of each instruction, which one can work out by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

KERNEL = """
extern "C" __global__ void columns(const float* x, float* y) {
    __shared__ float tile[32][32];
    const int lane = threadIdx.x;
    for (int row = 0; row < 32; ++row) tile[row][lane] = x[row * 32 + lane];
    __syncwarp();
    float sum = 0.0f;
    for (int k = 0; k < 32; ++k) sum += tile[lane][k];
    if (lane < 8) y[blockIdx.x * 8 + lane] = sum;
}
"""
CONFIG = """
buffers:
  x: {dtype: float32, shape: 1024, fill: i % 7}
  y: {dtype: float32, shape: 16, output: true}
variants:
  plain: {source: k.cu, kernel: columns, block: 32, grid: 2, args: [x, y]}
"""


def counters(folder: Path, *arguments: str) -> list[list[str]]:
    (folder / "k.cu").write_text(KERNEL)
    (folder / "c.yaml").write_text(CONFIG)
    command = [sys.executable, "-m", "gpuprof", "counters", "c.yaml", "--by-instruction", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_each_instruction_has_its_lanes_sectors_and_ways(tmp_path: Path) -> None:
    rows = counters(tmp_path)
    (store,) = [row for row in rows if any(cell.startswith("STG") for cell in row)]
    after = store[store.index(next(cell for cell in store if cell.startswith("STG"))) :]
    assert "2" in after, "two blocks of one warp execute it once each"
    assert "8" in after, "eight lanes are on"
    loads = [row for row in rows if any(cell.startswith("LDG") for cell in row)]
    assert loads
    assert all("32" in row and "4" in row for row in loads)
    columns = [row for row in rows if any(cell.startswith("LDS") for cell in row)]
    assert columns


def test_the_hottest_come_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    rows = counters(tmp_path, "--hot", "--top", "2")
    listed = [row for row in rows if row and len(row[0]) == 4 and all(digit in "0123456789abcdef" for digit in row[0])]
    assert len(listed) == 2
    assert all(row[1].startswith("LDS") for row in listed), "conflicts of 32 ways (8 for 128 bits) cost most"
    assert any("more instructions" in " ".join(row) for row in rows)
