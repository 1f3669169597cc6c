"""``gpuprof doctor``, ``cache`` and ``ptx`` as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gpuprof
from gpuprof.cli.cache import command as cache_command
from gpuprof.cli.doctor import _short
from gpuprof.cli.doctor import command as doctor_command
from gpuprof.cli.ptx import command as ptx_command
from gpuprof.errors import GpuprofError, KernelNotFoundError, UsageError


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPROF_CACHE_DIR", str(folder))
        yield folder


def _run(command: object, *arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments))  # type: ignore[arg-type]


def _fails(result: Result, kind: type[GpuprofError], message: str) -> None:
    assert isinstance(result.exception, kind), result.output
    with pytest.raises(kind, match=message):
        raise result.exception


def test_doctor_finds_what_emulation_needs() -> None:
    result = _run(doctor_command, "--json")
    data = json.loads(result.output)
    by_name = {finding["name"]: finding for finding in data["findings"]}
    assert result.exit_code == 0
    assert data["emulation"] is True
    for name in ("nvcc", "nvdisasm", "trial build", "numpy", "pyelftools"):
        assert (by_name[name]["state"], by_name[name]["essential"]) == ("ok", True)
    assert by_name["nvcc"]["version"].count(".") == 2
    assert by_name["build cache"]["origin"].startswith(os.environ["GPUPROF_CACHE_DIR"])


def test_doctor_prints_a_table_of_100_columns() -> None:
    result = _run(doctor_command)
    assert "kernels can be built and emulated here" in result.output
    assert max(len(line) for line in result.output.splitlines()) <= 100
    assert "pip install gpuprof" not in result.output


def test_doctor_shortens_paths_of_this_folder_and_of_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    assert _short(f"PATH: {tmp_path}/bin/nvcc") == f"PATH: {tmp_path.name}/bin/nvcc"
    monkeypatch.chdir("/")
    assert _short(f"PATH: {tmp_path}/bin/nvcc") == "PATH: ~/bin/nvcc"
    assert _short("PATH: /usr/bin/nvcc") == "PATH: /usr/bin/nvcc"


def test_doctor_without_a_host_compiler_says_what_to_do(tmp_path: Path) -> None:
    """A fresh machine with Python and nothing else: exit code 3, and the command that mends it."""
    environment = {"PATH": str(tmp_path), "GPUPROF_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    code = "from gpuprof.cli import main; import sys; sys.argv = ['gpuprof', 'doctor', '--json']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 3, done.stderr
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert findings["host compiler"]["state"] == "missing"
    assert "apt install g++" in findings["host compiler"]["repair"]
    assert findings["trial build"]["state"] == "missing"


def test_doctor_works_without_a_home(tmp_path: Path) -> None:
    """No HOME, and a cache folder that cannot be made: a note, not an error."""
    (tmp_path / "file").write_text("")
    environment = {
        "PATH": os.environ["PATH"],
        "TMPDIR": str(tmp_path),
        "GPUPROF_CACHE_DIR": str(tmp_path / "file" / "cache"),
    }
    code = "from gpuprof.cli import main; import sys; sys.argv = ['gpuprof', 'doctor', '--json']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    (cache,) = [one for one in json.loads(done.stdout)["findings"] if one["name"] == "build cache"]
    assert cache["state"] == "warning"
    assert "using" in cache["repair"]
    assert "GPUPROF_CACHE_DIR" in cache["repair"]


def test_doctor_lists_what_the_emulator_does_not_know(tmp_path: Path) -> None:
    """A texture fetch, which the emulator does not execute, beside a kernel of which it knows everything."""
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest

    source = tmp_path / "k.cu"
    source.write_text(
        'extern "C" __global__ void known(float* p) { p[threadIdx.x] *= 2; }\n'
        'extern "C" __global__ void fetch(cudaTextureObject_t t, float* p) { p[0] = tex2D<float>(t, 1.0f, 2.0f); }\n'
    )
    cubin = Builder(find_tools()).build(BuildRequest(source, "fetch", "sm_89")).cubin
    result = _run(doctor_command, "--emulator", str(cubin))
    assert result.exit_code == 1
    assert "unknown: TEX" in result.output
    assert f"{source}:2" in result.output
    (report,) = json.loads(_run(doctor_command, "--emulator", str(cubin), "--json").output).values()
    assert {each["kernel"] for each in report["uncovered"]} == {"fetch"}
    assert report["covered"]["EXIT"] == 2
    assert sum(report["covered"].values()) + len(report["uncovered"]) == report["instructions"]


def test_ptx_of_a_bundled_kernel_shows_its_source_lines() -> None:
    text = _run(ptx_command, "gemm_tiled", "--kernel", "gemm_tiled_kernel<float, 16>").output
    assert text.count(".entry") == 1
    assert ".target sm_89" in text
    assert "fma.rn.f32" in text
    assert ".loc" not in text
    source = (Path(__file__).parents[2] / "kernels" / "gemm_tiled.cu").read_text().splitlines()
    shown = [line.strip().split("  ", 1) for line in text.splitlines() if "// gemm_tiled.cu:" in line]
    assert len(shown) > 5
    for place, line in shown:
        assert source[int(place.rsplit(":", 1)[1]) - 1].strip() == line


def test_ptx_of_a_function_and_of_an_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text('extern "C" __global__ void mine(int* p) { *p = VALUE; }\n')
    text = _run(ptx_command, "mine.cu", "-D", "VALUE=42", "--arch", "9.0").output
    assert ".target sm_90" in text
    assert ", 42;" in text
    assert "saxpy_float4" in _run(ptx_command, "saxpy_float4").output


def test_ptx_takes_flags_of_nvcc_under_the_name_of_sass_and_under_its_former_one(tmp_path: Path) -> None:
    source = tmp_path / "mine.cu"
    source.write_text('extern "C" __global__ void mine(int *out) { *out = VALUE; }\n')
    for flag in ("--nvcc-flag", "--flag"):
        assert "42" in _run(ptx_command, str(source), f"{flag}=-DVALUE=42").output
    assert "--flag " not in _run(ptx_command, "--help").output


def test_ptx_mistakes(tmp_path: Path) -> None:
    _fails(_run(ptx_command, "no_such_kernel"), UsageError, "no kernel 'no_such_kernel'")
    _fails(_run(ptx_command, "saxpy"), UsageError, "3 kernels; name one with --kernel: saxpy_float, ")
    _fails(_run(ptx_command, "saxpy", "--kernel", "saxpy_flaot"), KernelNotFoundError, "available: saxpy_float")
    _fails(_run(ptx_command, "saxpy_float", "-D", "1=2"), UsageError, "-D NAME=value")


def test_cache_is_shown_and_emptied(own_cache: Path) -> None:
    gpuprof.build("saxpy", "saxpy_float")
    data = json.loads(_run(cache_command, "--json").output)
    assert data["folder"] == str(own_cache)
    assert data["kinds"]["cubins"]["files"] >= 1
    assert data["bytes"] == sum(kind["bytes"] for kind in data["kinds"].values())
    assert "machine code" in _run(cache_command).output
    emptied = _run(cache_command, "--clear").output
    assert emptied.startswith(f"emptied {own_cache}")
    assert json.loads(_run(cache_command, "--json").output)["bytes"] == 0
    assert own_cache.is_dir()
