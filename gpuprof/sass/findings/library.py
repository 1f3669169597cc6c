"""Sequences of CUDA's own libraries in loops: each one finding each, with what it costs and what may replace it."""

from __future__ import annotations

from collections.abc import Iterator

from gpuprof.sass import library_code as names
from gpuprof.sass.findings.model import Case, Found

_ADVICE = {
    names.DIVISION: "multiply by a reciprocal computed before the loop, or, where two units in the last place do, use"
    " __fdividef or -prec-div=false",
    names.SQUARE_ROOT: "use rsqrtf, or -prec-sqrt=false where its accuracy does",
    names.RECIPROCAL: "use __frcp_rn outside of the loop, or -prec-div=false where its accuracy does",
    names.DOUBLE_DIVISION: "multiply by a reciprocal computed before the loop, or divide in single precision",
    names.DOUBLE_ROOT: "take the root in single precision where its accuracy does",
    names.WIDE_DIVISION: "divide 32-bit numbers where the range allows, or make the divisor a constant",
    names.RANGE_REDUCTION: "use sinpif or cospif, __sinf or __cosf where their accuracy does: the slow path costs"
    " code and registers even where no argument takes it",
}


def library_uses(case: Case) -> Iterator[Found]:
    """Uses by loop and kind. What is outside of loops, and the scaling around MUFU, is not worth a line."""
    groups: dict[tuple[int, str], list[names.LibraryUse]] = {}
    for use in case.library.uses:
        if use.name in _ADVICE and case.depth(use.at):
            groups.setdefault((case.loop_number(use.at), use.name), []).append(use)
    for (_, name), uses in groups.items():
        common = round(sum(len(use.common) for use in uses) / len(uses))
        rare = round(sum(len(use.rare) for use in uses) / len(uses))
        routine = "" if rare else _called(case, uses)
        slow = f", and a slow path of {rare} that unusual arguments take" if rare else routine
        plural = "s" if len(uses) > 1 and name.endswith(("division", "root", "reciprocal")) else ""
        yield Found(
            "library code",
            36 + 10 * case.depth(uses[0].at),
            [use.at for use in uses],
            f"{name}{plural}: some {common} instructions each on the common path{slow};",
            _ADVICE[name],
            each=common,
        )


def _called(case: Case, uses: list[names.LibraryUse]) -> str:
    return ", the rest in a subroutine" if any(case.code(use.at).opcode == "CALL" for use in uses) else ""
