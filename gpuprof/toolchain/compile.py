"""One nvcc process: a unit in, a cubin in the cache and its log out."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gpuprof.errors import BuildError, GpuprofError
from gpuprof.system.cleanup import temporary_folder
from gpuprof.system.processes import run_limited
from gpuprof.toolchain import manifest, nvcc, prelude
from gpuprof.toolchain.cache import Cache, write_atomically
from gpuprof.toolchain.diagnostics import Failure, explain
from gpuprof.toolchain.elf import read_cubin
from gpuprof.toolchain.manifest import Entry, FileHashes
from gpuprof.toolchain.nvcc import Unit
from gpuprof.toolchain.process import Finished, Processes
from gpuprof.toolchain.refused_flags import refused_flag
from gpuprof.toolchain.tools import Tool, Toolchain, wheel_folders


@dataclass(frozen=True)
class Output:
    """A kind of output: nvcc's arguments for it, and where the cache keeps it."""

    arguments: tuple[str, ...]
    kind: str
    suffix: str

    def path(self, cache: Cache, digest: str) -> Path:
        """Where the output with that SHA-256 is."""
        return cache.path(self.kind, digest, self.suffix)


CUBIN = Output(("-cubin",), "cubins", ".cubin")
#: nvcc's words for a template instance that the source instantiates explicitly as well as the unit.
_TWICE = "explicitly instantiated more than once"
SHARED_LIBRARY = Output(("-shared", "-Xcompiler", "-fPIC"), "libraries", ".so")


@dataclass(frozen=True)
class Compiled:
    """A unit and what came of it in the cache; ``entry`` lacks the symbol."""

    unit: Unit
    path: Path
    entry: Entry
    log: str


class Compiler:
    """Starts nvcc; used from several threads."""

    def __init__(
        self, tools: Toolchain, cache: Cache, processes: Processes, timeout: float, ccbin: str | None = None
    ) -> None:
        self._tools = tools
        self._cache = cache
        self._processes = processes
        self._timeout = timeout
        self._ccbin = ccbin

    def compile(self, unit: Unit, output: Output = CUBIN, extra: Sequence[str] = ()) -> Compiled:
        """A cubin (or another output) with line information; raises BuildError, MissingToolError."""
        arguments = [*output.arguments, "-MD", "-MF", "unit.d", *nvcc.verbose_ptxas(unit.flags), *extra]
        with work_folder() as work:
            started = time.monotonic()
            unit, command, finished = self._run_unit(unit, work, arguments)
            seconds = time.monotonic() - started
            data = (work / "unit.out").read_bytes()
            files = self._dependencies(work, unit)
        digest = hashlib.sha256(data).hexdigest()
        path = output.path(self._cache, digest)
        _keep(path, data)
        hashes = FileHashes()
        entry = Entry(
            files=tuple((name, hashes.of(name) or "") for name in files.files),
            system=manifest.stamps(files.system),
            absent=manifest.absent_places(files.files, unit.search_folders),
            sha256=digest,
            symbol="",
            command=tuple(command),
            seconds=seconds,
            log=finished.output,
        )
        return Compiled(unit, path, entry, finished.output)

    def ptx(self, unit: Unit) -> str:
        """PTX with line information; raises BuildError, MissingToolError."""
        with work_folder() as work:
            self._run_unit(unit, work, ["-ptx"])
            return (work / "unit.out").read_text("utf-8", "replace")

    def probe(self, unit: Unit, instance: str | None) -> str | None:
        """The mangled name of an instance whose spelling does not give it: the address of a pointer set to it."""
        if instance is None:
            return None
        only = replace(unit, instances=(instance,))
        with work_folder() as work:
            try:
                self._run(self._command(only, work, ["-cubin"], probes=True), only, work)
                facts = read_cubin(work / "unit.out")
            except GpuprofError:
                return None
        place = next((symbol for symbol in facts.symbols if symbol.name == f"{nvcc.PROBE}0"), None)
        if place is None:
            return None
        targets = (
            relocation
            for relocation in facts.relocations
            if relocation.section == place.section and relocation.offset == place.value
        )
        return next((target.symbol for target in targets), None)

    def _run_unit(self, unit: Unit, work: Path, arguments: Sequence[str]) -> tuple[Unit, list[str], Finished]:
        """Run nvcc on a unit; once more without the instantiation when the source already has it.

        That an instance is in the source is known only when nvcc refuses a second one: its spelling there may
        differ, and may come out of a macro or a header. Several instances fail, and are then built one by one.
        """
        refused = refused_flag(unit.flags, os.environ)
        if refused is not None:
            raise BuildError(refused)
        command = self._command(unit, work, arguments)
        try:
            return unit, command, self._run(command, unit, work)
        except BuildError as error:
            if len(unit.instances) != 1 or unit.instantiated or _TWICE not in error.log:
                raise
        return self._run_unit(replace(unit, instantiated=True), work, arguments)

    def _command(self, unit: Unit, work: Path, arguments: Sequence[str], *, probes: bool = False) -> list[str]:
        links = self._cache.root / "links"
        source = nvcc.safe_source(unit.source, links)
        if unit.instances:
            text = nvcc.unit_text(source, unit.instances, probes=probes, instantiate=not unit.instantiated)
            source = work / nvcc.UNIT_NAME
            source.write_text(text, encoding="utf-8", errors="surrogateescape")
        host = ["-ccbin", self._ccbin] if self._ccbin else []
        fixed = prelude.constants(unit)
        if fixed:
            header = work / prelude.NAME
            header.write_text(prelude.text_of(fixed), encoding="utf-8")
            host += ["-include", str(header)]
            unit = replace(unit, defines=tuple(define for define in unit.defines if define not in fixed))
        command = nvcc.command_line(self._tools.require("nvcc"), unit, [*arguments, *host], links)
        return [*command, "-o", "unit.out", "-x", "cu", str(source)]

    def _run(self, command: Sequence[str], unit: Unit, work: Path) -> Finished:
        tool = self._tools.require("nvcc")
        try:
            finished = self._processes.run(command, work, nvcc.environment(work), self._timeout)
        except InterruptedError:
            raise BuildError("interrupted") from None
        except OSError as error:
            raise BuildError(f"cannot start {tool.path}: {error.strerror or error}") from None
        log = self._with_real_paths(finished.output, unit)
        if finished.timed_out:
            hint = "`gpuprof run` and `counters` take --build-timeout"
            raise BuildError(f"nvcc took longer than {self._timeout:g} s ({hint})", log)
        if finished.returncode != 0 or not (work / "unit.out").is_file():
            links = self._cache.root / "links"
            failure = Failure(
                log=finished.output,
                source=nvcc.safe_source(unit.source, links),
                arch=unit.arch,
                instances=unit.instances,
                folders=[nvcc.shell_safe(folder, links) for folder in unit.search_folders],
                known_archs=lambda: known_archs(tool),
                defines=unit.defines,
            )
            raise BuildError(self._with_real_paths(explain(failure), unit), log)
        return replace(finished, output=log)

    def _with_real_paths(self, output: str, unit: Unit) -> str:
        """Messages name the user's files, not the links that stand for odd names."""
        links = self._cache.root / "links"
        for path in (unit.source, unit.source.parent, *unit.include):
            output = output.replace(str(nvcc.shell_safe(path, links)), str(path)) if nvcc.is_unsafe(path) else output
        return output

    def _dependencies(self, work: Path, unit: Unit) -> manifest.Dependencies:
        try:
            text = (work / "unit.d").read_text("utf-8", "surrogateescape")
        except OSError:
            text = ""
        paths = [str(unit.source), *manifest.read_dependencies(text)]
        return manifest.sort_dependencies(paths, wheel_folders("include"), work)


