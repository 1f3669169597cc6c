"""The opcode table: complete for all that the emulator executes, and unknown opcodes stay unknown."""

from __future__ import annotations

import csv

import pytest

from gpuprof.isa import opcodes
from gpuprof.isa.opcodes import OPCODES, Access, Control, Datapath, Kind, Operation, opcode


def executable() -> set[str]:
    """Base opcodes that the emulator binds to code."""
    from gpuprof.emulator.control.instructions import STEPS, TERMINATORS
    from gpuprof.emulator.program import ENGINE
    from gpuprof.emulator.semantics.catalog import TABLE

    return {*TABLE, *ENGINE, *STEPS, *TERMINATORS}


def test_every_executable_opcode_has_a_row_and_every_emulated_row_is_executable() -> None:
    emulated = {row.name for row in OPCODES.values() if row.emulated}
    assert executable() - emulated == set(), "add these to gpuprof/isa/data/opcodes.csv, with emulated = yes"
    assert emulated - executable() == set(), "the table calls these emulated, and nothing executes them"


def test_rows_of_executable_opcodes_are_complete() -> None:
    rows = [OPCODES[name] for name in executable()]
    assert {row.name for row in rows if row.operation is Operation.UNKNOWN} == set()
    assert not {row.name for row in rows if row.kind is Kind.OTHER}
    memory = {Kind.GLOBAL, Kind.SHARED, Kind.LOCAL, Kind.CONSTANT}
    moving = [row for row in rows if row.access is not None]
    assert {row.name for row in moving if row.space is None} == set()
    assert {row.name for row in moving if row.kind not in memory | {Kind.GENERIC}} == set()


def test_the_table_has_each_opcode_once() -> None:
    with opcodes._TABLE.open(encoding="utf-8", newline="") as file:
        names = [cells["opcode"] for cells in csv.DictReader(file)]
    assert len(names) == len(set(names)) == len(OPCODES)


def test_the_uniform_datapath_is_of_class_uniform() -> None:
    """What ncu counted for UIADD3, UISETP, ULEA, USHF ... on an H200 holds for the whole datapath."""
    other = {row.name for row in OPCODES.values() if row.datapath is Datapath.UNIFORM} - {
        row.name for row in OPCODES.values() if row.operation is Operation.UNIFORM
    }
    assert other == set()


@pytest.mark.parametrize(
    ("name", "kind", "datapath"),
    [("UFANCY", Kind.OTHER, Datapath.VECTOR), ("ULDS", Kind.SHARED, Datapath.UNIFORM), ("FROB", Kind.OTHER, "vector")],
)
def test_an_opcode_without_a_row_has_no_class(name: str, kind: Kind, datapath: str) -> None:
    row = opcode(name)
    assert (row.known, row.kind, row.datapath, row.operation) == (False, kind, datapath, Operation.UNKNOWN)


def test_conditions_in_a_modifier_are_of_the_table() -> None:
    assert opcode("BRA").is_conditional(("DIV",))
    assert not opcode("BRA").is_conditional(("U",))
    assert {row.control for row in OPCODES.values() if row.conditional} == {Control.JUMP, Control.WARP_BARRIER}


def test_accesses_by_space() -> None:
    by_access = {access: {row.name for row in OPCODES.values() if row.access is access} for access in Access}
    assert by_access[Access.ATOMIC] == {"ATOM", "ATOMG", "ATOMS"}
    assert by_access[Access.MATRIX_LOAD] == {"LDSM"}
    assert by_access[Access.MATRIX_STORE] == {"STSM"}
    assert by_access[Access.COPY] == {"LDGSTS"}
