"""Each pattern of data/patterns.cu is found, with its number and place, and clean code has no finding."""

from __future__ import annotations

import pytest

from gpuprof.sass.analysis import Analysis, analyse
from tests.sass.sass_tools import DATA, code_of

SOURCE = DATA / "patterns.cu"
LINES = SOURCE.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module", params=["sm_75", "sm_89", "sm_120"])
def analyses(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    code = code_of(SOURCE, request.param, tmp_path_factory.mktemp("patterns"))
    return {
        name: analyse(function, code.arch, block=(128, 1, 1), parameters=((0, 8), (8, 8), (16, 4), (20, 4)))
        for name, function in code.functions.items()
    }


@pytest.mark.parametrize("kernel", ["clean", "padded_column", "four_chains", "guarded_load"])
def test_clean_code_has_no_finding(kernel: str, analyses: dict[str, Analysis]) -> None:
    assert analyses[kernel].findings == ()


@pytest.mark.parametrize(
    ("kernel", "kind", "number", "words", "line"),
    [
        (
            "column_access",
            "uncoalesced",
            1,
            ("32 sectors", "parameter 2", "loop 1"),
            "a[row * n + k]",
        ),
        ("stride_two", "uncoalesced", 1, ("8 sectors", "8 bytes apart", "outside of loops"), "a[2 * i]"),
        ("unpadded_column", "bank conflict", 1, ("32 wavefronts (1 without", "loop 1"), "tile[x][y]"),
        ("narrow", "narrow load", 4, ("global loads", "128-bit"), "p[0] * 1.5f"),
        ("divides", "integer division", 1, ("loop 1",), "/ (a[i] + m)"),
        ("runtime_index", "local array", 2, ("run-time addresses", "loop 1"), "v[o[i] > 0"),
        ("doubles_in_floats", "fp64", 1, ("FP64", "loop 1"), "3.14159265358979"),
        ("barrier_heavy", "barrier", 2, ("2 FFMA per iteration",), "__syncthreads()"),
    ],
)
def test_a_pattern_is_found_where_it_stands(
    kernel: str, kind: str, number: int, words: tuple[str, ...], line: str, analyses: dict[str, Analysis]
) -> None:
    found = [finding for finding in analyses[kernel].findings if finding.kind == kind]
    assert found, analyses[kernel].findings
    first = found[0]
    assert first.number == number
    for word in words:
        assert word in first.sentence
    assert first.source is not None
    assert line in LINES[first.source.line - 1]
    assert first.fix


def test_division_calls_are_named(analyses: dict[str, Analysis]) -> None:
    found = [one for one in analyses["data_branch"].findings if one.kind == "library code"]
    assert found
    assert "single-precision division" in found[0].sentence


def test_the_block_size_decides_what_lanes_do(analyses: dict[str, Analysis]) -> None:
    """With blocks of 16 x 8, threadIdx.x * 2 runs over 16 lanes only, twice: 4 sectors, not 8."""
    kernel = analyses["stride_two"]
    wide = analyse(kernel.function, kernel.arch, block=(32, 8, 1))
    narrow = analyse(kernel.function, kernel.arch, block=(16, 16, 1))
    assert [one.kind for one in wide.findings] == ["uncoalesced"]
    assert narrow.findings == ()


def test_no_code_cache_is_named_where_none_was_measured() -> None:
    from tests.sass.sass_tools import analysed

    body = "\n".join(["MOV R0, RZ", ".L_x_0:", *["FFMA R4, R5, R6, R7"] * 2100])
    text = body + "\nIADD3 R0, R0, 0x1, RZ\nISETP.NE.AND P0, PT, R0, 0x5, PT\n@P0 BRA `(.L_x_0)\nEXIT"
    assert analysed(text, "sm_89").findings == ()


def test_a_loop_larger_than_the_measured_code_cache_is_said() -> None:
    from tests.sass.sass_tools import analysed

    body = "\n".join(["MOV R0, RZ", ".L_x_0:", *["FFMA R4, R5, R6, R7"] * 2100])
    text = body + "\nIADD3 R0, R0, 0x1, RZ\nISETP.NE.AND P0, PT, R0, 0x5, PT\n@P0 BRA `(.L_x_0)\nEXIT"
    (found,) = analysed(text, "sm_90").findings
    assert found.kind == "large loop"
    assert "33648 bytes" in found.sentence
    assert "measured on an H200" in found.sentence
