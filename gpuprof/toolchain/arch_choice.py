"""What people type for an architecture, as nvcc's name."""

from __future__ import annotations

import re

from gpuprof.errors import UsageError

DEFAULT_ARCH = "sm_89"
_FORM = re.compile(r"(?:sm|compute|arch)?[_-]?(\d{1,2})\.(\d)([af]?)|(?:sm|compute|arch)?[_-]?(\d{1,3})([af]?)", re.I)


def parse_arch(text: str) -> str:
    """``sm_89`` for ``sm_89``, ``compute_89``, ``8.9``, ``89``; ``sm_120a`` for ``12.0a``; ``native`` asks the GPU.

    Raises UsageError for a text that is none, MissingDeviceError for ``native`` without a GPU. Whether nvcc knows the
    architecture is for nvcc to say.
    """
    cleaned = text.strip()
    if cleaned.lower() == "native":
        return native_arch()
    match = _FORM.fullmatch(cleaned)
    if match is None:
        raise UsageError(f"arch '{text}' is no architecture: write it like sm_89, 8.9, 89, sm_120a or native")
    major, minor, suffix, number, other = match.groups()
    digits = f"{major}{minor}" if major else number
    if len(digits) < 2:
        raise UsageError(
            f"arch '{text}' is cut short: the number is major and minor together, as in sm_{digits}0 or {digits}.0"
        )
    return f"sm_{digits}{(suffix or other or '').lower()}"


def native_arch() -> str:
    """The architecture of the first GPU; raises MissingDeviceError without one."""
    from gpuprof.errors import MissingDeviceError
    from gpuprof.toolchain.gpus import find_gpus

    gpus = find_gpus()
    if not gpus.gpus:
        raise MissingDeviceError(
            f"arch 'native' needs a GPU, and there is none ({gpus.why_none}); name one, as in --arch {DEFAULT_ARCH}"
        )
    return f"sm_{gpus.gpus[0].compute_capability.replace('.', '')}"
