"""Builds in the background: every step of every variant, reported as events in the order in which nvcc ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from gpuprof.errors import BuildError, GpuprofError
from gpuprof.experiment.model import HostStep, KernelStep, Variant
from gpuprof.isa.parameter_layout import Layout
from gpuprof.profile.built_variant import BuiltVariant, build_request, layouts_for
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import Build, BuildRequest


@dataclass(frozen=True)
class VariantBuilt:
    """All of a variant's steps are built, or one failed."""

    variant: Variant
    outcome: BuiltVariant | BuildError


@dataclass(frozen=True)
class BuildsEnded:
    """Nothing more will be built; ``error`` when the whole stage failed (no nvcc)."""

    error: BaseException | None = None


class StoppedError(Exception):
    """Raised into the builder to end it."""


@dataclass
class _Pending:
    variant: Variant
    missing: set[str]
    builds: dict[str, Build] = field(default_factory=dict)
    libraries: dict[str, Path] = field(default_factory=dict)
    layouts: dict[str, tuple[Layout | None, ...]] = field(default_factory=dict)
    done: bool = False

    def kernel_step(self, name: str) -> KernelStep:
        """The kernel step of that name."""
        return next(step for step in self.variant.steps if isinstance(step, KernelStep) and step.name == name)


class BuildStage:
    """Builds ``variants`` in a thread and emits a VariantBuilt for each and one BuildsEnded.

    ``arch_of`` gives each variant's architecture; ``folder`` is the YAML's, from which
    relative paths in flags count; ``timeout`` and ``ccbin`` are for the libraries of host steps.
    """

    def __init__(
        self,
        builder: Builder,
        variants: Sequence[Variant],
        arch_of: Callable[[Variant], str],
        emit: Callable[[VariantBuilt | BuildsEnded], None],
        *,
        timeout: float = 300.0,
        ccbin: str | None = None,
        folder: Path | None = None,
    ) -> None:
        self._folder = folder
        self._timeout, self._ccbin = timeout, ccbin
        self._builder = builder
        self._emit = emit
        self._arch_of = arch_of
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._pending = {variant.label: _pending(variant) for variant in variants}
        self._owners: dict[int, tuple[str, str]] = {}
        self._thread = threading.Thread(target=self._run, name="builds", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Build nothing more; nvcc processes are ended."""
        if not self._stopped.is_set():
            self._stopped.set()
            self._builder.stop()

    def _run(self) -> None:
        try:
            self._build()
        except StoppedError:
            self._emit(BuildsEnded())
        except BaseException as error:
            self._emit(BuildsEnded(error))
        else:
            self._emit(BuildsEnded())

    def _build(self) -> None:
        requests = []
        for pending in self._pending.values():
            for step in pending.variant.steps:
                if isinstance(step, KernelStep):
                    request = build_request(pending.variant, step, self._arch_of(pending.variant), self._folder)
                    self._owners[id(request)] = (pending.variant.label, step.name)
                    requests.append(request)
        hosts = [
            (pending, step)
            for pending in self._pending.values()
            for step in pending.variant.steps
            if isinstance(step, HostStep)
        ]
        with ThreadPoolExecutor(max_workers=max(1, self._builder.jobs // 2)) as libraries:
            futures = [libraries.submit(self._build_library, pending, step) for pending, step in hosts]
            self._builder.build_all(requests, on_done=self._on_done)
            for future in futures:
                future.result()

    def _on_done(self, request: BuildRequest, outcome: Build | BuildError) -> None:
        if self._stopped.is_set():
            raise StoppedError
        label, step = self._owners[id(request)]
        pending = self._pending[label]
        if isinstance(outcome, Build):
            try:
                layouts = layouts_for(self._builder, pending.kernel_step(step), outcome)
                pending.layouts[step] = layouts
            except BuildError as error:
                outcome = error
        self._settle(pending, step, outcome)

    def _build_library(self, pending: _Pending, step: HostStep) -> None:
        from gpuprof.toolchain.hostlib import build_shared_library

        if self._stopped.is_set() or pending.done:
            return
        variant = pending.variant
        try:
            library: Path | BuildError = build_shared_library(
                self._builder.tools,
                step.source,
                arch=self._arch_of(variant),
                defines=step.defines,
                libraries=step.libraries,
                flags=variant.flags,
                include=variant.include,
                timeout=self._timeout,
                ccbin=self._ccbin,
            )
        except GpuprofError as error:
            library = error if isinstance(error, BuildError) else BuildError(str(error))
        self._settle(pending, step.name, library)

    def _settle(self, pending: _Pending, step: str, outcome: Build | Path | BuildError) -> None:
        with self._lock:
            self._settle_locked(pending, step, outcome)

    def _settle_locked(self, pending: _Pending, step: str, outcome: Build | Path | BuildError) -> None:
        if pending.done:
            return
        if isinstance(outcome, BuildError):
            pending.done = True
            self._emit(VariantBuilt(pending.variant, outcome))
            return
        if isinstance(outcome, Build):
            pending.builds[step] = outcome
        else:
            pending.libraries[step] = outcome
        pending.missing.discard(step)
        if not pending.missing:
            pending.done = True
            self._emit(VariantBuilt(pending.variant, _built(pending)))


def _pending(variant: Variant) -> _Pending:
    return _Pending(variant, {step.name for step in variant.steps if isinstance(step, KernelStep | HostStep)})


def _built(pending: _Pending) -> BuiltVariant:
    builds: Mapping[str, Build] = dict(pending.builds)
    layouts = {name: found for name, found in pending.layouts.items() if found}
    return BuiltVariant(pending.variant, builds, dict(pending.libraries), layouts)
