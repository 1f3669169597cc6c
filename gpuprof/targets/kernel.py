"""Which kernel a person means: a bundled or own source by name, or a function in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuprof.errors import UsageError
from gpuprof.toolchain.names import base_name
from gpuprof.toolchain.sources import default_kernel, scan_kernels


@dataclass(frozen=True)
class KernelTarget:
    """A source (or cubin) and the kernel in it, as a build request names it."""

    source: Path
    kernel: str


def find_target(name: str, function: str | None = None, *, repair: str = "name one with --kernel") -> KernelTarget:
    """The target of ``NAME`` (a file, a bundled kernel, or a function in one), with ``--kernel`` where that is given.

    Raises UsageError: no such kernel (with near names), or several functions in the source and none named: ``repair``
    says how.
    """
    from gpuprof.experiment import bundled

    try:
        source = bundled.find_kernel(name)
    except UsageError:
        found = None if function else _by_function(name, bundled.kernels())
        if found is None:
            raise
        return found
    if source.suffix == ".ptx":
        raise UsageError(
            f"{source.name} is PTX and no CUDA source: `ptxas -arch=sm_89 {source.name} -o FILE.cubin` makes "
            "the machine code that is read here"
        )
    return KernelTarget(source.absolute(), function or _only_function(source, repair))


def _by_function(name: str, sources: Iterable[Path]) -> KernelTarget | None:
    """A function that some source here or among the bundled ones defines."""
    wanted = base_name(name)
    for source in sources:
        for kernel in scan_kernels(_text(source)):
            if kernel.name == wanted:
                return KernelTarget(source.absolute(), name if "<" in name else kernel.default_name)
    return None


def _only_function(source: Path, repair: str) -> str:
    if source.suffix == ".cubin":
        from gpuprof.toolchain.elf import read_cubin

        names = list(read_cubin(source).kernels)
        chosen = names[0] if len(names) == 1 else None
    else:
        names = [kernel.default_name for kernel in scan_kernels(_text(source))]
        chosen = default_kernel(_text(source), source.stem)
    if chosen is not None:
        return chosen
    if not names:
        raise UsageError(f"{source.name} has no __global__ function; where it includes one, {repair}")
    raise UsageError(f"{source.name} has {len(names)} kernels; {repair}: {', '.join(names)}")


def read_defines(texts: Iterable[str]) -> Mapping[str, str]:
    """``-D NAME=value`` options; raises UsageError for one without a name."""
    defines: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name.isidentifier():
            raise UsageError(f"-D {text}: write it as -D NAME=value; '{name}' is not a valid name")
        defines[name] = value if "=" in text else "1"
    return defines


def _text(source: Path) -> str:
    return source.read_text(encoding="utf-8", errors="replace")
