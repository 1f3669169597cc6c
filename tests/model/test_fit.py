"""The fit of the free constants, on times whose constants are known."""

from __future__ import annotations

import numpy as np

from gpuprof.arch.gpu_constants import GpuConstants, gpu_constants
from gpuprof.model.fit import family_weights, fitted, left_out, linearised

BYTES = np.array([1e3, 1e4, 1e5, 1e6, 3e6, 1e7])
FAMILIES = ["small", "small", "small", "large", "large", "large"]


def times(gpu: GpuConstants) -> np.ndarray:
    """A launch and its bytes: nothing else."""
    return gpu["launch_overhead_us"] + BYTES / gpu["dram_bytes_per_cycle"] / gpu["clock_mhz"]


def test_constants_are_found_again() -> None:
    start = gpu_constants("h200")
    truth = start.changed({"launch_overhead_us": start["launch_overhead_us"] * 1.3, "dram_bytes_per_cycle": 1800.0})
    names = ("launch_overhead_us", "dram_bytes_per_cycle")
    found = fitted(times, start, times(truth).tolist(), FAMILIES, names, steps=4)
    for name in names:
        assert abs(found[name] / truth[name] - 1) < 0.02, name


def test_a_wild_row_does_not_move_the_rest() -> None:
    start = gpu_constants("h200")
    measured = times(start)
    measured[2] *= 3
    found = fitted(times, start, measured.tolist(), FAMILIES, ("launch_overhead_us",), steps=3)
    assert abs(found["launch_overhead_us"] / start["launch_overhead_us"] - 1) < 0.05


def test_the_family_that_is_left_out_has_no_say() -> None:
    """The small ones are measured a tenth too long: the constants for them come from the large ones, which fit."""
    gpu = gpu_constants("h200")
    linear = linearised(times, gpu, ("dram_bytes_per_cycle",))
    measured = np.log(times(gpu)) + np.array([0.1, 0.1, 0.1, 0, 0, 0])
    modelled, constants = left_out(linear, measured, FAMILIES)
    assert np.allclose(modelled[:3], times(gpu)[:3], rtol=1e-3)
    assert abs(constants["small"]["dram_bytes_per_cycle"] / gpu["dram_bytes_per_cycle"] - 1) < 1e-3


def test_families_weigh_the_same() -> None:
    weights = family_weights(["a", "b", "b", "b", "b"])
    assert weights.tolist() == [1, 0.5, 0.5, 0.5, 0.5]
