"""One rule for what names a variant: label, family, beginning up to a slash, shell pattern."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpuprof.cli import cli
from gpuprof.errors import ConfigError, UsageError
from gpuprof.experiment import load
from gpuprof.experiment.naming import counterpart, matches, select, select_all, unpaired_note, without_counterpart
from gpuprof.profile.selection import baseline_of
from gpuprof.results.json import read_run

GEMM = Path(__file__).parents[2] / "configs" / "gemm_1024.yaml"


@dataclass(frozen=True)
class Point:
    label: str
    sizes: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, object] = field(default_factory=dict)

    @property
    def family(self) -> str:
        return self.label.split("/")[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tiled", True),
        ("tiled/TILE=16/M=64", True),
        ("tiled/TILE=16", True),
        ("tiled/TILE=1", False),
        ("til", False),
        ("til*", True),
        ("*/TILE=16", True),
        ("*TILE=16", True),
        ("*M=64", True),
        ("tiled/TILE=?6", True),
        ("[st]iled/*", True),
        ("naive", False),
        ("Tiled", False),
    ],
)
def test_names_of_a_variant(name: str, expected: bool) -> None:
    assert matches(name, "tiled", "tiled/TILE=16/M=64") is expected


def test_an_exact_label_is_that_variant_alone() -> None:
    points = [Point("a"), Point("a/T=1"), Point("a/T=1/U=2")]
    assert [point.label for point in select(points, "a/T=1")] == ["a/T=1"]
    assert [point.label for point in select(points, "a/T=1*")] == ["a/T=1", "a/T=1/U=2"]
    with pytest.raises(UsageError, match="--variant 'b' names no variant; there are a"):
        select_all(points, ["b"])


def test_a_counterpart_has_the_sizes_and_most_parameters() -> None:
    points = [
        Point(f"tiled/TILE={tile}/M={size}", {"M": size}, {"TILE": tile}) for tile in (8, 16) for size in (64, 128)
    ]
    wide = Point("wide/TILE=16/V=4/M=128", {"M": 128}, {"TILE": 16, "V": 4})
    assert counterpart(points, "tiled", wide) is points[3]
    assert counterpart(points, "tiled/TILE=8", wide) is points[1]
    assert counterpart(points, "tiled", points[0]) is points[0]
    assert counterpart(points, "tiled/TILE=16/M=64", wide) is None
    assert without_counterpart([wide], "none") == {wide.label: "the baseline 'none' names no variant"}


WRITTEN = {"baseline": "naive", "reference": '{C: "A @ B"}'}


def gemm(**changes: str) -> str:
    text = GEMM.read_text(encoding="utf-8")
    for key, new in changes.items():
        text = text.replace(f"{key}: {WRITTEN[key]}", f"{key}: {new}")
    return text.replace("source: gemm", f"source: {GEMM.parents[1] / 'kernels'}/gemm")


SIZES = {"M": "64,128", "N": "64", "K": "64"}


@pytest.mark.parametrize("name", ["tiled/TILE=16", "tiled", "til*", "*/TILE=16", "naive"])
def test_a_baseline_by_any_name_has_a_partner_at_each_size(name: str, tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(gemm(baseline=f'"{name}"'), encoding="utf-8")
    experiment = load(path, overrides=SIZES)
    partners = {v.label: baseline_of(v, experiment.variants, experiment.baseline) for v in experiment.variants}
    assert len(partners) == 6
    assert None not in partners.values()
    by_label = {variant.label: variant for variant in experiment.variants}
    assert all(by_label[label].sizes == by_label[partner or ""].sizes for label, partner in partners.items())
    assert unpaired_note(experiment.variants, experiment.baseline) == ()


def test_a_baseline_that_some_rows_lack_is_said(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    label = next(v.label for v in load(GEMM, overrides=SIZES).variants if v.family == "tiled" and v.sizes["M"] == 64)
    path.write_text(gemm(baseline=label), encoding="utf-8")
    flags = [part for name, value in SIZES.items() for part in ("--set", f"{name}={value}")]
    checked = CliRunner().invoke(cli, ["check", str(path), *flags])
    assert checked.exit_code == 0, checked.output
    words = " ".join(checked.output.split())
    assert "3 of 6 variants are not compared with a baseline (naive/M=128" in words
    assert f"the baseline '{label}' names no variant at M=128" in words
    out = tmp_path / "run.json"
    done = CliRunner().invoke(cli, ["run", str(path), *flags, "--device", "none", "--json", str(out)])
    assert done.exit_code == 0, done.output
    rows = {row.variant: row.missing.get("baseline") for row in read_run(out).results}
    assert {label for label, reason in rows.items() if reason} == {label for label in rows if "M=128" in label}


@pytest.mark.parametrize("name", ["nai*", "naive", "tiled/TILE=16"])
def test_references_follow_the_same_rule(name: str, tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    path.write_text(gemm(reference=f'"{name}"'), encoding="utf-8")
    experiment = load(path, overrides=SIZES)
    named = [variant for variant in experiment.variants if variant.reference.variant is not None]
    assert len(named) == 4
    families = {(variant.reference.variant or "").split("/")[0] for variant in named}
    assert families == {"tiled" if name.startswith("tiled") else "naive"}


def test_a_reference_that_names_nothing_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "g.yaml"
    for name in ("til?", "tiled/TILE=99"):
        path.write_text(gemm(reference=f'"{name}"'), encoding="utf-8")
        with pytest.raises(ConfigError, match="there is no variant"):
            load(path, overrides=SIZES)


@pytest.mark.parametrize("name", ["til*", "tiled/TILE=16", "*/TILE=16"])
def test_commands_select_alike(name: str, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    flags = [part for size, value in SIZES.items() for part in ("--set", f"{size}={value}")]
    done = CliRunner().invoke(
        cli, ["run", str(GEMM), *flags, "--variant", name, "--device", "none", "--json", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert {row.family for row in read_run(out).results} == {"tiled"}
    shown = CliRunner().invoke(cli, ["sass", str(GEMM), "--variant", name])
    assert shown.exit_code == 0, shown.output
