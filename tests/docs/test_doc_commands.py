"""Every command of the documentation is one that gpuprof takes, and those that need no GPU do what they are for."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import click
import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.experiment import find_config
from gpuprof.experiment.naming import select_all
from gpuprof.experiment.overrides import parse_overrides
from gpuprof.results.expectations import load_experiment
from tests.docs.doc_commands import ROOT, DocCommand, doc_commands

COMMANDS = tuple(doc_commands())
OF_AN_EXPERIMENT = ("run", "counters", "check")
#: Sizes at which the emulator needs a second or two. tests/configs runs every bundled experiment; these are here
#: for the command line as a page has it.
SMALL = {
    "gemm_1024": {"M": 48, "N": 48, "K": 32},
    "reduction": {"COUNT": 4096},
    "transpose": {"ROWS": 64, "COLUMNS": 64},
}


def _identifier(command: DocCommand) -> str:
    return f"{command.page}:{command.line}"


def _needs_gpu(command: DocCommand) -> bool:
    """The pages of results were measured on a GPU at its sizes; elsewhere the remark says so."""
    return "on a GPU" in command.remark.removeprefix("small: also without a GPU") or "results/" in command.page


def _parsed(command: DocCommand) -> dict[str, Any]:
    """The values of the command's options; click's own error where it has no such option or value."""
    name, *rest = command.arguments
    subcommand = cli.get_command(click.Context(cli), name)
    assert subcommand is not None, f"there is no command {name}"
    context = subcommand.make_context(name, rest, resilient_parsing=not command.fenced)
    return dict(context.params)


def test_commands_are_found() -> None:
    """One of each kind: in a block with a prompt, in a block with a remark, in running text."""
    assert any(
        c.page == "README.md" and c.arguments == ("run", "configs/gemm_1024.yaml") and c.fenced for c in COMMANDS
    )
    assert any("on a GPU" in c.remark for c in COMMANDS)
    assert any(c.arguments[0] == "doctor" and not c.fenced for c in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS, ids=_identifier)
def test_gpuprof_takes_the_options(command: DocCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    if not command.fenced and len(command.arguments) == 1:
        assert command.arguments[0] in cli.list_commands(click.Context(cli))
        return
    parsed = _parsed(command)
    if command.arguments[0] not in OF_AN_EXPERIMENT or command.placeholders or not parsed.get("config"):
        return
    # the config exists, it has the sizes that --set names, and the variants that --variant names
    experiment = load_experiment(find_config(str(parsed["config"])), overrides=parse_overrides(parsed["overrides"]))
    assert select_all(experiment.variants, parsed["variants"])


def _quick(command: DocCommand) -> bool:
    if not command.fenced or command.placeholders or _needs_gpu(command):
        return False
    return command.arguments[0] not in ("run", "counters") or PurePath(command.arguments[1]).stem in SMALL


QUICK = tuple({command.arguments: command for command in COMMANDS if _quick(command)}.values())


@pytest.mark.parametrize("command", QUICK, ids=_identifier)
def test_a_command_that_needs_no_gpu_succeeds(command: DocCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(cli, [*command.arguments, *_small(command)])
    assert done.exit_code == 0, done.output
    assert done.output.strip()


def _small(command: DocCommand) -> list[str]:
    """Options that make a run short, and keep it off a GPU and out of the user's history."""
    if command.arguments[0] not in ("run", "counters"):
        return []
    sizes = SMALL[PurePath(command.arguments[1]).stem]
    device = ["--device", "emulated", "--no-history"] if command.arguments[0] == "run" else []
    return [*device, *(part for name, size in sizes.items() for part in ("--set", f"{name}={size}"))]
