"""Which variants run, in what order, and what each is compared with."""

from __future__ import annotations

import pytest

from gpuprof.errors import UsageError
from gpuprof.experiment.model import Number, Reference, Variant, Work
from gpuprof.experiment.naming import select_all as select
from gpuprof.profile.selection import baseline_of, build_order


def variant(label: str, sizes: dict[str, int], reference: str | None = None, **parameters: Number) -> Variant:
    return Variant(
        label=label,
        family=label.split("/")[0],
        parameters=parameters,
        sizes=sizes,
        buffers={},
        steps=(),
        reference=Reference(variant=reference),
        tolerance=None,
        work=Work(),
        iters=None,
        arch=None,
        flags=(),
        include=(),
    )


SMALL, LARGE = {"M": 64}, {"M": 1024}
VARIANTS = (
    variant("tiled/M=64/TILE=8", SMALL, TILE=8),
    variant("tiled/M=64/TILE=16", SMALL, TILE=16),
    variant("tiled/M=1024/TILE=8", LARGE, TILE=8),
    variant("naive/M=64", SMALL),
    variant("naive/M=1024", LARGE),
)


def test_a_label_a_family_or_a_pattern_selects() -> None:
    assert [v.label for v in select(VARIANTS, ["naive"])] == ["naive/M=64", "naive/M=1024"]
    assert [v.label for v in select(VARIANTS, ["*TILE=16"])] == ["tiled/M=64/TILE=16"]
    assert len(select(VARIANTS, [])) == len(VARIANTS)


def test_a_name_that_fits_nothing_gives_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"'nave' names no variant; there are naive"):
        select(VARIANTS, ["nave"])


def test_a_variant_is_compared_with_the_baseline_of_its_sizes() -> None:
    assert baseline_of(VARIANTS[1], VARIANTS, "naive") == "naive/M=64"
    assert baseline_of(VARIANTS[2], VARIANTS, "naive") == "naive/M=1024"
    assert baseline_of(VARIANTS[3], VARIANTS, "naive") == "naive/M=64"
    assert baseline_of(VARIANTS[0], VARIANTS, None) is None


def test_of_several_baselines_the_one_that_shares_most_parameters() -> None:
    assert baseline_of(VARIANTS[1], VARIANTS, "tiled") == "tiled/M=64/TILE=16"
    assert baseline_of(VARIANTS[3], VARIANTS, "tiled") == "tiled/M=64/TILE=8"  # none shared: the first


def test_baselines_and_references_are_built_first() -> None:
    late = variant("late", SMALL, reference="tiled/M=64/TILE=16")
    order = [v.label for v in build_order((*VARIANTS, late), "naive")]
    assert order[:3] == ["tiled/M=64/TILE=16", "naive/M=64", "naive/M=1024"]
    assert sorted(order) == sorted(v.label for v in (*VARIANTS, late))
