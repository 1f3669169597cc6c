"""What ``gpuprof sass TARGET`` means: a kernel by name, a source, an experiment's variant, a cubin, an executable.

Each becomes one ``Subject`` or several: machine code with all that is known of how it was made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.errors import DisassemblyError, GpuprofError, UsageError
from gpuprof.system.cleanup import temporary_folder
from gpuprof.system.files import exists, is_dir, is_file

if TYPE_CHECKING:
    from gpuprof.experiment.model import KernelStep, Variant
    from gpuprof.report.sass.format import KernelHead
    from gpuprof.sass.analysis import Analysis
    from gpuprof.sass.model import Function
    from gpuprof.toolchain.model import Build, Resources
    from gpuprof.toolchain.tools import Toolchain

_CONFIG_SUFFIXES = (".yaml", ".yml")
_SOURCE_SUFFIXES = (".cu", ".cuh", ".cubin", "")
Block = tuple[int, int, int]


@dataclass(frozen=True)
class Request:
    """The command line's part that names code. ``defines`` and ``flags`` go to nvcc."""

    target: str
    kernel: str | None = None
    variant: str | None = None
    defines: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    arch: str | None = None
    block: Block | None = None
    cuda_home: Path | None = None
    ccbin: str | None = None


@dataclass(frozen=True)
class Subject:
    """One kernel's machine code. ``resources`` is None for a device function that is alone."""

    function: Function
    demangled: str
    arch: str
    origin: str
    compiler: str = ""
    resources: Resources | None = None
    block: Block | None = None
    dynamic_shared_bytes: int = 0
    notes: tuple[str, ...] = ()  #: what the compiler said

    @property
    def parameters(self) -> tuple[tuple[int, int], ...]:
        """(offset, size) of each parameter, in order."""
        if self.resources is None:
            return ()
        return tuple((parameter.offset, parameter.size) for parameter in self.resources.parameters)

    @property
    def spill_bytes(self) -> int | None:
        """Bytes stored and loaded by spills; None where no compiler log tells."""
        resources = self.resources
        if resources is None or resources.spill_store_bytes is None:
            return None
        return resources.spill_store_bytes + (resources.spill_load_bytes or 0)


def is_config(request: Request) -> bool:
    """Whether the target names an experiment rather than a kernel."""
    return request.variant is not None or request.target.endswith(_CONFIG_SUFFIXES)


def holds_many(request: Request) -> bool:
    """Whether the target is a cubin, an executable or a library of which no kernel was named."""
    path = Path(request.target)
    return request.kernel is None and is_file(path) and not _is_source(path)


def _is_source(path: Path) -> bool:
    """Text that nvcc compiles, as against machine code."""
    if path.suffix in (".cu", ".cuh", *_CONFIG_SUFFIXES):
        return True
    with path.open("rb") as file:
        return file.read(4) != b"\x7fELF" and path.suffix not in (".fatbin", ".o", ".so", ".a")


def resolve(request: Request) -> Subject:
    """The one kernel that is meant; raises UsageError when there are several, and every error of building."""
    path = Path(request.target)
    if is_config(request):
        return _from_config(request)
    if is_file(path) and not _is_source(path):
        return _one_of(list(subjects(request)), request)
    return _from_source(request)


def _from_config(request: Request) -> Subject:
    from gpuprof import experiment as experiments

    experiment = experiments.load(experiments.find_config(request.target))
    variant = _chosen_variant(experiment.variants, request)
    step = _step_of(variant, request.kernel)
    if step is None:
        raise UsageError(f"variant '{variant.label}' launches no kernel of its own: there is no machine code to show")
    return _build_step(replace(request, arch=request.arch or variant.arch or experiment.arch), variant, step)


def _step_of(variant: Variant, kernel: str | None) -> KernelStep | None:
    """The step that launches ``kernel``, the last timed one of several; the main step without a name.

    A kernel that no step launches comes from the main step's source, with no block and no dynamic shared memory.
    """
    from gpuprof.experiment.model import KernelStep

    main = variant.main_step
    if kernel is None or main is None:
        return main
    steps = [step for step in variant.steps if isinstance(step, KernelStep)]
    for same in (_as_written, _plain_kernel_name):
        found = [step for step in steps if same(step.kernel) == same(kernel)]
        if found:
            return ([step for step in found if step.timed] or found)[-1]
    return replace(main, kernel=kernel, block=(0, 0, 0), shared_bytes=0)


def _as_written(kernel: str) -> str:
    return kernel.replace(" ", "")


def _plain_kernel_name(kernel: str) -> str:
    """Without template values, parameters and namespaces."""
    return kernel.split("<")[0].split("(")[0].rsplit("::", 1)[-1].strip()


def _chosen_variant(variants: tuple[Variant, ...], request: Request) -> Variant:
    from gpuprof.experiment.naming import select_all

    with_code = [variant for variant in variants if variant.main_step is not None]
    if request.variant is None and len(with_code) > 1:
        names = ", ".join(variant.label for variant in with_code[:12])
        raise UsageError(f"{request.target}: several variants; choose one with --variant; available: {names}")
    chosen = select_all(with_code, [request.variant] if request.variant else [])
    if not chosen:
        raise UsageError(f"{request.target}: no variant launches a kernel of its own: there is no machine code to show")
    return chosen[0]


