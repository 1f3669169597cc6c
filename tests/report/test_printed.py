"""Text that kernels print, below the table of a run."""

from __future__ import annotations

from dataclasses import replace

from gpuprof.report.printed import SHOWN_LINES, printed_lines
from gpuprof.results.model import Counters, Environment, Result, Run, Status


def printing(**texts: str) -> Run:
    """A run of which each variant printed a text."""
    rows = tuple(
        Result(name, name, {}, {}, Status.OK, counters=Counters({}, "emulator", 1, 1, printed=text))
        for name, text in texts.items()
    )
    environment = Environment("0", "3", "linux", "emulated")
    return Run("e", "", "e.yaml", "2026-01-01T00:00:00+00:00", 1.0, environment, rows)


def shown(run: Run) -> list[str]:
    return [line for _, line in printed_lines(run)]


def test_equal_texts_are_shown_once_with_the_variants_that_printed_them() -> None:
    assert shown(printing(a="x = 1\n", b="", c="x = 1\n")) == ["a, c printed:", "    x = 1"]


def test_long_output_is_cut_and_its_control_characters_cannot_steer_a_terminal() -> None:
    lines = shown(printing(a="\x1b[2Jred\n" * (SHOWN_LINES + 3)))
    assert lines[1] == "    \\x1b[2Jred"
    assert lines[-1] == "    and 3 further lines (all of them: --json)"
    assert len(lines) == SHOWN_LINES + 2


def test_a_run_without_counters_prints_nothing() -> None:
    run = printing(a="")
    assert shown(replace(run, results=(replace(run.results[0], counters=None),))) == []
