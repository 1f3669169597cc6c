"""The emulator's folders: each knows the contract and those below, by types too; and parts of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import grimp
import networkx as nx
import numpy as np
import pytest

from gpuprof.emulator.control.batch import Batch
from gpuprof.emulator.counting.counters import Counters
from gpuprof.emulator.options import EmulationOptions
from gpuprof.emulator.state import parts
from gpuprof.emulator.state.launch import LaunchContext
from gpuprof.emulator.state.parts import Rule

#: From the bottom up; the modules beside the folders put them together.
ORDER = ("counting", "contract", "semantics", "state", "memory", "runtime", "control")


@pytest.fixture(scope="module")
def imports() -> nx.DiGraph:
    """Module -> module, imports for types and inside functions included."""
    graph = grimp.build_graph("gpuprof")
    arrows = nx.DiGraph()
    for module in graph.modules:
        arrows.add_edges_from((module, other) for other in graph.find_modules_directly_imported_by(module))
    return arrows


def test_the_emulators_folders_import_downwards(imports: nx.DiGraph) -> None:
    room = "gpuprof.emulator."
    found = {
        (importer.removeprefix(room).split(".")[0], imported.removeprefix(room).split(".")[0])
        for importer, imported in imports.edges
        if importer.startswith(room) and imported.startswith(room)
    }
    among = {(a, b) for a, b in found if a in ORDER and b in ORDER and a != b}
    assert among, "the graph holds the emulator"
    assert {(a, b) for a, b in among if ORDER.index(a) < ORDER.index(b)} == set()
    outside = {"engine", "launching", "loader", "program", "coverage"}
    assert {(a, b) for a, b in found if a in ORDER and b in outside} == set()


def test_no_circle_of_modules_anywhere(imports: nx.DiGraph) -> None:
    circles = [sorted(group) for group in nx.strongly_connected_components(imports) if len(group) > 1]
    assert circles == []


class _Nothing:
    """Stands where a batch only hands something on."""


def small_batch(blocks: int = 3, warps: int = 2) -> Batch:
    nothing: Any = _Nothing()
    launch = LaunchContext(
        kernel="k",
        program=nothing,
        arena=nothing,
        constants=nothing,
        runtime=nothing,
        grid=(blocks, 1, 1),
        block=(32 * warps, 1, 1),
        options=EmulationOptions(),
        dynamic_shared_bytes=0,
        shared_bytes=64,
        reserved_shared_bytes=0,
        local_bytes=64,
    )
    return Batch.of_blocks(launch, np.arange(blocks, dtype=np.int64), Counters.zeros(4))


def test_every_field_of_a_batch_says_how_it_passes_to_a_part() -> None:
    found = parts.rules(Batch)
    assert set(found) == set(vars(small_batch())), "a field that was set beside the declared ones"
    assert {name for name, rule in found.items() if rule is Rule.FILE} == {
        "registers",
        "uniforms",
        "predicates",
        "uniform_predicates",
        "barriers",
        "restored",
        "returns",
    }


def test_a_field_without_a_rule_is_refused() -> None:
    @dataclass(eq=False, kw_only=True)
    class Wider(Batch):
        forgotten: int = 0

    with pytest.raises(KeyError):
        parts.rules(Wider)


def test_a_part_has_the_chosen_warps_and_the_memories_of_the_whole() -> None:
    batch = small_batch()
    numbers = np.arange(3 * 2 * 32, dtype=np.uint32).reshape(3, 2, 32)
    batch.registers[5] = batch.registers[6] = numbers
    batch.start(0)
    batch.memo[1] = object()
    part = batch.part(np.array([0, 2]), np.array([1, 0]))
    assert (part.registers[5][:, 0] == numbers[[0, 2], [1, 0]]).all()
    assert part.registers[5] is part.registers[6], "registers that share an array still do"
    assert part.shared is batch.shared
    assert part.local is batch.local
    assert part.counters is batch.counters
    assert part.hits is batch.hits
    assert part.phases is batch.phases
    assert (part.fragments, part.waits, part.memo) == ([], [], {})
    assert part.fragments is not batch.fragments
    assert part.detached
    assert part.identify(0, 0) == (0, 1)
    assert part.identify(1, 0) == (2, 0)
    again = part.part(np.array([1]), np.array([0]))
    assert again.identify(0, 0) == (2, 0)
    assert (again.registers[5][0, 0] == numbers[2, 0]).all()
    assert again.row_offsets(1).tolist() == [[[2]]]
