"""What is read from a build without running it: machine-code facts and occupancy, kept by cubin content."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuprof.errors import GpuprofError
from gpuprof.isa.listing import FindingFacts, Listing
from gpuprof.results.model import OccupancyFacts, SassFacts

if TYPE_CHECKING:
    from gpuprof.experiment.model import KernelStep
    from gpuprof.sass.analysis import Analysis
    from gpuprof.sass.findings import Finding
    from gpuprof.sass.model import Disassembly, Function
    from gpuprof.toolchain.cache import Cache
    from gpuprof.toolchain.elf import CubinFacts
    from gpuprof.toolchain.model import Build, Resources
    from gpuprof.toolchain.tools import Toolchain

#: Change it when ``SassFacts`` or what fills it changes: older entries are then made anew.
FACTS_FORMAT = 9
_CACHE_KIND = "facts"


@dataclass(frozen=True)
class CodeFacts:
    """``code_sha256`` is of the kernel's machine code alone: builds that agree in it run the same instructions."""

    code_sha256: str
    sass: SassFacts | None
    why_no_sass: str = ""
    listing: Listing | None = None
    zero_constants: tuple[str, ...] = ()  #: ``__constant__`` variables that it reads and whose first value is 0


@dataclass(frozen=True)
class CodePlace:
    """A kernel in a cubin."""

    cubin: Path
    cubin_sha256: str
    symbol: str
    demangled: str
    block: tuple[int, int, int] | None = None  #: of the launch: what lane addresses follow from

    @property
    def key(self) -> str:
        """Under which the cache keeps its facts."""
        return hashlib.sha256(f"{FACTS_FORMAT}|{self.cubin_sha256}|{self.symbol}|{self.block}".encode()).hexdigest()


def place_of(build: Build, block: tuple[int, int, int] | None = None) -> CodePlace:
    """Where a build's kernel is, and the block that it is launched with."""
    return CodePlace(build.cubin, build.cubin_sha256, build.symbol, build.demangled, block)


def kept_facts(cache: Cache, place: CodePlace) -> CodeFacts | None:
    """The facts that an earlier run left in the cache."""
    stored = cache.load(_CACHE_KIND, place.key)
    return None if stored is None else _decode(stored)


def read_facts(tools: Toolchain, cache: Cache, places: Sequence[CodePlace]) -> tuple[CodeFacts, ...]:
    """The facts of kernels in one cubin, by nvdisasm and analysis; the cache keeps them.

    Code that cannot be read is not an error: its facts say why.
    """
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.toolchain.disasm import disassemble_text
    from gpuprof.toolchain.elf import read_cubin

    try:
        cubin = read_cubin(places[0].cubin)
        digests = [hashlib.sha256(cubin.code(place.symbol)).hexdigest() for place in places]
    except GpuprofError as error:
        return tuple(CodeFacts("", None, str(error)) for _ in places)
    try:
        code = parse_disassembly(disassemble_text(tools, places[0].cubin, cache))
    except Exception as error:  # a fault in the parser must not cost the measurement
        return tuple(CodeFacts(digest, None, _why(error)) for digest in digests)
    facts = [_analyse(place, digest, code, cubin) for place, digest in zip(places, digests, strict=True)]
    for place, found in zip(places, facts, strict=True):
        if found.sass is not None:
            cache.store(_CACHE_KIND, place.key, json.dumps(asdict(found)).encode())
    return tuple(facts)


def _analyse(place: CodePlace, digest: str, code: Disassembly, cubin: CubinFacts) -> CodeFacts:
    function = code.functions.get(place.symbol)
    if function is None:
        return CodeFacts(digest, None, f"nvdisasm prints no code for {place.demangled}")
    from gpuprof.sass.code_listing import listing_of

    try:
        analysis = _analysed(function, code.arch, cubin.kernels.get(place.symbol), place.block)
        listing = listing_of(analysis, place.demangled)
        return CodeFacts(digest, facts_of(analysis), listing=listing, zero_constants=zero_constants(function, cubin))
    except Exception as error:  # nor one in the analysis
        return CodeFacts(digest, None, _why(error))


