"""From what the judges saw to findings: kind, sentence, example, and one finding per pair of lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.sanitizer.access_forms import ATOMIC, COPY, READ
from gpuprof.sanitizer.findings import Dim3, Example, Finding, Severity, Site, ThreadPlace
from gpuprof.sanitizer.repairs import KINDS, Kind

if TYPE_CHECKING:
    from gpuprof.emulator.loader import KernelImage
    from gpuprof.errors import EmulationError
    from gpuprof.sanitizer.races import Race, Touch
    from gpuprof.sanitizer.warp_masks import MaskFault
    from gpuprof.sass.model import Instruction


class Wording:
    """Findings of one launch."""

    def __init__(self, image: KernelImage, grid: Dim3, block: Dim3) -> None:
        self._instructions = image.program.instructions
        self._kernel = image.symbol
        self._reserved = image.reserved_shared_bytes
        self._grid = grid

    def race(self, race: Race) -> Finding:
        """Two accesses that nothing orders."""
        name = _race_kind(race)
        kind = KINDS[name]
        first, second = (self._site(touch.form.index, touch.form.verb) for touch in (race.first, race.second))
        both = first.instruction == second.instruction and first.address == second.address
        text = f"the {_told(first)} {'by two lanes ' if both else f'and the {_told(second)} '}{kind.says}"
        address = race.second.address
        example = Example(
            race.space,
            address + GLOBAL_BASE if race.space == "global" else address - self._reserved,
            (self._thread(race.first), self._thread(race.second)),
        )
        return self._finding(name, text, (first, second), race.count, example)

    def mask(self, fault: MaskFault) -> Finding:
        """A collective whose mask and callers do not agree."""
        lanes = [lane for lane in range(32) if fault.lanes >> lane & 1]
        site = self._site(fault.index, "warp collective")
        says = KINDS[fault.kind].says.format(lane=fault.lane, lanes=ranges(lanes))
        place = ThreadPlace(self._block(fault.block), fault.warp, fault.lane)
        return self._finding(fault.kind, f"the {_told(site)} {says}", (site,), 1, Example("", None, (place,)))

    def unset_read(self, index: int, place: tuple[int, int, int]) -> Finding:
        """A load of memory that nobody set, whose value matters."""
        site = self._site(index, READ)
        space = {"LDS": "shared", "LDSM": "shared", "ATOMS": "shared", "LDL": "local", "LDG": "global"}.get(
            self._instructions[index].opcode, ""
        )
        says = KINDS["uninitialised read"].says.format(space=space).replace("  ", " ")
        example = Example(space, None, (ThreadPlace(self._block(place[0]), place[1], place[2]),))
        return self._finding("uninitialised read", f"the {_told(site)} {says}", (site,), 1, example)

    def unset_variable(self, index: int, place: tuple[int, int, int], offset: int) -> Finding:
        """A store of a value that depends on a register that was never set."""
        site = self._site(index, "write")
        example = Example("global", offset + GLOBAL_BASE, (ThreadPlace(self._block(place[0]), place[1], place[2]),))
        return self._finding("unset variable", f"the {_told(site)} {KINDS['unset variable'].says}", (site,), 1, example)

    def order(
        self, store: tuple[int, int, int, int] | None, offset: int, count: int, seed: int, *, rounding: bool
    ) -> Finding:
        """A word that another order of warps and blocks changed."""
        name = "rounding" if rounding else "order"
        sites = () if store is None else (self._site(store[0], "write"),)
        head = f"the {_told(sites[0])}" if sites else "the kernel"
        text = f"{head} {KINDS[name].says} (seed {seed})"
        return self._finding(name, text, sites, count, Example("global", offset + GLOBAL_BASE))

    def fault(self, name: str, error: EmulationError) -> Finding:
        """What ended the launch."""
        location = error.location
        text = str(error)
        if location is None:
            return self._finding(name, text, (), 1, None)
        text = text.removesuffix(f": {location}")
        number = next(
            (n for n, instruction in enumerate(self._instructions) if instruction.address == location.address), None
        )
        source = None if number is None else self._instructions[number].source
        site = Site("barrier" if "barrier" in name else "access", location.instruction, location.address, source)
        example = None
        if location.block is not None and location.thread is not None:
            example = Example("", None, (ThreadPlace(location.block, -1, location.thread[0]),))
        return self._finding(name, text, (site,), 1, example)

    def _finding(self, name: str, text: str, sites: tuple[Site, ...], count: int, example: Example | None) -> Finding:
        kind: Kind = KINDS[name]
        return Finding(kind.tool, kind.severity, name, text, sites, count, example, kind.repair, self._kernel)

    def _site(self, index: int, verb: str) -> Site:
        instruction: Instruction = self._instructions[index]
        return Site(verb, instruction.text, instruction.address, instruction.source)

    def _thread(self, touch: Touch) -> ThreadPlace:
        return ThreadPlace(self._block(touch.block), touch.thread // 32, touch.thread % 32, touch.value)

    def _block(self, number: int) -> Dim3:
        x, y, _ = self._grid
        return number % x, number // x % y, number // (x * y)


def _race_kind(race: Race) -> str:
    first, second = race.first, race.second
    verbs = {first.form.verb, second.form.verb}
    if race.all_equal:
        return "equal values"
    if COPY in verbs:
        return "asynchronous copy"
    if first.block != second.block:
        return "race between blocks"
    if ATOMIC in verbs and verbs != {ATOMIC}:
        return "atomic and plain access"
    if first.form is second.form and first.thread // 32 == second.thread // 32 and READ not in verbs:
        return "one element, different values"
    return "race within a warp" if first.thread // 32 == second.thread // 32 else "race between warps"


def _told(site: Site) -> str:
    """``write at f.cu:12``."""
    if site.written is None:
        return f"{site.verb} at 0x{site.address:04x} ({site.instruction})"
    return f"{site.verb} at {site.written.file.rsplit('/', 1)[-1]}:{site.written.line}"


def ranges(numbers: list[int]) -> str:
    """``0-3, 7`` for [0, 1, 2, 3, 7]."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def grouped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per kind and pair of source lines (through inlining), worst first, then by line."""
    groups: dict[object, Finding] = {}
    findings = tuple(findings)
    wide = {(finding.kernel, finding.lines) for finding in findings if finding.kind == "race between warps"}
    for finding in findings:
        if finding.kind == "race within a warp" and (finding.kernel, finding.lines) in wide:
            continue  # the same missing barrier
        places = frozenset((site.source or site.address, site.verb) for site in finding.sites)
        key = (finding.kind, finding.kernel, places)
        known = groups.get(key)
        groups[key] = finding if known is None else replace(known, count=known.count + finding.count)
    return tuple(sorted(groups.values(), key=lambda each: (-each.severity.rank, each.lines, each.kind)))


__all__ = ["Severity", "Wording", "grouped", "ranges"]
