"""Writes ``data/older/cubins.zip``: ``older.cu`` as the assemblers of several toolkits make it.

The wheels of CUDA 11.8 and 12 hold ``ptxas`` and no ``nvcc``, so PTX of the present nvcc is assembled, with the
version line that the older assembler takes. Run from the repository root, one argument per toolkit:

    pip download --no-deps nvidia-cuda-nvcc-cu11==11.8.89     # and nvidia-cuda-nvcc-cu12==12.4.131, ==12.9.86
    python -m tests.toolchain.record_older_cubins 11.8=PTXAS 12.4=PTXAS 12.9=PTXAS 13.0=PTXAS
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = Path(__file__).parent / "data" / "older"
SOURCE = FOLDER / "older.cu"
ARCHIVE = FOLDER / "cubins.zip"
#: The PTX version of each toolkit, and the architectures that it assembles for.
PTX_VERSIONS = {"11.8": "7.8", "12.4": "8.4", "12.9": "8.8", "13.0": "9.0"}
ARCHITECTURES = {
    "11.8": ("sm_75", "sm_80"),
    "12.4": ("sm_75", "sm_80", "sm_90a"),
    "12.9": ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"),
    "13.0": ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120"),
}


def assemble(ptxas: str, toolkit: str, arch: str, folder: Path) -> bytes:
    """The cubin of ``older.cu`` for one architecture by one toolkit's assembler."""
    ptx, cubin = folder / "older.ptx", folder / "older.cubin"
    subprocess.run(["nvcc", f"-arch={arch}", "-ptx", "-o", str(ptx), str(SOURCE)], check=True)
    text = re.sub(r"(?m)^\.version .*$", f".version {PTX_VERSIONS[toolkit]}", ptx.read_text())
    ptx.write_text(text)
    subprocess.run([ptxas, f"-arch={arch}", "-o", str(cubin), str(ptx)], check=True)
    return cubin.read_bytes()


def main(arguments: list[str]) -> None:
    assemblers = dict(argument.split("=", 1) for argument in arguments)
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(ARCHIVE, "w") as archive:
        for toolkit, ptxas in sorted(assemblers.items()):
            for arch in ARCHITECTURES[toolkit]:
                entry = zipfile.ZipInfo(f"cuda{toolkit}.{arch}.cubin", (2026, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, assemble(ptxas, toolkit, arch, Path(scratch)))


if __name__ == "__main__":
    main(sys.argv[1:])
