"""User input for an architecture, as nvcc's name."""

from __future__ import annotations

import re

from gpuprof.errors import UsageError

#: Built for where neither the user, the YAML nor a GPU says anything else.
DEFAULT_ARCH = "sm_89"
#: The word for the GPU of the run; ``device.choice.resolve_arch`` makes an architecture of it.
NATIVE = "native"
_FORM = re.compile(r"(?:sm|compute|arch)?[_-]?(\d{1,2})\.(\d)([af]?)|(?:sm|compute|arch)?[_-]?(\d{1,3})([af]?)", re.I)


def parse_arch(text: str) -> str:
    """``sm_89`` for ``sm_89``, ``compute_89``, ``8.9``, ``89``; ``sm_120a`` for ``12.0a``; ``native`` stays.

    Raises UsageError for a text that is none. Whether nvcc knows the architecture is for nvcc to say.
    """
    cleaned = text.strip()
    if cleaned.lower() == NATIVE:
        return NATIVE
    match = _FORM.fullmatch(cleaned)
    if match is None:
        raise UsageError(f"arch '{text}' is not an architecture: write it like sm_89, 8.9, 89, sm_120a or native")
    major, minor, suffix, number, other = match.groups()
    digits = f"{major}{minor}" if major else number
    if len(digits) < 2:
        raise UsageError(
            f"arch '{text}' is cut short: the number is major and minor together, as in sm_{digits}0 or {digits}.0"
        )
    return f"sm_{digits}{(suffix or other or '').lower()}"
