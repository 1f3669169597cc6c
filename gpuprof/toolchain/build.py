"""Building variants: nvcc in parallel, nothing twice, failures as values."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from gpuprof.errors import BuildError, GpuprofError, KernelNotFoundError
from gpuprof.toolchain import manifest, nvcc
from gpuprof.toolchain.cache import open_cache
from gpuprof.toolchain.compile import CUBIN, Compiled, Compiler, unit_key
from gpuprof.toolchain.elf import CubinFacts, parse_cubin
from gpuprof.toolchain.manifest import Entry, FileHashes
from gpuprof.toolchain.model import Build, BuildRequest, Resources
from gpuprof.toolchain.names import demangle, find_kernel, no_kernel_message
from gpuprof.toolchain.nvcc import Unit
from gpuprof.toolchain.process import Processes
from gpuprof.toolchain.ptxas_log import read_spills
from gpuprof.toolchain.sources import qualify, scan_kernels
from gpuprof.toolchain.tools import Toolchain

Outcome = Build | BuildError
OnDone = Callable[[BuildRequest, Outcome], None]

#: Instances of one source that share an nvcc process; more would leave other cores idle.
INSTANCES_PER_UNIT = 8


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
        session = _Session(self, requests, on_done)
        session.answer_from_cache()
        if session.open:
            self.tools.require("nvcc")
            self._compile(session)
        return session.outcomes()

    def _compile(self, session: _Session) -> None:
        pool = ThreadPoolExecutor(max_workers=self.jobs, thread_name_prefix="nvcc")
        try:
            futures = [pool.submit(self._build_unit, unit, keys, session) for unit, keys in session.units()]
            for future in _completed(futures):
                for key, outcome in future.result():
                    session.finish(key, outcome)
        except BaseException:
            self._processes.stop()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _build_unit(self, unit: Unit, keys: Sequence[str], session: _Session) -> list[tuple[str, Outcome]]:
        """One nvcc process for all ``keys``; when that fails, one for each, so that one bad instance costs its row."""
        name = hashlib.sha256("".join(keys).encode()).hexdigest()
        with self.cache.lock("units", name, lambda: self._processes.stopped):
            waited = {key: session.from_cache(key, FileHashes()) for key in keys}
            missing = [key for key in keys if waited[key] is None]
            done: list[tuple[str, Outcome]] = [(key, outcome) for key, outcome in waited.items() if outcome]
            if not missing:
                return done
            instances = [session.instance(key) for key in missing]
            outcome = self._compile_unit(unit.with_instances(each for each in instances if each))
            if isinstance(outcome, BuildError) and len(set(instances)) > 1:
                return done + self._build_apart(unit, missing, session)
            return done + [(key, self._finish(outcome, key, session)) for key in missing]

    def _build_apart(self, unit: Unit, keys: Sequence[str], session: _Session) -> list[tuple[str, Outcome]]:
        """A process for each instance, and one for the kernels that need no instance."""
        done: list[tuple[str, Outcome]] = []
        for instance in dict.fromkeys(session.instance(key) for key in keys):
            outcome = self._compile_unit(unit.with_instances([instance] if instance else []))
            done += [(key, self._finish(outcome, key, session)) for key in keys if session.instance(key) == instance]
        return done

    def _compile_unit(self, unit: Unit) -> Compiled | BuildError:
        try:
            return self._compiler.compile(unit)
        except BuildError as error:
            return error
        except OSError as error:
            place = f" {error.filename}" if error.filename else ""
            return BuildError(f"cannot build {unit.source}:{place}: {error.strerror or error}")

    def _finish(self, compiled: Compiled | BuildError, key: str, session: _Session) -> Outcome:
        """Find the kernel in what was compiled, keep it, and describe it."""
        if isinstance(compiled, BuildError):
            return compiled
        request = session.requests[key]
        try:
            facts = parse_cubin(compiled.path.read_bytes(), str(compiled.path))
            if _number(facts.arch) != _number(request.arch):
                raise BuildError(
                    f"the flags build for {facts.arch}, but the arch is {request.arch}: say it with --arch"
                )
            symbol = self._symbol(request, facts, compiled)
        except GpuprofError as error:
            return BuildError(str(error), compiled.log)
        entry = replace(compiled.entry, symbol=symbol)
        manifest.store_entry(self.cache, key, entry)
        return self.describe(request, entry, facts, cached=False)

    def _symbol(self, request: BuildRequest, facts: CubinFacts, compiled: Compiled) -> str:
        instance = _instance(request)
        symbols = list(facts.kernels)
        if not symbols:
            written = scan_kernels(request.source.read_text("utf-8", "replace"))
            templates = [str(each) for each in written if each.template is not None]
            raise KernelNotFoundError(f"{request.source}: {no_kernel_message(request.kernel, templates)}")
        try:
            return find_kernel(instance or request.kernel, symbols)
        except KernelNotFoundError as error:
            probed = self._compiler.probe(compiled.unit, instance) if instance in compiled.unit.instances else None
            meant = [symbol for symbol in symbols if probed and demangle(symbol) == demangle(probed)]
            if len(meant) == 1:
                return meant[0]
            raise KernelNotFoundError(f"{request.source}: {error}") from None

    def describe(self, request: BuildRequest, entry: Entry, facts: CubinFacts, *, cached: bool) -> Build:
        """A Build of a cubin in the cache."""
        tool = self.tools.nvcc
        return Build(
            request=request,
            cubin=CUBIN.path(self.cache, entry.sha256),
            symbol=entry.symbol,
            demangled=demangle(entry.symbol),
            resources=_with_spills(facts.kernels[entry.symbol], entry.symbol, entry.log),
            command=entry.command,
            seconds=entry.seconds,
            cached=cached,
            source_sha256=dict(entry.files).get(str(request.source), "") or _sha256(request.source),
            cubin_sha256=entry.sha256,
            log=entry.log,
            nvcc_version=tool.version if tool else "",
        )

    def ptx(self, request: BuildRequest) -> str:
        """The PTX of a request's source, with line information; raises BuildError, MissingToolError. Not cached."""
        instance = _instance(request)
        return self._compiler.ptx(nvcc.unit_of(request).with_instances([instance] if instance else []))

    def stop(self) -> None:
        """Kill every nvcc process and start no more; for callers that run ``build_all`` in another thread."""
        self._processes.stop()

    def key_of(self, unit: Unit, instance: str | None, hashes: FileHashes) -> str:
        """What the cached entry depends on, its included files aside."""
        return unit_key(unit.with_instances([instance] if instance else []), self.tools, hashes, self._ccbin)


