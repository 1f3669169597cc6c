"""The tree of errors: drawn whole, and every error of it comes back from a child process as it was raised."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
from collections.abc import Iterator

import pytest

import gpuprof
from gpuprof import errors
from gpuprof.device.process import Failure
from gpuprof.errors import (
    BuildError,
    CodeLocation,
    ConfigError,
    ConfigProblem,
    EmulationError,
    GpuprofError,
    MemoryFaultError,
)


def kinds(kind: type[GpuprofError] = GpuprofError) -> Iterator[type[GpuprofError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from kinds(below)


def drawn() -> dict[str, tuple[str | None, int]]:
    """Name -> (name of the class above, exit code), as the docstring of ``errors`` draws the tree."""
    found: dict[str, tuple[str | None, int]] = {}
    path: list[str] = []
    for indent, name, code in re.findall(r"^    ([│├└─ ]*)(\w+Error) +(\d)", errors.__doc__ or "", re.M):
        depth = len(indent) // 4
        path[depth:] = [name]
        found[name] = (path[depth - 1] if depth else None, int(code))
    return found


def test_the_drawn_tree_is_the_tree() -> None:
    for module in pkgutil.walk_packages(gpuprof.__path__, "gpuprof."):
        if not module.name.endswith(("__main__", ".gpu", ".cuda_bindings_driver")):
            importlib.import_module(module.name)
    real = {kind.__name__: (kind.__base__.__name__, kind.exit_code) for kind in kinds()}
    real["GpuprofError"] = (None, GpuprofError.exit_code)
    assert drawn() == real
    assert {kind.__module__ for kind in kinds()} == {"gpuprof.errors"}


PROBLEMS = (ConfigProblem("a.yaml", 3, "fill", "bad fill"), ConfigProblem("a.yaml", None, "", "no variants"))
PLACE = CodeLocation("k", 0x40, "LDG.E R2, [R4]", "k.cu", 7, (0, 0, 0), (3, 0, 0))
SPECIAL = {
    ConfigError: ConfigError(PROBLEMS),
    BuildError: BuildError("nvcc failed", "a\nlog"),
    MemoryFaultError: MemoryFaultError("out of bounds", PLACE),
    EmulationError: EmulationError("stopped", PLACE),
}


@pytest.mark.parametrize("kind", list(kinds()), ids=lambda kind: kind.__name__)
def test_an_error_comes_back_from_a_child_as_it_was(kind: type[GpuprofError]) -> None:
    error = SPECIAL.get(kind) or (kind(PROBLEMS) if kind is ConfigError else kind("two words"))
    back = pickle.loads(pickle.dumps(Failure.of(error, fatal=False))).error()
    assert type(back) is kind
    assert str(back) == str(error)
    assert vars(back) == vars(error)


def test_an_error_of_no_known_class_is_a_failed_launch() -> None:
    back = Failure("ValueError", "odd").error()
    assert type(back) is errors.LaunchError
    assert str(back) == "odd"
