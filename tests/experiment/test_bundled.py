"""Kernels and configs by name, from any folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.errors import UsageError
from gpuprof.experiment import bundled, find_config, find_kernel, load

CONFIGS = sorted(path.name for path in bundled.bundled_folder("configs").glob("*.yaml"))


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CONFIGS)
def test_every_bundled_config_loads_from_any_folder(name: str) -> None:
    experiment = load(find_config(name), default_arch="sm_89")
    assert experiment.description
    assert experiment.variants


@pytest.mark.parametrize("name", ["gemm_1024", "gemm_1024.yaml", "configs/gemm_1024.yaml", "configs/gemm_1024"])
def test_names_of_configs(name: str) -> None:
    assert find_config(name) == bundled.bundled_folder("configs") / "gemm_1024.yaml"


def test_names_of_kernels() -> None:
    for name in ("micro_gemm_4x4", "micro_gemm_4x4.cu", "kernels/micro_gemm_4x4.cu"):
        assert find_kernel(name) == bundled.bundled_folder("kernels") / "micro_gemm_4x4.cu"


def test_this_folder_wins(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    inner = tmp_path / "configs" / "gemm_1024.yaml"
    inner.touch()
    assert find_config("gemm_1024").samefile(inner)
    outer = tmp_path / "gemm_1024.yaml"
    outer.touch()
    assert find_config("gemm_1024").samefile(outer)
    assert find_config("configs/gemm_1024.yaml").samefile(inner)
    assert find_config(str(inner)) == inner
    mine = [path for path in bundled.configs() if path.name == "gemm_1024.yaml"]
    assert [path.samefile(outer) for path in mine] == [True]


def test_a_kernel_here_wins_over_the_bundled_one_in_a_bundled_config(tmp_path: Path) -> None:
    (tmp_path / "gemm_naive.cu").touch()
    first = load(find_config("gemm_1024")).variants[0].steps[0]
    assert first.source == tmp_path / "gemm_naive.cu"  # type: ignore[union-attr]


def test_a_miss_names_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"no experiment 'gem_1024' here.*did you mean gemm_1024"):
        find_config("gem_1024")
    with pytest.raises(UsageError, match=r"no kernel 'micro_gem_4x4' here.*did you mean micro_gemm_4x4"):
        find_kernel("micro_gem_4x4")
    with pytest.raises(UsageError, match=r"`gpuprof configs` lists what there is"):
        find_config("zzzzzz")
