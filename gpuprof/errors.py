"""Every error that gpuprof raises on purpose.

A message says what happened, the value, the limit, and the repair. The command line prints it and ends with
``exit_code``; within a run, an error that belongs to one variant becomes that variant's row instead.

::

    GpuprofError                         1
    ├── UsageError                       2   the command line is wrong
    │   ├── ConfigError                  2   the YAML is wrong: every mistake with file, line and key
    │   └── ArgumentMismatchError        2   the YAML's args and the kernel's parameters do not agree
    ├── UnreadableFileError              2   a file of the user's that is missing, special, or too large
    ├── ExpressionError                  2   an expression of the YAML cannot be evaluated
    │   ├── ShapeError                   2   shapes that do not fit, whatever the arrays hold
    │   └── BudgetError                  2   a file's expressions compute more than is allowed while it is checked
    ├── MissingToolError                 3   nvcc, nvdisasm, cuobjdump, ncu ... was not found
    ├── MissingDeviceError               3   no GPU, no driver, or no pycuda
    ├── BuildError                       1   nvcc refused a variant
    │   └── MissingLibraryError          1   a library that a host function links with is not on this machine
    ├── DisassemblyError                 1   machine code that cannot be read
    ├── KernelNotFoundError              2   the source or the cubin holds no kernel of the name given
    ├── LaunchError                      1   a launch failed or faulted, on the GPU or on the emulator
    │   ├── LaunchTimeoutError           1   a launch took longer than --launch-timeout
    │   ├── ChildLostError               1   the process that holds the device died
    │   ├── DeviceMemoryError            1   out of device memory: asked for, free
    │   ├── LaunchLimitError             1   a launch that the hardware refuses: more of something than a block has
    │   └── EmulationError               1   the emulator stopped the kernel; carries where
    │       ├── UnknownInstructionError  1
    │       ├── MemoryFaultError         1   out of bounds, misaligned, or an address that no buffer owns
    │       ├── BarrierDeadlockError     1
    │       ├── BarrierRuleError         1   a __syncthreads() that some threads go round, or two at once
    │       ├── InstructionLimitError    1
    │       └── DeviceAssertError        1   assert() in the kernel, or a trap
    ├── ModelError                       1   a time that cannot be modelled, with the reason
    ├── ProfilerError                    1   ncu ran and failed
    │   └── ProfilerUnavailableError     1   ncu cannot work on this machine, or as asked
    └── StoreError                       1   the history or a result file cannot be read
"""

from __future__ import annotations

from dataclasses import dataclass


class GpuprofError(Exception):
    """The root; ``exit_code`` is the process's exit code when the error ends a command."""

    exit_code = 1


class UsageError(GpuprofError):
    """The command line is wrong."""

    exit_code = 2


class UnreadableFileError(GpuprofError):
    """A file that the user named is missing, not a regular file, or larger than is sensible."""

    exit_code = 2


@dataclass(frozen=True)
class ConfigProblem:
    """One mistake in a YAML file: where it is, and a sentence that says what was expected."""

    file: str
    line: int | None
    key: str
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else f"{place}: {self.message}"


class ConfigError(UsageError):
    """The YAML is wrong; holds all the mistakes of the file at once."""

    #: So many mistakes are printed at most.
    MAX_SHOWN = 100

    def __init__(self, problems: tuple[ConfigProblem, ...]) -> None:
        self.problems = problems
        lines = [str(problem) for problem in problems[: self.MAX_SHOWN]]
        if len(problems) > self.MAX_SHOWN:
            lines.append(f"... and {len(problems) - self.MAX_SHOWN:,} more mistakes")
        super().__init__("\n".join(lines))


class ArgumentMismatchError(UsageError):
    """The YAML's ``args`` and the kernel's parameters do not agree."""


class ExpressionError(GpuprofError):
    """An expression of the YAML is not allowed, or cannot be evaluated."""

    exit_code = 2


class ShapeError(ExpressionError):
    """Shapes that do not fit: wrong whatever the arrays hold."""


class BudgetError(ExpressionError):
    """The expressions of a file compute more than is allowed while it is checked."""


class MissingToolError(GpuprofError):
    """A program is needed and was not found; the message names the command that supplies it."""

    exit_code = 3


class MissingDeviceError(GpuprofError):
    """A GPU (or pycuda) is needed and is not there; the message names the repair."""

    exit_code = 3


class BuildError(GpuprofError):
    """nvcc refused a source; ``str()`` is one line, ``log`` the whole output."""

    def __init__(self, message: str, log: str = "") -> None:
        self.log = log
        super().__init__(message)


class MissingLibraryError(BuildError):
    """A library that a host function links with is not on this machine."""


class DisassemblyError(GpuprofError):
    """Machine code that nvdisasm or the parser cannot read."""


class KernelNotFoundError(GpuprofError):
    """No kernel of that name; the message lists what there is, nearest first."""

    exit_code = 2


class LaunchError(GpuprofError):
    """A launch failed or faulted."""


class LaunchTimeoutError(LaunchError):
    """A launch did not end within --launch-timeout."""


class LaunchLimitError(LaunchError):
    """A launch that the hardware refuses; the message gives the limit and the value."""


class ChildLostError(LaunchError):
    """The child died before it answered; the message says how."""


class DeviceMemoryError(LaunchError):
    """Device memory ran out; the message says how much was asked for and free."""


@dataclass(frozen=True)
class CodeLocation:
    """Where in a kernel something happened. ``block`` and ``thread`` are (x, y, z) or None."""

    kernel: str
    address: int
    instruction: str = ""
    file: str = ""
    line: int | None = None
    block: tuple[int, int, int] | None = None
    thread: tuple[int, int, int] | None = None

    def __str__(self) -> str:
        text = f"{self.kernel} at 0x{self.address:04x}"
        if self.instruction:
            text += f" ({self.instruction})"
        if self.line is not None:
            text += f", {self.file}:{self.line}"
        if self.block is not None:
            text += f", block ({self.block[0]}, {self.block[1]}, {self.block[2]})"
        if self.thread is not None:
            text += f", thread ({self.thread[0]}, {self.thread[1]}, {self.thread[2]})"
        return text


class EmulationError(LaunchError):
    """The emulator stopped the kernel; ``location`` says where, when it is known."""

    def __init__(self, message: str, location: CodeLocation | None = None) -> None:
        self.location = location
        super().__init__(message if location is None else f"{message}: {location}")


class UnknownInstructionError(EmulationError):
    """An instruction that the emulator does not know: never a guess."""


class MemoryFaultError(EmulationError):
    """An access out of bounds, misaligned, or to an address that no buffer owns."""


class BarrierDeadlockError(EmulationError):
    """A barrier that part of a block can never reach."""


class BarrierRuleError(EmulationError):
    """A barrier that threads of a block reach at different instructions, or that some of them go round."""


class InstructionLimitError(EmulationError):
    """A warp executed more instructions than --emulate-limit."""


class DeviceAssertError(EmulationError):
    """assert() failed in the kernel, or it trapped."""


class ModelError(GpuprofError):
    """The time of a kernel cannot be modelled: an instruction, or a form of work, that the model does not have."""


class ProfilerError(GpuprofError):
    """ncu ran and failed, or its output cannot be read."""


class ProfilerUnavailableError(ProfilerError):
    """ncu cannot work on this machine or as asked, whatever it is started around: to try again is in vain."""


class StoreError(GpuprofError):
    """The history database or a result file cannot be read or written."""
