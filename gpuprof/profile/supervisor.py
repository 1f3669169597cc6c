"""One device behind a worker process that is replaced when it is lost."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from pathlib import Path

from gpuprof.device.base import DeviceDescription
from gpuprof.device.process import ChildProcess, Failure
from gpuprof.errors import GpuprofError, LaunchError, LaunchTimeoutError
from gpuprof.profile.messages import (
    Check,
    Checked,
    Drop,
    Load,
    Open,
    Opened,
    Predict,
    Predicted,
    Request,
    Sample,
    Sampled,
    Support,
)

WORKER_MODULE = "gpuprof.profile.worker"
#: A device that takes longer than this to open is not there (a first CUDA context on eight GPUs takes some 5 s).
OPEN_SECONDS = 120.0
#: What copying and comparing may take beside the launches: host memory at 50 MB/s, which no machine is slower than.
BYTES_PER_SECOND = 50e6
#: Opening files, loading a module, pickling.
SLACK_SECONDS = 3.0


class DeviceSupervisor:
    """Asks a worker, watches the clock, replaces the worker. Errors of a variant are raised as they were there.

    ``support`` gives the cubin of ``support.cu`` once the device is open, for every worker; ``first`` is a process of
    ``module`` that runs already.
    """

    def __init__(
        self,
        open_request: Open,
        launch_timeout: float,
        module: str = WORKER_MODULE,
        support: Callable[[], Path | None] = lambda: None,
        first: ChildProcess | None = None,
    ) -> None:
        self._open_request = open_request
        self._module = module
        self._support = support
        self._first = first
        self._timeout = launch_timeout
        self._child: ChildProcess | None = None
        self._replaced = False

    @property
    def device(self) -> str:
        """The device's name: ``emulated`` or ``gpu:N``."""
        return self._open_request.device

    def open(self) -> DeviceDescription:
        """Start the worker and open the device; raises MissingDeviceError and its kin."""
        self._child, self._first = self._first or ChildProcess(self._module), None
        answer = self._child.ask(self._open_request, OPEN_SECONDS)
        if isinstance(answer, Failure):
            self.close()
            raise answer.error()
        assert isinstance(answer, Opened)
        support = self._support()
        if support is not None:
            self._ask(Support(support), self._timeout)
        return answer.description

    def check(self, request: Check) -> Checked:
        """Run and compare a variant."""
        nbytes = sum(job.nbytes for job in request.jobs)
        launches = sum(len(job.calls) for job in request.jobs)
        answer = self._ask(request, self._timeout * max(1, launches) + SLACK_SECONDS + 4 * nbytes / BYTES_PER_SECOND)
        assert isinstance(answer, Checked)
        return answer

    def load(self, request: Load) -> None:
        """Prepare a variant for timing in a fresh worker."""
        self._ask(
            request, self._timeout * len(request.job.calls) + SLACK_SECONDS + request.job.nbytes / BYTES_PER_SECOND
        )

    def sample(self, request: Sample) -> Sampled:
        """Time a variant."""
        (answer,) = self.sample_all([request])
        return answer

    def sample_all(self, requests: Sequence[Sample]) -> Generator[Sampled, None, None]:
        """Time loaded variants, one after the other: the worker goes on with the next while an answer is looked at.

        Close the iterator when it is left early. An error belongs to the request whose answer was due.
        """
        child = self._opened()
        for request in requests:
            child.send(request)
        due = len(requests)
        try:
            while due:
                due -= 1
                answer = self._receive(child, self._timeout + SLACK_SECONDS)
                assert isinstance(answer, Sampled)
                yield answer
        finally:
            while due and self._child is child:
                due -= 1
                with suppress(GpuprofError):
                    self._receive(child, self._timeout + SLACK_SECONDS)

    def predict(self, request: Predict) -> Predicted:
        """Model a variant's time; one that cannot be modelled has its reason."""
        answer = self._ask(request, self._timeout * max(1, len(request.job.calls)) + SLACK_SECONDS)
        assert isinstance(answer, Predicted)
        return answer

    def drop(self, label: str) -> None:
        """Forget a variant."""
        self._ask(Drop(label), self._timeout)

    def interrupt(self) -> None:
        """End the worker now."""
        if self._child is not None:
            self._child.kill()

    def close(self) -> None:
        """End the worker."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _ask(self, request: Request, timeout: float) -> object:
        child = self._opened()
        child.send(request)
        return self._receive(child, timeout)

    def _opened(self) -> ChildProcess:
        if self._child is None:
            self.open()
        assert self._child is not None
        return self._child

    def _receive(self, child: ChildProcess, timeout: float) -> object:
        try:
            answer = child.receive(timeout)
        except LaunchTimeoutError:
            self._replace()
            raise LaunchTimeoutError(
                f"it did not end within {self._timeout:g} s (--launch-timeout) and was stopped"
            ) from None
        except LaunchError:
            self._replace()
            raise
        if isinstance(answer, Failure):
            if answer.fatal:
                self._replace()
            raise answer.error()
        return answer

    def take_replaced(self) -> bool:
        """Was the worker lost since the last call? The next request then starts a fresh one."""
        replaced, self._replaced = self._replaced, False
        return replaced

    def _replace(self) -> None:
        self._replaced = True
        self.close()
