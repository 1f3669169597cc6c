"""Runs, reuse, register banks and dependent pairs, on streams whose numbers one can count by hand."""

from __future__ import annotations

import pytest

from gpuprof.sass.analysis import analyse
from gpuprof.sass.stream import Stream, bank_conflict_cycles
from tests.sass.sass_tools import DATA, analysed, code_of


def stream(body: str, arch: str = "sm_89") -> Stream:
    found = analysed(body, arch).stream
    assert found is not None
    return found


def test_runs_and_what_breaks_them() -> None:
    found = stream(
        "FFMA R0, R1, R2, R0\nFFMA R3, R1, R2, R3\nLDS R4, [R5]\nFFMA R6, R1, R2, R6\n"
        "BAR.SYNC 0x0\nFFMA R7, R1, R2, R7\nFFMA R8, R1, R2, R8\nFFMA R9, R1, R2, R9\nEXIT"
    )
    assert [run.length for run in found.runs] == [2, 1, 3]
    assert (found.longest, found.count) == (3, 6)
    assert found.breakers == {"LDS": 1, "BAR.SYNC": 1, "EXIT": 1}
    assert found.runs[2].address == 0x50


@pytest.mark.parametrize(
    ("x", "y", "added"),
    [(19, 21, 0), (18, 19, 1), (18, 20, 2)],
    ids=["both odd: 5 cycles", "one even: 6 cycles", "both even: 7 cycles"],
)
def test_register_banks_as_measured(x: int, y: int, added: int) -> None:
    """Huerta et al., MICRO 2025 (arXiv 2503.20481): FFMA R11, R10, R12, R14 before FFMA R13, R16, RX, RY."""
    facts = analysed(f"FFMA R11, R10, R12, R14\nFFMA R13, R16, R{x}, R{y}\nEXIT")
    assert bank_conflict_cycles(facts.function.body, "FFMA", "sm_86") == added


def test_the_reuse_cache_takes_reads_off_the_banks() -> None:
    body = "FFMA R11, R10.reuse, R12.reuse, R14\nFFMA R13, R10, R12, R18\nFFMA R15, R16, R20, R22\nEXIT"
    plain = body.replace(".reuse", "")
    with_reuse, without = analysed(body), analysed(plain)
    few = bank_conflict_cycles(with_reuse.function.body, "FFMA", "sm_86")
    many = bank_conflict_cycles(without.function.body, "FFMA", "sm_86")
    assert few is not None
    assert many is not None
    assert few < many
    assert with_reuse.stream is not None
    assert (with_reuse.stream.reused, with_reuse.stream.operands) == (2, 9)


@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_120"])
def test_no_bank_conflicts_are_modelled_where_no_model_was_held_against_hardware(arch: str) -> None:
    found = stream("FFMA R11, R10, R12, R14\nFFMA R13, R16, R18, R20\nEXIT", arch)
    assert found.bank_conflict_cycles is None


def test_dependent_pairs_are_those_closer_than_the_latency() -> None:
    near = stream("FFMA R0, R1, R2, R0\nFFMA R0, R1, R2, R0\nEXIT")
    assert (near.dependent_pairs, near.closest_pair, near.latency) == (1, 1, 4)
    apart = stream("\n".join(f"FFMA R{n % 4}, R8, R9, R{n % 4}" for n in range(8)) + "\nEXIT")
    assert apart.dependent_pairs == 0


def test_chains_survive_renaming() -> None:
    """R0 -> R5 -> R6 is one chain although each step has another register."""
    found = stream("FFMA R5, R1, R2, R0\nFFMA R6, R1, R2, R5\nFFMA R7, R1, R2, R9\nEXIT")
    assert (found.accumulators, found.longest_chain) == (2, 2)


@pytest.mark.parametrize("arch", ["sm_75", "sm_89", "sm_90"])
def test_the_compiled_four_chains(arch: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Eight steps of four accumulators: 32 FFMA, unless nvcc sees that the first four multiply a zero."""
    code = code_of(DATA / "patterns.cu", arch, tmp_path_factory.mktemp("stream"))
    found = analyse(code.functions["four_chains"], code.arch).stream
    assert found is not None
    assert found.math == "FFMA"
    assert found.accumulators == 4
    assert found.longest_chain * 4 == found.count
    assert found.count in (28, 32)
