"""Modelled times in the rows of a run: rates, ratios to the baseline, shares of the datasheet's peaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpuprof.arch.gpu_constants import GpuConstants
from gpuprof.device.base import DeviceDescription
from gpuprof.profile.messages import Predicted
from gpuprof.profile.peaks import Peaks, datasheet_peaks, flop_ceiling
from gpuprof.results.model import Result


def modelled_values(predicted: Predicted | None, result: Result) -> dict[str, float]:
    """The modelled time of a row with its interval, and the rates that follow from it."""
    if predicted is None or predicted.reason:
        return {}
    values = {"time_us": predicted.us, "time_low_us": predicted.low_us, "time_high_us": predicted.high_us}
    if result.work_flop is not None:
        values["gflops"] = result.work_flop / predicted.us / 1e3
    if result.work_bytes is not None:
        values["gbps"] = result.work_bytes / predicted.us / 1e3
    return values


def with_ratios(
    results: Sequence[Result], baselines: Mapping[str, str | None], gpu: GpuConstants
) -> tuple[Result, ...]:
    """The rows with ``speedup`` over the modelled time of their baseline, by label, and with shares of the peaks."""
    times = {result.variant: result.modelled.get("time_us") for result in results}
    peaks = _peaks(gpu)
    return tuple(_with_ratio(result, times.get(baselines.get(result.variant) or ""), peaks) for result in results)


def _with_ratio(result: Result, baseline_us: float | None, peaks: Peaks | None) -> Result:
    time = result.modelled.get("time_us")
    if time is None:
        return result
    values = dict(result.modelled)
    if baseline_us is not None:
        values["speedup"] = baseline_us / time
    if peaks is not None and "gbps" in values:
        values["percent_of_peak_bandwidth"] = 100 * values["gbps"] / peaks.dram_gbps
    ceiling = None if peaks is None else flop_ceiling(result.sass, peaks)
    if ceiling is not None and "gflops" in values:
        values["percent_of_peak_flops"] = 100 * values["gflops"] / ceiling
    return replace(result, modelled=values)


def _peaks(gpu: GpuConstants) -> Peaks | None:
    sms = int(gpu["sms"])
    return datasheet_peaks(DeviceDescription("gpu", gpu.name, multiprocessors=sms, memory_bytes=None, arch=gpu.arch))


def origin(gpu: GpuConstants) -> str:
    """The line that goes with every modelled time."""
    calibrated = "" if gpu.calibrated else ", not calibrated"
    return f"time* is modelled for {gpu.name}{calibrated}, not measured; docs/model.md has its errors"
