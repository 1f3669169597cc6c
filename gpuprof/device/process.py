"""A supervised child process that answers messages: what it does cannot end the parent.

Messages are pickled over a socket pair, so that whatever a kernel prints stays out of the way; the child's standard
output and error go to a file that explains a crash. The child ends with its parent, even when the parent is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from gpuprof import errors
from gpuprof.errors import ChildLostError, GpuprofError, LaunchError, LaunchTimeoutError
from gpuprof.system.processes import end_with_parent

#: How much of a dead child's output is kept.
TAIL_BYTES = 4000
#: How long a child that was asked to end may take (freeing a CUDA context takes some 0.1 s).
GOODBYE_SECONDS = 5.0


@dataclass(frozen=True)
class Failure:
    """An exception of the child, for the parent to raise. ``fatal``: the child is to be replaced."""

    kind: str  #: name of the class in ``gpuprof.errors``
    message: str
    fatal: bool = False
    attributes: Mapping[str, object] = field(default_factory=dict)  #: what the class keeps beside its message

    @classmethod
    def of(cls, error: GpuprofError, *, fatal: bool) -> Failure:
        """What to send of an error."""
        return cls(type(error).__name__, str(error), fatal, dict(vars(error)))

    def error(self) -> GpuprofError:
        """The error as it was raised: its class, its message, its attributes."""
        kind = getattr(errors, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, GpuprofError)):
            return LaunchError(self.message)
        error = kind.__new__(kind, self.message)  # a constructor would take other arguments than the message
        vars(error).update(self.attributes)
        return error


class ChildProcess:
    """A child that runs ``python -m MODULE FD`` and answers one message at a time."""

    def __init__(self, module: str, environment: dict[str, str] | None = None) -> None:
        parent, child = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed in close)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, str(child.fileno()), str(os.getpid())],
            pass_fds=[child.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output,
            start_new_session=True,  # Ctrl-C is for the parent, which lets the running variant end
            env={**os.environ, **(environment or {})},
        )
        child.close()
        self._connection = Connection(parent.detach())

    @property
    def alive(self) -> bool:
        """Does the process still run?"""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, message: Any) -> None:
        """Send a message; a dead child shows at ``receive``."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send(message)

    def receive(self, timeout: float) -> Any:
        """The answer. Raises LaunchTimeoutError after ``timeout`` seconds and ChildLostError when it died."""
        try:
            if not self._connection.poll(timeout):
                self.kill()
                raise LaunchTimeoutError(f"no answer within {timeout:g} s")
            return self._connection.recv()
        except (EOFError, ConnectionResetError, BrokenPipeError) as error:
            raise ChildLostError(self._cause()) from error

    def ask(self, message: Any, timeout: float) -> Any:
        """Send and receive."""
        self.send(message)
        return self.receive(timeout)

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Ask it to end, and make sure that it does; a second call does nothing."""
        if self._connection.closed:
            return
        self.send(None)
        try:
            self._process.wait(GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
        self._connection.close()
        self._output.close()

    def printed(self) -> str:
        """The last of what the child wrote to its standard output and error."""
        descriptor = self._output.fileno()
        start = max(0, os.fstat(descriptor).st_size - TAIL_BYTES)
        # pread, since parent and child share the file's offset
        return os.pread(descriptor, TAIL_BYTES, start).decode("utf-8", "replace").strip()

    def _cause(self) -> str:
        try:
            code = self._process.wait(GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return "the worker process closed its connection"
        last = self.printed().splitlines()[-1:]
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the worker process ended with {how}" + (f": {last[0]}" if last else "")


def serve_connection() -> Connection:
    """In the child: the connection whose descriptor the command line names; the child then ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(int(sys.argv[2]))
    return Connection(int(sys.argv[1]))
