"""Which registers instructions write and read, for each operand pattern (widths: facts of the ISA, by hand)."""

from __future__ import annotations

import pytest

from gpuprof.sass.def_use import roles
from tests.sass.sass_tools import snippet


def r(*numbers: int) -> tuple[tuple[str, int], ...]:
    return tuple(("R", number) for number in numbers)


CASES = [
    ("FFMA R1, R2, R3, R4", r(1), r(2, 3, 4)),
    ("IADD3 R8, P0, R0, c[0x0][0x170], RZ", (*r(8), ("P", 0)), r(0)),
    ("IADD3.X R9, RZ, R5, RZ, P0, !PT", r(9), (*r(5), ("P", 0))),
    ("IMAD.WIDE R4, R9, R11, c[0x0][0x190]", r(4, 5), r(9, 11)),
    ("IMAD.WIDE.U32 R4, P1, R2, R5, R6", (*r(4, 5), ("P", 1)), r(2, 5, 6, 7)),
    ("LOP3.LUT P0, RZ, R4, 0x3, RZ, 0xc0, !PT", (("P", 0),), r(4)),
    ("ISETP.GE.AND P1, PT, R38, UR5, PT", (("P", 1),), (*r(38), ("UR", 5))),
    ("PLOP3.LUT P0, PT, P1, P2, PT, 0x80, 0x0", (("P", 0),), (("P", 1), ("P", 2))),
    ("SEL R12, R13, RZ, P2", r(12), (*r(13), ("P", 2))),
    ("LDG.E.128 R4, [R2.64+0x10]", r(4, 5, 6, 7), r(2, 3)),
    ("LDG.E.SYS R8, [R2]", r(8), r(2, 3)),
    ("LDS.128 R8, [R6.X4+0x20]", r(8, 9, 10, 11), r(6)),
    ("STG.E.64 desc[UR8][R2.64], R4", (), (*r(2, 3), ("UR", 8), ("UR", 9), *r(4, 5))),
    ("STS [R60.X4+0x400], R2", (), r(60, 2)),
    ("DFMA R10, R6, R4, -R2", r(10, 11), r(6, 7, 4, 5, 2, 3)),
    ("DSETP.GT.AND P0, PT, R10, RZ, PT", (("P", 0),), r(10, 11)),
    ("MUFU.RCP64H R3, R7", r(3), r(7)),
    ("F2F.F32.F64 R25, R14", r(25), r(14, 15)),
    ("F2F.F64.F32 R12, R3", r(12, 13), r(3)),
    ("I2F.F64 R4, R0", r(4, 5), r(0)),
    ("I2F.S64 R11, R14", r(11), r(14, 15)),
    ("F2I.S64.F64.TRUNC R14, R6", r(14, 15), r(6, 7)),
    ("F2I.F64.TRUNC R7, R6", r(7), r(6, 7)),
    ("HMMA.16816.F32 R12, R20.reuse, R28, R12", r(12, 13, 14, 15), r(20, 21, 22, 23, 28, 29, 12, 13, 14, 15)),
    ("HMMA.1688.F16 R32, R34, R58, R32", r(32, 33), r(34, 35, 58, 32, 33)),
    ("CS2R R2, SRZ", r(2, 3), ()),
    ("CS2R.32 R17, SR_CLOCKLO", r(17), ()),
    ("SHFL.BFLY PT, R3, R16, 0x10, 0x1f", r(3), r(16)),
    ("ATOMG.E.CAS.64.STRONG.GPU PT, R4, [R18], R6, R8", r(4, 5), r(18, 19, 6, 7, 8, 9)),
    ("VOTE.ANY R0, PT, P0", r(0), (("P", 0),)),
    ("VOTE.ALL P1, !P3", (("P", 1),), (("P", 3),)),
    ("R2P PR, R3, 0x6", (("P", 1), ("P", 2)), r(3)),
    ("P2R R14, PR, RZ, 0x8", r(14), (("P", 3),)),
    ("@!P2 IADD3 R3, P3, R7, R50, RZ", (*r(3), ("P", 3)), (("P", 2), *r(7, 50))),
    ("FCHK P0, R0, R3", (("P", 0),), r(0, 3)),
    ("R2UR P1, URZ, R6", (("P", 1),), r(6)),
    ("BSSY B0, `(.L_x_1)", (), ()),
    ("BRA !P1, `(.L_x_1)", (), (("P", 1),)),
    ("LDSM.16.M88.4 R20, [R35]", r(20, 21, 22, 23), r(35)),
    ("ULDC.64 UR36, c[0x0][0x118]", (("UR", 36), ("UR", 37)), ()),
    ("IADD.64 R6, R6, UR4", r(6, 7), (*r(6, 7), ("UR", 4), ("UR", 5))),
]


@pytest.mark.parametrize(("text", "writes", "reads"), CASES, ids=[case[0] for case in CASES])
def test_registers_written_and_read(
    text: str, writes: tuple[tuple[str, int], ...], reads: tuple[tuple[str, int], ...]
) -> None:
    found = roles(snippet(text).functions["k"].instructions[0])
    assert set(found.writes) == set(writes)
    assert set(found.reads) == set(reads)
