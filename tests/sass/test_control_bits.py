"""The control bits say the same in the listing and in the JSON."""

from __future__ import annotations

import pytest

from gpuprof.sass.as_json import _instruction
from gpuprof.sass.code_listing import control_text
from tests.sass.sass_tools import analysed

#: Second words of an encoding: its yield bit (bit 45) set, which asks for no yield, and clear.
STAYS, YIELDS = 0x004FE200000000FF, 0x004FC800000000FF


@pytest.mark.parametrize(("high", "yields"), [(STAYS, False), (YIELDS, True)])
def test_yield_reads_the_same_in_listing_and_json(high: int, yields: bool) -> None:
    from dataclasses import replace

    (first, *_) = analysed("FFMA R1, R2, R3, R4\nEXIT").graph.function.body
    instruction = replace(first, encoding=high << 64)
    assert instruction.control.yields is yields
    data = _instruction(instruction)
    assert isinstance(data["control"], dict)
    assert data["control"]["yield"] is yields
    assert control_text(instruction.control).split(":")[3] == ("Y" if yields else "-")
    assert control_text(instruction.control).endswith(f"S{data['control']['stall']:02d}")
