"""The process that holds a device: ``python -m gpuprof.profile.worker FD``. See ``messages`` for what it answers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.device.clocks import GpuMonitor
from gpuprof.device.jobs import BufferSpec, Job
from gpuprof.device.opening import open_device
from gpuprof.device.process import Failure, serve_connection
from gpuprof.device.session import POISON_BYTES, Coverage, Session, StepCounters
from gpuprof.errors import DeviceMemoryError, GpuprofError, LaunchError
from gpuprof.experiment.element_types import from_storage, is_packed, kind_of, to_storage
from gpuprof.profile.counting import counters_of, step_counters
from gpuprof.profile.messages import (
    Check,
    Checked,
    Done,
    Drop,
    Load,
    Open,
    Opened,
    Predict,
    Predicted,
    Sample,
    Sampled,
    Support,
)
from gpuprof.profile.verification.cache import WRITTEN_SUFFIX, Comparer, Comparison
from gpuprof.profile.verification.compare import OutputCheck, not_compared, summarize
from gpuprof.profile.verification.coverage import limits_of, orderings_of, shortfall
from gpuprof.profile.verification.precision import Precision, precision_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.results.model import Verification


class Worker:
    """Answers one message at a time. Holds the device, its buffers, and the jobs that are being timed."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._monitor = GpuMonitor(None)
        self._timed: dict[str, Job] = {}
        self._comparer = Comparer()
        self._cuda_home: Path | None = None
        self._handlers: dict[type, Callable[[Any], object]] = {
            Open: self._open,
            Support: self._support,
            Check: self._check,
            Load: self._load,
            Sample: self._sample,
            Predict: self._predict,
            Drop: self._drop,
        }

    def answer(self, message: object) -> object:
        """The answer; an error that belongs to the variant becomes a Failure, fatal when the device is lost."""
        try:
            return self._handlers[type(message)](message)
        except GpuprofError as error:
            return Failure.of(error, fatal=self._is_lost())
        except MemoryError as error:
            return Failure("LaunchError", f"the host ran out of memory: {error}", False)

    def close(self) -> None:
        """Free the device; a lost one is left to the driver, which cleans up after the process."""
        if self._session is not None and not self._is_lost():
            self._session.close()
            self._session.device.close()

    @property
    def session(self) -> Session:
        """The open session."""
        if self._session is None:
            raise LaunchError("no device is open")
        return self._session

    def _is_lost(self) -> bool:
        return self._session is not None and self._session.device.lost

    def _open(self, request: Open) -> Opened:
        device = open_device(
            request.device,
            arch=request.arch,
            budget=request.budget,
            compiled_budget=request.compiled_budget,
            engine=request.engine,
            instruction_limit=request.instruction_limit,
            threads=request.threads,
            cuda_home=request.cuda_home,
        )
        self._cuda_home = request.cuda_home
        self._session = Session(device)
        self._monitor = GpuMonitor(device.description.uuid)
        return Opened(device.description)

    def _support(self, request: Support) -> Done:
        kernels = self.session.device.capabilities.support
        if kernels is not None:
            kernels.support = request.cubin
        return Done()

    def _check(self, request: Check) -> Checked:
        if not request.aside:
            self._timed.pop(request.jobs[0].label, None)
        parts: list[OutputCheck] = []
        digests: dict[str, str] = {}
        why: str = ""
        damage: str | None = None
        counted: tuple[StepCounters, ...] = ()
        seconds = 0.0
        missing = wide = ""
        for seed, job in enumerate(request.jobs):
            started = time.monotonic()
            counted = self._pass(job, request.poison)
            seconds = time.monotonic() - started
            orders = (f"step {counters.step} " if len(counted) > 1 else "" for counters in counted)
            order = (
                head + each.counters.order for head, each in zip(orders, counted, strict=True) if each.counters.order
            )
            damage = damage or self.session.damage(job) or next(order, None)
            coverage = by_element(job, self.session.coverage(job, counted))
            found = self._compare(request, seed, coverage)
            parts += found.checks
            why, digests, wide = found.why, digests or dict(found.digests), wide or found.wide
            if request.references:
                missing = missing or shortfall(job, coverage, request.references[seed])
        if not request.aside:
            self._timed[request.jobs[0].label] = request.jobs[0]
        verification = self._verdict(request, parts, why, digests, missing)
        if verification.verdict == "differs":
            verification = replace(verification, read_unset="; ".join(self._unset_reads(request)))
        warned = dict.fromkeys(warning for step in counted for warning in step.counters.warnings)
        verification = replace(verification, notes=(*verification.notes, *warned))
        counters = counters_of(counted, round(seconds, 3))
        return Checked(verification, counters, damage, wide=wide, step_counters=step_counters(counted))

    def _compare(self, request: Check, seed: int, coverage: Mapping[str, Coverage]) -> Comparison:
        """The outputs of the pass; read only when they must be kept, or are not those of a pass before."""
        job = request.jobs[seed]
        references = request.references[seed] if request.references else {}
        names = [spec.name for spec in job.buffers if spec.output]
        limits = limits_of(job, coverage, frozenset(names if request.is_reference else references))
        restricted = any(limit.written is not None or limit.unwritten is not None for limit in limits.values())
        orderings = orderings_of(job, references)
        if not request.save and not restricted:
            holds = partial(self._holds, job)
            known = self._comparer.recall(request, references, names, holds, orderings)
            if known is not None:
                return known
        outputs = values_of(job, self.session.outputs(job))
        orderings = orderings_of(job, references, outputs)
        if request.save:
            save_outputs(
                as_saved(job, outputs), {name: limit.written for name, limit in limits.items()}, request.save[seed]
            )
        sums = request.sums[seed] if request.sums else {}
        precision = partial(self._precision, job)
        return self._comparer.compare(request, references, outputs, limits, sums, precision, orderings)

    def _holds(self, job: Job, name: str, expected: NDArray[np.generic]) -> bool:
        """Is an output, in device memory, what was compared before?"""
        element = job.buffer(name).element
        plain = not element or kind_of(element) == "c"
        return self.session.holds_bytes(job, name, expected if plain else to_storage(expected, element))

    def _unset_reads(self, request: Check) -> tuple[str, ...]:
        """Where the wrong values may come from: reads of what nobody stored. Looked for only where something differs.

        A further pass of the first job that has any; its buffers then are as after the check.
        """
        found = (self.session.unset_reads(job, request.poison) for job in request.jobs)
        return next((outcome for outcome in found if outcome), ())

    def _precision(self, job: Job, dtype: str) -> Precision | None:
        """What the kernels of a job compute in; None where their machine code cannot be read."""
        from gpuprof.profile.verification.machine_code import instructions_of

        try:
            return precision_of(instructions_of(job, self._cuda_home), dtype)
        except GpuprofError:
            return None

    def _verdict(
        self, request: Check, parts: list[OutputCheck], why: str, digests: Mapping[str, str], missing: str
    ) -> Verification:
        if request.references or any(part.wrong for part in parts):
            notes = tuple(
                f"{name} is an output without a reference: nobody compares it" for name in request.unreferenced
            )
            return summarize(parts, why, digests, shortfall=missing, notes=notes)
        total = sum(elements_of(spec) for spec in request.jobs[0].buffers if spec.output)
        return not_compared(total, request.why_not_compared, digests)

    def _pass(self, job: Job, poison: int) -> tuple[StepCounters, ...]:
        try:
            self.session.prepare(job, poison)
        except DeviceMemoryError:
            self.session.keep_only([job])  # the others are loaded again when their turn comes
            self.session.prepare(job, poison)
        return self.session.run(job)

    def _load(self, request: Load) -> Done:
        self._pass(request.job, POISON_BYTES[0])
        self._timed[request.job.label] = request.job
        return Done()

    def _sample(self, request: Sample) -> Sampled:
        from gpuprof.device.clock import sample_job

        job = self._timed[request.label]
        if not self.session.holds(job):
            self._pass(job, POISON_BYTES[0])
        started = time.perf_counter()
        taken = sample_job(self.session, job, request.protocol, request.count, request.batch)
        seconds = time.perf_counter() - started
        clock = self._monitor.sm_clock_mhz()
        return Sampled(taken.samples_us, seconds, clock, self._monitor.throttle_reasons(), taken.remarks)

    def _predict(self, request: Predict) -> Predicted:
        from gpuprof.arch.gpu_constants import gpu_constants
        from gpuprof.model.interval import predict
        from gpuprof.profile.modelling import trace_job

        gpu = gpu_constants(request.gpu)
        try:
            self.session.prepare(request.job, POISON_BYTES[0])
            found = predict(trace_job(self.session, request.job, gpu), gpu)
        except GpuprofError as error:
            return Predicted(reason=str(error))
        return Predicted(found.us, found.low_us, found.high_us, found.kind, "", found.notes)

    def _drop(self, request: Drop) -> Done:
        job = self._timed.pop(request.label, None)
        if job is not None:
            self.session.drop(job)
        return Done()


