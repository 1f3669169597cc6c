"""Run one variant once on a GPU: ``python -m gpuprof.device.launcher SPEC.json [ORDINAL]``.

SPEC is what ``jobs.job_to_json`` gives. Every step runs once, in order; Nsight Compute wraps this process. With a
folder as ``outputs`` in SPEC, the outputs are written there as ``.npy``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from gpuprof.device.gpu import GpuDevice
from gpuprof.device.jobs import Job, job_from_json, job_to_json
from gpuprof.device.session import POISONS, Session
from gpuprof.errors import GpuprofError


def write_spec(job: Job, path: Path, outputs: Path | None = None) -> None:
    """Write the launcher's input."""
    data = {**job_to_json(job), "outputs": None if outputs is None else str(outputs)}
    path.write_text(json.dumps(data), encoding="utf-8")


def launcher_command(spec: Path, ordinal: int = 0) -> tuple[str, ...]:
    """The argument list that runs SPEC."""
    return (sys.executable, "-m", "gpuprof.device.launcher", str(spec), str(ordinal))


def launch_once(spec: Path, ordinal: int) -> None:
    """Run the job; raises GpuprofError."""
    data = json.loads(spec.read_text(encoding="utf-8"))
    job = job_from_json(data)
    session = Session(GpuDevice(ordinal))
    session.prepare(job, POISONS[0])
    session.run(job)
    if data.get("outputs"):
        folder = Path(data["outputs"])
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in session.outputs(job).items():
            np.save(folder / f"{name}.npy", array)
    session.close()
    session.device.close()


def main() -> None:
    """The process's entry."""
    try:
        launch_once(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    except GpuprofError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
