"""The rules between the rooms: imports point one way, and each outside program is started in one place."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gpuprof"


def imports_of(path: Path) -> set[str]:
    """Every dotted module name that a file imports, at the top or inside functions (not under TYPE_CHECKING)."""
    names: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def test_imports_point_one_way() -> None:
    """The layers of ``[tool.importlinter]`` in pyproject.toml, imports for types and inside functions included."""
    pytest.importorskip("importlinter")
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program, "--no-cache"], cwd=PACKAGE.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize(("room", "allowed"), [("isa", {"isa", "errors"}), ("arch", {"arch", "isa", "errors"})])
def test_facts_stand_below_all(room: str, allowed: set[str]) -> None:
    names = {name for path in (PACKAGE / room).rglob("*.py") for name in imports_of(path)}
    rooms = {name.split(".")[1] for name in names if name.startswith("gpuprof.")}
    assert rooms <= allowed


def modules_importing(prefix: str) -> set[str]:
    return {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(name == prefix or name.startswith(prefix + ".") for name in imports_of(path))
    }


def test_drivers_are_imported_in_one_module_each() -> None:
    assert modules_importing("pycuda") == set()  # by name, in device/drivers.py
    assert modules_importing("cuda") <= {"device/cuda_bindings_driver.py"}


def test_networkx_is_imported_in_one_module() -> None:
    assert len(modules_importing("networkx")) <= 1


def loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(' '.join(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(output.splitlines()[-1].split())


def test_the_command_line_starts_without_heavy_imports() -> None:
    loaded = loaded_after("import gpuprof.cli")
    assert not loaded & {"numpy", "pydantic", "rich", "networkx", "elftools", "yaml", "pycuda"}


def test_occupancy_needs_neither_numpy_nor_pydantic() -> None:
    loaded = loaded_after("import gpuprof.cli.occupancy")
    assert not loaded & {"numpy", "pydantic", "networkx", "elftools", "pycuda"}


def test_no_text_tells_to_install_the_other_package() -> None:
    """The name belongs to another package on the index: everything installs from the checkout."""
    root = PACKAGE.parent
    texts = [
        path
        for folder in ("gpuprof", "docs", "kernels", "configs", "benchmarks")
        for path in (root / folder).rglob("*")
    ]
    texts.append(root / "README.md")
    phrase = "pip install " + "gpuprof"
    wrong = [
        str(path.relative_to(root))
        for path in texts
        if path.suffix in {".py", ".md", ".cu", ".yaml", ".sh"} and phrase in path.read_text(encoding="utf-8")
    ]
    assert not wrong
