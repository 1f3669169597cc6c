"""What samples say about themselves: warnings with advice that fits what the user did."""

from __future__ import annotations

from statistics import median

from gpuprof.profile import statistics
from gpuprof.profile.interleaved_timing import Track
from gpuprof.profile.options import TimingOptions

#: Below this a single launch is mostly the resolution of the events (0.5 us) and launch overhead.
SHORT_US = 10.0
DRIFT_LIMIT = 0.02


def timing_warnings(track: Track, options: TimingOptions) -> tuple[str, ...]:
    """Warnings for one variant's samples, most important first; empty when there is nothing to say."""
    samples = track.samples
    checks = (
        _invalid(track),
        _discarded(track),
        _too_noisy(track, options),
        _bimodal(samples),
        _drifting(samples),
        _outlier(samples, options),
        _too_short(samples, options),
        _throttled(track),
    )
    return tuple(text for text in checks if text) + tuple(track.remarks)


def _invalid(track: Track) -> str:
    return "the clock gave no valid times" if track.rule.finished == "invalid" else ""


def _discarded(track: Track) -> str:
    if not track.discarded:
        return ""
    return f"{track.discarded} samples were dropped: the SM clock had fallen below 75 % of its highest"


def _too_noisy(track: Track, options: TimingOptions) -> str:
    noise = statistics.relative_noise(track.samples) if len(track.samples) > 1 else 0.0
    if noise <= options.max_noise or track.rule.finished == "noise":
        return ""
    repair = "give it more time (--timeout)" if track.rule.finished == "time" else "lock the clocks (nvidia-smi -lgc)"
    return f"noise {noise:.1%} is above {options.max_noise:.1%}: {repair}" if noise > 2 * options.max_noise else ""


def _bimodal(samples: list[float]) -> str:
    return "times fall into two groups: clock states or another process" if statistics.is_bimodal(samples) else ""


def _drifting(samples: list[float]) -> str:
    change = statistics.drift(samples)
    return f"times drifted by {change:+.1%} during the run: the clock moves" if abs(change) > DRIFT_LIMIT else ""


def _outlier(samples: list[float], options: TimingOptions) -> str:
    if options.protocol == "cold" or not statistics.first_is_outlier(samples):
        return ""
    return "the first sample was an outlier: it warmed the caches"


def _too_short(samples: list[float], options: TimingOptions) -> str:
    if not samples or median(samples) >= SHORT_US or options.batch > 1:
        return ""
    return f"{median(samples):.1f} us is too short for one launch per sample: try --batch 20 --warm"


def _throttled(track: Track) -> str:
    reasons = ", ".join(sorted(track.throttle_reasons))
    return f"the GPU throttled: {reasons}" if reasons else ""
