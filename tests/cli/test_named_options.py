"""Every option that a message, hint or help text names is an option of the command that prints it."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import gpuprof
from gpuprof.cli import COMMANDS

PACKAGE = Path(gpuprof.__file__).parent
#: Not the names of a style sheet's values, as in ``var(--paper)``.
_OPTION = re.compile(r"(?<!var\()(?<![\w-])--[a-z][a-z-]+(?![\w=-])")
#: ``gpuprof counters without --ncu`` and ``gpuprof run and counters take --jobs`` name the command themselves.
_OF_A_COMMAND = re.compile(r"gpuprof (\w+)[\w` ]*?(--[a-z-]+)")

_EXPERIMENTS = ("run", "counters")
_BUILDING = ("run", "counters", "sass", "ptx", "occupancy", "peaks", "doctor")
#: Files of the package -> the commands that can print what they say; the first that fits counts.
REACHED_FROM: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("cli/export_options.py", ("run", "show")),
    ("cli/ncu_options.py", _EXPERIMENTS),
    ("cli/doctor_emulator.py", ("doctor",)),
    ("cli/occupancy_text.py", ("occupancy",)),
    ("cli/run_progress.py", _EXPERIMENTS),
    ("cli/listing.py", ("kernels", "configs")),
    ("arch/launch_limits.py", _EXPERIMENTS),
    ("device/checkup.py", ("doctor",)),
    ("device/choice.py", ("run",)),
    ("device/drivers.py", ("run",)),
    ("device/emulated.py", ("run",)),
    ("device/gpu.py", ("run",)),
    ("device/gpu_lock.py", ("run",)),
    ("emulator/", _EXPERIMENTS),
    ("experiment/tunable.py", _EXPERIMENTS),
    ("experiment/schema.py", (*_EXPERIMENTS, "check")),
    ("experiment/", (*_EXPERIMENTS, "sass")),
    ("profile/ncu/", ("run",)),
    ("profile/advice.py", ("run",)),
    ("profile/checkpoint.py", ("run",)),
    ("profile/run.py", ("run",)),
    ("profile/sanitizing.py", ("sanitize",)),
    ("profile/", _EXPERIMENTS),
    ("report/sass/", ("sass",)),
    ("report/instruction_table.py", ("counters",)),
    ("results/objective.py", ("tune",)),
    ("search/", ("tune",)),
    ("starter/", ("new",)),
    ("report/compare_table.py", ("compare",)),
    ("report/step_table.py", ("run", "show")),
    ("report/counter_table.py", ("counters",)),
    ("report/tables.py", ("run", "show", "compare", "counters", "history")),
    ("report/", ("run", "show")),
    ("results/history.py", ("run", "history", "show", "compare")),
    ("results/lookup.py", ("run", "show")),
    ("results/metric_sets.py", _EXPERIMENTS),
    ("results/thresholds.py", ("compare",)),
    ("targets/kernel.py", ("sass", "ptx", "occupancy")),
    ("targets/", ("sass",)),
    ("toolchain/ncu_errors.py", _EXPERIMENTS),
    ("toolchain/build.py", ("run", "counters", "sass", "ptx", "occupancy")),
    ("toolchain/diagnostics.py", ("run", "counters", "sass", "ptx", "occupancy")),
    ("toolchain/", _BUILDING),
)
#: Files that name options of other programs only: nvcc, ncu, cuobjdump.
OTHER_PROGRAMS = (
    "toolchain/nvcc.py",
    "toolchain/ncu.py",
    "toolchain/ncu_csv.py",
    "toolchain/refused_flags.py",
    "experiment/expand.py",
    "experiment/names_in_source.py",
)
FOREIGN = {
    *("--help", "--use", "--version", "--list-gpu-code", "--expt-relaxed-constexpr", "--cap-add", "--list-chips"),
    *("--list-sections", "--pause", "--section", "--clock-control", "--options-file"),
}


def options_of(command: str) -> set[str]:
    """The options of a command of gpuprof."""
    function: click.Command = importlib.import_module(f"gpuprof.cli.{COMMANDS[command][0]}").command
    return {option for parameter in function.params for option in (*parameter.opts, *parameter.secondary_opts)}


def texts_of(file: Path) -> Iterator[str]:
    """The texts of a module without its docstrings; one with values in it is one text."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    apart = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart |= {id(part) for part in node.values}
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.value


def commands_of(name: str) -> tuple[str, ...]:
    own = [command for command, (module, _) in COMMANDS.items() if name == f"cli/{module}.py"]
    return tuple(own) or next((commands for part, commands in REACHED_FROM if name.startswith(part)), ())


def mistakes_in(file: Path) -> list[str]:
    name = file.relative_to(PACKAGE).as_posix()
    found = []
    for text in texts_of(file):
        elsewhere = {option: command for command, option in _OF_A_COMMAND.findall(text) if command in COMMANDS}
        for option in set(_OPTION.findall(text)) - FOREIGN:
            commands = (elsewhere[option],) if option in elsewhere else commands_of(name)
            missing = [name for name in commands if name in COMMANDS and option not in options_of(name)]
            if missing or not commands:
                found.append(f"{name}: {option} is no option of {', '.join(missing) or 'any command'}: {text[:80]}")
    return found


def test_every_named_option_exists_where_it_is_named() -> None:
    files = [file for file in sorted(PACKAGE.rglob("*.py")) if not file.as_posix().endswith(OTHER_PROGRAMS)]
    assert [mistake for file in files for mistake in mistakes_in(file)] == []


def test_a_wrong_option_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "emulator").mkdir()
    file = tmp_path / "emulator" / "x.py"
    file.write_text("import sys\nprint(f'{sys.argv}: raise --emulate-limits, or see gpuprof sass --kernel')\n")
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    (mistake,) = mistakes_in(file)
    assert "--emulate-limits is no option of run, counters" in mistake