def unit_key(
    unit: Unit,
    tools: Toolchain,
    hashes: FileHashes,
    ccbin: str | None,
    output: Output = CUBIN,
    extra: Sequence[str] = (),
) -> str:
    """The cache key of a compile: all that it depends on, its included files aside."""
    parts = (
        manifest.FORMAT,
        output.kind,
        list(extra),
        str(unit.source),
        hashes.of(str(unit.source)),
        unit.instances,
        unit.arch,
        unit.defines,
        unit.flags,
        [str(folder) for folder in unit.include],
        tools.nvcc.version if tools.nvcc else "",
        ccbin or "",
        nvcc.keyed_environment(),
    )
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogateescape")).hexdigest()


def known_archs(tool: Tool) -> list[str]:
    """What ``nvcc --list-gpu-code`` prints, sorted; empty when it does not."""
    try:
        done = run_limited([str(tool.path), "--list-gpu-code"], seconds=60)
    except OSError:
        return []
    names = {word for word in done.stdout.decode("utf-8", "replace").split() if word.startswith("sm_")}
    return sorted(names, key=lambda name: (int("".join(filter(str.isdigit, name)) or 0), name))


@contextmanager
def work_folder() -> Iterator[Path]:
    """A private temporary folder whose name nvcc's shell can be given."""
    base = tempfile.gettempdir()
    usable = base if not nvcc.UNSAFE & set(base) else "/tmp"
    with temporary_folder("gpuprof-", usable) as folder:
        yield folder


def _keep(path: Path, data: bytes) -> None:
    try:
        if not path.is_file() or path.read_bytes() != data:
            write_atomically(path, data)
    except OSError as error:
        raise BuildError(f"cannot write the build cache: {path}: {error.strerror or error}") from None