def _from_source(request: Request) -> Subject:
    """A kernel by name, or a source file. An experiment that launches it tells defines, template values and block."""
    from gpuprof.targets.kernel import find_target

    known = None
    if request.kernel is None and not Path(request.target).is_file():
        source = _source_named(request.target)
        known = _first_use(source) if source is not None else None
    if known is None:
        target = find_target(request.target, request.kernel)
        return _built(request, target.source, target.kernel, request.block, 0, {}, (), ())
    variant, step, config = known
    subject = _build_step(request, variant, step)
    return replace(subject, origin=f"{step.source.name} as {config.name} launches it ({variant.label})")


def _source_named(name: str) -> Path | None:
    """The source of a kernel here or among the bundled ones; None when the name is a function's."""
    from gpuprof.experiment import bundled

    try:
        return bundled.find_kernel(name)
    except UsageError:
        return None


def _first_use(source: Path) -> tuple[Variant, KernelStep, Path] | None:
    """The first variant of the first experiment whose main kernel is in ``source``."""
    from gpuprof import experiment as experiments
    from gpuprof.experiment import bundled

    for config in sorted(bundled.configs(), key=lambda path: (-_alike(path.stem, source.stem), path.stem)):
        if source.stem not in config.read_text(encoding="utf-8", errors="replace"):
            continue
        try:
            variants = experiments.load(config).variants
        except GpuprofError:
            continue
        for variant in variants:
            step = variant.main_step
            if step is not None and step.source.name == source.name:
                return variant, step, config
    return None


def _alike(first: str, second: str) -> int:
    """How many letters two names begin with alike."""
    same = (one == other for one, other in zip(first, second, strict=False))
    return sum(1 for _ in takewhile(bool, same))


def _build_step(request: Request, variant: Variant, step: KernelStep) -> Subject:
    defines = {**step.defines, **request.defines}
    block = request.block or (step.block if all(step.block) else None)
    kernel = step.kernel if _launches(step, request.kernel) else request.kernel or step.kernel
    subject = _built(
        request, step.source, kernel, block, step.shared_bytes, defines, variant.flags,
        variant.include,
    )  # fmt: skip
    return replace(subject, origin=f"{variant.label} of {Path(request.target).name}")


def _launches(step: KernelStep, kernel: str | None) -> bool:
    """Whether a plain name means the instance that the step launches."""
    return kernel is not None and "<" not in kernel and _plain_kernel_name(step.kernel) == _plain_kernel_name(kernel)


def _built(
    request: Request,
    source: Path,
    kernel: str,
    block: Block | None,
    dynamic_shared: int,
    defines: Mapping[str, str],
    flags: tuple[str, ...],
    include: tuple[Path, ...],
) -> Subject:
    from gpuprof.arch import DEFAULT_ARCH
    from gpuprof.device.choice import resolve_arch
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.build import Builder
    from gpuprof.toolchain.model import BuildRequest

    tools = find_tools(request.cuda_home)
    arch = resolve_arch(request.arch or DEFAULT_ARCH)
    wanted = BuildRequest(source, kernel, arch, {**defines, **request.defines}, (*flags, *request.flags), include)
    build = Builder(tools, ccbin=request.ccbin).build(wanted)
    return replace(_of_build(tools, build), block=block or _bound(build.resources), dynamic_shared_bytes=dynamic_shared)


def _of_build(tools: Toolchain, build: Build) -> Subject:
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.toolchain.compiler_notes import compiler_notes
    from gpuprof.toolchain.disasm import disassemble_text

    code = parse_disassembly(disassemble_text(tools, build.cubin))
    if build.symbol not in code.functions:
        raise DisassemblyError(f"nvdisasm shows no code for {build.demangled} in {build.cubin}")
    return Subject(
        function=code.functions[build.symbol],
        demangled=build.demangled,
        arch=code.arch,
        origin=build.request.source.name,
        compiler=f"nvcc {build.nvcc_version}" if build.nvcc_version else "",
        resources=build.resources,
        notes=compiler_notes(build.log),
    )


def _bound(resources: Resources) -> Block | None:
    """Launch bounds name a number of threads: taken as a one-dimensional block."""
    return (resources.max_threads, 1, 1) if resources.max_threads else None


def subjects(request: Request, unreadable: list[str] | None = None) -> Iterator[Subject]:
    """Every kernel of a cubin, an executable or a library, of the asked architecture when one is.

    With ``unreadable``, a cubin that nvdisasm or the reader refuses is a sentence in that list, not the end.
    """
    from gpuprof.device.choice import resolve_arch
    from gpuprof.toolchain import find_tools
    from gpuprof.toolchain.extract import extract_cubins

    tools = find_tools(request.cuda_home)
    path = Path(request.target)
    wanted = resolve_arch(request.arch) if request.arch else None
    with temporary_folder("gpuprof-sass-") as folder:
        for cubin in extract_cubins(tools, path, folder):
            try:
                yield from _of_cubin(tools, cubin, request, path.name, wanted)
            except DisassemblyError as error:
                if unreadable is None:
                    raise
                unreadable.append(str(error))


