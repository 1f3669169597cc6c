"""``gpuprof new --from``: YAMLs that run for kernels of many signatures, and what cannot be guessed is said."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpuprof
from gpuprof.cli.new import write_for
from gpuprof.cli.run import command as run_command
from gpuprof.errors import UsageError
from gpuprof.results.expectations import load_experiment
from gpuprof.results.model import Status
from gpuprof.starter.config import starter_for
from gpuprof.starter.signature import kernels_of

SOURCE = Path(__file__).parent / "kernels.cu"
TEXT = SOURCE.read_text(encoding="utf-8")
#: Kernels that no YAML can call, with the parameter that is the reason.
REFUSED = {"bodies": "all", "batched": "rows", "textured": "image"}
NAMES = [kernel.name for kernel in kernels_of(TEXT)]
RUN = [name for name in NAMES if name not in REFUSED]


def test_every_kernel_of_the_file_is_read() -> None:
    assert len(NAMES) == TEXT.count("__global__ ") == 30
    assert len(RUN) >= 25


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_argument_can_be_is_said_with_its_parameter(name: str) -> None:
    with pytest.raises(UsageError, match=f"'{REFUSED[name]}'"):
        starter_for(TEXT, "kernels.cu", name, name)


@pytest.mark.parametrize("name", RUN)
def test_the_yaml_is_one_that_gpuprof_reads(name: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.cu").write_text(TEXT)
    config, guesses = write_for(tmp_path / "kernels.cu", None, name)
    (variant,) = load_experiment(config).variants
    assert variant.label == name
    assert guesses
    assert any(buffer.output for buffer in variant.buffers.values())


@pytest.mark.slow
def test_the_yamls_run(tmp_path: Path) -> None:
    """All of them build, launch without a fault, and write something."""
    (tmp_path / "kernels.cu").write_text(TEXT)
    failed = {}
    for name in RUN:
        config, _ = write_for(tmp_path / "kernels.cu", None, name)
        (result,) = gpuprof.run(str(config), device="emulated").results
        if result.status is not Status.OK:
            failed[name] = result.reason
    assert not failed


def test_several_kernels_have_to_be_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--kernel: add, scale"):
        starter_for(TEXT, "kernels.cu", "x")
    with pytest.raises(UsageError, match="no __global__ function"):
        starter_for("int main() {}", "main.cu", "x")


def test_a_yaml_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "one.cu").write_text("__global__ void f(float* x) { x[threadIdx.x] = 1; }")
    (tmp_path / "one.yaml").write_text("mine")
    with pytest.raises(UsageError, match="already here"):
        write_for(tmp_path / "one.cu", None, None)
    assert (tmp_path / "one.yaml").read_text() == "mine"


def test_run_names_the_command_for_a_source() -> None:
    with pytest.raises(UsageError, match=r"gpuprof new --from k\.cu"):
        run_command.main(["k.cu", "--device", "none"], standalone_mode=False)
