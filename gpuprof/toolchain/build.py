"""Building variants: nvcc in parallel, nothing twice, failures as values."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from gpuprof.errors import BuildError, GpuprofError, KernelNotFoundError
from gpuprof.toolchain import manifest, nvcc
from gpuprof.toolchain.cache import open_cache
from gpuprof.toolchain.compile import Compiled, Compiler
from gpuprof.toolchain.elf import CubinFacts, parse_cubin
from gpuprof.toolchain.manifest import FileHashes
from gpuprof.toolchain.model import Build, BuildRequest
from gpuprof.toolchain.names import base_name, demangle, find_kernel, no_kernel_message
from gpuprof.toolchain.nvcc import Unit
from gpuprof.toolchain.process import Processes
from gpuprof.toolchain.session import OnDone, Outcome, Session, instance_of
from gpuprof.toolchain.sources import scan_kernels
from gpuprof.toolchain.tools import Toolchain

__all__ = ["Builder", "OnDone", "Outcome"]


class Builder:
    """Builds requests with nvcc and keeps the cubins by content.

    ``cache_dir``: the usual cache by default; ``jobs``: nvcc processes at once, by default the cores of this process;
    ``timeout``: seconds per nvcc process; ``ccbin``: host compiler for nvcc.
    """

    def __init__(
        self,
        tools: Toolchain,
        cache_dir: Path | None = None,
        jobs: int | None = None,
        timeout: float = 300.0,
        ccbin: str | None = None,
    ) -> None:
        self.tools = tools
        self.cache = open_cache(cache_dir)
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self._processes = Processes()
        self._compiler = Compiler(tools, self.cache, self._processes, timeout, ccbin)
        self._ccbin = ccbin

    def build(self, request: BuildRequest) -> Build:
        """One request; raises BuildError."""
        (outcome,) = self.build_all([request])
        if isinstance(outcome, BuildError):
            raise outcome
        return outcome

    def build_all(self, requests: Sequence[BuildRequest], on_done: OnDone | None = None) -> list[Outcome]:
        """Every request, in order, as its Build or its BuildError.

        ``on_done(request, outcome)`` is called from this thread, once per request, as each is finished. Raises
        MissingToolError when something has to be compiled and there is no nvcc; on KeyboardInterrupt the nvcc
        processes are killed first.
        """
        session = Session(self.tools, self.cache, self._ccbin, requests, on_done)
        session.answer_from_cache()
        if session.open:
            self.tools.require("nvcc")
            self._compile(session)
        return session.outcomes()

    def _compile(self, session: Session) -> None:
        pool = ThreadPoolExecutor(max_workers=self.jobs, thread_name_prefix="nvcc")
        try:
            futures = [pool.submit(self._build_unit, unit, keys, session) for unit, keys in session.units(self.jobs)]
            for future in as_completed(futures):
                for key, outcome in future.result():
                    session.finish(key, outcome)
        except BaseException:
            self._processes.stop()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _build_unit(self, unit: Unit, keys: Sequence[str], session: Session) -> list[tuple[str, Outcome]]:
        """One nvcc process for all ``keys``; when that fails, one for each, so that one bad instance costs its row."""
        name = hashlib.sha256("".join(keys).encode()).hexdigest()
        with self.cache.lock("units", name, lambda: self._processes.stopped):
            waited = {key: session.from_cache(key, FileHashes()) for key in keys}
            missing = [key for key in keys if waited[key] is None]
            done: list[tuple[str, Outcome]] = [(key, outcome) for key, outcome in waited.items() if outcome]
            if not missing:
                return done
            instances = [session.instance(key) for key in missing]
            whole = unit if unit.instances else unit.with_instances(instance for instance in instances if instance)
            outcome = self._compile_unit(whole)
            if isinstance(outcome, BuildError) and len(set(instances)) > 1 and not unit.instances:
                return done + self._build_apart(unit, missing, session)
            return done + self._finish(outcome, missing, session)

    def _build_apart(self, unit: Unit, keys: Sequence[str], session: Session) -> list[tuple[str, Outcome]]:
        """A process for each instance, and one for the kernels that need no instance."""
        done: list[tuple[str, Outcome]] = []
        for instance in dict.fromkeys(session.instance(key) for key in keys):
            outcome = self._compile_unit(unit.with_instances([instance] if instance else []))
            done += self._finish(outcome, [key for key in keys if session.instance(key) == instance], session)
        return done

    def _compile_unit(self, unit: Unit) -> Compiled | BuildError:
        try:
            return self._compiler.compile(unit)
        except BuildError as error:
            return error
        except OSError as error:
            place = f" {error.filename}" if error.filename else ""
            return BuildError(f"cannot build {unit.source}:{place}: {error.strerror or error}")

    def _finish(
        self, compiled: Compiled | BuildError, keys: Sequence[str], session: Session
    ) -> list[tuple[str, Outcome]]:
        """Find each request's kernel in what was compiled, keep it, and describe it."""
        if isinstance(compiled, BuildError):
            return [(key, compiled) for key in keys]
        try:
            facts = parse_cubin(compiled.path.read_bytes(), str(compiled.path))
        except GpuprofError as error:
            return [(key, BuildError(str(error), compiled.log)) for key in keys]
        return [(key, self._describe(compiled, facts, key, session)) for key in keys]

    def _describe(self, compiled: Compiled, facts: CubinFacts, key: str, session: Session) -> Outcome:
        request = session.requests[key]
        try:
            if _number(facts.arch) != _number(request.arch):
                raise BuildError(
                    f"the flags build for {facts.arch}, but the arch is {request.arch}: say it with --arch"
                )
            symbol = self._symbol(request, facts, compiled)
        except GpuprofError as error:
            return BuildError(str(error), compiled.log)
        entry = replace(compiled.entry, symbol=symbol)
        manifest.store_entry(self.cache, key, entry)
        return session.describe(request, entry, facts, cached=False)

    def _symbol(self, request: BuildRequest, facts: CubinFacts, compiled: Compiled) -> str:
        instance = instance_of(request)
        symbols = list(facts.kernels)
        if not symbols:
            written = scan_kernels(request.source.read_text("utf-8", "replace"))
            templates = [str(kernel) for kernel in written if kernel.template is not None]
            raise KernelNotFoundError(f"{request.source}: {no_kernel_message(request.kernel, templates)}")
        try:
            return find_kernel(instance or request.kernel, symbols)
        except KernelNotFoundError as error:
            probed = self._compiler.probe(compiled.unit, instance) if instance in compiled.unit.instances else None
            meant = [symbol for symbol in symbols if probed and demangle(symbol) == demangle(probed)]
            if len(meant) == 1:
                return meant[0]
            raise KernelNotFoundError(f"{request.source}: {_template_named(request) or error}") from None

    def ptx(self, request: BuildRequest) -> str:
        """The PTX of a request's source, with line information; raises BuildError, MissingToolError. Not cached."""
        instance = instance_of(request)
        return self._compiler.ptx(nvcc.unit_of(request).with_instances([instance] if instance else []))

    def stop(self) -> None:
        """Kill every nvcc process and start no more; for callers that run ``build_all`` in another thread."""
        self._processes.stop()


def _template_named(request: BuildRequest) -> str | None:
    """What to say where the name is a template's that nothing instantiates; None where it is none's."""
    for kernel in scan_kernels(request.source.read_text("utf-8", "replace")):
        if kernel.template is not None and base_name(kernel.name) == base_name(request.kernel):
            example = f"{str(kernel).split('<', 1)[0]}<...>"
            return f"{kernel} is a template, compiled only when it is instantiated: name an instance, as in {example}"
    return None


def _number(arch: str) -> int:
    return int("".join(filter(str.isdigit, arch)) or 0)
