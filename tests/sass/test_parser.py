"""nvdisasm's text to instructions: operand parts, labels, source lines, annotations, lines that do not parse."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.errors import DisassemblyError
from gpuprof.sass.model import OperandKind
from gpuprof.sass.operands import parse_operand
from gpuprof.sass.parse import parse_disassembly
from tests.sass.render import render, render_operand
from tests.sass.sass_tools import code_of, compile_cubin, disassemble, snippet

OPERANDS = [
    "R4", "RZ", "-R4", "~R7", "|R4|", "-|R4|", "R4.reuse", "|R9|.reuse", "R3.H0_H0", "R3.reuse.H1_H1", "-RZ.H0_H0",
    "R4.reuse.ROW", "UR5", "URZ", "P0", "!P6", "PT", "!PT", "UP1", "!UPT", "B0", "B15", "SB3", "0x1f", "-0x1",
    "c[0x0][0x160]", "-c[0x0][0x178]", "|c[0x0][0x160]|", "-|c[0x0][0x160]|", "c[0x0][R2+0x160]", "c[0x3][UR5+0x8]",
    "c[0x4][URZ]", "cx[UR4][0x10]", "[R2]", "[R2+0x10]", "[R2+-0x40]", "[R2.64]", "[R2.64+-0x4]", "[R2.X4+0x80]",
    "[R0.X16]", "[R7+URZ]", "[R7+UR5+-0x40]", "[UR4]", "[UR4+0x10]", "[RZ]", "[R2.64+UR4+0xbb8]", "[R0.U32+UR4]",
    "desc[UR8][R2.64+0x10]", "desc[UR16][R2.64]", "[UR8+URZ]", "gdesc[UR12]", "gdesc[UR4].tnspA.tnspB",
    "tmem[UR4+0x10]", "tmem[UR6]", "c[0x0][0x160].H0_H0",
]  # fmt: skip


@pytest.mark.parametrize("text", OPERANDS)
def test_an_operand_rebuilt_from_its_parts_is_its_text(text: str) -> None:
    operand = parse_operand(text)
    assert operand.kind is not OperandKind.OTHER
    assert render_operand(operand) == text


def test_the_parts_of_a_memory_operand() -> None:
    operand = parse_operand("desc[UR8][R2.64+UR4+-0x10]")
    assert operand.kind is OperandKind.MEMORY
    assert operand.base is not None
    assert (operand.base.index, operand.wide, operand.value) == (2, True, -16)
    assert operand.uniform is not None
    assert operand.uniform.index == 4
    assert operand.descriptor is not None
    assert operand.descriptor.index == 8


def test_a_scaled_shared_address() -> None:
    operand = parse_operand("[R60.X4+0x1400]")
    assert (operand.scale, operand.wide, operand.value) == (4, False, 0x1400)


def test_constants_know_bank_offset_and_index_register() -> None:
    operand = parse_operand("c[0x3][R5+0x8]")
    assert (operand.bank, operand.value) == (3, 8)
    assert operand.base is not None
    assert operand.base.index == 5


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3.0), ("-126", -126.0), ("1.469e-39", 1.469e-39), ("+INF ", float("inf"))]
)
def test_decimal_numbers_are_floats(text: str, value: float) -> None:
    operand = parse_operand(text)
    assert operand.kind is OperandKind.FLOAT
    assert operand.value == value


def test_not_a_number_is_a_float_without_a_usable_value() -> None:
    operand = parse_operand("-QNAN")
    assert operand.kind is OperandKind.FLOAT
    assert operand.value != operand.value


def test_labels_get_their_address_and_relocations_their_half() -> None:
    labels = {".L_x_3": 0x80, "f": 0}
    assert parse_operand("`(.L_x_3)", labels).value == 0x80
    half = parse_operand("32@lo((f + .L_x_3@srel))", labels)
    assert (half.kind, half.name, half.value, half.relocation) == (OperandKind.LABEL, ".L_x_3", 0x80, "32@lo")
    unknown = parse_operand("32@hi(gv)", labels)
    assert (unknown.name, unknown.value, unknown.relocation) == ("gv", None, "32@hi")


def test_a_register_and_a_label_behind_a_blank_are_two_operands() -> None:
    (instruction,) = snippet("RET.REL.NODEC R20 `(k)").functions["k"].instructions
    assert [operand.text for operand in instruction.operands] == ["R20", "`(k)"]
    assert instruction.operands[1].glued
    assert instruction.operands[1].value == 0
    assert render(instruction) == "RET.REL.NODEC R20 `(k)"


def test_an_indirect_branch_knows_its_targets() -> None:
    text = snippet('BRX R4 -0x10          (*"BRANCH_TARGETS .L_x_1,.L_x_2"*)\n.L_x_1:\nEXIT\n.L_x_2:\nEXIT')
    first = text.functions["k"].instructions[0]
    assert first.targets == (".L_x_1", ".L_x_2")
    assert first.text == "BRX R4 -0x10"
    assert [operand.value for operand in first.operands[1:]] == [-0x10]


def test_control_bits_of_a_known_word() -> None:
    # ISETP feeding an EXIT, as nvdisasm 13.0 prints it for a vector add: stall 13, no scoreboards
    text = '\t.target\tsm_89\n\t.section\t.text.k,"ax",@progbits\n' + (
        "        /*0070*/   ISETP.GT.AND P0, PT, R0, 0x3, PT ;   /* 0x000000030000780c */\n"
        "                                                        /* 0x000fda0003f04270 */\n"
        "        /*0080*/   S2R R2, SR_TID.X ;                   /* 0x0000000000027919 */\n"
        "                                                        /* 0x000e220000002100 */\n"
    )
    compare, special = parse_disassembly(text).functions["k"].instructions
    assert compare.encoding == 0x000FDA0003F04270_000000030000780C
    assert (compare.control.stall, compare.control.write_barrier, compare.control.wait_mask) == (13, None, 0)
    assert (special.control.write_barrier, special.control.read_barrier) == (0, None)


def test_a_line_that_does_not_parse_is_kept_and_marked() -> None:
    code = snippet("MOV R1, R2\n?weird %%% R3\nFFMA R1, <<R2>>, R3, R4\nEXIT").functions["k"]
    assert [one.understood for one in code.instructions] == [True, False, False, True]
    assert code.instructions[1].text == "?weird %%% R3"
    assert render(code.instructions[2]) == "FFMA R1, <<R2>>, R3, R4"


def test_text_that_is_not_nvdisasms_is_refused() -> None:
    with pytest.raises(DisassemblyError, match=r"neither a \.target line nor"):
        parse_disassembly("Function : k\n /*0000*/ EXIT ;")


def test_sections_that_are_not_code_are_skipped(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__constant__ int c[4] = {1,2,3,4}; __device__ int g[2] = {5,6};"
        'extern "C" __global__ void k(int* o, int i) { o[i] = c[i] + g[i & 1]; }'
    )
    cubin = compile_cubin(source, "sm_89", tmp_path)
    code = parse_disassembly(disassemble(cubin, "-hex", "-gi"))  # without -c: data sections as .byte lines
    assert list(code.functions) == ["k"]
    only_code = parse_disassembly(disassemble(cubin))
    assert [one.text for one in code.functions["k"].instructions] == [
        one.text for one in only_code.functions["k"].instructions
    ]


def test_inlined_lines_carry_their_call_sites(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        "__device__ __forceinline__ float a(float x) {\n  return x * 3.5f + 1.25f; }\n"
        "__device__ __forceinline__ float b(float x) {\n  return a(x); }\n"
        'extern "C" __global__ void k(float* o) {\n  o[0] = b(o[1]);\n}\n'
    )
    code = code_of(source, "sm_89", tmp_path).functions["k"]
    line = next(one.source for one in code.instructions if one.opcode == "FFMA")
    assert line is not None
    assert line.line == 2
    assert [one.line for one in line.inlined_at] == [4, 6]


def test_separate_compilation_keeps_relocations_and_every_function(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(
        '#include <cstdio>\nextern "C" __device__ float outside(float); __device__ int g[8];\n'
        "__device__ __noinline__ float inside(float x) { return x / 3.1f + outside(x); }\n"
        'extern "C" __global__ void k(float* o) { o[0] = inside(o[1]) + outside(o[2]) + g[(int)o[3]];'
        ' if (o[4] == 7) printf("%f", o[0]); }\n'
    )
    text = disassemble(compile_cubin(source, "sm_89", tmp_path, "-rdc=true"))
    code = parse_disassembly(text)
    assert {"k", "_Z6insidef"} <= set(code.functions)
    halves = [one for one in code.functions["k"].instructions for o in one.operands if o.relocation]
    assert halves
    returns = [o for one in halves for o in one.operands if o.relocation and o.name.startswith(".L")]
    assert returns
    assert all(operand.value is not None for operand in returns)
    assert all(one.understood for function in code.functions.values() for one in function.instructions)


def test_subroutines_and_the_length_of_the_body(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text('extern "C" __global__ void k(float* o) { o[0] = o[1] / o[2]; }\n')
    code = code_of(source, "sm_89", tmp_path).functions["k"]
    assert any("div_rn" in name for name in code.subroutines)
    assert code.labels["k"] == 0
    last = code.body[-1]
    assert last.opcode == "RET"
    assert {one.opcode for one in code.instructions[code.body_length :]} == {"BRA", "NOP"}
    # what stands in the division's subroutine has no source line of its own
    entry = next(address for name, address in code.subroutines.items() if "div_rn" in name)
    assert code.instructions[entry // 16].source is None


def test_a_source_path_that_is_not_ascii_is_the_path(tmp_path: Path) -> None:
    folder = tmp_path / "größe und mehr"
    folder.mkdir()
    source = folder / "k.cu"
    source.write_text('extern "C" __global__ void k(float *a) {\n  a[threadIdx.x] *= 2.0f;\n}\n', encoding="utf-8")
    code = parse_disassembly(disassemble(compile_cubin(source, "sm_89", tmp_path, "-lineinfo"))).functions["k"]
    assert {one.source.file for one in code.instructions if one.source is not None} == {str(source)}
