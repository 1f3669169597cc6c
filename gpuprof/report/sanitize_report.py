"""Findings as text, JSON and SARIF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console

    from gpuprof.sanitizer.findings import Finding, Site, ThreadPlace

_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}


def render_findings(run: Any, console: Console) -> None:
    """One paragraph per finding, then one line that says what was checked."""
    for variant in run.variants:
        for finding in variant.findings:
            _render(variant.variant, finding, console)
        for lines in variant.missing:
            console.print(f"{variant.variant}: the YAML expects a race at lines {_listed(lines)}, and none was found")
        for note in variant.notes:
            console.print(f"{variant.variant}: {note}", style="dim")
        if variant.error:
            console.print(f"{variant.variant}: not checked: {variant.error}", style="red", highlight=False)
    console.print(summary(run), highlight=False)


def summary(run: Any) -> str:
    """``gemm: 3 variants checked for sm_89: 1 error, 2 notes``."""
    findings = [finding for variant in run.variants for finding in variant.findings]
    known = sum(len(variant.suppressed) for variant in run.variants)
    counts = {word: sum(finding.severity.value == word for finding in findings) for word in _STYLES}
    parts = [f"{count} {word}{'s' if count != 1 else ''}" for word, count in counts.items() if count]
    checked = sum(variant.error is None for variant in run.variants)
    text = f"{run.experiment}: {checked} variant{'s' if checked != 1 else ''} checked for {run.arch}: "
    text += ", ".join(parts) or "nothing found"
    return text + (f"; {known} known by the YAML" if known else "")


def _render(variant: str, finding: Finding, console: Console) -> None:
    style = _STYLES[finding.severity.value]
    head = Text.assemble((finding.severity.value, style), f" {finding.kind}  ", (f"{variant}, {finding.kernel}", "dim"))
    console.print(head, soft_wrap=True)
    console.print(f"  {finding.message}", highlight=False, markup=False, soft_wrap=True)
    for site in finding.sites:
        for caller in site.source.inlined_at if site.source else ():
            console.print(f"    inlined at {Path(caller.file).name}:{caller.line}", style="dim", highlight=False)
    for line in _example(finding):
        console.print(f"    {line}", highlight=False, markup=False, soft_wrap=True)
    if finding.repair:
        console.print(f"    repair: {finding.repair}", highlight=False, markup=False, soft_wrap=True)


def _example(finding: Finding) -> list[str]:
    example = finding.example
    if example is None:
        return []
    where = example.element or (f"{example.space} byte 0x{example.address:x}" if example.address is not None else "")
    threads = " and ".join(_thread(place) for place in example.threads)
    times = f"; seen {finding.count:,} times" if finding.count > 1 else ""
    return [f"for example {', '.join(part for part in (where, threads) if part)}{times}"] if where or threads else []


def _thread(place: ThreadPlace) -> str:
    block = ",".join(str(part) for part in place.block)
    text = f"block ({block}) "
    text += f"thread {place.lane}" if place.warp < 0 else f"warp {place.warp} lane {place.lane}"
    return text if place.value is None else f"{text} (stores 0x{place.value:x})"


def _listed(lines: tuple[int, ...]) -> str:
    return ", ".join(str(line) for line in lines)


def findings_json(run: Any) -> dict[str, Any]:
    """Everything, as plain data."""
    return {
        "experiment": run.experiment,
        "config": run.config,
        "arch": run.arch,
        "variants": [
            {
                "variant": variant.variant,
                "blocks_run": variant.blocks_run,
                "blocks_total": variant.blocks_total,
                "notes": list(variant.notes),
                "error": variant.error,
                "missing": [list(lines) for lines in variant.missing],
                "findings": [_finding_json(finding) for finding in variant.findings],
                "suppressed": [_finding_json(finding) for finding in variant.suppressed],
            }
            for variant in run.variants
        ],
    }


def _finding_json(finding: Finding) -> dict[str, Any]:
    example = finding.example
    return {
        "tool": finding.tool.value,
        "severity": finding.severity.value,
        "kind": finding.kind,
        "message": finding.message,
        "lines": list(finding.lines),
        "count": finding.count,
        "kernel": finding.kernel,
        "repair": finding.repair,
        "sites": [_site_json(site) for site in finding.sites],
        "example": None
        if example is None
        else {
            "space": example.space,
            "address": example.address,
            "element": example.element,
            "threads": [
                {"block": list(thread.block), "warp": thread.warp, "lane": thread.lane, "value": thread.value}
                for thread in example.threads
            ],
        },
    }


def _site_json(site: Site) -> dict[str, Any]:
    chain = (site.source, *site.source.inlined_at) if site.source else ()
    return {
        "verb": site.verb,
        "instruction": site.instruction,
        "address": site.address,
        "source": [{"file": place.file, "line": place.line} for place in chain],
    }


def findings_sarif(run: Any, version: str) -> dict[str, Any]:
    """SARIF 2.1.0, as code hosts read it: one result per finding, its other place as a related location."""
    results = []
    rules: dict[str, dict[str, Any]] = {}
    for variant in run.variants:
        for finding in variant.findings:
            identifier = finding.kind.replace(" ", "-").replace(",", "")
            rules[identifier] = {"id": identifier, "help": {"text": finding.repair or finding.kind}}
            places = [_location(site) for site in finding.sites if site.source is not None]
            results.append(
                {
                    "ruleId": identifier,
                    "level": _LEVELS[finding.severity.value],
                    "message": {"text": f"{finding.message} ({variant.variant}). Repair: {finding.repair}"},
                    "locations": places[:1],
                    "relatedLocations": places[1:],
                }
            )
    driver = {"name": "gpuprof sanitize", "version": version, "rules": list(rules.values())}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _location(site: Site) -> dict[str, Any]:
    assert site.source is not None
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": site.source.file},
            "region": {"startLine": site.source.line},
        },
        "message": {"text": f"{site.verb}: {site.instruction}"},
    }
