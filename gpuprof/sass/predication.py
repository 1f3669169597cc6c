"""What is under predicates and on what they depend; branches; selects that are where a branch could.

A predicate's origins are its backward slice. A branch is uniform by construction when its predicate cannot differ
between the lanes of a warp: a uniform predicate, or one made of block indices, parameters and constants only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gpuprof.isa.opcodes import Computes, Control, names_where
from gpuprof.sass.backward_slice import Origins, Tracer
from gpuprof.sass.cfg import Graph, is_jump, target_address
from gpuprof.sass.dataflow import Dataflow
from gpuprof.sass.library_code import LibraryCode
from gpuprof.sass.loops import own_line
from gpuprof.sass.model import Instruction, Operand, OperandKind, SourceLine
from gpuprof.sass.opcodes import LOADS, STORES, guarded, is_conditional_branch

_FLAG_FILE = {OperandKind.PREDICATE: "P", OperandKind.UNIFORM_PREDICATE: "UP"}
_SELECTS = names_where(lambda row: row.computes in (Computes.SELECT, Computes.MIN_MAX))
_ENDS = names_where(lambda row: row.control in (Control.EXIT, Control.RETURN))


@dataclass(frozen=True)
class Guarded:
    """Instructions under one value of one predicate. A filler (``@!PT``) does nothing at all."""

    predicate: str  #: as printed: ``!P0``
    defined_at: int | None  #: address of the compare that sets it, when there is one
    definition: str  #: its text
    source: SourceLine | None
    addresses: tuple[int, ...]
    mix: Mapping[str, int]
    origins: Origins
    replaces_branch: bool  #: no branch reads this value of the predicate: the `if` exists as predication alone
    library: str = ""  #: the library sequence that it belongs to, "" for the source's own

    @property
    def memory(self) -> Mapping[str, int]:
        """Its loads and stores by opcode."""
        return {name: count for name, count in self.mix.items() if name in LOADS or name in STORES}


@dataclass(frozen=True)
class Branch:
    """A conditional branch or exit."""

    address: int
    text: str
    target: int | None  #: address, None for an exit
    backward: bool
    uniform: bool
    origins: Origins
    source: SourceLine | None
    loop: int | None  #: number of the innermost loop it is in


@dataclass(frozen=True)
class Predication:
    """Everything conditional in one function. Groups and branches are of its own code; subroutines are only counted."""

    predicated: int  #: instructions under a predicate, branches and exits not counted, subroutines included
    fillers: int  #: under a predicate that is never true
    groups: tuple[Guarded, ...]
    branches: tuple[Branch, ...]
    selects: Mapping[str, int]
    in_subroutines: int = 0  #: conditional instructions of local subroutines

    @property
    def became_predication(self) -> tuple[Guarded, ...]:
        """Source conditions with no branch of their own, memory accesses first."""
        own = [group for group in self.groups if group.source is not None and not group.library]
        found = [group for group in own if group.replaces_branch]
        return tuple(sorted(found, key=lambda group: (not group.memory, -len(group.addresses))))


def predication_of(graph: Graph, flow: Dataflow, tracer: Tracer, library: LibraryCode) -> Predication:
    """The predication and branches of a function, padding left out."""
    code = graph.function.body
    guards = [
        (index, instruction)
        for index, instruction in enumerate(code)
        if guarded(instruction) and not _leaves(instruction)
    ]
    fillers = sum(_never(one.predicate) for _, one in guards)
    own = [(index, guard) for index, guard in guards if not _in_subroutine(graph, index)]
    return Predication(
        predicated=len(guards),
        fillers=fillers,
        groups=_groups(graph, flow, tracer, [(i, one) for i, one in own if not _never(one.predicate)], library),
        branches=_branches(graph, flow, tracer),
        selects=dict(
            Counter(instruction.opcode for instruction in code if instruction.opcode in _SELECTS).most_common()
        ),
        in_subroutines=len(guards) - len(own),
    )


def _in_subroutine(graph: Graph, index: int) -> bool:
    return graph.block_of[index] in graph.subroutine_of


def _leaves(instruction: Instruction) -> bool:
    """A branch or an exit."""
    return instruction.opcode in _ENDS or is_jump(instruction)


def _never(predicate: Operand | None) -> bool:
    return predicate is not None and predicate.is_zero and predicate.negate


def _groups(
    graph: Graph, flow: Dataflow, tracer: Tracer, guards: list[tuple[int, Instruction]], library: LibraryCode
) -> tuple[Guarded, ...]:
    by_value: dict[tuple[str, tuple[int, ...], str], list[int]] = {}
    for index, instruction in guards:
        flag = instruction.predicate
        assert flag is not None
        sites = flow.definitions(index, (_FLAG_FILE[flag.kind], flag.index)).sites
        by_value.setdefault((_flag_text(flag), tuple(sorted(sites)), library.of.get(index, "")), []).append(index)
    branched = _branched_values(graph, flow)
    return tuple(
        _group(graph, tracer, text, sites, indices, (text.lstrip("!"), sites) in branched, name)
        for (text, sites, name), indices in by_value.items()
    )


def _flag_text(flag: Operand) -> str:
    return ("!" if flag.negate else "") + flag.text.lstrip("!")


def _branched_values(graph: Graph, flow: Dataflow) -> set[tuple[str, tuple[int, ...]]]:
    """The predicate values that some branch or exit reads."""
    found = set()
    for index, instruction in enumerate(graph.function.body):
        if _leaves(instruction) and is_conditional_branch(instruction):
            for flag in _flags(instruction):
                sites = flow.definitions(index, (_FLAG_FILE[flag.kind], flag.index)).sites
                found.add((flag.text.lstrip("!"), tuple(sorted(sites))))
    return found


def _flags(branch: Instruction) -> list[Operand]:
    flags = [branch.predicate] if branch.predicate is not None else []
    flags += [operand for operand in branch.operands if operand.kind in _FLAG_FILE]
    return [flag for flag in flags if not flag.is_zero]


def _group(
    graph: Graph, tracer: Tracer, text: str, sites: tuple[int, ...], indices: list[int], branched: bool, library: str
) -> Guarded:
    code = graph.function.instructions
    first = code[sites[0]] if len(sites) == 1 else None
    register = ("UP" if "UP" in text else "P", int(text.lstrip("!UP")))
    source = first.source if first is not None else None
    return Guarded(
        predicate=text,
        defined_at=first.address if first is not None else None,
        definition=first.text if first is not None else f"{len(sites)} definitions",
        source=own_line(source) if source is not None else None,
        addresses=tuple(code[index].address for index in indices),
        mix=dict(Counter(code[index].opcode for index in indices).most_common()),
        origins=tracer.of_register(indices[0], register),
        replaces_branch=not branched,
        library=library,
    )


def _branches(graph: Graph, flow: Dataflow, tracer: Tracer) -> tuple[Branch, ...]:
    found = []
    for index, instruction in enumerate(graph.function.body):
        if not _leaves(instruction) or not is_conditional_branch(instruction) or _in_subroutine(graph, index):
            continue
        flags = _flags(instruction)
        origins = [tracer.of_register(index, (_FLAG_FILE[flag.kind], flag.index)) for flag in flags]
        by_construction = all(flag.kind is OperandKind.UNIFORM_PREDICATE for flag in flags) and bool(flags)
        target = target_address(instruction) if is_jump(instruction) else None
        loop = graph.loop_of(graph.block_of[index])
        found.append(
            Branch(
                address=instruction.address,
                text=instruction.text,
                target=target,
                backward=target is not None and target <= instruction.address,
                uniform=by_construction or (bool(origins) and not any(origin.lane_dependent for origin in origins)),
                origins=_merged(origins),
                source=own_line(instruction.source) if instruction.source is not None else None,
                loop=loop.number if loop is not None else None,
            )
        )
    return tuple(found)


def _merged(origins: list[Origins]) -> Origins:
    """The origins of several predicates together."""
    if len(origins) == 1:
        return origins[0]
    return Origins(
        thread=tuple(sorted({name for origin in origins for name in origin.thread})),
        block=tuple(sorted({name for origin in origins for name in origin.block})),
        parameters=tuple(sorted({name for origin in origins for name in origin.parameters})),
        loaded=tuple(sorted({name for origin in origins for name in origin.loaded})),
        exchanged=any(origin.exchanged for origin in origins),
        unknown=any(origin.unknown for origin in origins) or not origins,
    )
