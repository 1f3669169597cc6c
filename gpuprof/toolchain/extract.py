"""cuobjdump: the cubins inside executables, shared libraries, objects and fatbins."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gpuprof.errors import DisassemblyError
from gpuprof.toolchain.elf import EM_CUDA
from gpuprof.toolchain.tools import Toolchain

_TIMEOUT_S = 600
_E_MACHINE = slice(18, 20)


def is_cubin(path: Path) -> bool:
    """Whether a file is a cubin itself: an ELF file of CUDA machine code."""
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return False
    return head[:4] == b"\x7fELF" and int.from_bytes(head[_E_MACHINE], "little") == EM_CUDA


def extract_cubins(tools: Toolchain, path: Path, folder: Path) -> list[Path]:
    """Write every cubin embedded in ``path`` into ``folder`` and return them by name; a cubin is returned as it is.

    Raises DisassemblyError when there is none or the file cannot be read, MissingToolError without cuobjdump.
    """
    if not path.is_file():
        raise DisassemblyError(f"no such file: {path}")
    if is_cubin(path):
        return [path]
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.glob("*.cubin"))
    command = [str(tools.require("cuobjdump").path), "-xelf", "all", str(path.absolute())]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise DisassemblyError(f"cuobjdump took longer than {_TIMEOUT_S} s for {path}") from None
    except OSError as error:
        raise DisassemblyError(f"cannot start {command[0]}: {error.strerror}") from None
    found = sorted(set(folder.glob("*.cubin")) - before)
    if found:
        return found
    message = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
    raise DisassemblyError(f"{path} holds no CUDA machine code" + (f" (cuobjdump: {message[0]})" if message else ""))
