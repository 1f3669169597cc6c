"""Whether others used the GPU beside a run, from two readings of NVML."""

from __future__ import annotations

import pytest

from gpuprof.device.clocks import GpuState, sharing_note


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (GpuState(), GpuState(), None),
        (GpuState(processes=0, utilisation_percent=0), GpuState(processes=1), None),
        (GpuState(processes=1), GpuState(processes=2), "another process"),
        (GpuState(processes=0), GpuState(processes=3), "2 other processes"),
        (GpuState(utilisation_percent=40), GpuState(), "40% busy"),
        (GpuState(utilisation_percent=1), GpuState(), None),
    ],
)
def test_who_used_the_gpu(before: GpuState, after: GpuState, words: str | None) -> None:
    note = sharing_note(before, after)
    assert (note is None) if words is None else words in (note or "")
