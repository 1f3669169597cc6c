"""From a variant and its builds to what a worker executes, and the key by which ``--resume`` knows it again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpuprof.arch.launch_limits import KernelResources, cluster_problem, launch_problem, residence_problem
from gpuprof.device.jobs import (
    BufferReference,
    BufferSpec,
    Call,
    FillCall,
    HostCall,
    HostScalar,
    Job,
    KernelArgument,
    KernelCall,
    PackedArgument,
    TensorReference,
)
from gpuprof.errors import ArgumentMismatchError, ExpressionError
from gpuprof.experiment.arguments import argument_bytes, check_arguments, fitted, pack_scalar
from gpuprof.experiment.model import (
    Argument,
    BufferArgument,
    FillStep,
    HostStep,
    KernelStep,
    MembersArgument,
    NullArgument,
    ScalarArgument,
    StructArgument,
    TensorMapArgument,
    Variant,
)
from gpuprof.experiment.struct_arguments import fixed_type_mistake, natural_layout, pack
from gpuprof.isa.parameter_layout import Layout
from gpuprof.profile.shared_arrays import input_key, outside_state
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.device_variables import device_variables, find_variable
from gpuprof.toolchain.model import Build, BuildRequest, Resources
from gpuprof.toolchain.parameter_layouts import layouts_of
from gpuprof.toolchain.parameter_types import parameter_types
from gpuprof.toolchain.prelude import has_device_variables


def build_request(variant: Variant, step: KernelStep, arch: str, folder: Path | None = None) -> BuildRequest:
    """What nvcc is asked for a kernel step; relative paths in its flags count from ``folder``.

    Kernels of one source that share ``__device__`` variables come in one module, as in a program that is linked once.
    """
    mates = [mate for mate in variant.steps if isinstance(mate, KernelStep) and mate.source == step.source]
    kernels = tuple(sorted({mate.kernel for mate in mates}))
    together = len(kernels) > 1 and has_device_variables(step.source, variant.include)
    defines = {name: value for mate in mates for name, value in mate.defines.items()} if together else step.defines
    return BuildRequest(
        source=step.source,
        kernel=step.kernel,
        arch=arch,
        defines=defines,
        together=kernels if together else (),
        flags=variant.flags,
        include=variant.include,
        folder=folder,
    )


@dataclass(frozen=True)
class BuiltVariant:
    """A variant with everything that was built for it. ``main`` is the build that its row describes."""

    variant: Variant
    builds: Mapping[str, Build]  #: kernel step name -> build
    libraries: Mapping[str, Path]  #: host step name -> shared library
    layouts: Mapping[str, tuple[Layout | None, ...]] = field(default_factory=dict)  #: kernel step name -> of structs

    @property
    def main(self) -> Build | None:
        """The build of the main kernel step; None for a library baseline."""
        step = self.variant.main_step
        return None if step is None else self.builds[step.name]

    def calls(self) -> tuple[Call, ...]:
        """The steps as a worker executes them; raises ArgumentMismatchError when ``args`` do not fit a kernel."""
        mistakes = self._symbol_mistakes()
        if mistakes:
            raise ArgumentMismatchError("; ".join(mistakes))
        return tuple(self._call(step) for step in self.variant.steps)

    def _symbols(self, build: Build) -> tuple[tuple[str, str], ...]:
        found = {name: find_variable(build.cubin, name) for name in self._set_symbols}
        return tuple((variable.symbol, name) for name, variable in found.items() if variable is not None)

    @property
    def _set_symbols(self) -> tuple[str, ...]:
        return tuple(name for name, buffer in self.variant.buffers.items() if buffer.symbol)

    def _symbol_mistakes(self) -> list[str]:
        """Symbols of the YAML that no kernel's code has, or that have another size there."""
        mistakes = []
        for name in self._set_symbols:
            found = [find_variable(build.cubin, name) for build in self.builds.values()]
            sizes = {variable.nbytes for variable in found if variable is not None}
            buffer = self.variant.buffers[name]
            given = buffer.nbytes
            if not sizes:
                known = sorted(
                    {variable.name for build in self.builds.values() for variable in device_variables(build.cubin)}
                )
                has = f"it has {', '.join(known)}" if known else "it has none"
                mistakes.append(f"symbols.{name}: the compiled code has no variable {name} ({has})")
            elif sizes != {given}:
                wanted = ", ".join(f"{size:,}" for size in sorted(sizes))
                shape = f"{list(buffer.shape)} of {buffer.dtype}"
                mistakes.append(f"symbols.{name}: {shape} are {given:,} bytes, and the variable has {wanted}")
        return mistakes

    def _call(self, step: KernelStep | HostStep | FillStep) -> Call:
        if isinstance(step, FillStep):
            return FillCall(step.name, step.buffer, step.byte, step.timed, step.once)
        if isinstance(step, HostStep):
            arguments = tuple(_host_argument(argument) for argument in step.args)
            return HostCall(step.name, self.libraries[step.name], step.function, arguments, step.timed, step.once)
        build = self.builds[step.name]
        types = parameter_types(build.cubin, build.symbol, build.request.source)
        if len(types) == len(step.args):
            fitting = tuple(fitted(argument, wanted) for argument, wanted in zip(step.args, types, strict=True))
            step = replace(step, args=fitting)
        step, mistakes = self._packed(step, build)
        mistakes = mistakes or check_arguments(self.variant, step, build.resources.parameters, types)
        if mistakes:
            raise ArgumentMismatchError("; ".join(mistakes))
        return KernelCall(
            name=step.name,
            cubin=build.cubin,
            symbol=build.symbol,
            grid=step.grid,
            block=step.block,
            shared_bytes=step.shared_bytes,
            arguments=tuple(_kernel_argument(argument) for argument in step.args),
            timed=step.timed,
            once=step.once,
            symbols=self._symbols(build),
            cooperative=step.cooperative,
            cluster=step.cluster,
            offsets=tuple(each.offset for each in sorted(build.resources.parameters, key=lambda each: each.ordinal)),
        )

    def _packed(self, step: KernelStep, build: Build) -> tuple[KernelStep, list[str]]:
        """The step with structs as bytes, and what is wrong with them."""
        if not any(isinstance(argument, MembersArgument) for argument in step.args):
            return step, []
        parameters = sorted(build.resources.parameters, key=lambda each: each.ordinal)
        if len(parameters) != len(step.args):
            return step, []  # ``check_arguments`` says so
        layouts = self.layouts.get(step.name, (None,) * len(parameters))
        packed: list[Argument] = []
        mistakes = []
        for position, (argument, parameter) in enumerate(zip(step.args, parameters, strict=True)):
            if isinstance(argument, MembersArgument):
                layout = layouts[position] or natural_layout(argument.members)
                try:
                    if layout is None:
                        raise ExpressionError(fixed_type_mistake(parameter.size))
                    argument = pack(argument, layout)
                except ExpressionError as error:
                    mistakes.append(f"{step.kernel}: argument {position}: {error}")
            packed.append(argument)
        return replace(step, args=tuple(packed)), mistakes

    def launch_problem(self, arch: str | None) -> str | None:
        """Why the hardware refuses one of the launches; None where it takes them all.

        ``arch`` is the GPU's; None (the emulator): what each step was built for.
        """
        for step in self.variant.steps:
            if isinstance(step, KernelStep):
                build = self.builds[step.name]
                own = arch or build.request.arch
                limits = limits_of(build.resources)
                problem = launch_problem(own, limits, step.grid, step.block, step.shared_bytes)
                if problem is None and step.cooperative:
                    problem = residence_problem(own, limits, step.grid, step.block, step.shared_bytes)
                if problem is None and step.cluster is not None:
                    problem = cluster_problem(own)
                if problem is not None:
                    return f"{build.demangled} cannot be launched: {problem}"
        return None

    def job(self, buffers: tuple[BufferSpec, ...]) -> Job:
        """The job over the given buffers."""
        return Job(self.variant.label, buffers, self.calls())


