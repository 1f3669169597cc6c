"""``import gpuprof``: a small sorted face, typed, documented, and cheap to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpuprof
from gpuprof import errors

ROOT = Path(__file__).parent.parent


def test_the_names_are_sorted_and_each_is_there_and_documented() -> None:
    assert gpuprof.__all__ == sorted(gpuprof.__all__)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in gpuprof.__all__:
        value = getattr(gpuprof, name)
        assert name == "__version__" or value.__doc__
        assert f"`{name}" in page or f"`gpuprof.{name}" in page, name


def test_nothing_public_of_the_api_is_left_out() -> None:
    from gpuprof import api

    made_here = {name for name, value in vars(api).items() if getattr(value, "__module__", "") == api.__name__}
    assert {name for name in made_here if not name.startswith("_")} - {"Extent"} <= set(gpuprof.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        gpuprof.runn  # noqa: B018


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import gpuprof, sys; dir(gpuprof); print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & {"numpy", "pydantic", "rich", "click", "yaml", "networkx"}


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> gpuprof.Build:
    source = tmp_path_factory.mktemp("scale") / "scale.cu"
    source.write_text(
        'extern "C" __global__ void scale(const float *x, float *y, float factor, double shift, int n)\n'
        "{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n)\n"
        "        y[i] = factor * x[i] + (float)shift;\n}\n"
    )
    return gpuprof.build(source)


def test_emulate_copies_arrays_and_fits_scalars_to_their_parameters(scale: gpuprof.Build) -> None:
    x = np.arange(70, dtype=np.float32)
    y = np.full(70, -1, np.float32)
    result = gpuprof.emulate(scale, (2,), [64], x, y, 2.0, 0.5, np.int32(66))
    assert np.array_equal(result.outputs[1][:66], 2 * x[:66] + 0.5)
    assert (result.outputs[1][66:] == -1).all()
    assert (y == -1).all()
    assert result.blocks_run == result.blocks_total == 2
    assert result.counters["sm__warps_launched.sum"] == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "takes 5 arguments, not 0"),
        (("x", "y", np.float64(1), 0.0, 1), "has 4 bytes, and a numpy.float64 8"),
        (("x", "y", 1.0, 0.0, 1 << 40), "does not fit"),
    ],
)
def test_arguments_that_do_not_fit(scale: gpuprof.Build, arguments: tuple[object, ...], words: str) -> None:
    array = np.zeros(4, np.float32)
    with pytest.raises(errors.UsageError, match=words):
        gpuprof.emulate(scale, 1, 32, *(array if isinstance(value, str) else value for value in arguments))


def test_a_fault_has_its_line(scale: gpuprof.Build) -> None:
    small = np.zeros(4, np.float32)
    with pytest.raises(errors.MemoryFaultError, match=r"scale\.cu:5"):
        gpuprof.emulate(scale, 1, 64, np.zeros(64, np.float32), small, 1.0, 0.0, 64)


def test_sass_is_a_function_and_a_package(scale: gpuprof.Build) -> None:
    from gpuprof.sass.parse import parse_disassembly

    assert callable(parse_disassembly)
    assert gpuprof.sass(scale).mix["EXIT"] >= 1


def test_a_run_shows_itself_and_becomes_a_table() -> None:
    from rich.console import Console

    run = gpuprof.run("saxpy", overrides={"COUNT": 1024}, device="emulated", variants=["float"])
    assert run["float"].status.value == "ok"
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(run)
    assert "float ok" in " ".join(console.export_text().split())
    assert "<iframe" in run._repr_html_()
    table = run.to_dataframe()
    assert list(table["variant"]) == ["float"]
    assert gpuprof.compare(run, run).variants[0].code == "same"
    with pytest.raises(KeyError):
        run["nothing"]


def test_occupancy_and_its_limits() -> None:
    assert gpuprof.occupancy((32, 32)).percent == pytest.approx(66.7, abs=0.05)
    with pytest.raises(errors.UsageError, match="at most 1024"):
        gpuprof.occupancy(2048)
