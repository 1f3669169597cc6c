"""cuobjdump: the cubins inside executables, shared libraries, objects and fatbins."""

from __future__ import annotations

from pathlib import Path

from gpuprof.errors import DisassemblyError
from gpuprof.system.files import MAX_CODE_BYTES, check_regular, is_file
from gpuprof.system.processes import run_limited
from gpuprof.toolchain.elf import EM_CUDA
from gpuprof.toolchain.tools import Toolchain

_TIMEOUT_S = 600
_E_MACHINE = slice(18, 20)


def is_cubin(path: Path) -> bool:
    """Whether a file is a cubin itself: an ELF file of CUDA machine code."""
    if not is_file(path):
        return False
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
    check_regular(path, MAX_CODE_BYTES)
    if is_cubin(path):
        return [path]
    folder.mkdir(parents=True, exist_ok=True)
    before = set(folder.glob("*.cubin"))
    command = [str(tools.require("cuobjdump").path), "-xelf", "all", str(path.absolute())]
    try:
        done = run_limited(command, seconds=_TIMEOUT_S, folder=folder)
    except OSError as error:
        raise DisassemblyError(f"cannot start {command[0]}: {error.strerror}") from None
    if done.timed_out:
        raise DisassemblyError(f"cuobjdump took longer than {_TIMEOUT_S} s for {path} and was stopped")
    found = sorted(set(folder.glob("*.cubin")) - before)
    if found:
        return found
    message = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
    raise DisassemblyError(f"{path} holds no CUDA machine code" + (f" (cuobjdump: {message[0]})" if message else ""))
