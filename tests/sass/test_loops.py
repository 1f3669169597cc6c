"""Loops and trip counts of kernels whose answer is known by hand (data/loops.cu says it above each kernel)."""

from __future__ import annotations

import operator
import re

import pytest

from gpuprof.sass.analysis import Analysis, analyse
from gpuprof.sass.cfg import build_graph
from gpuprof.sass.trip_count import iterations
from tests.sass.sass_tools import DATA, analysed, code_of, snippet

SOURCE = DATA / "loops.cu"
EXPECTED = {
    match[2]: match[1].split()
    for match in re.finditer(r"// loops:([^\n]*)\nKERNEL (\w+)", SOURCE.read_text(encoding="utf-8"))
}
_WORDS = {"run time": "run"}


def test_there_are_enough_kernels() -> None:
    assert len(EXPECTED) >= 25


@pytest.fixture(scope="module", params=["sm_75", "sm_89", "sm_90", "sm_120"])
def analyses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    code = code_of(SOURCE, request.param, tmp_path_factory.mktemp("loops"))
    return {name: analyse(function, code.arch) for name, function in code.functions.items()}


@pytest.mark.parametrize("kernel", sorted(EXPECTED))
def test_loops_and_trip_counts(kernel: str, analyses: dict[str, Analysis]) -> None:
    expected = EXPECTED[kernel]
    loops = analyses[kernel].loops
    found = [
        f"{loop.depth}:{_WORDS.get(loop.trip.kind, loop.trip.kind)}"
        + (f"[{loop.trip.count}]" if loop.trip.count is not None else "")
        for loop in loops
    ]
    assert len(found) == len(expected), [loop.trip for loop in loops]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == theirs or (theirs.endswith(":any") and ours[0] == theirs[0])


def test_several_exits_make_a_count_an_upper_bound(analyses: dict[str, Analysis]) -> None:
    (broken,) = analyses["k10_break"].loops
    assert broken.trip.at_most
    assert broken.exits == 2
    (plain,) = analyses["k01_constant"].loops
    assert not plain.trip.at_most
    assert plain.exits == 1


def test_nesting_names_parents_and_children(analyses: dict[str, Analysis]) -> None:
    outer, middle, inner = analyses["k06_nested_three"].loops
    assert (outer.parent, middle.parent, inner.parent) == (None, 1, 2)
    assert (outer.children, middle.children, inner.children) == ((2,), (3,), ())


def test_an_unrolled_loop_says_its_factor(analyses: dict[str, Analysis]) -> None:
    main = max(analyses["k13_unrolled_with_remainder"].loops, key=lambda loop: loop.math_count)
    assert main.math == "FFMA"
    assert main.math_count >= 4
    assert main.unrolling is not None
    assert (main.unrolling.steps, main.unrolling.accumulators) == (main.math_count, 1)
    (fourfold,) = analyses["k15_unrolled_by_four"].loops
    assert fourfold.unrolling is not None
    assert fourfold.unrolling.text == "4 steps x 1 FFMA = 4 per iteration: unrolled 4 times"


def test_a_loop_counts_its_barriers_and_shared_accesses(analyses: dict[str, Analysis]) -> None:
    (loop,) = analyses["k25_barrier_inside"].loops
    assert loop.barriers == 2
    assert loop.loads == {"global 32-bit": 1, "shared 32-bit": 1}
    assert loop.stores == {"global 32-bit": 1, "shared 32-bit": 1}


def test_conditional_code_is_told_apart(analyses: dict[str, Analysis]) -> None:
    (loop,) = analyses["k26_conditional_body"].loops
    assert 0 < loop.conditional < loop.instructions
    assert loop.issue_cycles >= loop.instructions - loop.conditional


def test_a_call_in_a_loop_is_named(analyses: dict[str, Analysis]) -> None:
    outer, inner = analyses["k22_loop_in_a_subroutine"].loops
    assert outer.calls == ("_Z6helperfi",)
    assert (outer.subroutine, inner.subroutine) == ("", "_Z6helperfi")


