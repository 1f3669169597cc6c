"""``gpuprof occupancy`` as a person types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gpuprof.cli.occupancy import command, parse_block, parse_bytes
from gpuprof.errors import UsageError
from gpuprof.toolchain import find_tools


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))


def test_full_block_on_ada() -> None:
    """1024 threads: one block, 32 of 48 warps (48 warps per SM; 32 registers leave room for two)."""
    text = _run("--block", "32x32").output
    assert "1 block per SM, 32 of 48 warps: 66.7 % occupancy, limited by warps" in text
    assert "→ warps               1   32 per block, 48 per SM" in text
    assert "▲ 1024: 66.7 %" in text
    assert max(len(line) for line in text.splitlines()) <= 100


def test_every_binding_limit_is_marked() -> None:
    text = _run("--block", "256", "--regs", "40").output
    assert "6 blocks per SM, 48 of 48 warps: 100.0 % occupancy, limited by warps and registers" in text
    marked = [line.split()[1] for line in text.splitlines() if line.startswith("→")]
    assert marked == ["warps", "registers"]


def test_json_has_every_figure_with_its_source() -> None:
    data = json.loads(_run("--block", "128", "--arch", "sm_86", "--json").output)
    assert data["figures"]["fp32_fma_per_clock"]["value"] == 128
    assert data["figures"]["barriers_per_sm"]["value"] is None
    assert all(figure["source"] for figure in data["figures"].values())


def test_json_has_the_numbers() -> None:
    data = json.loads(_run("--block", "128", "--regs", "32", "--smem", "16K", "--arch", "9.0", "--json").output)
    # 16 KiB and the driver's 1,024 bytes: 17,408; 233,472 / 17,408 = 13 blocks of 4 warps
    assert data["arch"] == "sm_90"
    assert data["limits"]["shared memory"] == 13
    assert data["blocks_per_sm"] == 13
    assert data["percent"] == pytest.approx(100 * 52 / 64)
    assert data["limiter"] == "shared memory"


def test_a_block_that_cannot_be_launched_says_why() -> None:
    text = _run("--block", "256", "--smem", "120K").output
    assert "0 blocks per SM, it cannot be launched: 122,880 bytes of shared memory, at most 101,376" in text


@pytest.mark.parametrize("text", ["32x8", "32,8", "[32, 8]", "32X8", " 32 x 8 ", "32*8"])
def test_ways_to_write_a_block(text: str) -> None:
    assert parse_block(text) == (32, 8, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--block is missing"),
        (("--block", "0"), "every extent must be at least 1"),
        (("--block", "32x33"), "1056 threads, at most 1024"),
        (("--block", "1x1x65"), "z is 65, at most 64"),
        (("--block", "-32"), "write it like 256, 32x8"),
        (("--block", "many"), "write it like 256, 32x8"),
        (("--block", "32", "--regs", "256"), "0 to 255 registers"),
        (("--block", "32", "--smem", "4 pints"), "write bytes like 4096 or 48K"),
        (("--block", "32", "--arch", "sm_9"), "cut short"),
        (("--block", "32", "--arch", "sm_70"), "no hardware facts for arch 'sm_70'.*sm_75"),
    ],
)
def test_bad_input_is_one_message(arguments: tuple[str, ...], message: str) -> None:
    result = _run(*arguments)
    assert isinstance(result.exception, UsageError)
    with pytest.raises(UsageError, match=message):
        raise result.exception


@pytest.mark.parametrize(("text", "count"), [("4096", 4096), ("48K", 49152), ("48KiB", 49152), ("1 kb", 1024)])
def test_ways_to_write_bytes(text: str, count: int) -> None:
    assert parse_bytes(text) == count


def test_it_answers_at_once() -> None:
    """The promise is 250 ms on two free cores. Here: no heavy import, and little CPU time."""
    code = "import sys; from gpuprof.cli import cli; cli(['occupancy', '--block', '32x32'], standalone_mode=False)"
    heavy = "print(sorted({'numpy', 'pydantic', 'rich', 'networkx', 'elftools'} & set(sys.modules)))"
    spent = "import time; print(time.process_time())"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {heavy}; {spent}"], capture_output=True, text=True, check=True
    )
    modules, seconds = done.stdout.splitlines()[-2:]
    assert modules == "[]"
    assert float(seconds) < 2


@pytest.mark.slow
def test_a_kernel_brings_its_registers_and_shared_memory() -> None:
    data = json.loads(_run("--block", "32x32", "--kernel", "gemm_tiled", "--json").output)
    assert data["static_shared_bytes"] == 2 * 32 * 32 * 4  # two tiles of floats
    assert data["registers_origin"] == "built: gemm_tiled_kernel<float, 32>"
    assert 16 <= data["registers"] <= 64


def test_a_function_of_a_file_with_several(tmp_path: Path) -> None:
    path = tmp_path / "two kernels.cu"
    path.write_text(
        'extern "C" __global__ void __launch_bounds__(128) one(float* a) { a[threadIdx.x] = 1; }\n'
        'extern "C" __global__ void two(float* a) { a[threadIdx.x] = 2; }\n',
        encoding="utf-8",
    )
    several = _run("--block", "64", "--kernel", str(path))
    assert isinstance(several.exception, UsageError)
    assert "name one as --kernel two kernels.cu:NAME: one, two" in str(several.exception)
    if find_tools().nvcc is None:
        pytest.skip("needs nvcc")
    assert "block 128 threads" in _run("--kernel", f"{path}:one").output  # its launch bounds
    assert "(built: two)" in _run("--block", "64", "--kernel", f"{path}:two").output


def test_a_cubin_of_another_architecture_is_not_counted(tmp_path: Path) -> None:
    nvcc = find_tools().nvcc
    if nvcc is None:
        pytest.skip("needs nvcc")
    source, cubin = tmp_path / "k.cu", tmp_path / "k.cubin"
    source.write_text('extern "C" __global__ void k(float* a) { a[threadIdx.x] = 1; }\n', encoding="utf-8")
    subprocess.run([str(nvcc.path), "-arch=sm_80", "-cubin", "-o", str(cubin), str(source)], check=True)
    wrong = _run("--block", "64", "--kernel", str(cubin))
    assert isinstance(wrong.exception, UsageError)
    assert "k.cubin is code for sm_80" in str(wrong.exception)
    assert "sm_80 (Ampere)" in _run("--block", "64", "--kernel", str(cubin), "--arch", "sm_80").output
