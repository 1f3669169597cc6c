"""What is read from a build without running it: machine-code facts and occupancy, kept by cubin content."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gpuprof.errors import GpuprofError
from gpuprof.results.model import OccupancyFacts, SassFacts

if TYPE_CHECKING:
    from gpuprof.experiment.model import KernelStep
    from gpuprof.toolchain.cache import Cache
    from gpuprof.toolchain.model import Build
    from gpuprof.toolchain.tools import Toolchain

#: Change it when ``SassFacts`` or what fills it changes: older entries are then made anew.
FACTS_FORMAT = 2
_CACHE_KIND = "facts"


@dataclass(frozen=True)
class CodeFacts:
    """``code_sha256`` is of the kernel's machine code alone: builds that agree in it run the same instructions."""

    code_sha256: str
    sass: SassFacts | None
    why_no_sass: str = ""


def code_facts(tools: Toolchain, cache: Cache, build: Build) -> CodeFacts:
    """The facts of a build's kernel, from the cache or from nvdisasm. Never raises for unreadable code: it says why."""
    key = hashlib.sha256(f"{FACTS_FORMAT}|{build.cubin_sha256}|{build.symbol}".encode()).hexdigest()
    stored = cache.load(_CACHE_KIND, key)
    if stored is not None:
        return _decode(stored)
    facts = _analyse(tools, cache, build)
    if facts.sass is not None:
        cache.store(_CACHE_KIND, key, json.dumps(asdict(facts)).encode())
    return facts


def _analyse(tools: Toolchain, cache: Cache, build: Build) -> CodeFacts:
    from gpuprof.sass.facts import sass_facts
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.toolchain.disasm import disassemble_text
    from gpuprof.toolchain.elf import read_cubin

    digest = ""
    try:
        digest = hashlib.sha256(read_cubin(build.cubin).code(build.symbol)).hexdigest()
        function = parse_disassembly(disassemble_text(tools, build.cubin, cache)).functions.get(build.symbol)
        if function is None:
            return CodeFacts(digest, None, f"nvdisasm prints no code for {build.demangled}")
        return CodeFacts(digest, sass_facts(function))
    except GpuprofError as error:
        return CodeFacts(digest, None, str(error))


def _decode(stored: bytes) -> CodeFacts:
    data = json.loads(stored)
    sass = data["sass"]
    return CodeFacts(data["code_sha256"], SassFacts(**{**sass, "loops": tuple(sass["loops"])}), data["why_no_sass"])


def occupancy_facts(build: Build, step: KernelStep) -> OccupancyFacts:
    """Occupancy of a launch on the build's architecture; raises GpuprofError when the arch is not known."""
    from gpuprof import arch
    from gpuprof.arch.occupancy import occupancy

    x, y, z = step.block
    resources = build.resources
    found = occupancy(
        arch.get(build.request.arch),
        threads=x * y * z,
        registers=resources.registers,
        static_shared=resources.static_shared_bytes,
        dynamic_shared=step.shared_bytes,
    )
    return OccupancyFacts(
        blocks_per_sm=found.blocks_per_sm,
        warps_per_sm=found.warps_per_sm,
        max_warps_per_sm=found.max_warps_per_sm,
        percent=found.percent,
        limiter=found.limiter,
    )
