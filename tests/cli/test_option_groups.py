"""``run --help`` in groups, and options that are fields of RunOptions and TimingOptions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.cli.option_groups import field_values, read_flags
from gpuprof.cli.run import RunFlags, _options, command
from gpuprof.profile.options import RunOptions, TimingOptions


def test_every_option_of_run_is_under_a_heading() -> None:
    shown = CliRunner().invoke(cli, ["run", "--help"]).output
    headings = re.findall(r"^(\w[\w ]*):$", shown, re.M)
    assert headings == ["What to run", "Timing", "Checks", "Output", "Nsight Compute", "Build", "Emulator", "Other"]
    assert shown.split("\nOther:\n")[1].split()[-4:] == ["this", "message", "and", "exit."]
    assert shown.split("\nOther:\n")[1].count("\n") == 1
    build = shown.split("\nBuild:\n")[1].split("\n\n")[0]
    assert "--jobs" in build
    assert "--seeds" not in build


def test_fields_become_options_of_their_type() -> None:
    given = ["x.yaml", "--seeds", "3", "--iters", "7", "--min-time", "0.25", "--resume", "--save-outputs", "out"]
    parsed = command.make_context("run", given).params
    settings = {kind: field_values(kind, parsed) for kind in (RunOptions, TimingOptions)}
    options = _options(read_flags(RunFlags, parsed), settings, ncu=False)
    assert (options.seeds, options.resume, options.save_outputs) == (3, True, Path("out"))
    assert (options.timing.iters, options.timing.min_time) == (7, 0.25)


def test_the_defaults_of_the_command_are_those_of_the_fields() -> None:
    flags = command.make_context("run", ["x.yaml"]).params
    for kind in (RunOptions, TimingOptions):
        values = field_values(kind, flags)
        assert values
        assert {name: getattr(kind(), name) for name in values} == values


@pytest.mark.parametrize("given", [["--seeds", "0"], ["--jobs", "no"], ["--timeout", "-1"]])
def test_a_value_that_the_field_cannot_have_is_refused(given: list[str]) -> None:
    done = CliRunner().invoke(cli, ["run", "x.yaml", *given])
    assert done.exit_code == 2
    assert f"Invalid value for '{given[0]}'" in done.output