def limits_of(resources: Resources) -> KernelResources:
    """What of a kernel's resources limits its launches."""
    return KernelResources(
        registers=resources.registers,
        static_shared_bytes=resources.static_shared_bytes,
        max_threads=resources.max_threads,
        required_block=resources.required_block,
    )


def layouts_for(builder: Builder, step: KernelStep, build: Build) -> tuple[Layout | None, ...]:
    """The layouts of a step's structs; empty where it passes none. Raises BuildError."""
    wanted = [at for at, argument in enumerate(step.args) if isinstance(argument, MembersArgument)]
    return layouts_of(builder, build, wanted) if wanted and len(step.args) == len(build.resources.parameters) else ()


def _kernel_argument(argument: Argument) -> KernelArgument:
    if isinstance(argument, BufferArgument):
        return BufferReference(argument.buffer, argument.offset_bytes)
    if isinstance(argument, TensorMapArgument):
        return TensorReference(BufferReference(argument.buffer, argument.offset_bytes), argument.map)
    if isinstance(argument, StructArgument):
        pointers = tuple(
            (offset, BufferReference(target.buffer, target.offset_bytes)) for offset, target in argument.pointers
        )
        return PackedArgument(argument.data, pointers)
    return pack_scalar(argument) if isinstance(argument, ScalarArgument) else bytes(argument_bytes(argument))


