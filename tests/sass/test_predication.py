"""What predicates depend on, which conditions became predication, and which branches are uniform."""

from __future__ import annotations

import pytest

from gpuprof.sass.analysis import Analysis, analyse
from tests.sass.sass_tools import DATA, analysed, code_of


@pytest.fixture(scope="module", params=["sm_75", "sm_89", "sm_120"])
def analyses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    code = code_of(DATA / "patterns.cu", request.param, tmp_path_factory.mktemp("predication"))
    return {name: analyse(function, code.arch) for name, function in code.functions.items()}


def test_a_guarded_load_became_predication(analyses: dict[str, Analysis]) -> None:
    facts = analyses["guarded_load"]
    (group,) = [one for one in facts.predication.groups if one.memory]
    assert group.memory == {"LDG": 1}
    assert group.replaces_branch
    assert group.origins.thread == ("threadIdx.x",)
    assert group.origins.block == ("blockIdx.x",)
    assert "blockDim.x" in group.origins.parameters
    assert group in facts.predication.became_predication


def test_a_branch_on_the_block_index_is_uniform(analyses: dict[str, Analysis]) -> None:
    first = analyses["block_branch"].predication.branches[0]
    assert first.uniform
    assert first.origins.block == ("blockIdx.x",)
    assert not first.origins.thread


def test_a_branch_on_loaded_data_is_not_uniform(analyses: dict[str, Analysis]) -> None:
    first = analyses["data_branch"].predication.branches[0]
    assert not first.uniform
    assert first.origins.loaded == ("global",)


def test_a_subroutines_predicates_are_only_counted(analyses: dict[str, Analysis]) -> None:
    predication = analyses["data_branch"].predication
    assert predication.in_subroutines > 0
    assert not any(group.origins.unknown for group in predication.groups)


def test_a_flag_that_a_lane_dependent_branch_chose_is_lane_dependent() -> None:
    """P2 is a constant on either side of a branch on threadIdx.x, so it differs between lanes all the same."""
    facts = analysed(
        """S2R R0, SR_TID.X
        ISETP.GE.AND P1, PT, R0, 0x7, PT
        PLOP3.LUT P2, PT, PT, PT, PT, 0x8, 0x0
        @P1 BRA `(.L_x_0)
        PLOP3.LUT P2, PT, PT, PT, PT, 0x80, 0x0
        .L_x_0:
        @P2 BRA `(.L_x_1)
        MOV R4, R5
        .L_x_1:
        EXIT"""
    )
    last = facts.predication.branches[-1]
    assert last.origins.thread == ("threadIdx.x",)
    assert not last.uniform


def test_a_counter_does_not_inherit_the_guard_before_its_loop() -> None:
    """Lanes that left before the loop do not make the loop's counter differ between those that stay."""
    facts = analysed(
        """S2R R0, SR_TID.X
        ISETP.GE.AND P1, PT, R0, 0x7, PT
        @P1 EXIT
        MOV R2, RZ
        .L_x_0:
        IADD3 R2, R2, 0x1, RZ
        ISETP.NE.AND P0, PT, R2, c[0x0][0x160], PT
        @P0 BRA `(.L_x_0)
        EXIT"""
    )
    branches = {branch.text: branch.uniform for branch in facts.predication.branches}
    assert branches == {"@P1 EXIT": False, "@P0 BRA `(.L_x_0)": True}


def test_fillers_are_counted_apart() -> None:
    facts = analysed("@!PT LDS RZ, [RZ]\n@!PT LDS RZ, [RZ]\n@P0 MOV R1, R2\nEXIT")
    assert (facts.predication.predicated, facts.predication.fillers) == (3, 2)
    assert len(facts.predication.groups) == 1


def test_selects_are_counted() -> None:
    facts = analysed("SEL R1, R2, R3, P0\nFMNMX R4, R5, R6, PT\nFMNMX R7, R5, R6, !PT\nEXIT")
    assert facts.predication.selects == {"FMNMX": 2, "SEL": 1}


def test_origins_are_complete_behind_hundreds_of_branches() -> None:
    """R0 is threadIdx.x at first, and each of 400 ifs may add a constant to it: the last branch depends on both,
    on the block index that every if asks for, and on nothing else."""
    lines = ["S2R R0, SR_TID.X", "S2R R1, SR_CTAID.X", "ISETP.GE.AND P1, PT, R1, 0x7, PT"]
    for number in range(400):
        lines += [f"@P1 BRA `(.L_{number})", "IADD3 R0, R0, c[0x0][0x160], RZ", f".L_{number}:"]
    lines += ["ISETP.NE.AND P0, PT, R0, RZ, PT", "@P0 BRA `(.L_end)", "MOV R2, R3", ".L_end:", "EXIT"]
    branches = analysed("\n".join(lines)).predication.branches
    assert len(branches) == 401
    assert branches[0].origins.words() == "blockIdx.x"
    assert branches[0].uniform
    assert branches[-1].origins.words() == "threadIdx.x, blockIdx.x, c[0x0][0x160]"
