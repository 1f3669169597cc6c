"""What goes wrong under ncu, in a sentence with its repair. The texts are those that ncu prints, 2020 to 2025."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpuprof.errors import ProfilerError, ProfilerUnavailableError

EMULATOR_HINT = "the emulator's counters need none of this: `gpuprof counters` without --ncu"


@dataclass(frozen=True)
class KnownFailure:
    """A pattern in ncu's messages, and what to say about it. ``machine``: it is not the profiled program's fault."""

    pattern: re.Pattern[str]
    message: str
    machine: bool = True


def _known(pattern: str, message: str, *, machine: bool = True) -> KnownFailure:
    return KnownFailure(re.compile(pattern, re.IGNORECASE), message, machine)


#: The first that matches speaks: causes are before their consequences.
KNOWN: Sequence[KnownFailure] = (
    _known(
        "ERR_NVGPUCTRPERM",
        "no permission for the GPU's counters (ERR_NVGPUCTRPERM): run as root, or give a container the capability "
        "SYS_ADMIN (docker run --cap-add=SYS_ADMIN), or let the administrator load the driver with "
        f"'options nvidia NVreg_RestrictProfilingToAdminUsers=0' (/etc/modprobe.d) and reboot; {EMULATOR_HINT}",
    ),
    _known(
        r"Windows Subsystem for Linux|\bWSL\b",
        "this driver does not profile under WSL: WSL 2 on Windows 11 with a driver from 525 on is needed; "
        + EMULATOR_HINT,
    ),
    _known(
        r"Profiling is not supported on (?:device|this)",
        "this ncu does not know this GPU (ncu --list-chips names those that it does): install the Nsight Compute that "
        f"came out with the GPU or later; {EMULATOR_HINT}",
    ),
    _known(
        r"driver is not compatible|LibraryNotLoaded|Failed to load Nsight Compute CUDA modules|insufficient driver",
        "this ncu does not fit the installed driver: install the Nsight Compute of the driver's CUDA version (or an "
        f"older one), or a newer driver; {EMULATOR_HINT}",
    ),
    _known(
        r"stub libcuda|failed to connect to the CUDA driver",
        "ncu found a stub of libcuda instead of the driver's: take .../stubs out of LD_LIBRARY_PATH",
    ),
    _known(
        r"driver resource was unavailable|no other tool \(like DCGM\)|ProfilingPermissionDenied.*in use",
        "the GPU's counters are in use by another tool (DCGM, another ncu): stop it (dcgmi profile --pause)",
    ),
    _known(
        r"out of memory|OutOfMemory|failed to (?:save|back ?up|restore)|insufficient (?:device|system|host) memory",
        "no memory was left to save the buffers between ncu's passes: fewer metrics need fewer passes (--ncu basic), "
        "or take smaller sizes",
        machine=False,
    ),
    _known(
        r"Multi-Instance GPU|\bMIG\b.*not supported",
        "this metric cannot be collected on a MIG slice: ask for another metric, or profile on the whole GPU",
    ),
)

_MESSAGE = re.compile(r"==(ERROR|WARNING)==\s*(.*)")
_RETURNED = re.compile(r"application returned an error code \((-?\d+)\)")
_TERMINATED = re.compile(r"Target process \d+ terminated before first instrumented API call")
_SECTION = re.compile(r"Option '--section ([^']*)' did not match any section")
#: Words of ncu's warnings about names that it, or the chip, does not have.
_UNKNOWN_METRICS = re.compile(
    r"(?:Failed to (?:find|access)|could not be (?:found|queried)|not (?:found|available|supported)|unknown)",
    re.IGNORECASE,
)


def messages(output: str, kind: str = "ERROR") -> list[str]:
    """The texts of ncu's own messages of that kind, without program output and repeated ones."""
    found = [match[2].strip() for line in output.splitlines() if (match := _MESSAGE.match(line)) and match[1] == kind]
    return list(dict.fromkeys(text for text in found if text))


def failure(output: str, returncode: int, program_output: str = "") -> ProfilerError:
    """``explain`` as the error to raise."""
    known = next((known for known in KNOWN if known.pattern.search(output)), None)
    kind = ProfilerUnavailableError if known is not None and known.machine else ProfilerError
    return kind(explain(output, returncode, program_output))


def explain(output: str, returncode: int, program_output: str = "") -> str:
    """One sentence on why ncu yielded nothing, with the repair where it is known."""
    for failure in KNOWN:
        if failure.pattern.search(output):
            return failure.message
    section = _SECTION.search(output)
    if section:
        return f"this ncu has no section {section[1]!r}: ncu --list-sections names them"
    returned = _RETURNED.search(output)
    if returned:
        last = _last_line(program_output)
        return f"the kernel's process failed under ncu with code {returned[1]}" + (f": {last}" if last else "")
    if "No kernels were profiled" in output or _TERMINATED.search(output):
        return "ncu saw no launch of the kernel: it was not reached, or its name did not match"
    errors = messages(output)
    if errors:
        return f"ncu failed: {'; '.join(errors[:3])}"
    if returncode < 0:
        return f"ncu was ended by signal {-returncode}"
    return f"ncu ended with code {returncode} and printed no table" + _quoted(_last_line(output))


def _quoted(text: str) -> str:
    return f": {text}" if text else ""


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("==")]
    return lines[-1][:300] if lines else ""


def unknown_metrics(output: str, asked: Iterable[str]) -> tuple[str, ...]:
    """The asked names that ncu's errors name, or its warnings call unknown to it or to the chip.

    ncu writes a name as it was given, or as the pattern ``regex:^NAME\\.(sum|min|max|avg|...)$``.
    """
    lines = messages(output) + [line for line in messages(output, "WARNING") if _UNKNOWN_METRICS.search(line)]
    text = "\n".join(lines).replace("\\", "")
    return tuple(name for name in asked if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", text))


def near_names(name: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """The nearest known metric names. ``known`` may hold names without their suffixes (``.sum``), as ncu lists them."""
    known = tuple(dict.fromkeys(known))
    stem, _, suffix = name.partition(".")
    found = difflib.get_close_matches(name, known, n=count, cutoff=0.7)
    if not found:
        found = difflib.get_close_matches(stem, known, n=count, cutoff=0.7)
    return tuple(f"{near}.{suffix}" if suffix and "." not in near and "__" in near else near for near in found)
