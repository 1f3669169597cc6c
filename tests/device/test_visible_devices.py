"""With CUDA_VISIBLE_DEVICES, ``--arch native``, ``doctor`` and the run mean the same GPU.

The driver is a small library with two GPUs in place of libcuda.so.1: what is tested is who asks whom.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("two_gpus.c")
CHOOSE = """
from gpuprof.device.choice import choose_arch, choose_devices, parse_devices, resolve_arch
from gpuprof.device.gpus import find_gpus
devices = choose_devices(parse_devices({device!r}), find_gpus(), None)
arch = choose_arch(resolve_arch("native", devices.gpus), devices.gpus).arch
print(arch, resolve_arch("native"), devices.gpus[0].name, sep="|")
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with libcuda.so.1, and a nvidia-smi that lists both GPUs whatever is visible."""
    compiler = shutil.which("gcc") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(folder / "libcuda.so.1"), str(SOURCE)], check=True)
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Tesla T4, GPU-0, 7.5, 580.1, 16384, 300, 1590'\n", encoding="utf-8")
    program.chmod(0o755)
    return folder


def call(driver: Path, visible: str | None, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "CUDA_VISIBLE_DEVICES"}
    environment |= {"LD_LIBRARY_PATH": str(driver), "PATH": f"{driver}:{environment.get('PATH', '')}"}
    if visible is not None:
        environment["CUDA_VISIBLE_DEVICES"] = visible
    return subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("visible", "device", "expected"),
    [
        (None, "gpu:0", "sm_75|sm_75|Tesla T4"),
        (None, "gpu:1", "sm_90|sm_75|NVIDIA H100"),
        ("1", "gpu:0", "sm_90|sm_90|NVIDIA H100"),
        ("1,0", "gpu:1", "sm_75|sm_90|Tesla T4"),
    ],
)
def test_native_is_the_gpu_of_the_run(driver: Path, visible: str | None, device: str, expected: str) -> None:
    done = call(driver, visible, "-c", CHOOSE.format(device=device))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == expected


def test_doctor_counts_gpus_as_the_run_does(driver: Path) -> None:
    done = call(driver, "1", "-m", "gpuprof", "doctor", "--json")
    found = [finding for finding in json.loads(done.stdout)["findings"] if finding["name"] == "GPU"]
    assert [(gpu["version"], gpu["origin"].split(",")[0]) for gpu in found] == [("9.0", "gpu:0: NVIDIA H100")]
    assert "CUDA_VISIBLE_DEVICES=1" in found[0]["origin"]


def test_a_hidden_gpu_is_named_with_the_variable(driver: Path) -> None:
    done = call(driver, "", "-c", CHOOSE.format(device="gpu:0"))
    assert done.returncode != 0
    assert "CUDA_ERROR_NO_DEVICE (CUDA_VISIBLE_DEVICES=)" in done.stderr
    beyond = call(driver, "1", "-c", CHOOSE.format(device="gpu:1"))
    assert "--device gpu:1 does not exist; available: gpu:0 (CUDA_VISIBLE_DEVICES=1)" in beyond.stderr