def _of_cubin(tools: Toolchain, cubin: Path, request: Request, origin: str, wanted: str | None) -> Iterator[Subject]:
    from gpuprof.sass.parse import parse_disassembly
    from gpuprof.toolchain.disasm import disassemble_text
    from gpuprof.toolchain.elf import read_cubin
    from gpuprof.toolchain.names import demangle

    facts = read_cubin(cubin)
    if wanted is not None and facts.arch != wanted:
        return
    code = parse_disassembly(disassemble_text(tools, cubin))
    for symbol, function in code.functions.items():
        resources = facts.kernels.get(symbol)
        block = request.block or (_bound(resources) if resources is not None else None)
        yield Subject(function, demangle(symbol), code.arch, origin, resources=resources, block=block)


def _one_of(found: Sequence[Subject], request: Request) -> Subject:
    """The subject that --kernel names; of several architectures sm_89, else the newest."""
    from gpuprof.isa.constant_bank import compute_capability
    from gpuprof.toolchain.names import find_kernel

    if not found:
        at = f" for {request.arch}" if request.arch else ""
        raise UsageError(f"{request.target} holds no machine code{at}")
    if request.kernel is None:
        if len(found) == 1:
            return found[0]
        raise UsageError(f"{request.target} holds {len(found)} functions; name one with --kernel")
    symbol = find_kernel(request.kernel, list(dict.fromkeys(subject.function.symbol for subject in found)))
    matching = [subject for subject in found if subject.function.symbol == symbol]
    return max(matching, key=lambda one: (one.arch == "sm_89", compute_capability(one.arch)))


def other_side(request: Request, text: str) -> Request:
    """What ``--diff TEXT`` compares with.

    An architecture, a nvcc flag, ``NAME=VALUE``, a CUDA toolkit's folder or a variant's label changes that one thing of
    the first side; anything else is a target of its own.
    """
    from gpuprof.device.choice import resolve_arch
    from gpuprof.targets.kernel import read_defines

    path = Path(text)
    if text.startswith("-"):
        return replace(request, flags=(*request.flags, *text.split()))
    if is_dir(path):
        return replace(request, cuda_home=path)
    if "=" in text and "/" not in text and text.split("=")[0].isidentifier() and not is_config(request):
        return replace(request, defines={**request.defines, **read_defines([text])})
    if text.startswith(("sm_", "compute_")):
        return replace(request, arch=resolve_arch(text))
    if is_config(request) and not exists(path) and not _is_kernel_name(text):
        return replace(request, variant=text)
    return Request(
        text, defines=request.defines, flags=request.flags, arch=request.arch, block=request.block,
        cuda_home=request.cuda_home, kernel=request.kernel if is_file(path) else None,
    )  # fmt: skip


def _is_kernel_name(text: str) -> bool:
    from gpuprof.experiment import bundled

    return any(path.stem == text for path in bundled.kernels())


def analysis_of(subject: Subject, *, live: bool = False) -> Analysis:
    """The subject's machine code as ``sass.analysis`` reads it; ``live`` adds live registers."""
    from gpuprof.sass.analysis import analyse

    return analyse(
        subject.function,
        subject.arch,
        block=subject.block,
        parameters=subject.parameters,
        spill_bytes=subject.spill_bytes,
        with_live=live,
    )


def head_of(subject: Subject) -> KernelHead:
    """The head that the report prints."""
    from gpuprof.report.sass.format import KernelHead

    resources = subject.resources
    return KernelHead(
        name=subject.demangled,
        arch=subject.arch,
        origin=subject.origin,
        compiler=subject.compiler,
        registers=resources.registers if resources is not None else subject.function.registers,
        spill_bytes=subject.spill_bytes,
        stack_bytes=resources.stack_bytes if resources is not None else None,
        static_shared_bytes=resources.static_shared_bytes if resources is not None else None,
        dynamic_shared_bytes=subject.dynamic_shared_bytes,
        occupancy=_occupancy(subject),
    )


def _occupancy(subject: Subject) -> str:
    """A sentence about occupancy at the block size."""
    from gpuprof import arch as architectures
    from gpuprof.arch.occupancy import occupancy

    if subject.resources is None:
        return ""
    if subject.block is None:
        return "occupancy: unknown without a block size; give --block, as in --block 16x16"
    x, y, z = subject.block
    shape = f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else str(x)
    try:
        facts = architectures.get(subject.arch)
        found = occupancy(
            facts, x * y * z, subject.resources.registers, subject.resources.static_shared_bytes,
            subject.dynamic_shared_bytes, barriers=subject.resources.barriers,
        )  # fmt: skip
    except (GpuprofError, ValueError) as error:
        return f"occupancy: unknown ({error})"
    return (
        f"occupancy at block {shape}: {found.percent:.1f}%, {found.warps_per_sm} of {found.max_warps_per_sm} warps "
        f"({found.blocks_per_sm} block{'s' * (found.blocks_per_sm != 1)} per SM), limited by {found.limiter}"
    )