_CONSTANT_READ = re.compile(r"c\[0x3\]\[(?:U?R\d+(?:\.\w+)?\+?)?(0x[0-9a-f]+)?\]")


def zero_constants(function: Function, cubin: CubinFacts) -> tuple[str, ...]:
    """The ``__constant__`` variables that code reads and that are all zero in the cubin, by name.

    An operand ``c[0x3][R5+0x20]`` is taken for a read of the variable at 0x20, where its array begins; of
    ``c[0x3][R5]`` nothing is known unless there is but one variable.
    """
    from gpuprof.toolchain.device_variables import CONSTANT_SECTION, variables_of

    constants = [each for each in variables_of(cubin) if each.is_constant]
    zero = {each.symbol: each.name for each in constants if each.is_zero}
    texts = [text for each in function.body for text in _CONSTANT_READ.findall(each.text)]
    reads = {int(text or "0", 0) for text in texts if text or len(constants) == 1}
    places = {each.name: each for each in cubin.symbols if each.section == CONSTANT_SECTION}
    return tuple(
        name
        for symbol, name in zero.items()
        if any(places[symbol].value <= read < places[symbol].value + places[symbol].size for read in reads)
    )


def sass_facts(
    function: Function, arch: str, resources: Resources | None, block: tuple[int, int, int] | None = None
) -> SassFacts:
    """Counted facts of a kernel, with the names of parameters that ``gpuprof sass`` gives it."""
    return facts_of(_analysed(function, arch, resources, block))


def _analysed(
    function: Function, arch: str, resources: Resources | None, block: tuple[int, int, int] | None
) -> Analysis:
    from gpuprof.sass.analysis import analyse

    parameters = resources.parameters if resources is not None else ()
    return analyse(function, arch, parameters=[(each.offset, each.size) for each in parameters], block=block)


def facts_of(analysis: Analysis) -> SassFacts:
    """The facts of an analysis; the FFMA figures are of the hot loop, or of the whole body when there is no loop."""
    from gpuprof.sass.as_json import loop_data
    from gpuprof.sass.opcodes import LOADS
    from gpuprof.sass.stream import longest_run

    hot, body = analysis.hot_loop, analysis.function.body
    ffma = hot.mix.get("FFMA", 0) if hot is not None else analysis.mix.get("FFMA", 0)
    total = hot.instructions if hot is not None else analysis.instructions
    shared = hot.shared_loads if hot is not None else sum(LOADS.get(each.opcode) == "shared" for each in body)
    return SassFacts(
        instructions=analysis.instructions,
        mix=dict(analysis.mix),
        ffma_longest_run=longest_run(body, "FFMA"),
        predicated=analysis.predication.predicated,
        ffma_share_hot_loop=round(ffma / total, 4) if hot is not None and total else None,
        shared_loads_per_ffma=round(shared / ffma, 4) if ffma else None,
        loops=tuple(loop_data(loop) for loop in analysis.loops),
        finding=finding_line(analysis.findings[0]) if analysis.findings else "",
    )


def finding_line(finding: Finding) -> str:
    """A finding in one line: the sentence, what a repair could save, and the repair."""
    saving = f" ({finding.saving.text})" if finding.saving is not None else ""
    return f"{finding.sentence.rstrip('.')}{saving}: {finding.fix}"


def _why(error: Exception) -> str:
    if isinstance(error, GpuprofError):
        return str(error)
    return f"the analysis of the machine code failed: {type(error).__name__}: {error}"


def _decode(stored: bytes) -> CodeFacts:
    data = json.loads(stored)
    sass = data["sass"]
    return CodeFacts(
        data["code_sha256"],
        SassFacts(**{**sass, "loops": tuple(sass["loops"])}),
        data["why_no_sass"],
        _listing(data["listing"]),
        tuple(data["zero_constants"]),
    )


def _listing(data: Mapping[str, Any] | None) -> Listing | None:
    """What ``asdict`` made of it and JSON kept."""
    if data is None:
        return None
    return Listing(
        **{
            **data,
            "instructions": tuple(data["instructions"]),
            "files": tuple(data["files"]),
            "loops": tuple(tuple(loop) for loop in data["loops"]),
            "findings": tuple(FindingFacts(**finding) for finding in data["findings"]),
        }
    )


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
