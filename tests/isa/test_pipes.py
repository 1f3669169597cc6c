"""Every opcode that the emulator executes has a pipe, or is known to have none in the model."""

from __future__ import annotations

import pytest

from gpuprof.isa.opcodes import OPCODES
from gpuprof.isa.pipes import Completion, Pipe, completion_of, pipe_of

#: TMA, transaction barriers and tensor instructions whose rates nobody measured here.
WITHOUT = {"DMMA", "BMMA", "HGMMA", "QGMMA", "IGMMA", "WARPGROUP", "USETMAXREG", "SYNCS", "QSPC", "ARRIVES"} | {
    name for name in OPCODES if name.startswith(("UBLKCP", "UTMALDG", "UTMASTG", "UTMACCTL", "UTMAPF", "UTMACMDFLUSH"))
}


def test_only_the_known_ones_have_no_pipe() -> None:
    assert {name for name, row in OPCODES.items() if row.emulated and pipe_of(name) is None} == WITHOUT


@pytest.mark.parametrize(
    ("opcode", "pipe", "completion"),
    [
        ("FFMA", Pipe.FMA, Completion.FIXED),
        ("IMAD", Pipe.FMA_HEAVY, Completion.FIXED),
        ("LOP3", Pipe.ALU, Completion.FIXED),
        ("MUFU", Pipe.XU, Completion.TRANSCENDENTAL),
        ("DFMA", Pipe.FP64, Completion.DOUBLE),
        ("LDG", Pipe.LSU, Completion.MEMORY),
        ("LDGSTS", Pipe.LSU, Completion.MEMORY),
        ("SHFL", Pipe.LSU, Completion.SHUFFLE),
        ("UIADD3", Pipe.UNIFORM, Completion.UNIFORM_RESULT),
        ("BAR", Pipe.ADDRESS, Completion.BARRIER),
        ("EXIT", Pipe.CONTROL, Completion.EXIT),
    ],
)
def test_pipes_of_well_known_opcodes(opcode: str, pipe: Pipe, completion: Completion) -> None:
    assert pipe_of(opcode) is pipe
    assert completion_of(opcode) is completion


def test_a_barrier_that_only_arrives_does_not_wait() -> None:
    assert completion_of("BAR", ("ARV",)) is Completion.FIXED
