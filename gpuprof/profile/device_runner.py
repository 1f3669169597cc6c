"""One device's share of a run: take a variant, check it, time it beside the others, hand out its outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gpuprof.device.base import DeviceDescription
from gpuprof.device.session import POISON_BYTES
from gpuprof.errors import GpuprofError, LaunchTimeoutError
from gpuprof.experiment.model import BufferArgument, FillStep, Variant
from gpuprof.profile.interleaved_timing import TimingPool, Track
from gpuprof.profile.messages import Check, Checked, Load, Predict, Predicted
from gpuprof.profile.options import RunOptions
from gpuprof.profile.shared_arrays import SharedData, seed_offsets
from gpuprof.profile.statistics import Ratio
from gpuprof.profile.supervisor import DeviceSupervisor
from gpuprof.profile.variant_queue import Board, Ready
from gpuprof.profile.verification.compare import IS_REFERENCE, NO_REFERENCE, explain
from gpuprof.results.model import Counters, Status, Verification

#: What was found in the second pass only.
EXACT_PASS = "with small integers for inputs, of which every sum is exact"
SECOND_PASS = "in a second launch, with other bytes in memory that was never written"


@dataclass(frozen=True)
class Outcome:
    """What executing one variant gave."""

    label: str
    status: Status
    reason: str | None = None
    verification: Verification | None = None
    counters: Counters | None = None
    step_counters: Mapping[str, Counters] = field(default_factory=dict)
    track: Track | None = None
    ratio: Ratio | None = None
    device: str = ""
    predicted: Predicted | None = None


@dataclass(frozen=True)
class _Checked:
    """A variant that passed or differed, waiting for its times."""

    ready: Ready
    request: Check
    answer: Checked
    reported: bool  #: False for the baseline's copies on further devices


class Lane:
    """Runs in its own thread; everything it learns goes to ``emit``.

    ``timed``: whether the device can time. ``share``: this device's part of the variants if all are equally fast.
    """

    def __init__(
        self,
        supervisor: DeviceSupervisor,
        board: Board,
        data: SharedData,
        options: RunOptions,
        emit: Callable[[Outcome], None],
        *,
        timed: bool,
        share: int,
        announce: Callable[[str], None],
    ) -> None:
        self._supervisor = supervisor
        self._board = board
        self._data = data
        self._options = options
        self._emit = emit
        self._announce = announce
        self._timed = timed
        self._pool = TimingPool(options.timing, supervisor.sample_all, share)
        self._checked: dict[str, _Checked] = {}
        self._failed: set[str] = set()

    def open(self) -> DeviceDescription:
        """Start the worker; raises MissingDeviceError and its kin."""
        return self._supervisor.open()

    def run(self) -> None:
        """Work until nothing is left or the run is stopped."""
        try:
            while not self._board.stopped:
                if not self._step():
                    return
        finally:
            self._supervisor.close()

    def _step(self) -> bool:
        """One variant checked or one round timed; False when all is done."""
        if self._pool.is_full and self._may_time():
            self._time_round()
            return True
        ready = self._board.take(idle=lambda: not self._may_time())
        if ready is not None:
            self._run_check(ready, reported=True)
        elif self._pool.active:
            self._time_round()
        else:
            return False
        return True

    def _may_time(self) -> bool:
        """Is there something to time, and is now the time for it?"""
        ready = len(self._waiting()) < len(self._pool.active)
        return ready and (self._options.overlap or not self._board.building)

    def _waiting(self) -> frozenset[str]:
        """Variants whose baseline is still being built: without it there would be nothing to compare with."""
        return frozenset(
            label
            for label in self._pool.active
            if (baseline := self._pool.track(label).baseline) not in (None, *self._pool.labels)
            and self._board.expects(baseline or "")
        )

    def _run_check(self, ready: Ready, *, reported: bool) -> None:
        if reported:
            self._announce(ready.label)
        try:
            request = self._check_request(ready)
            answer = self._further_checks(ready, request, self._supervisor.check(request))
        except (GpuprofError, MemoryError) as error:
            self._fail(ready.label, error, reported)
            self._reload()
            return
        self._checked[ready.label] = _Checked(ready, request, answer, reported)
        status, reason = judge(answer)
        if not self._timed or status not in (Status.OK, Status.UNCHECKED):
            self._finish(ready.label, status, reason)
            return
        self._board.settle(ready.label, True)
        self._pool.add(ready.label, ready.baseline, ready.built.variant.iters)

    def _further_checks(self, ready: Ready, request: Check, first: Checked) -> Checked:
        """The answer after a second pass, where none will follow the timed launches, or others wait for the outputs.

        It finds what works in the first launch only, and what depends on the bytes of memory that nobody wrote.
        """
        outputs = request.save[0] if request.save else None
        references = request.references[:1]
        if not references and ready.referenced and outputs is not None:
            own = {spec.name: outputs / f"{spec.name}.npy" for spec in request.jobs[0].buffers if spec.output}
            references = (own,)
        if not references or judge(first)[0] is Status.DIFFERS:
            return first
        exact = self._exact_check(ready, request) if first.wide and not ready.referenced else None
        first = replace(first, verification=_with_note(first, exact is not None))
        if exact is not None:
            again = self._supervisor.check(exact)
            if judge(again)[0] is Status.DIFFERS:
                return replace(again, **_counted(first), context=EXACT_PASS)
        elif self._timed and not ready.referenced:
            return first
        else:
            again = self._supervisor.check(second_pass(request, references))
            if judge(again)[0] is Status.DIFFERS:
                return replace(again, **_counted(first), context=SECOND_PASS)
        return first

    def _exact_check(self, ready: Ready, request: Check) -> Check | None:
        """A pass over small integers, with the other poison; None where no such inputs make all sums exact."""
        variant = ready.built.variant
        if request.tolerance is not None:
            return None
        exact = self._data.exact_variant(variant)
        if exact is None:
            return None
        return replace(
            second_pass(request, (self._data.references(exact),)),
            jobs=(ready.built.job(self._data.specs(exact)),),
            sums=(self._data.sums(exact),),
            aside=True,
        )

    def _adopt_baselines(self) -> None:
        """Time baselines on this device too when their rows are another's: ratios compare like with like."""
        for label in self._pool.missing_baselines():
            baseline = self._board.find(label)
            if baseline is not None and label not in self._failed:
                self._run_check(baseline, reported=False)
                self._pool.remove(label)

    def _check_request(self, ready: Ready) -> Check:
        variant = ready.built.variant
        seeds = seed_offsets(variant, self._options.seeds)
        jobs = tuple(ready.built.job(self._data.specs(variant, seed)) for seed in seeds)
        references = tuple(self._references(ready, seed) for seed in seeds)
        return Check(
            jobs=jobs,
            references=references if any(references) else (),
            tolerance=variant.tolerance,
            sums=tuple(self._data.sums(variant, seed) for seed in seeds),
            poison=POISON_BYTES[0],
            why_not_compared="" if any(references) else self._why_not_compared(ready),
            save=self._save_folders(ready, len(seeds)),
            unreferenced=_unreferenced(variant, references[0]),
            is_reference=ready.referenced,
        )

    def _references(self, ready: Ready, seed: int) -> dict[str, Path]:
        variant = ready.built.variant
        other = variant.reference.variant
        if other is None:
            return self._data.references(variant, seed)
        folder = self._output_folder(other, seed)
        if other == ready.label or not self._board.settled().get(other):
            return {}
        outputs = (buffer.name for buffer in variant.buffers.values() if buffer.output)
        return {name: folder / f"{name}.npy" for name in outputs if (folder / f"{name}.npy").exists()}

    def _output_folder(self, label: str, seed: int) -> Path:
        if self._options.save_outputs is not None and seed == 0:
            return self._options.save_outputs / label.replace("/", "_")
        return self._data.output_folder(label, seed)

    def _why_not_compared(self, ready: Ready) -> str:
        other = ready.built.variant.reference.variant
        if other is None:
            return IS_REFERENCE if ready.referenced else NO_REFERENCE
        return IS_REFERENCE if other == ready.label else f"its reference {other} did not run, or was wrong"

    def _save_folders(self, ready: Ready, seeds: int) -> tuple[Path, ...]:
        """Where the outputs go, by seed; empty when nobody wants them."""
        if self._options.save_outputs is None and not ready.referenced:
            return ()
        return tuple(self._output_folder(ready.label, seed) for seed in range(seeds))

    def _time_round(self) -> None:
        self._adopt_baselines()
        try:
            finished = self._pool.round(self._waiting())
        except GpuprofError as error:
            self._fail_timed(self._pool.running, error)
            self._reload()
            return
        for label in finished:
            self._pool.remove(label)
            self._finish_timed(label)

    def _fail_timed(self, label: str, error: GpuprofError) -> None:
        self._pool.forget(label)
        self._fail(label, error, self._checked.pop(label).reported)

    def _finish_timed(self, label: str) -> None:
        """Verify once more after the timed launches, with another poison; then the row is final."""
        checked = self._checked[label]
        request = second_pass(checked.request, checked.request.references[:1])
        try:
            status, reason = judge(self._supervisor.check(request))
        except GpuprofError as error:
            self._fail_timed(label, error)
            self._reload()
            return
        if status is Status.DIFFERS:
            reason = f"after the timed launches: {reason}"
        self._finish(label, status, reason)

    def _finish(self, label: str, status: Status, reason: str | None) -> None:
        checked = self._checked[label]
        timed = self._timed and label in self._pool.labels
        self._board.settle(label, not self._leaves_no_reference(checked))
        if timed and label != checked.ready.baseline:
            self._supervisor.drop(label)
        if not checked.reported:
            return
        track, ratio = (self._pool.track(label), self._pool.ratio(label)) if timed else (None, None)
        verification, counters = checked.answer.verification, checked.answer.counters
        device = self._supervisor.device
        steps = checked.answer.step_counters
        predicted = self._predicted(checked)
        self._emit(Outcome(label, status, reason, verification, counters, steps, track, ratio, device, predicted))

    def _predicted(self, checked: _Checked) -> Predicted | None:
        """The variant's modelled time, where it is asked for."""
        if self._options.predict is None:
            return None
        try:
            return self._supervisor.predict(Predict(checked.request.jobs[0], self._options.predict))
        except (GpuprofError, MemoryError) as error:
            return Predicted(reason=str(error))

    def _leaves_no_reference(self, checked: _Checked) -> bool:
        """Are its outputs no reference, since it is wrong itself?"""
        return checked.ready.referenced and judge(checked.answer)[0] is Status.DIFFERS

    def _fail(self, label: str, error: GpuprofError | MemoryError, reported: bool) -> None:
        self._failed.add(label)
        self._board.settle(label, False)
        if reported:
            status = Status.TIMED_OUT if isinstance(error, LaunchTimeoutError) else Status.LAUNCH_FAILED
            reason = f"this machine's memory ran out: {error}" if isinstance(error, MemoryError) else str(error)
            self._emit(Outcome(label, status, reason))

    def _reload(self) -> None:
        """After the worker was lost: load the variants that are being timed into the next one."""
        while self._supervisor.take_replaced():
            needed = (*self._pool.active, *sorted(self._pool.needed_baselines()))
            for label in dict.fromkeys(label for label in needed if label in self._pool.labels):
                try:
                    self._supervisor.load(Load(self._checked[label].request.jobs[0]))
                except GpuprofError as error:
                    self._fail_timed(label, error)
                    break


