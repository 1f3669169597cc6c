"""Write the YAML of the torture sweep: 200 variants, of which nine misbehave.

    python tests/profile/torture/make_config.py FOLDER [--cubin CUBIN] [--good N]

With ``--cubin`` the good variants share one stored cubin, so that only the broken source meets nvcc.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

HERE = Path(__file__).parent
N = 4096

#: family -> (kernel, what the row must say). ``room`` takes more memory than any device has.
BAD = {
    "does_not_build": "undeclared_name",
    "out_of_bounds": "",
    "just_past_the_end": "",
    "endless": "",
    "leaves_some": "7 of 4,096",
    "gives_nan": "1 of 4,096",
    "changes_its_input": "input x was changed",
    "out_of_memory": "memory",
    "wrong_arguments": "takes 4 parameters",
}


def config(good: int, source: str) -> str:
    """The YAML's text."""
    factors = ", ".join(f"{n + 1}.0" for n in range(good))
    common = f"{{source: {source}, block: 256, grid: 'cdiv(n, 256)', args: [n, x, y]"
    lines = [
        "name: torture",
        f"sizes: {{n: {N}}}",
        "iters: 20",
        "buffers:",
        "  x: {dtype: float32, shape: [n], fill: 'i % 64 + 1'}",
        "  y: {dtype: float32, shape: [n], output: true}",
        "reference: {y: x}",
        "tolerance: {rtol: 1.0e-6}",
        "work: {bytes: 8*n}",
        "baseline: scale/F=1.0",
        "variants:",
        f"  scale: {{source: {source}, kernel: scale, params: {{F: [{factors}]}}, block: 256,",
        "    grid: 'cdiv(n, 256)', args: [n, {value: F, dtype: float32}, x, y]}",
        "  does_not_build: {source: does_not_build.cu, kernel: does_not_build, block: 256, grid: 1, args: [n, x, y]}",
        f"  wrong_arguments: {{source: {source}, kernel: scale, block: 256, grid: 16, args: [n, x, y]}}",
        f"  out_of_memory: {{source: {source}, kernel: uses_room, block: 256, grid: 16, args: [n, x, y, room0],",
        "    buffers: {"
        + ", ".join(f"room{k}: {{dtype: float32, shape: [{15 << 30}], scratch: true}}" for k in range(8))
        + "}}",
    ]
    plain = [name for name in BAD if name not in ("does_not_build", "wrong_arguments", "out_of_memory")]
    lines += [f"  {name}: {common}, kernel: {name}}}" for name in plain]
    return "\n".join(lines) + "\n"


def write(folder: Path, good: int, cubin: Path | None) -> Path:
    """The config and its sources in ``folder``; returns the YAML's path."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in HERE.glob("*.cu"):
        shutil.copy(source, folder)
    name = "torture.cu"
    if cubin is not None:
        shutil.copy(cubin, folder / "torture.cubin")
        name = "torture.cubin"
    path = folder / "torture.yaml"
    path.write_text(config(good, name), encoding="utf-8")
    return path


def build_cubin(folder: Path, arch: str = "sm_89") -> Path:
    """torture.cu as a cubin."""
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest

    folder.mkdir(parents=True, exist_ok=True)
    build = Builder(find_tools()).build(BuildRequest(HERE / "torture.cu", "scale", arch))
    return Path(shutil.copy(build.cubin, folder / "torture.cubin"))


def main() -> None:
    """The script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cubin", type=Path)
    parser.add_argument("--good", type=int, default=200 - len(BAD))
    options = parser.parse_args()
    print(write(options.folder, options.good, options.cubin))


if __name__ == "__main__":
    main()
