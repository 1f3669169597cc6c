"""Comparing machine code: identical code, renamed registers, and real changes."""

from __future__ import annotations

from gpuprof.sass.diff import compare_code, shape_of
from tests.sass.sass_tools import analysed

BODY = "MOV R0, RZ\n.L_x_0:\nFFMA R4, R5, R6, R4\nIADD3 R0, R0, 0x1, RZ\nISETP.NE.AND P0, PT, R0, 0x5, PT\n" + (
    "@P0 BRA `(.L_x_0)\nEXIT"
)


def test_identical_code_is_called_identical() -> None:
    found = compare_code(analysed(BODY), analysed(BODY))
    assert found.verdict == "identical"
    assert all(row.same for row in found.rows)


def test_other_registers_are_the_same_code() -> None:
    found = compare_code(analysed(BODY), analysed(BODY.replace("R4", "R14").replace("R0", "R2").replace("P0", "P3")))
    assert found.verdict == "registers"
    assert not [line for line in found.lines if line.sign != " "]


def test_other_labels_and_addresses_are_the_same_code() -> None:
    found = compare_code(analysed(BODY), analysed(BODY.replace(".L_x_0", ".L_x_77")))
    assert not [line for line in found.lines if line.sign != " "]


def test_a_changed_offset_is_a_change() -> None:
    found = compare_code(analysed("LDS R0, [R1+0x80]\nEXIT"), analysed("LDS R0, [R1+0x84]\nEXIT"))
    assert found.verdict == "different"
    assert [(line.sign, (line.first or line.second).text) for line in found.lines] == [  # type: ignore[union-attr]
        ("-", "LDS R0, [R1+0x80]"),
        ("+", "LDS R0, [R1+0x84]"),
        (" ", "EXIT"),
    ]


def test_an_added_instruction_is_one_line() -> None:
    more = BODY.replace("IADD3", "FMUL R7, R5, R6\nIADD3")
    found = compare_code(analysed(BODY), analysed(more))
    assert [(line.sign, line.second.text) for line in found.lines if line.sign != " " and line.second] == [
        ("+", "FMUL R7, R5, R6")
    ]
    by_name = {(row.section, row.name): (row.first, row.second) for row in found.rows}
    assert by_name["hot loop", "instructions per iteration"] == (4, 5)
    assert by_name["mix", "FMUL"] == (0, 1)


def test_the_shape_keeps_what_matters() -> None:
    code = analysed("@!P3 IMAD.WIDE R4, R9, -R11.reuse, c[0x0][0x190]\nEXIT").function.body
    assert shape_of(code[0]) == "@!P IMAD.WIDE R, R, -R, parameters+0x30"


def test_the_same_parameter_of_two_architectures_is_the_same() -> None:
    """The first parameter stands at 0x160 before sm_90, at 0x210 on sm_90."""
    body = "ISETP.GE.AND P0, PT, R2, c[0x0][0x{offset}], PT\nEXIT"
    found = compare_code(analysed(body.format(offset=168)), analysed(body.format(offset=218), arch="sm_90"))
    assert not [line for line in found.lines if line.sign != " "]