def values_of(job: Job, outputs: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """Outputs as they are compared: complex numbers stay pairs of floats, part by part."""
    elements = {spec.name: spec.element for spec in job.buffers}
    return {
        name: from_storage(array, elements[name]) if elements[name] and kind_of(elements[name]) != "c" else array
        for name, array in outputs.items()
    }


def as_saved(job: Job, outputs: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    """Outputs in types that ``.npy`` has: narrow floats as float32, pairs as complex numbers."""
    elements = {spec.name: spec.element for spec in job.buffers}
    return {
        name: from_storage(array, elements[name])
        if elements[name] and kind_of(elements[name]) == "c"
        else array.astype(np.float32)
        if elements[name] and kind_of(elements[name]) == "f"
        else array
        for name, array in outputs.items()
    }


def by_element(job: Job, coverage: Mapping[str, Coverage]) -> dict[str, Coverage]:
    """Masks with an entry per element where two share a byte."""
    return {
        name: replace(known, mask=np.repeat(known.mask, 2, axis=-1))
        if known.mask is not None and (element := job.buffer(name).element) and is_packed(element)
        else known
        for name, known in coverage.items()
    }


def elements_of(spec: BufferSpec) -> int:
    """How many numbers an output has that are compared."""
    return int(np.prod(spec.shape)) * (2 if spec.element and is_packed(spec.element) else 1)


def save_outputs(
    outputs: Mapping[str, NDArray[np.generic]], masks: Mapping[str, NDArray[np.bool_] | None], folder: Path
) -> None:
    """Write every output as ``folder/NAME.npy``, and of a sample also what it wrote, as ``NAME.written.npy``."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in outputs.items():
        np.save(folder / f"{name}.npy", array)
        mask = masks.get(name)
        if mask is not None:
            np.save(folder / f"{name}{WRITTEN_SUFFIX}", mask)


def main() -> None:
    """Serve until the parent says None or goes away."""
    connection = serve_connection()
    worker = Worker()
    try:
        while (message := connection.recv()) is not None:
            connection.send(worker.answer(message))
    except (EOFError, ConnectionResetError, BrokenPipeError):
        pass
    finally:
        worker.close()
    os._exit(0)  # a lost CUDA context must not be torn down by Python's exit


if __name__ == "__main__":
    main()
