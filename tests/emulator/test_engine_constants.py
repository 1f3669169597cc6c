"""Constant loads: widths, computed indices, and an index register that is also a target."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuprof.emulator.memory import constants
from gpuprof.emulator.memory.constants import ConstantTable
from gpuprof.emulator.semantics.base import Decoded
from gpuprof.emulator.state.lane_state import LaneState
from gpuprof.emulator.state.operands import bind_instruction
from gpuprof.errors import MemoryFaultError
from gpuprof.sass.model import Instruction
from gpuprof.sass.operands import parse_operand

BANK = bytes(range(1, 65)) + b"\xff\xfe"


def lanes(index: list[int]) -> Any:
    state = LaneState.__new__(LaneState)
    state.block_count = state.warp_count = 1
    state.registers = [np.zeros((1, 1, 1), np.uint32)] * 260
    padded = index if len(index) == 1 else index + index[-1:] * (32 - len(index))
    state.registers[2] = np.array(padded, np.uint32).reshape(1, 1, -1)
    state.constants = ConstantTable({3: BANK})
    state.launch = SimpleNamespace(gather_constant=state.constants.gather)
    state.write_mask, state.mask = None, np.ones((1, 1, 1), bool)
    return state


def run(text: str, index: list[int]) -> Any:
    mnemonic, _, rest = text.partition(" ")
    opcode, *modifiers = mnemonic.split(".")
    operands = tuple(parse_operand(piece) for piece in rest.split(", "))
    instruction = bind_instruction(Instruction(0, text, None, opcode, tuple(modifiers), operands, 0))
    state = lanes(index)
    constants.load(Decoded(instruction, 120), 0)(state)
    return state


@pytest.mark.parametrize("index", [[4], [4, 12]])
def test_the_index_may_be_a_target(index: list[int]) -> None:
    state = run("LDC.64 R2, c[0x3][R2]", index)
    words = np.frombuffer(BANK[:64], "<u4")
    assert state.registers[2].reshape(-1).tolist()[: len(index)] == [int(words[each // 4]) for each in index]
    assert state.registers[3].reshape(-1).tolist()[: len(index)] == [int(words[each // 4 + 1]) for each in index]


def test_narrow_loads_extend() -> None:
    assert run("LDC.S8 R4, c[0x3][0x41]", [0]).registers[4].reshape(-1).tolist() == [0xFFFFFFFE]
    assert run("LDC.U16 R4, c[0x3][R2+0x2]", [0, 2]).registers[4].reshape(-1).tolist()[:2] == [0x0403, 0x0605]


def test_an_offset_outside_its_bank_is_a_fault() -> None:
    with pytest.raises(MemoryFaultError, match="outside its bank of 65,536 bytes"):
        run("LDC R4, c[0x3][0xfffe]", [0])
