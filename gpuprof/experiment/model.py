"""What a YAML file means once it is read: plain frozen values, every expression evaluated.

``Experiment`` is the file; ``Variant`` is one concrete point of it, ready to build and launch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gpuprof.isa.machine import Dim3
from gpuprof.isa.tensor_map import TensorMap

Number = int | float
#: Which elements of an output are compared with which: at the same place, in sorted order, or as sets of values.
ElementOrder = Literal["kept", "sorted", "set"]


@dataclass(frozen=True)
class Fill:
    """How a buffer is filled before the first launch.

    ``kind`` is ``expression`` (over the flat index ``i``), ``constant``, ``random`` (``distribution``, ``seed``),
    ``file`` (a ``.npy``), ``values`` (a list), ``pointers`` (addresses of other buffers), or ``poison`` (an output:
    NaN, or 0xFF bytes).
    """

    kind: Literal["expression", "constant", "random", "file", "poison", "values", "pointers"]
    expression: str = ""
    value: Number = 0
    distribution: Literal["uniform", "normal", "integers"] = "uniform"
    low: Number = 0.0
    high: Number = 1.0
    seed: int = 0
    file: Path | None = None
    mean: Number = 0.0
    std: Number = 1.0
    names: tuple[tuple[str, Number | str], ...] = ()  #: sizes and parameters that the expression reads
    values: tuple[Number, ...] = ()  #: of ``values``: every element, in order
    pointers: tuple[BufferArgument | None, ...] = ()  #: of ``pointers``: what each element points to


@dataclass(frozen=True)
class Buffer:
    """One array in device memory. ``dtype`` is one of ``element_types.DTYPES``.

    ``order`` and ``count`` belong to an output; ``count`` names the output whose first element says how many count.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    fill: Fill
    output: bool = False
    scratch: bool = False
    order: ElementOrder = "kept"
    count: str | None = None
    symbol: bool = False  #: what a ``__constant__`` or ``__device__`` variable of this name holds

    @property
    def elements(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        from gpuprof.experiment.element_types import nbytes_of  # numpy is not needed to read a description

        return nbytes_of(self.dtype, self.elements)


@dataclass(frozen=True)
class BufferArgument:
    """A kernel argument that is the address of a buffer (plus ``offset_bytes``)."""

    buffer: str
    offset_bytes: int = 0


@dataclass(frozen=True)
class ScalarArgument:
    """A kernel argument passed by value; ``dtype`` is a numpy name, ``given`` whether the YAML says it."""

    value: Number
    dtype: str
    given: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class NullArgument:
    """A null pointer."""


@dataclass(frozen=True)
class ZeroArgument:
    """A struct passed by value of which every byte is zero: an empty one has one byte."""

    nbytes: int


@dataclass(frozen=True)
class NamedMembers:
    """Members of a struct by name."""

    entries: tuple[tuple[str, MemberValue], ...]

    @property
    def mapping(self) -> dict[str, MemberValue]:
        """By name."""
        return dict(self.entries)


#: A member: a number (a ScalarArgument where the YAML says its type), an address, null, or members in turn.
MemberValue = Number | ScalarArgument | BufferArgument | None | tuple["MemberValue", ...] | NamedMembers


@dataclass(frozen=True)
class MembersArgument:
    """A vector or struct passed by value, by its members; its layout is known once the kernel is built."""

    members: MemberValue


@dataclass(frozen=True)
class StructArgument:
    """The bytes of a struct as the compiler laid it out; ``pointers`` are (offset in bytes, what is there)."""

    data: bytes
    pointers: tuple[tuple[int, BufferArgument], ...] = ()
    type_name: str = "struct"


@dataclass(frozen=True)
class TensorMapArgument:
    """A CUtensorMap by value: ``map`` of the array that is a buffer (from ``offset_bytes`` on)."""

    buffer: str
    map: TensorMap
    offset_bytes: int = 0


Argument = (
    BufferArgument | ScalarArgument | NullArgument | ZeroArgument | MembersArgument | StructArgument | TensorMapArgument
)


@dataclass(frozen=True)
class KernelStep:
    """One kernel launch. ``kernel`` has its ``{NAME}`` parts replaced. ``once``: run before the first sample only.

    ``defines``: the parameters whose names the source uses.
    """

    name: str
    source: Path
    kernel: str
    defines: Mapping[str, str]
    grid: Dim3
    block: Dim3
    shared_bytes: int
    args: tuple[Argument, ...]
    timed: bool = True
    once: bool = False
    cooperative: bool = False  #: all blocks resident at once: ``grid.sync()``
    cluster: Dim3 | None = None  #: blocks of a cluster, x first; None: what the kernel's ``__cluster_dims__`` say


@dataclass(frozen=True)
class HostStep:
    """A call of ``extern "C" int f(args..., cudaStream_t)`` in a shared library built from ``source``."""

    name: str
    source: Path
    function: str
    defines: Mapping[str, str]
    args: tuple[Argument, ...]
    libraries: tuple[str, ...] = ()
    timed: bool = True
    once: bool = False


@dataclass(frozen=True)
class FillStep:
    """Set every byte of a buffer to ``byte`` (cudaMemset), for accumulating outputs."""

    name: str
    buffer: str
    byte: int = 0
    timed: bool = False
    once: bool = False


Step = KernelStep | HostStep | FillStep


@dataclass(frozen=True)
class Tolerance:
    """``|got - want| <= atol + rtol * |want|``; ``source`` says where the numbers come from (``yaml``, or the rule)."""

    rtol: float
    atol: float
    source: str = "yaml"


@dataclass(frozen=True)
class PythonFunction:
    """``file.py:name`` of a reference: called with the buffers, sizes and parameters that its parameters name."""

    file: Path
    name: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.name}"


