"""``--ncu`` and what goes with it: the same words on every command that starts Nsight Compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from gpuprof.profile.ncu.jobs import NcuOptions

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class NcuFlags:
    """The flags below."""

    ncu_sets: tuple[str, ...]
    ncu_sections: tuple[str, ...]
    ncu_report: str | None
    ncu_clocks: str

    @property
    def given(self) -> bool:
        return bool(self.ncu_sets or self.ncu_sections or self.ncu_report)


_OPTIONS = (
    click.option(
        "--ncu",
        "ncu_sets",
        multiple=True,
        is_flag=False,
        flag_value="basic",
        metavar="[SET]",
        help="Collect with Nsight Compute: basic, memory, compute, stalls, exact, full, or metrics by name.",
    ),
    click.option("--ncu-section", "ncu_sections", multiple=True, metavar="NAME", help="Additional ncu section."),
    click.option(
        "--ncu-report",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Keep ncu's report of all variants; one that had to be profiled alone is in STEM.VARIANT.ncu-rep.",
    ),
    click.option(
        "--ncu-clocks",
        type=click.Choice(["none", "base"]),
        default="none",
        show_default=True,
        help="ncu's --clock-control.",
    ),
)


def ncu_options(function: Command) -> Command:
    """Add the options; the function receives ``ncu_sets``, ``ncu_sections``, ``ncu_report``, ``ncu_clocks``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def ncu_options_of(flags: NcuFlags, *, wanted: bool = False) -> NcuOptions | None:
    """What to collect; None where ncu was not asked for (nor ``wanted``).

    Raises:
        UsageError: a word that is neither a set of metrics nor a metric.
    """
    from gpuprof.profile.ncu.jobs import NcuOptions
    from gpuprof.results.metric_sets import resolve_metrics

    if not (wanted or flags.given):
        return None
    report = flags.ncu_report
    return NcuOptions(
        metrics=resolve_metrics(flags.ncu_sets or ("basic",)),
        sections=flags.ncu_sections,
        report=Path(report).absolute() if report else None,
        clock_control=flags.ncu_clocks,
    )
