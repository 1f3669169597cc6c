"""The mutants of two kernels: all that change an output are found. ``benchmarks/mutants.py`` runs the others."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "mutants.py"


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


def test_there_are_enough_and_each_fits_its_source(mutants: ModuleType) -> None:
    assert len(mutants.SUBJECTS) >= 12
    assert all(len(mutants.mutants_of(subject)) >= 8 for subject in mutants.SUBJECTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["saxpy_half2", "histogram_shared"])
def test_no_mutant_passes_and_the_kernel_does(mutants: ModuleType, name: str, tmp_path: Path) -> None:
    (subject,) = (subject for subject in mutants.SUBJECTS if subject.name == name)
    outcomes = mutants.run_subject(subject, tmp_path)
    assert outcomes[0].verdict == "ok"
    assert [outcome.mutant for outcome in outcomes[1:] if outcome.missed] == []