class _Session:
    """One ``build_all``: its requests by cache key, and what came of them."""

    def __init__(self, builder: Builder, requests: Sequence[BuildRequest], on_done: OnDone | None) -> None:
        self._builder = builder
        self._on_done = on_done
        self._hashes = FileHashes()
        self._facts: dict[str, CubinFacts | None] = {}
        self._order: list[tuple[BuildRequest, str]] = []
        self._units: dict[str, Unit] = {}
        self._outcomes: dict[str, Outcome] = {}
        self.requests: dict[str, BuildRequest] = {}
        for request in requests:
            self._add(request)

    @property
    def open(self) -> bool:
        """Is anything left to compile?"""
        return len(self._outcomes) < len(self.requests)

    def _add(self, request: BuildRequest) -> None:
        unit = nvcc.unit_of(request)
        key = self._builder.key_of(unit, _instance(request), self._hashes)
        name = f"{key} {request.kernel}"
        key = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        self._order.append((request, key))
        self.requests.setdefault(key, request)
        self._units[key] = unit

    def instance(self, key: str) -> str | None:
        """The template instance that a request wants."""
        return _instance(self.requests[key])

    def units(self) -> list[tuple[Unit, list[str]]]:
        """What is left, gathered by unit, at most INSTANCES_PER_UNIT together.

        Plain names are looked up in a cubin without other requests' instances, so that they mean the same in any run.
        """
        groups: dict[tuple[Unit, bool], list[str]] = {}
        for key in self.requests:
            if key not in self._outcomes:
                groups.setdefault((self._units[key], self.instance(key) is None), []).append(key)
        return [(unit, part) for (unit, _), keys in groups.items() for part in _parts(keys, INSTANCES_PER_UNIT)]

    def answer_from_cache(self) -> None:
        """Finish what needs no compiler: cached builds, cubins used as they are, sources that do not exist."""
        for key, request in self.requests.items():
            outcome = self._without_compiler(request) or self.from_cache(key, self._hashes)
            if outcome is not None:
                self.finish(key, outcome)

    def _without_compiler(self, request: BuildRequest) -> Outcome | None:
        if not request.source.is_file():
            return BuildError(f"no such source file: {request.source}")
        return _stored_cubin(request) if request.source.suffix == ".cubin" else None

    def from_cache(self, key: str, hashes: FileHashes) -> Build | None:
        """The build of a key, if it is there, whole, and nothing that it read has changed."""
        for entry in manifest.load_entries(self._builder.cache, key):
            if entry.is_current(hashes):
                facts = self._cubin_facts(entry.sha256)
                if facts is not None and entry.symbol in facts.kernels:
                    return self._builder.describe(self.requests[key], entry, facts, cached=True)
        return None

    def _cubin_facts(self, digest: str) -> CubinFacts | None:
        """A cubin of the cache, or None when it is missing or not what it was."""
        if digest not in self._facts:
            path = CUBIN.path(self._builder.cache, digest)
            data = path.read_bytes() if path.is_file() else b""
            intact = hashlib.sha256(data).hexdigest() == digest
            self._facts[digest] = parse_cubin(data, str(path)) if intact else None
        return self._facts[digest]

    def finish(self, key: str, outcome: Outcome) -> None:
        """Note an outcome and report it for every request that shares the key."""
        self._outcomes[key] = outcome
        if self._on_done:
            for request, other in self._order:
                if other == key:
                    self._on_done(request, outcome)

    def outcomes(self) -> list[Outcome]:
        """In the order of the requests."""
        return [self._outcomes[key] for _, key in self._order]


