"""nvdisasm: a cubin's machine code as text, kept by the cubin's content."""

from __future__ import annotations

import hashlib
import zlib
from pathlib import Path

from gpuprof.errors import DisassemblyError
from gpuprof.system.files import MAX_CODE_BYTES, read_regular
from gpuprof.system.processes import run_limited
from gpuprof.toolchain.cache import Cache, open_cache
from gpuprof.toolchain.tools import Toolchain

#: Code with encodings and the chain of inlined source lines.
OPTIONS = ("-c", "-hex", "-gi")
_KIND = "sass"
_TIMEOUT_S = 600
#: Processor time and memory that nvdisasm may take, by the file's size: a forged section table makes it work for ever.
_CPU_SECONDS = 20
_BYTES_PER_CPU_SECOND = 50_000
_MEMORY_BYTES = 2 << 30
_MEMORY_PER_BYTE = 400


def disassemble_text(tools: Toolchain, cubin: Path, cache: Cache | None = None) -> str:
    """``nvdisasm -c -hex -gi`` of a cubin; raises UnreadableFileError, DisassemblyError, or
    MissingToolError without nvdisasm."""
    content = read_regular(cubin, MAX_CODE_BYTES)
    nvdisasm = tools.require("nvdisasm")
    cache = cache or open_cache()
    key = hashlib.sha256(content + f"\0{nvdisasm.version} {' '.join(OPTIONS)}".encode()).hexdigest()
    kept = cache.load(_KIND, key)
    if kept is None:
        with cache.lock(_KIND, key):  # the emulator and the reader of a run want the same text at the same time
            kept = cache.load(_KIND, key)
            if kept is None:
                kept = zlib.compress(_run([str(nvdisasm.path), *OPTIONS, str(cubin.absolute())], cubin), level=1)
                cache.store(_KIND, key, kept)
    return zlib.decompress(kept).decode("utf-8", "replace")


def _run(command: list[str], cubin: Path) -> bytes:
    try:
        size = cubin.stat().st_size
        done = run_limited(
            command,
            seconds=_TIMEOUT_S,
            cpu_seconds=_CPU_SECONDS + size // _BYTES_PER_CPU_SECOND,
            memory_bytes=_MEMORY_BYTES + _MEMORY_PER_BYTE * size,
        )
    except OSError as error:
        raise DisassemblyError(f"cannot start {command[0]}: {error.strerror}") from None
    if done.timed_out:
        raise DisassemblyError(f"nvdisasm took too long for {cubin} and was stopped: the file may be damaged")
    if done.returncode != 0:
        message = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise DisassemblyError(f"nvdisasm cannot read {cubin}: {message.splitlines()[0] if message else 'no reason'}")
    return done.stdout