def _host_argument(argument: Argument) -> BufferReference | HostScalar:
    if isinstance(argument, BufferArgument):
        return BufferReference(argument.buffer, argument.offset_bytes)
    if isinstance(argument, ScalarArgument):
        return HostScalar(argument.value, argument.dtype)
    if isinstance(argument, NullArgument):
        return HostScalar(0, "uint64")
    raise ArgumentMismatchError("a host function takes no struct by value: members, maps and `zeros` are for kernels")


def fingerprint(built: BuiltVariant, device_key: str, settings: Sequence[object]) -> str:
    """Names everything that a row depends on: code, launches, inputs, checks, device and the settings of the run."""
    variant = built.variant
    parts: list[object] = [device_key, *settings]
    parts += [f"{name}={build.cubin_sha256}:{build.symbol}" for name, build in sorted(built.builds.items())]
    parts += [f"{name}={_file_digest(path)}" for name, path in sorted(built.libraries.items())]
    parts += [f"{name}={input_key(buffer, 0)}" for name, buffer in sorted(variant.buffers.items())]
    parts += [_shape_of(step) for step in variant.steps]
    parts += [
        sorted(variant.reference.expressions.items()),
        sorted(variant.reference.where.items()),
        *outside_state(variant),
        variant.reference.variant,
        variant.tolerance,
    ]
    parts += [variant.iters, variant.work]
    return hashlib.sha256("|".join(str(part) for part in parts).encode()).hexdigest()


def _shape_of(step: KernelStep | HostStep | FillStep) -> str:
    if isinstance(step, KernelStep):
        return f"{step.grid}{step.block}{step.shared_bytes}{step.args}{step.timed}{step.once}" + (
            f"{step.cooperative}{step.cluster}" if step.cooperative or step.cluster else ""
        )
    return str(step)


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def same_code_key(built: BuiltVariant, codes: Mapping[str, str]) -> str | None:
    """Equal for variants that execute the same instructions in the same launches; None with host steps.

    ``codes`` is kernel step name -> SHA-256 of the machine code.
    """
    if built.libraries or not all(codes.get(name) for name in built.builds):
        return None
    steps = [
        f"{codes.get(step.name, '')}{_shape_of(step)}" if isinstance(step, KernelStep) else str(step)
        for step in built.variant.steps
    ]
    buffers = [f"{name}={input_key(buffer, 0)}" for name, buffer in sorted(built.variant.buffers.items())]
    return hashlib.sha256("|".join(steps + buffers).encode()).hexdigest()
