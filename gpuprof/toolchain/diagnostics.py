"""nvcc's page of output as one sentence: known failures by their cause and repair, others by their first error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

_EDG = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): (?:catastrophic |internal )?error(?: #[\w-]+)?: (?P<text>.*)$", re.M
)
_GCC = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)$", re.M)
_PTXAS = re.compile(r"^ptxas (?:error|fatal)\s*: (?P<text>.*)$", re.M)
_NVCC = re.compile(r"^nvcc (?:error|fatal)\s*: (?P<text>.*)$", re.M)
_TEXT_LIMIT = 300


@dataclass(frozen=True)
class Failure:
    """What is known when nvcc has failed."""

    log: str
    source: Path
    arch: str
    instances: tuple[str, ...]
    folders: Sequence[Path]  #: searched for quoted includes
    known_archs: Callable[[], Sequence[str]]  #: asks nvcc; called only when the arch is the trouble


def explain(failure: Failure) -> str:
    """One sentence (or two) without a newline at its end."""
    for rule in _RULES:
        message = rule(failure)
        if message:
            return message
    return first_error(failure) or _last_line(failure.log)


def first_error(failure: Failure) -> str:
    """``file:line: message`` of the first error, or an empty text."""
    matches = [match for pattern in (_EDG, _GCC) for match in pattern.finditer(failure.log)]
    if matches:
        match = min(matches, key=lambda each: each.start())
        return f"{match['file']}:{match['line']}: {match['text'][:_TEXT_LIMIT]}"
    for pattern in (_PTXAS, _NVCC):
        other = pattern.search(failure.log)
        if other:
            return f"{other.group(0).split(' ', 1)[0]}: {other['text'][:_TEXT_LIMIT]}"
    return ""


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.strip()]
    return f"nvcc failed: {lines[-1][:_TEXT_LIMIT]}" if lines else "nvcc failed without a word"


_RULES: tuple[Callable[[Failure], str], ...] = ()