@dataclass(frozen=True)
class Reference:
    """What outputs are compared with: numpy expressions by output, another variant's outputs, or nothing.

    ``where`` are conditions by output over the flat index ``i`` and all that expressions read: elements for which one
    does not hold are not compared.
    """

    expressions: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    variant: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)  #: by output: a ``.npy``
    python: Mapping[str, PythonFunction] = field(default_factory=dict)  #: by output: a function of the user's

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs that have a reference of their own."""
        return (*self.expressions, *self.files, *self.python)


@dataclass(frozen=True)
class Work:
    """What one timed pass does, from the YAML's formulas: floating-point operations and bytes."""

    flop: float | None = None
    bytes: float | None = None


@dataclass(frozen=True)
class Expectation:
    """One line of ``expect:``; ``variant`` restricts it to a label or family."""

    expression: str
    variant: str | None = None
    line: int | None = None


@dataclass(frozen=True)
class Variant:
    """One concrete point: what to build, what to launch, what to compare with."""

    label: str  #: unique in the run: ``tiled/TILE=16``
    family: str  #: the key in the YAML: ``tiled``
    parameters: Mapping[str, Number | str]
    sizes: Mapping[str, Number]
    buffers: Mapping[str, Buffer]
    steps: tuple[Step, ...]
    reference: Reference
    tolerance: Tolerance | None
    work: Work
    iters: int | None
    arch: str | None
    flags: tuple[str, ...]
    include: tuple[Path, ...]
    host_only: bool = False  #: a library baseline: needs a GPU

    @property
    def main_step(self) -> KernelStep | None:
        """The kernel that the row's registers, occupancy and SASS describe: the last timed kernel launch."""
        kernels = [step for step in self.steps if isinstance(step, KernelStep)]
        timed = [step for step in kernels if step.timed]
        chosen = timed or kernels
        return chosen[-1] if chosen else None


@dataclass(frozen=True)
class Suppression:
    """A finding of ``gpuprof sanitize`` that is known: by its lines, and where given its kernel."""

    lines: tuple[int, ...]
    kernel: str | None = None
    why: str = ""


@dataclass(frozen=True)
class SearchDefaults:
    """``search:`` of the YAML: what ``gpuprof tune`` does without flags; None: its own default."""

    strategy: str | None = None
    trials: int | None = None
    minutes: float | None = None
    objective: str | None = None
    seed: int = 0


@dataclass(frozen=True)
class Experiment:
    """One YAML file. ``dropped`` is how many points ``where`` removed."""

    name: str
    description: str
    path: Path
    variants: tuple[Variant, ...]
    baseline: str | None
    expect: tuple[Expectation, ...] = ()
    dropped: int = 0
    arch: str | None = None
    iters: int | None = None
    columns: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)  #: name -> expression over values of a result
    known_races: tuple[tuple[int, ...], ...] = ()  #: pairs of lines that ``gpuprof sanitize`` must find
    suppressions: tuple[Suppression, ...] = ()
