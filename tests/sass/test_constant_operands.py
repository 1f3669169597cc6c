"""Constant operands in every form that nvdisasm writes, with and without the blank of half instructions."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Launch, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.sass.model import OperandKind
from gpuprof.sass.operands import parse_operand
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.disasm import disassemble_text
from tests.sass.sass_tools import DATA, compile_cubin

SOURCE = DATA / "constant_operands.cu"


@pytest.mark.parametrize(
    "text",
    [
        "c[0x0][0x168]",
        "-c[0x0][0x168]",
        "|c[0x0][0x168]|",
        "-|c[0x0][0x168]|",
        "c[0x0][0x168].H0_H0",
        "~c[0x3][0x8]",
        "c[0x0][R4+0x10]",
        "c[0x2][R4]",
        "cx[UR4][0x8]",
        "c[0x0][UR4+0x8]",
    ],
)
def test_a_blank_between_bank_and_offset_changes_nothing(text: str) -> None:
    spaced = parse_operand(text.replace("][", "] ["))
    plain = parse_operand(text)
    assert plain.kind is OperandKind.CONSTANT
    fields = ("kind", "bank", "value", "negate", "invert", "absolute", "suffixes", "base", "uniform", "descriptor")
    assert [getattr(spaced, name) for name in fields] == [getattr(plain, name) for name in fields]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_120"])
def test_every_opcode_with_a_constant_operand_is_understood(arch: str, tmp_path: Path) -> None:
    code = parse_disassembly(disassemble_text(find_tools(), compile_cubin(SOURCE, arch, tmp_path)))
    found = set()
    for function in code.functions.values():
        for instruction in function.body:
            assert instruction.understood, instruction.text
            printed = len(re.findall(r"\bcx?\[", instruction.text))
            kinds = [operand.kind for operand in instruction.operands]
            assert kinds.count(OperandKind.CONSTANT) == printed, instruction.text
            found.update([instruction.opcode] * bool(printed))
    assert len(found) >= (15 if arch < "sm_9" and arch != "sm_120" else 2), found


@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_90"])
def test_half_instructions_read_their_parameters(arch: str, tmp_path: Path) -> None:
    cubin = compile_cubin(SOURCE, arch, tmp_path)
    device = EmulatedDevice()
    x = (np.arange(64) % 13 - 6).astype(np.float16)
    a, b = np.array([2, -3], np.float16), np.array([0.5, 4], np.float16)
    source, target = device.allocate(x.nbytes), device.allocate(8 * x.nbytes)
    device.write(source, x)
    arguments = (Pointer(target), Pointer(source), a.tobytes(), b.tobytes())
    device.launch(Launch(cubin, "halves", (1, 1, 1), (32, 1, 1), 0, arguments))
    pairs = x.reshape(32, 2)
    chosen = (pairs > a).all(axis=1, keepdims=True)
    want = [
        pairs * a + b,
        pairs + a,
        pairs * -b,
        np.maximum(pairs, a),
        pairs * a[0] + b[1],
        (pairs > a).astype(np.float16),
        pairs + np.abs(a),
        np.where(chosen, b, pairs),
    ]
    np.testing.assert_array_equal(device.read(target, "float16", (8, 32, 2)), np.array(want, np.float16))
