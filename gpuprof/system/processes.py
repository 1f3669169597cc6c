"""Child processes with a limit on time and memory, and children that end with their parent."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


@dataclass(frozen=True)
class ToolResult:
    """How an outside program ended: its exit code, its two streams, and whether a limit on time stopped it."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


def run_limited(
    command: Sequence[str],
    *,
    seconds: float,
    cpu_seconds: int | None = None,
    memory_bytes: int | None = None,
    folder: Path | None = None,
) -> ToolResult:
    """Run an outside program in a process group of its own; the whole group is killed at the limit or on an error.

    ``cpu_seconds`` of processor time is what a busy machine does not use up; ``memory_bytes`` limits the address space
    (None: the machine's memory). Raises OSError when it cannot start.
    """
    from gpuprof.system.cleanup import shared_cleaner

    process = subprocess.Popen(
        list(command),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    limit_memory(process.pid, memory_bytes)
    if cpu_seconds is not None:
        limit_cpu(process.pid, cpu_seconds)
    with shared_cleaner().group(process.pid):
        try:
            stdout, stderr = process.communicate(timeout=seconds)
            over = process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) and cpu_seconds is not None
            return ToolResult(process.returncode, stdout, stderr, timed_out=over)
        except subprocess.TimeoutExpired:
            kill_group(process)
            stdout, stderr = process.communicate()
            return ToolResult(process.returncode, stdout, stderr, timed_out=True)
        finally:
            if process.poll() is None:
                kill_group(process)
                process.wait()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a child that leads its own session, with everything that it started (nvcc starts cicc, ptxas ...)."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def limit_memory(pid: int, memory_bytes: int | None = None) -> None:
    """Limit a child's address space, and that of what it starts; the machine's memory where None is given."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    limit = memory_bytes or machine_memory()
    with suppress(OSError, ValueError):
        _, hard = resource.prlimit(pid, resource.RLIMIT_AS)
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))


def limit_cpu(pid: int, seconds: int) -> None:
    """Limit the processor time of a child, after which Linux ends it."""
    if not sys.platform.startswith("linux"):
        return
    import resource

    with suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds + 1))


def machine_memory() -> int:
    """The machine's physical memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def end_with_parent(parent: int) -> None:
    """In a child: have Linux kill this process when the thread that started it ends; end now if that has happened.

    ``parent`` is the process number of the parent, read before the child was started (prctl(2), PR_SET_PDEATHSIG).
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
