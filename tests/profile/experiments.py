"""Small experiments written into a folder, run on the emulator, and their rows by label."""

from __future__ import annotations

from pathlib import Path

from gpuprof import experiment as experiments
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_experiment
from gpuprof.results.model import Result, Run


def run_yaml(folder: Path, config: str, source: str, **options: object) -> Run:
    """Write ``config`` as YAML beside ``k.cu`` and run it; ``options`` are those of RunOptions."""
    (folder / "k.cu").write_text(source, encoding="utf-8")
    (folder / "e.yaml").write_text(config, encoding="utf-8")
    settings = RunOptions(devices=("emulated",), **options)  # type: ignore[arg-type]
    return run_experiment(experiments.load(folder / "e.yaml"), settings, SilentObserver())


def rows_of(folder: Path, config: str, source: str, **options: object) -> dict[str, Result]:
    """The rows of ``run_yaml`` by label."""
    return {result.variant: result for result in run_yaml(folder, config, source, **options).results}
