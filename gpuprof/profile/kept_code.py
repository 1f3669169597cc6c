"""What a run keeps of its kernels' code, so that a page shows it where neither sources nor cubins are any more."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from gpuprof.isa.listing import Listing
from gpuprof.results.model import Result, Run
from gpuprof.sass.model import is_toolkit_header

#: Instructions of all kernels of a run that are kept: some 100 bytes of JSON each.
MAX_INSTRUCTIONS = 40_000
#: A larger file than this is generated code.
MAX_SOURCE_BYTES = 1 << 18


def with_code_and_sources(run: Run, listings: Mapping[str, Listing]) -> Run:
    """The run with the code of its rows in their order, up to ``MAX_INSTRUCTIONS``, and the source files it names."""
    code: dict[str, Listing] = {}
    room = MAX_INSTRUCTIONS
    for digest in dict.fromkeys(digest for result in run.results for digest in code_of(result)):
        listing = listings.get(digest)
        if listing is not None and len(listing.instructions) <= room:
            code[digest] = listing
            room -= len(listing.instructions)
    files = dict.fromkeys(file for listing in code.values() for file in listing.files)
    sources = {file: text for file in files if not is_toolkit_header(file) and (text := _text(file))}
    return replace(run, code=code, sources=sources)


def code_of(result: Result) -> tuple[str, ...]:
    """The digests of the row's kernels, its main one first."""
    builds = (result.build, *(step.build for step in result.steps))
    return tuple(dict.fromkeys(build.code_sha256 for build in builds if build is not None and build.code_sha256))


def _text(file: str) -> str:
    with suppress(OSError):
        path = Path(file)
        if path.is_file() and path.stat().st_size <= MAX_SOURCE_BYTES:
            return path.read_text(encoding="utf-8", errors="replace")
    return ""
