"""Jobs survive JSON, and parameters are laid out as the driver reads them."""

from __future__ import annotations

import json
from pathlib import Path

from gpuprof.device.gpu import explain, pack_parameters
from gpuprof.device.jobs import (
    BufferReference,
    BufferSpec,
    FillCall,
    HostCall,
    HostScalar,
    Job,
    KernelCall,
    job_from_json,
    job_to_json,
)


def test_a_job_survives_json() -> None:
    buffers = (
        BufferSpec("A", "float16", (2, 3), 12, Path("/data/a b.npy")),
        BufferSpec("C", "float32", (2,), 8, output=True),
    )
    calls = (
        FillCall("zero", "C", 0),
        KernelCall(
            "k", Path("/c.cubin"), "_Z1f", (1, 2, 3), (4, 5, 6), 49152, (b"\xff\0\0\0", BufferReference("A", 4))
        ),
        HostCall("h", Path("/l.so"), "f", (BufferReference("C"), HostScalar(1.5, "float32")), once=True),
    )
    job = Job("tiled/TILE=16", buffers, calls)
    assert job_from_json(json.loads(json.dumps(job_to_json(job)))) == job


def test_parameters_are_aligned_to_their_own_size() -> None:
    packed = pack_parameters((b"\1\0\0\0", b"\2" * 8, b"\3", b"\4\4", b"\5" * 4))
    # int32 at 0, pointer at 8, int8 at 16, int16 at 18, int32 at 20: the C layout
    assert len(packed) == 24
    assert packed[8:16] == b"\2" * 8
    assert packed[16:20] == b"\3\0\4\4"
    assert pack_parameters(()) == b""


def test_the_drivers_message_without_its_function() -> None:
    text = "cuStreamSynchronize failed: an illegal memory access was encountered"
    assert explain(text) == "the launch failed: an illegal memory access was encountered"
