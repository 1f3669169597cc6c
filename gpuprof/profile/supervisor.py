"""One device behind a worker process that is replaced when it is lost."""

from __future__ import annotations

from gpuprof import errors
from gpuprof.device.base import DeviceDescription
from gpuprof.device.process import ChildProcess, Failure
from gpuprof.errors import GpuprofError, LaunchError, LaunchTimeoutError
from gpuprof.profile.messages import Check, Checked, Drop, Load, Open, Opened, Request, Sample, Sampled

WORKER_MODULE = "gpuprof.profile.worker"
#: A device that takes longer than this to open is not there (a first CUDA context on eight GPUs takes some 5 s).
OPEN_SECONDS = 120.0
#: What copying and comparing may take beside the launches: host memory at 50 MB/s, which no machine is slower than.
BYTES_PER_SECOND = 50e6
#: Opening files, loading a module, pickling.
SLACK_SECONDS = 3.0


class DeviceSupervisor:
    """Asks a worker, watches the clock, replaces the worker. Errors of a variant are raised as they were there."""

    def __init__(self, open_request: Open, launch_timeout: float, module: str = WORKER_MODULE) -> None:
        self._open_request = open_request
        self._module = module
        self._timeout = launch_timeout
        self._child: ChildProcess | None = None
        self._replaced = False

    def open(self) -> DeviceDescription:
        """Start the worker and open the device; raises MissingDeviceError and its kin."""
        self._child = ChildProcess(self._module)
        answer = self._child.ask(self._open_request, OPEN_SECONDS)
        if isinstance(answer, Failure):
            self.close()
            raise error_of(answer)
        assert isinstance(answer, Opened)
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
        answer = self._ask(request, self._timeout + SLACK_SECONDS)
        assert isinstance(answer, Sampled)
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
        if self._child is None:
            self.open()
        assert self._child is not None
        try:
            answer = self._child.ask(request, timeout)
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
            raise error_of(answer)
        return answer

    def take_replaced(self) -> bool:
        """Was the worker lost since the last call? The next request then starts a fresh one."""
        replaced, self._replaced = self._replaced, False
        return replaced

    def _replace(self) -> None:
        self._replaced = True
        self.close()


def error_of(failure: Failure) -> GpuprofError:
    """The exception that a worker reported, by its class's name."""
    kind = getattr(errors, failure.kind, LaunchError)
    if not (isinstance(kind, type) and issubclass(kind, GpuprofError)):
        kind = LaunchError
    error: GpuprofError = kind(failure.message)
    return error
