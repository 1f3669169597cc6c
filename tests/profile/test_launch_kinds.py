"""Cooperative launches, clusters, blocks that wait for blocks, the number of SMs: what is refused, and how."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuprof import experiment as experiments
from gpuprof.arch.launch_limits import KernelResources, cluster_problem, residence_problem
from gpuprof.emulator.control.scheduler import endless_message

YAML = """
sizes: {{N: 64}}
buffers: {{y: {{dtype: float32, shape: N, output: true}}}}
variants: {{v: {{source: k.cu, kernel: f, block: 32, grid: {grid}, {more}, args: [y]}}}}
"""


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., object]:
    (tmp_path / "k.cu").write_text("// none\n")

    def load(grid: str = "2", more: str = "shared: 0", **options: object) -> object:
        (tmp_path / "k.yaml").write_text(YAML.format(grid=grid, more=more))
        return experiments.load(tmp_path / "k.yaml", **options).variants[0].steps[0]  # type: ignore[arg-type]

    return load


def test_a_grid_of_a_block_per_sm(load: Callable[..., object]) -> None:
    """The RTX 6000 Ada has 142 SMs, the H100 and H200 132; a GPU that is there says its own number."""
    assert load("sm_count").grid == (142, 1, 1)  # type: ignore[attr-defined]
    assert load("sm_count * 2", arch="sm_90").grid == (264, 1, 1)  # type: ignore[attr-defined]
    assert load("sm_count", sm_count=lambda: 7).grid == (7, 1, 1)  # type: ignore[attr-defined]


def test_cooperative_and_cluster_are_kept(load: Callable[..., object]) -> None:
    step = load(more="cooperative: true, cluster: 2")
    assert (step.cooperative, step.cluster) == (True, (2, 1, 1))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("grid", "cluster", "message"),
    [
        ("3", "2", "x is 2, which does not divide the grid's 3"),
        ("32", "32", "cluster x is 32, over the limit of 16"),
        ("[4, 8]", "[4, 8]", "has 32 blocks; a cluster has at most 16"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(
    load: Callable[..., object], grid: str, cluster: str, message: str
) -> None:
    with pytest.raises(Exception, match=message.replace("[", r"\[")):
        load(grid, f"cluster: {cluster}")


def test_all_blocks_of_a_cooperative_launch_are_resident() -> None:
    """132 SMs of 2,048 threads: 8 blocks of 256 each by warps."""
    kernel = KernelResources(registers=32)
    assert residence_problem("sm_90", kernel, (1056, 1, 1), (256, 1, 1), 0) is None
    refused = residence_problem("sm_90", kernel, (1057, 1, 1), (256, 1, 1), 0)
    assert refused is not None
    assert "1,057 blocks; 1,056 fit on a GPU at once (8 per SM" in refused
    assert "sm_89 has no clusters" in str(cluster_problem("sm_89"))
    assert cluster_problem("sm_90") is None


def test_a_wait_for_a_block_that_was_not_launched_is_named() -> None:
    assert "not launched" not in endless_message(10, 8, (8, 1, 1))
    assert "a block that was not launched: 8 of the 16 blocks run at a time" in endless_message(10, 8, (16, 1, 1))