@pytest.mark.parametrize(
    ("start", "step", "stay", "bound", "count"),
    [
        (0, 1, "LT", 16, 16),
        (0, 3, "LT", 16, 6),
        (0, 3, "LE", 15, 6),
        (100, -1, "GT", 0, 100),
        (100, -7, "GE", 0, 15),
        (0, 4, "NE", 64, 16),
        (0, 5, "NE", 64, None),  # jumps over the bound: no end
        (-64, 16, "NE", 0, 4),
        (8, 1, "LT", 8, 0),
        (0, -1, "LT", 8, None),
        (3, 1, "EQ", 3, 1),
        (3, 1, "EQ", 4, 0),
    ],
)
def test_closed_forms_against_counting(start: int, step: int, stay: str, bound: int, count: int | None) -> None:
    assert iterations(start, step, stay, bound) == count
    if count is not None:
        holds = {"LT": operator.lt, "LE": operator.le, "GT": operator.gt, "GE": operator.ge, "NE": operator.ne}
        holds["EQ"] = operator.eq
        value, counted = start, 0
        while holds[stay](value, bound):
            value, counted = value + step, counted + 1
        assert counted == count


def test_a_predicated_exit_does_not_end_the_code() -> None:
    graph = build_graph(snippet("@P0 EXIT\nMOV R1, R2\nEXIT\nMOV R3, R4").functions["k"])
    assert [block.successors for block in graph.blocks] == [(1,), (), ()]
    assert [graph.is_reachable(block.index) for block in graph.blocks] == [True, True, False]


def test_a_call_to_a_plain_label_leaves_the_loop() -> None:
    """ptxas leaves some loops by ``@!P0 CALL.REL.NOINC `(.L_x_1)``: a jump, not a call."""
    facts = analysed(
        """MOV R0, RZ
        .L_x_0:
        IADD3 R0, R0, 0x1, RZ
        ISETP.NE.AND P0, PT, R0, 0x5, PT
        @!P0 CALL.REL.NOINC `(.L_x_1)
        BRA `(.L_x_0)
        .L_x_1:
        EXIT"""
    )
    (loop,) = facts.loops
    assert (loop.exits, loop.calls) == (1, ())
    assert (loop.trip.kind, loop.trip.count) == ("constant", 5)  # all that the fifth pass leaves out is the way back


def test_a_cycle_with_two_entries_is_reported_and_not_called_a_loop() -> None:
    facts = analysed(
        """@P0 BRA `(.L_x_1)
        .L_x_0:
        MOV R1, R2
        .L_x_1:
        MOV R3, R4
        @P1 BRA `(.L_x_0)
        EXIT"""
    )
    assert facts.loops == ()
    assert facts.graph.irreducible


def test_a_uniform_branch_of_sm_100_closes_a_loop() -> None:
    facts = analysed(
        """UMOV UR4, URZ
        .L_x_0:
        UIADD3 UR4, UPT, UPT, UR4, 0x2, URZ
        UISETP.NE.AND UP0, UPT, UR4, 0x40, UPT
        BRA.U UP0, `(.L_x_0)
        EXIT""",
        arch="sm_100",
    )
    (loop,) = facts.loops
    assert loop.trip.count == 32


def test_a_way_out_before_most_of_the_code_counts_full_iterations() -> None:
    work = "\n".join(["FFMA R5, R5, R6, R7"] * 5)
    facts = analysed(
        f"""MOV R0, RZ
        .L_x_0:
        IADD3 R0, R0, 0x1, RZ
        ISETP.EQ.AND P0, PT, R0, 0x5, PT
        @P0 BRA `(.L_x_1)
        {work}
        BRA `(.L_x_0)
        .L_x_1:
        EXIT"""
    )
    (loop,) = facts.loops
    assert (loop.trip.count, loop.trip.text) == (4, "0 by +1 while != 4")


