"""The fast forms give what the general semantics gives, on the edges and on random words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpuprof.emulator.semantics import catalog
from gpuprof.emulator.semantics.base import Decoded
from gpuprof.emulator.semantics.fast_paths import specialise
from gpuprof.emulator.state.lane_state import LaneState
from gpuprof.emulator.state.operands import bind_instruction
from gpuprof.sass.model import Instruction, Operand
from gpuprof.sass.operands import parse_operand
from tests.emulator.emulated_kernels import DATA

EDGES = np.array([0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF], np.uint32)
FORMS = [
    "IADD3 R4, P2, R1, R2, RZ",
    "IADD3 R4, P2, PT, R1, 0xfffffff8, RZ",
    "IADD3 R4, P2, R1, RZ, RZ",
    "IADD3.X R4, R1, R2, RZ, P0, !PT",
    "IADD3.X R4, P2, R1, R2, RZ, P0, !PT",
    "IADD3.X R4, RZ, R2, RZ, P1, !PT",
    "IADD3.X R4, R1, ~R2, RZ, P0, !PT",
    "IMAD.X R4, RZ, RZ, R2, P0",
    "UIADD3 UR4, UP2, UR1, UR2, URZ",
]


def instruction(text: str) -> Instruction:
    mnemonic, _, rest = text.partition(" ")
    opcode, *modifiers = mnemonic.split(".")
    operands: tuple[Operand, ...] = tuple(parse_operand(piece) for piece in rest.split(", "))
    return bind_instruction(Instruction(0, text, None, opcode, tuple(modifiers), operands, 0))


def lanes() -> Any:
    """256 lanes whose registers R1, R2 and predicates P0, P1 take all combinations of edges, and random words."""
    random = np.random.default_rng(11).integers(0, 1 << 32, 256, np.uint32)
    state = LaneState.__new__(LaneState)
    first, second = (grid.reshape(-1) for grid in np.meshgrid(EDGES, EDGES))
    state.registers = [np.zeros((1, 1, 1), np.uint32)] * 260
    state.registers[1] = np.concatenate((first, random))[:256].reshape(1, 8, 32)
    state.registers[2] = np.concatenate((second, random[::-1]))[:256].reshape(1, 8, 32)
    state.uniforms = list(state.registers)
    state.predicates = [(np.arange(256) // (k + 1) % 2 == 0).reshape(1, 8, 32) for k in range(7)]
    state.uniform_predicates = list(state.predicates)
    state.write_mask, state.mask = None, np.ones((1, 1, 1), bool)
    state.block_count, state.warp_count, state.size = 1, 8, 256
    state.launch = SimpleNamespace(cubin=DATA)
    return state


@pytest.mark.parametrize("text", FORMS)
def test_a_fast_form_equals_the_semantics(text: str) -> None:
    decoded = Decoded(instruction(text), 89)
    fast, general = specialise(decoded), catalog.bind(decoded)
    assert fast is not None
    got, want = lanes(), lanes()
    fast(got)
    general(want)
    for file in ("registers", "uniforms", "predicates", "uniform_predicates"):
        for mine, theirs in zip(getattr(got, file), getattr(want, file), strict=True):
            assert np.array_equal(got.full(mine), want.full(theirs))


@pytest.mark.parametrize("text", ["IADD3 R4, R1, R2, R3", "IADD3 R4, P0, R1, R2, R3", "IADD3 R4, P0, R1, -R2, RZ"])
def test_other_forms_are_left_to_the_semantics(text: str) -> None:
    assert specialise(Decoded(instruction(text), 89)) is None