def _instance(request: BuildRequest) -> str | None:
    """The template instance that a request wants, with its namespace; None for any other kernel."""
    instance = nvcc.instance_of(request.kernel)
    if instance is None or "::" in instance.split("<", 1)[0] or request.source.suffix == ".cubin":
        return instance
    try:
        text = request.source.read_text("utf-8", "replace")
    except OSError:
        return instance
    return qualify(instance, scan_kernels(text)) if "namespace" in text else instance


def _stored_cubin(request: BuildRequest) -> Outcome:
    try:
        data = request.source.read_bytes()
        facts = parse_cubin(data, str(request.source))
        symbol = find_kernel(request.kernel, list(facts.kernels))
    except (GpuprofError, OSError) as error:
        return BuildError(f"{request.source}: {error}" if isinstance(error, KernelNotFoundError) else str(error))
    digest = hashlib.sha256(data).hexdigest()
    return Build(
        request=request,
        cubin=request.source,
        symbol=symbol,
        demangled=demangle(symbol),
        resources=facts.kernels[symbol],
        command=(),
        seconds=0.0,
        cached=True,
        source_sha256=digest,
        cubin_sha256=digest,
        log="",
        nvcc_version="",
    )


def _with_spills(resources: Resources, symbol: str, log: str) -> Resources:
    spills = read_spills(log).get(symbol)
    if spills is None:
        return resources
    return replace(resources, spill_store_bytes=spills.store_bytes, spill_load_bytes=spills.load_bytes)


def _number(arch: str) -> int:
    return int("".join(filter(str.isdigit, arch)) or 0)


def _parts(keys: Sequence[str], size: int) -> Iterable[list[str]]:
    return (list(keys[start : start + size]) for start in range(0, len(keys), size))


def _completed(futures: Iterable[Future[list[tuple[str, Outcome]]]]) -> Iterable[Future[list[tuple[str, Outcome]]]]:
    return as_completed(futures)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