@pytest.mark.parametrize(
    ("body", "text", "count"),
    [
        ("IADD3 R0, R0, -0x3, RZ; ISETP.GT.AND P0, PT, R0, RZ, PT", "by -3 while > 0", 34),  # 100, 97, ..., 1
        ("ISETP.GT.AND P0, PT, R0, 0x3, PT; IADD3 R0, R0, -0x3, RZ", "by -3 while > 0", 34),  # tested early
        ("IADD3 R0, R0, 0x2, RZ; ISETP.LT.AND P0, PT, R0, c[0x0][0x160], PT", "by +2 while < c[0x0][0x160]", None),
        ("ISETP.LT.AND P0, PT, R0, c[0x0][0x160], PT; IADD3 R0, R0, 0x2, RZ", "by +2 while < c[0x0][0x160] + 2", None),
    ],
)
def test_the_text_reads_as_in_for(body: str, text: str, count: int | None) -> None:
    lines = body.replace("; ", "\n")
    facts = analysed(f"MOV R0, 0x64\n.L_x_0:\n{lines}\n@P0 BRA `(.L_x_0)\nEXIT")
    (loop,) = facts.loops
    assert (loop.trip.text, loop.trip.count) == (f"100 {text}", count)


def left_on_two_conditions(ends: str) -> Analysis:
    """A counter below 64 and a loaded value decide; ``ends`` are the instructions that use both."""
    return analysed(
        f"""MOV R0, RZ
        .L_x_0:
        IADD3 R0, R0, 0x1, RZ
        ISETP.GE.U32.AND P0, PT, R0, 0x40, PT
        LDG.E R5, [R2]
        FSETP.LEU.AND P1, PT, R5, 100, PT
        {ends}"""
    )


def test_a_branch_on_two_conditions_is_left_by_either() -> None:
    """``@!P0 BRA P1``: it goes on while P0 is false and P1 is true."""
    (loop,) = left_on_two_conditions("@!P0 BRA P1, `(.L_x_0)\nEXIT").loops
    assert (loop.trip.count, loop.trip.at_most) == (64, True)


def test_a_branch_that_needs_both_conditions_to_leave_has_no_count() -> None:
    (loop,) = left_on_two_conditions("@P0 BRA P1, `(.L_x_1)\nBRA `(.L_x_0)\n.L_x_1:\nEXIT").loops
    assert (loop.trip.kind, loop.trip.count) == ("data", None)


def test_a_counter_that_only_some_iterations_raise_has_no_count() -> None:
    facts = analysed(
        """MOV R0, RZ
        .L_x_0:
        LDG.E R5, [R2]
        ISETP.GT.AND P1, PT, R5, RZ, PT
        @P1 BRA `(.L_x_1)
        IADD3 R0, R0, 0x1, RZ
        .L_x_1:
        ISETP.GE.AND P0, PT, R0, 0x40, PT
        @!P0 BRA `(.L_x_0)
        EXIT"""
    )
    (loop,) = facts.loops
    assert loop.trip.count is None


def test_only_a_sum_over_iterations_is_called_unrolled(analyses: dict[str, Analysis]) -> None:
    """The five FFMA of a division depend on one another, and begin anew for each quotient."""
    (loop,) = analyses["k34_quotient"].loops
    assert loop.unrolling is not None
    assert loop.unrolling.text.startswith("1 chain of FFMA, the longest")
    assert "unrolled" not in loop.unrolling.text


def test_values_beyond_a_word_have_no_count() -> None:
    assert iterations(0, 0x100, "LT", 0xFFFFFFF0, unsigned=True) is None  # 0xffffff00 is below, the next is 0
    assert iterations(10, -3, "GE", 0, unsigned=True) is None  # 10, 7, 4, 1, and then 2**32 - 2
    assert iterations(10, -3, "GE", 1, unsigned=True) is None
    assert iterations(9, -3, "GE", 1, unsigned=True) == 3
    assert iterations(0, 1 << 30, "LT", -(1 << 31), unsigned=True) == 2
