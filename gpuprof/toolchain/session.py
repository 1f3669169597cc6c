"""One call of ``Builder.build_all``: its requests by cache key, what needs no compiler, and what came of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from gpuprof.errors import BuildError, GpuprofError, KernelNotFoundError
from gpuprof.toolchain import manifest, nvcc
from gpuprof.toolchain.cache import Cache
from gpuprof.toolchain.compile import CUBIN, unit_key
from gpuprof.toolchain.elf import CubinFacts, parse_cubin
from gpuprof.toolchain.manifest import Entry, FileHashes
from gpuprof.toolchain.model import Build, BuildRequest, Resources
from gpuprof.toolchain.names import demangle, find_kernel
from gpuprof.toolchain.nvcc import Unit
from gpuprof.toolchain.ptxas_log import read_spills
from gpuprof.toolchain.sources import qualify, scan_kernels
from gpuprof.toolchain.tools import Toolchain

Outcome = Build | BuildError
OnDone = Callable[[BuildRequest, Outcome], None]

#: Instances of one source that share an nvcc process at most: one that fails makes all of them build again.
MAX_INSTANCES_PER_UNIT = 8
#: From this number of instances on, each process builds one alone first: it is there in a fraction of the time, and
#: costs only another reading of the headers (a third of a second, seen with nvcc 13.0).
FIRST_ALONE_FROM = 4


class Session:
    """One ``build_all``: its requests by cache key, and what came of them."""

    def __init__(
        self,
        tools: Toolchain,
        cache: Cache,
        ccbin: str | None,
        requests: Sequence[BuildRequest],
        on_done: OnDone | None,
    ) -> None:
        self._tools = tools
        self._cache = cache
        self._ccbin = ccbin
        self._on_done = on_done
        self._hashes = FileHashes()
        self._facts: dict[str, CubinFacts | None] = {}
        self._order: list[tuple[BuildRequest, str]] = []
        self._sharing: dict[str, list[BuildRequest]] = {}
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
        instance = instance_of(request)
        if request.together:
            unit = unit.with_instances(_instances_together(request))
        wanted = unit if request.together else unit.with_instances([instance] if instance else [])
        name = f"{unit_key(wanted, self._tools, self._hashes, self._ccbin)} {request.kernel}"
        key = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()
        self._order.append((request, key))
        self._sharing.setdefault(key, []).append(request)
        self.requests.setdefault(key, request)
        self._units[key] = unit

    def instance(self, key: str) -> str | None:
        """The template instance that a request wants."""
        return instance_of(self.requests[key])

    def units(self, jobs: int) -> list[tuple[Unit, list[str]]]:
        """What is left, gathered by unit: instances share a process as far as that leaves none of ``jobs`` idle.

        Where they are many, the first ones are built alone: a device can begin with them while the others build.
        Kernels that have to be together are one process. Plain names are looked up in a cubin without other requests'
        instances, so that they mean the same in any run.
        """
        groups: dict[tuple[Unit, bool], list[str]] = {}
        for key in self.requests:
            if key not in self._outcomes:
                whole = self.instance(key) is None or bool(self._units[key].instances)
                groups.setdefault((self._units[key], whole), []).append(key)
        share = -(-(len(self.requests) - len(self._outcomes)) // jobs)
        alone = jobs if share >= FIRST_ALONE_FROM else 0
        units: list[tuple[Unit, list[str]]] = []
        for (unit, is_plain), keys in groups.items():
            first = [] if is_plain else keys[: max(0, alone - len(units))]
            size = len(keys) if is_plain else max(1, min(share, MAX_INSTANCES_PER_UNIT))
            units += [(unit, [key]) for key in first]
            units += [(unit, part) for part in _parts(keys[len(first) :], size)]
        return units

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
        for entry in manifest.load_entries(self._cache, key):
            if entry.is_current(hashes):
                facts = self._cubin_facts(entry.sha256)
                if facts is not None and entry.symbol in facts.kernels:
                    return self.describe(self.requests[key], entry, facts, cached=True)
        return None

    def _cubin_facts(self, digest: str) -> CubinFacts | None:
        """A cubin of the cache, or None when it is missing or not what it was."""
        if digest not in self._facts:
            path = CUBIN.path(self._cache, digest)
            data = path.read_bytes() if path.is_file() else b""
            intact = hashlib.sha256(data).hexdigest() == digest
            self._facts[digest] = parse_cubin(data, str(path)) if intact else None
        return self._facts[digest]

    def describe(self, request: BuildRequest, entry: Entry, facts: CubinFacts, *, cached: bool) -> Build:
        """A Build of a cubin in the cache."""
        tool = self._tools.nvcc
        return Build(
            request=request,
            cubin=CUBIN.path(self._cache, entry.sha256),
            symbol=entry.symbol,
            demangled=demangle(entry.symbol),
            resources=_with_spills(facts.kernels[entry.symbol], entry.symbol, entry.log),
            command=entry.command,
            seconds=entry.seconds,
            cached=cached,
            source_sha256=self._hashes.of(str(request.source)) or "",
            cubin_sha256=entry.sha256,
            log=entry.log,
            nvcc_version=tool.version if tool else "",
        )

    def finish(self, key: str, outcome: Outcome) -> None:
        """Note an outcome and report it for every request that shares the key."""
        self._outcomes[key] = outcome
        if self._on_done:
            for request in self._sharing[key]:
                self._on_done(request, outcome)

    def outcomes(self) -> list[Outcome]:
        """In the order of the requests."""
        return [self._outcomes[key] for _, key in self._order]


def instance_of(request: BuildRequest) -> str | None:
    """The template instance that a request wants, with its namespace; None for any other kernel."""
    instance = nvcc.instance_of(request.kernel)
    if instance is None or "::" in instance.split("<", 1)[0] or request.source.suffix == ".cubin":
        return instance
    try:
        text = request.source.read_text("utf-8", "replace")
    except OSError:
        return instance
    return qualify(instance, scan_kernels(text)) if "namespace" in text else instance


def _instances_together(request: BuildRequest) -> list[str]:
    found = (instance_of(replace(request, kernel=kernel)) for kernel in request.together)
    return [instance for instance in found if instance]


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


def _parts(keys: Sequence[str], size: int) -> Iterable[list[str]]:
    return (list(keys[start : start + size]) for start in range(0, len(keys), size))
