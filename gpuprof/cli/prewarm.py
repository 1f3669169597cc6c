"""What a run will need and takes a while, begun before the YAML is read: a worker process, and the driver's answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpuprof.device.process import ChildProcess


@contextmanager
def head_start(devices: tuple[str, ...]) -> Iterator[ChildProcess | None]:
    """A worker that is starting; None where nothing will be executed. It ends with the block at the latest."""
    if devices == ("none",):
        yield None
        return
    from gpuprof.profile.supervisor import WORKER_MODULE

    worker = ChildProcess(WORKER_MODULE)
    try:
        if not devices or devices[0] != "emulated":
            from gpuprof.device.gpus import find_gpus
            from gpuprof.profile.background import in_background

            in_background(find_gpus)
        yield worker
    finally:
        worker.kill()
        worker.close()
