"""The free constants of the model, fitted to measured times: Gauss-Newton on logarithms, absolute errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.arch.gpu_constants import GpuConstants

    Numbers = NDArray[np.float64]
    #: Modelled microseconds of all rows for some constants.
    Times = Callable[[GpuConstants], NDArray[np.float64]]

#: How far a constant is moved to see what it does, as a share of itself, and by how much at least.
STEP_SHARE, MIN_STEP = 0.08, 0.02
#: Errors below this count like it: repeats of a measurement differ by as much.
NOISE = 0.02
#: How strongly a constant is held where it is, and how many steps it may move at once.
_PRIOR, _MAX_STEPS = 0.02, 4.0
_ROUNDS = 40


@dataclass(frozen=True, eq=False)
class Linear:
    """Log times around one set of constants, and how they change per step of each constant."""

    names: tuple[str, ...]
    start: Mapping[str, float]
    steps: Numbers
    times: Numbers  #: (rows,)
    slopes: Numbers  #: (rows, constants)

    def moved(self, constants: Mapping[str, float]) -> Numbers:
        """Log times for other constants near these."""
        by = np.array([constants[name] - self.start[name] for name in self.names]) / self.steps
        return np.asarray(self.times + self.slopes @ by)


def linearised(
    times: Times, gpu: GpuConstants, names: Sequence[str], tell: Callable[[str], None] = lambda name: None
) -> Linear:
    """One evaluation, and one for each constant moved; ``tell`` hears of each constant."""
    base = np.log(times(gpu))
    steps, columns = [], []
    for name in names:
        step = max(abs(gpu[name]) * STEP_SHARE, MIN_STEP)
        steps.append(step)
        columns.append(np.log(times(gpu.changed({name: gpu[name] + step}))) - base)
        tell(name)
    slopes = np.array(columns).T if columns else np.zeros((len(base), 0))
    return Linear(tuple(names), {name: gpu[name] for name in names}, np.array(steps), base, slopes)


def solved(linear: Linear, measured: Numbers, weights: Numbers, rows: NDArray[np.bool_]) -> dict[str, float]:
    """Constants, none negative, that bring the chosen rows' log times near ``measured``."""
    residual, slopes, weight = (measured - linear.times)[rows], linear.slopes[rows], weights[rows]
    moved = np.zeros(len(linear.names))
    for _ in range(_ROUNDS):
        own = weight / np.maximum(np.abs(residual - slopes @ moved), NOISE)
        normal = slopes.T @ (slopes * own[:, None]) + _PRIOR * np.eye(len(linear.names))
        moved = np.clip(np.linalg.solve(normal, slopes.T @ (own * residual)), -_MAX_STEPS, _MAX_STEPS)
    return {
        name: max(linear.start[name] + float(by * step), 0.0)
        for name, by, step in zip(linear.names, moved, linear.steps, strict=True)
    }


def family_weights(families: Sequence[str]) -> Numbers:
    """Between equal rows and equal families."""
    return np.array([1 / np.sqrt(families.count(family)) for family in families])


def left_out(linear: Linear, measured: Numbers, families: Sequence[str]) -> tuple[Numbers, dict[str, dict[str, float]]]:
    """Times by constants that were fitted without the row's family, and those constants by family."""
    weights = family_weights(families)
    times, constants = np.zeros(len(families)), {}
    for family in dict.fromkeys(families):
        own = np.array([each == family for each in families])
        constants[family] = solved(linear, measured, weights, ~own)
        times[own] = np.exp(linear.moved(constants[family])[own])
    return times, constants


def fitted(
    times: Times,
    gpu: GpuConstants,
    measured_us: Sequence[float],
    families: Sequence[str],
    names: Sequence[str],
    steps: int,
    tell: Callable[[str], None] = lambda name: None,
) -> GpuConstants:
    """The GPU with its free constants after so many steps."""
    measured, weights = np.log(np.array(measured_us)), family_weights(families)
    for _ in range(steps):
        linear = linearised(times, gpu, names, tell)
        gpu = gpu.changed(solved(linear, measured, weights, np.ones(len(families), bool)))
    return gpu