def _unreferenced(variant: Variant, references: Mapping[str, Path]) -> tuple[str, ...]:
    """Outputs that a step is given and nothing is compared with, where others are."""
    if not references:
        return ()
    calls = (step for step in variant.steps if not isinstance(step, FillStep))
    given = {argument.buffer for call in calls for argument in call.args if isinstance(argument, BufferArgument)}
    outputs = (name for name, buffer in variant.buffers.items() if buffer.output and name in given)
    return tuple(name for name in outputs if name not in references)


def _counted(answer: Checked) -> dict[str, Any]:
    """What of an answer was counted, to be in that of a further pass."""
    return {"counters": answer.counters, "step_counters": answer.step_counters}


def _with_note(answer: Checked, settled: bool) -> Verification:
    """The verification with what its tolerance could hide, unless a pass over exact sums settles it."""
    verification = answer.verification
    if not answer.wide:
        return verification
    if settled:
        return replace(verification, why=f"{verification.why}; and equal with small integers for inputs")
    return replace(verification, notes=(*verification.notes, f"the tolerance may hide a missing term: {answer.wide}"))


def second_pass(request: Check, references: tuple[Mapping[str, Path], ...]) -> Check:
    """The check of a further pass over the first seed, with the other poison; nothing is kept of it."""
    return replace(request, jobs=request.jobs[:1], references=references, poison=POISON_BYTES[1], save=())


def judge(answer: Checked) -> tuple[Status, str | None]:
    """Status and reason of a checked pass: damage first, since a wrong output may follow from it."""
    reason = answer.damage or explain(answer.verification)
    if reason is not None:
        return Status.DIFFERS, f"{answer.context}: {reason}" if answer.context else reason
    if answer.verification.verdict == "unchecked":
        return Status.UNCHECKED, answer.verification.why
    return Status.OK, None
