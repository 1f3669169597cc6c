"""``gpuprof explain`` on the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gpuprof.report import units
from gpuprof.report.layout import ALWAYS, Column
from gpuprof.report.tables import print_columns

if TYPE_CHECKING:
    from rich.console import Console

    from gpuprof.model.explanation import Explanation, Share

#: Parts of the code with less of the time are not shown, and so many at most.
_MIN_SHARE, _MAX_ROWS = 0.02, 12
#: What is gained below this share of the time is nothing.
_MIN_GAIN = 0.01


def render_explanation(
    found: Explanation, console: Console, meanings: Mapping[str, str], lines: int = _MAX_ROWS
) -> None:
    """One variant: its time, reasons, lines, loops, and what would be gained."""
    from rich.text import Text

    time = found.prediction
    head = f"{found.variant}: {units.microseconds(time.us)} modelled"
    console.print(Text(head, style="bold"))
    spread = f"{units.microseconds(time.low_us)} to {units.microseconds(time.high_us)}"
    console.print(
        Text(f"{spread}; bound by: {time.kind}; {found.issue_share:.0%} of the issue slots used", style="dim")
    )
    console.print()
    print_columns(_reason_columns(found.reasons, meanings), console)
    for title, shares in (("source line", found.lines), ("loop", found.loops)):
        shown = [each for each in shares if each.share >= _MIN_SHARE][:lines]
        if shown:
            console.print()
            print_columns(_share_columns(title, shown), console)
    console.print()
    for line in what_if_lines(found):
        console.print(Text(line))


def _reason_columns(reasons: Mapping[str, float], meanings: Mapping[str, str]) -> list[Column]:
    shown = sorted((share, name) for name, share in reasons.items() if share >= _MIN_SHARE / 2)[::-1]
    return [
        Column("reason", tuple(name for _, name in shown), ALWAYS, False, 10, ""),
        Column("warp cycles", tuple(f"{share:.1%}" for share, _ in shown), ALWAYS, True, 0, ""),
        Column("meaning", tuple(meanings.get(name, "") for _, name in shown), 50, False, 20, ""),
    ]


def _share_columns(title: str, shares: Sequence[Share]) -> list[Column]:
    return [
        Column(title, tuple(each.name for each in shares), ALWAYS, False, 10, ""),
        Column("warp cycles", tuple(f"{each.share:.1%}" for each in shares), ALWAYS, True, 0, ""),
        Column("reasons", tuple(", ".join(leading(each)) for each in shares), 90, False, 20, ""),
        Column("waits for", tuple("; ".join(each.waits_for) for each in shares), 60, False, 10, ""),
    ]


def leading(share: Share, count: int = 2) -> list[str]:
    """``long_scoreboard 71%``: the reasons that take most."""
    ordered = sorted(share.reasons.items(), key=lambda pair: -pair[1])
    return [f"{name} {part:.0%}" for name, part in ordered[:count] if part >= 0.1]


def what_if_lines(found: Explanation) -> Iterator[str]:
    """``infinite DRAM: 31.2 us, 12.4 us less``, what gains most first."""
    for each in found.what_if:
        if each.saves_us < _MIN_GAIN * found.prediction.us:
            yield f"{each.name}: nothing gained"
        else:
            yield f"{each.name}: {units.microseconds(each.us)}, {units.microseconds(each.saves_us)} less"


def explanation_json(found: Sequence[Explanation], gpu: str, problems: Mapping[str, str]) -> dict[str, Any]:
    """All of it; what is estimated is under ``modelled``."""
    return {
        "gpu": gpu,
        "variants": [{"variant": each.variant, "kernel": each.kernel, "modelled": _modelled(each)} for each in found],
        "missing": dict(problems),
    }


def _modelled(found: Explanation) -> dict[str, Any]:
    data = asdict(found)
    del data["variant"], data["kernel"]
    prediction = data.pop("prediction")
    return {"time_us": prediction["us"], "time_low_us": prediction["low_us"], "time_high_us": prediction["high_us"],
            "bound_by": prediction["kind"], **data}  # fmt: skip
