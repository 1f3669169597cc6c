"""What ``compare`` says of machine code, conditions that nothing decides, ``doctor`` now, and names of kernels."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gpuprof.toolchain import find_tools

SOURCE = """
extern "C" __global__ void plain(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 4;
}
namespace {
__global__ void hidden(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] *= 4;
}
}
void use(float *y) { hidden<<<1, 32>>>(y, 1); }
"""
CONFIG = """
name: same
sizes: {N: 256}
buffers: {y: {dtype: float32, shape: N, fill: 1, output: true}}
reference: {y: y * 4}
variants:
  plain: {source: same.cu, kernel: plain, block: 64, grid: 4, args: [y, N]}
  hidden: {source: same.cu, kernel: hidden, block: 64, grid: 4, args: [y, N]}
"""


def gpuprof(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpuprof", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def run(folder: Path, source: str, target: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "same.cu").write_text(source)
    (folder / "same.yaml").write_text(CONFIG)
    done = gpuprof("run", str(folder / "same.yaml"), "--device", "emulated", "--no-history", "--json", str(target))
    assert done.returncode == 0, done.stderr


def test_comments_and_folders_leave_the_code_the_same(tmp_path: Path) -> None:
    before, after, changed = (tmp_path / f"{name}.json" for name in ("before", "after", "changed"))
    run(tmp_path / "here", SOURCE, before)
    run(tmp_path / "there", "// a comment\n\n" + SOURCE, after)
    run(tmp_path / "here", SOURCE.replace("*= 4", "*= y[i] > 1 ? 4 : 4 * y[i]"), changed)
    same = gpuprof("compare", str(before), str(after), "--fail-on", "different > 0")
    assert (same.returncode, same.stdout.count(" same "), "different" in same.stdout) == (0, 2, False), same.stdout
    assert gpuprof("compare", str(before), str(changed), "--fail-on", "different > 0").returncode == 1


def test_a_condition_that_nothing_decides_is_no_success(tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    run(tmp_path / "here", SOURCE, target)
    files = ("compare", str(target), str(target))
    undecided = gpuprof(*files, "--fail-on", "slower > 3%")
    assert (undecided.returncode, "--allow-undecided" in undecided.stderr) == (2, True)
    assert gpuprof(*files, "--fail-on", "slower > 3%", "--allow-undecided").returncode == 0
    assert gpuprof(*files, "--fail-on", "slower > 3%", "--fail-on", "registers > 1").returncode == 1


@pytest.fixture
def path_without_compiler(tmp_path: Path) -> str:
    """A PATH with nvcc and the usual programs, and no host compiler."""
    nvcc = find_tools().nvcc
    assert nvcc is not None
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "bash", "rm", "cat", "ls", "env", "sed", "uname"):
        place = shutil.which(name)
        if place is not None:
            (folder / name).symlink_to(place)
    return f"{nvcc.path.parent}:{folder}" if not (nvcc.path.parent / "g++").exists() else str(folder)


def test_doctor_tries_the_host_compiler_that_is_there_now(path_without_compiler: str) -> None:
    assert gpuprof("doctor").returncode == 0  # and leaves nothing that a later call could believe
    without = gpuprof("doctor", PATH=path_without_compiler)
    assert without.returncode == 3, without.stdout
    assert "cannot build" in without.stdout


@pytest.mark.parametrize("command", ["sass", "occupancy", "counters", "run", "ptx", "peaks", "doctor"])
def test_what_a_message_advises_is_an_option_of_the_command(command: str) -> None:
    assert "--ccbin" in gpuprof(command, "--help").stdout


def test_overloads_and_templates_are_told_by_their_names(tmp_path: Path) -> None:
    source = tmp_path / "names.cu"
    source.write_text(
        "namespace ns { template <int N> __global__ void scaled(float *a) { a[threadIdx.x] *= N; } }\n"
        "__global__ void over(float *a) { a[threadIdx.x] *= 7; }\n"
        "__global__ void over(int *a) { a[threadIdx.x] *= 7; }\n"
    )
    several = gpuprof("sass", str(source), "--kernel", "over").stderr
    assert "over(float*)" in several
    assert "over(int*)" in several
    template = gpuprof("sass", str(source), "--kernel", "scaled").stderr
    assert "ns::scaled<int N> is a template" in template
    assert "name an instance" in template
