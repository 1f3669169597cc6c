"""Child processes that can be stopped: each in its own process group, with a time limit."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuprof.system.cleanup import shared_cleaner
from gpuprof.system.processes import kill_group, limit_memory


@dataclass(frozen=True)
class Finished:
    """How a child ended: its exit code, what it wrote (both streams together), and whether the limit stopped it."""

    returncode: int
    output: str
    timed_out: bool = False


class Processes:
    """Runs children, from any number of threads, and can kill all of them at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def run(self, command: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float) -> Finished:
        """Run to the end, or to the limit in seconds; raises OSError when it cannot start."""
        process = self._start(command, folder, environment)
        try:
            with shared_cleaner().group(process.pid):
                output, _ = process.communicate(timeout=timeout)
            return Finished(process.returncode, output.decode("utf-8", "replace"))
        except subprocess.TimeoutExpired:
            kill_group(process)
            output, _ = process.communicate()
            return Finished(process.returncode, output.decode("utf-8", "replace"), timed_out=True)
        finally:
            if process.poll() is None:
                kill_group(process)
            with self._lock:
                self._running.discard(process)

    @property
    def stopped(self) -> bool:
        """Whether ``stop`` was called."""
        return self._stopped

    def stop(self) -> None:
        """Kill every child and start no more."""
        with self._lock:
            self._stopped = True
            running = tuple(self._running)
        for process in running:
            kill_group(process)

    def _start(self, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise InterruptedError("interrupted")
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running.add(process)
            limit_memory(process.pid)
            return process
