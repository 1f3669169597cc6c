"""Run variants once each on a GPU: ``python -m gpuprof.device.launcher SPEC.json [ORDINAL]``.

SPEC is what ``write_spec`` wrote: jobs, run in their order, each with buffers and code of its own that are gone before
the next begins. Nsight Compute wraps this process. Every job that reached its end adds a line to the progress file, so
that an observer knows which job ended the process. The first one that fails does. There is no such file
where not even the device could be opened.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.device.jobs import Job, job_from_json, job_to_json
from gpuprof.errors import GpuprofError

if TYPE_CHECKING:
    from gpuprof.device.gpu import GpuDevice


def write_spec(
    jobs: Job | Iterable[Job], path: Path, outputs: Path | None = None, progress: Path | None = None
) -> None:
    """Write the launcher's input. ``outputs``: a folder for the last job's outputs as ``.npy``."""
    data = {
        "jobs": [job_to_json(job) for job in ([jobs] if isinstance(jobs, Job) else jobs)],
        "outputs": None if outputs is None else str(outputs),
        "progress": None if progress is None else str(progress),
    }
    path.write_text(json.dumps(data), encoding="utf-8")


def read_spec(path: Path) -> tuple[Job, ...]:
    """The jobs that ``write_spec`` wrote."""
    return tuple(job_from_json(entry) for entry in json.loads(path.read_text(encoding="utf-8"))["jobs"])


def jobs_ended(progress: Path) -> int:
    """How many jobs reached their end: the next one is what the process was at when it failed."""
    return len(progress.read_bytes().splitlines()) if progress.is_file() else 0


def launcher_command(spec: Path, ordinal: int = 0) -> tuple[str, ...]:
    """The argument list that runs SPEC."""
    return (sys.executable, "-m", "gpuprof.device.launcher", str(spec), str(ordinal))


def launch_all(spec: Path, ordinal: int) -> None:
    """Run the jobs; raises the first one's GpuprofError."""
    from gpuprof.device.gpu import GpuDevice

    data = json.loads(spec.read_text(encoding="utf-8"))
    outputs = Path(data["outputs"]) if data["outputs"] else None
    progress = Path(data["progress"]) if data["progress"] else None
    device = GpuDevice(ordinal)
    if progress is not None:
        progress.write_bytes(b"")
    for job in read_spec(spec):
        _launch_job(device, job, outputs)
        if progress is not None:
            with progress.open("a", encoding="utf-8") as file:
                file.write(f"{job.label}\n")
    device.close()


def _launch_job(device: GpuDevice, job: Job, outputs: Path | None) -> None:
    import numpy as np

    from gpuprof.device.session import POISON_BYTES, Session

    session = Session(device)
    session.prepare(job, POISON_BYTES[0])
    session.run(job)
    if outputs is not None:
        outputs.mkdir(parents=True, exist_ok=True)
        for name, array in session.outputs(job).items():
            np.save(outputs / f"{name}.npy", array)
    session.close()
    device.unload()


def main() -> None:
    """The process's entry."""
    try:
        launch_all(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    except GpuprofError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
