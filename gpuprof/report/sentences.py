"""Sentences about a run: where its numbers come from, and what differs in a result."""

from __future__ import annotations

from collections.abc import Iterator

from gpuprof.report import units
from gpuprof.results.model import Counters, Environment, Result, Run, Status


def head_lines(run: Run) -> Iterator[str]:
    """How the numbers of the table were obtained: device, protocol, architecture, compiler."""
    yield _origin(run)
    yield _provenance(run)


def _origin(run: Run) -> str:
    environment = run.environment
    timed = sorted({result.timing.protocol for result in run.results if result.timing})
    counted = [counters for result in run.results if (counters := result.counters or result.ncu) is not None]
    if timed:
        text = f"measured: timed {' and '.join(timed)} on {_gpus(environment)}"
        return text + (", counted by Nsight Compute" if any(result.ncu for result in run.results) else "")
    if not counted:
        built = any(result.status is Status.OK for result in run.results)
        return "built only: nothing was launched" if built else "no variant ran to its end"
    sources = {counters.source for counters in counted}
    if sources == {"ncu"}:
        return f"counted by Nsight Compute on {environment.gpu or 'the GPU'}"
    if any(result.ncu for result in run.results):
        return f"counted on the emulator, and by Nsight Compute on {environment.gpu or 'the GPU'}{_sampled(counted)}"
    if environment.modelled_gpu is not None:
        return (
            f"counted on the emulator; times modelled for {environment.modelled_gpu}, not measured{_sampled(counted)}"
        )
    return f"counted on the emulator (no GPU, so no times){_sampled(counted)}"


def _gpus(environment: Environment) -> str:
    if len(environment.gpus) < 2:
        return environment.gpu or "the GPU"
    names = {name: environment.gpus.count(name) for name in environment.gpus}
    return " and ".join(f"{count} {name}" if count > 1 else name for name, count in names.items())


def _sampled(counted: list[Counters]) -> str:
    """What part of the grids ran; the table has a column where the variants differ."""
    parts = {(counters.blocks_run, counters.blocks_total) for counters in counted if _is_sampled(counters)}
    if not parts:
        return ""
    if len(parts) > 1:
        return "; sampled grids are scaled to the whole"
    ran, total = parts.pop()
    return f"; {ran:,} of {total:,} blocks ran, counters are scaled"


def _is_sampled(counters: Counters) -> bool:
    return counters.blocks_run < counters.blocks_total


#: Different numbers of verified elements that are listed; more of them are shown as a range.
SHOWN_COVERAGES = 4


def coverage_lines(run: Run) -> Iterator[str]:
    """How many output elements were verified, where it was not all of them."""
    variants: dict[tuple[int, int], list[str]] = {}
    for result in run.results:
        check = result.verification
        if check is not None and 0 < check.checked < check.total:
            variants.setdefault((check.checked, check.total), []).append(result.variant)
    if len(variants) > SHOWN_COVERAGES:
        shares = [100 * checked / total for checked, total in variants]
        low, high = units.percent(min(shares)), units.percent(max(shares))
        yield f"verified {low} to {high} of the output elements of {sum(map(len, variants.values()))} variants"
        return
    for (checked, total), names in variants.items():
        yield f"verified {checked:,} of {total:,} output elements: {shortened(names)}"


def shortened(names: list[str], limit: int = 4) -> str:
    """``a, b, c, d and 3 more``."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")


def _provenance(run: Run) -> str:
    environment = run.environment
    archs = sorted({result.build.arch for result in run.results if result.build and result.build.arch})
    parts = [f"code for {', '.join(archs)}" if archs else "", *_tools(environment)]
    emulated = [result.counters.seconds for result in run.results if result.counters and result.counters.seconds]
    parts.append(f"{len(run.results)} variant{'s' * (len(run.results) != 1)} in {units.seconds(run.seconds)}")
    parts.append(f"emulated for {units.seconds(sum(emulated))}" if emulated else "")
    return ", ".join(part for part in parts if part)


def _tools(environment: Environment) -> Iterator[str]:
    if environment.nvcc:
        yield f"nvcc {environment.nvcc}"
    if environment.driver and environment.device == "gpu":
        yield f"driver {environment.driver}"
    clock = environment.clocks_mhz.get("sm_during", environment.clocks_mhz.get("sm"))
    if clock is not None:
        yield f"SM clock {units.significant(clock)} MHz"


def describe_difference(result: Result) -> Iterator[str]:
    """The first wrong element, how many there are, and where: what of it the row's reason does not say already."""
    verification = result.verification
    if verification is None or verification.verdict != "differs":
        return
    first, others = verification.first_difference, verification.wrong - verification.never_written
    if first is not None and others:
        place = f"{first.buffer}[{', '.join(str(n) for n in first.index)}]"
        if place not in (result.reason or ""):
            yield f"first at {place}: got {first.got}, expected {first.expected}"
    count = f"{others:,} of {verification.checked:,} checked elements differ"
    if others and count not in (result.reason or ""):
        yield count + (f" ({verification.where_wrong})" if verification.where_wrong else "")
    yield from verification.picture
