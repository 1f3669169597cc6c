"""What the parts of the executor share, so that none of its folders needs to know another's insides.

**Shapes.** Every value is an array of three axes (blocks, warps, lanes), each full or of length 1. Length 1 means
"the same along that axis": a constant is (1, 1, 1), threadIdx.x (1, warps, 32), blockIdx.x (blocks, 1, 1), a uniform
register (blocks or 1, warps or 1, 1). numpy's broadcasting keeps what is uniform small, so loop counters cost nothing
and tile addresses are computed once for all blocks.

**Immutability.** Arrays are never written in place, neither those received nor those handed over: registers of
several names, and fragments of several masks, may share one array.

The classes behind the protocols: LaneState is ``state.lane_state``, Batch ``control.batch``, LaunchContext
``state.launch``, Code ``program.Program``, GlobalMemory ``memory.arena.Arena``. Folders import each other only
downwards: control, runtime, memory, state, semantics, contract, counting (``tests/emulator/test_structure.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, SupportsIndex, TypeVar, overload

import numpy as np

from gpuprof.isa.machine import INSTRUCTION_BYTES, WARP_LANES, Dim3
from gpuprof.sass.model import Function, Instruction, Operand, OperandKind

if TYPE_CHECKING:
    from threading import Lock

    from numpy.typing import NDArray

    from gpuprof.emulator.counting.counters import Counters
    from gpuprof.errors import CodeLocation, EmulationError
    from gpuprof.sass.cfg import Graph

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]
    U32 = NDArray[np.uint32]
    S32 = NDArray[np.int32]
    U64 = NDArray[np.uint64]
    S64 = NDArray[np.int64]
    F32 = NDArray[np.float32]
    F64 = NDArray[np.float64]

Part = TypeVar("Part")

WARP = WARP_LANES
#: Where code lies in the address space.
CODE_BASE = 0x7D00_0000_0000


class NotCovered(Exception):
    """This form of the opcode is not implemented; the executor turns it into UnknownInstructionError with its place."""


class Parts(tuple[Part, ...]):
    """Operands or modifiers of an instruction: asking for one that it does not have raises NotCovered.

    So a form that a semantics does not expect is an unknown instruction, while any other IndexError or ValueError is
    a mistake of ours and not taken for one.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Part: ...
    @overload
    def __getitem__(self, key: slice, /) -> Parts[Part]: ...
    def __getitem__(self, key: SupportsIndex | slice, /) -> Part | Parts[Part]:
        if isinstance(key, slice):
            return Parts(super().__getitem__(key))
        try:
            return super().__getitem__(key)
        except IndexError:
            raise NotCovered(UNEXPECTED_FORM) from None

    def exactly(self, count: int) -> Parts[Part]:
        """Itself, for unpacking; raises NotCovered unless it has that many."""
        if len(self) != count:
            raise NotCovered(UNEXPECTED_FORM)
        return self


UNEXPECTED_FORM = "its operands are not the expected ones"


@dataclass(frozen=True)
class Decoded:
    """An instruction ready to be bound: what was parsed, and the architecture it was built for."""

    instruction: Instruction
    arch: int  #: 75, 80, 86, 89, 90, 100, 120

    @property
    def operands(self) -> Parts[Operand]:
        return Parts(self.instruction.operands)

    @property
    def modifiers(self) -> Parts[str]:
        return Parts(self.instruction.modifiers)

    def operand(self, kind: OperandKind) -> Operand:
        """The first operand of a kind; raises NotCovered."""
        for operand in self.instruction.operands:
            if operand.kind is kind:
                return operand
        raise NotCovered(UNEXPECTED_FORM)

    def has(self, *names: str) -> bool:
        """Whether any of the modifiers is there."""
        return any(name in self.instruction.modifiers for name in names)


# -- the lanes ------------------------------------------------------------------------------------------------------
class Lanes(Protocol):
    """The lanes that execute an instruction now: operands in, results out. All that semantics see.

    Readers apply the operand's modifiers for the type they name: ``u32`` a two's complement ``-``, or ``~``; ``f32``
    first ``|x|``, then ``-`` on the sign bit. RZ, URZ read 0; PT, UPT read true. An immediate's bits come from the
    encoding. Constants read as broadcast (1, 1, 1) arrays. Results are merged under the lanes' mask by the setters,
    and writes to RZ and PT are dropped; a value may have any broadcastable shape.
    """

    @property
    def blocks(self) -> int: ...
    @property
    def warps(self) -> int: ...
    def active(self) -> Bool:
        """(blocks, warps, 32): lanes that execute this instruction: in the fragment, and guard true."""
        ...

    def full(self, value: NDArray[Any]) -> NDArray[Any]:
        """``value`` broadcast to (blocks, warps, 32)."""
        ...

    def u32(self, operand: Operand) -> U32: ...
    def s32(self, operand: Operand) -> S32: ...
    def raw(self, operand: Operand) -> U32:
        """The 32 bits without any modifier applied (HADD2 and others apply theirs per half)."""
        ...

    def u32_next(self, operand: Operand, step: int) -> U32:
        """Register ``step`` places after the operand's (pairs, quads, fragments of a tensor instruction)."""
        ...

    def u64(self, operand: Operand) -> U64:
        """A register pair, a 64-bit constant, or an immediate (sign-extended); ``-`` and ``~`` act on 64 bits."""
        ...

    def s64(self, operand: Operand) -> S64: ...
    def f32(self, operand: Operand) -> F32: ...
    def f64(self, operand: Operand) -> F64:
        """A register pair or constant as double; an immediate is the high word, the low word 0."""
        ...

    def predicate(self, operand: Operand) -> Bool:
        """P, UP, PT; ``!`` applied."""
        ...

    def set_u32(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_u32_next(self, operand: Operand, step: int, value: NDArray[Any]) -> None: ...
    def set_u64(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_f32(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_f64(self, operand: Operand, value: NDArray[Any]) -> None: ...
    def set_predicate(self, operand: Operand, value: NDArray[Any]) -> None: ...


class SharedMemory(Protocol):
    """Shared memory of a batch: one row of bytes per block; a kernel may use ``start`` to ``limit``."""

    start: int
    limit: int
    views: dict[int, Array]  #: by width in bytes

    def rows(self, width: int) -> Array:
        """(blocks, elements) of that many bytes each (16: pairs of 8)."""
        ...


class LocalMemory(Protocol):
    """Local memory of a batch: ``limit`` bytes per thread."""

    limit: int

    @property
    def words(self) -> Array:
        """(words, blocks, warps, 32)."""
        ...


class LaneState(Lanes, Protocol):
    """A batch of blocks as memory instructions see it: register files, masks, memories and counters."""

    counters: Counters
    code_base: int
    block_count: int
    warp_count: int
    size: int
    registers: list[Array]
    uniforms: list[Array]
    predicates: list[Array]
    uniform_predicates: list[Array]
    mask: Bool  #: lanes that execute the current instruction (fragment and guard)
    write_mask: Bool | None  #: None where a write may rebind, because no other live lane could lose its value
    lanes_on: int  #: active lanes of the current fragment
    thread_values: Mapping[str, Array]
    block_values: Mapping[str, Array]
    memo: dict[int, Any]  #: instruction number -> addresses it used last
    rows: Array | None
    lane_stride: int
    lane_numbers: Array
    block_ids: NDArray[np.int64]

    @property
    def launch(self) -> LaunchContext: ...
    @property
    def constants(self) -> Constants: ...
    @property
    def shared(self) -> SharedMemory: ...
    @property
    def local(self) -> LocalMemory: ...
    def row_offsets(self, stride: int) -> Array:
        """(blocks, 1, 1): where each block's row of ``stride`` elements begins."""
        ...

    def identify(self, row: int, warp: int) -> tuple[int, int]:
        """(block number in the grid, warp number in the block) of a row and warp of this state."""
        ...

    def register_pair(self, index: int) -> Array: ...
    def uniform_pair(self, index: int) -> Array: ...
    def write_pair(self, index: int, value: Array) -> None: ...
    def gather_constant(self, bank: int, index: Array, offset: int, width: int) -> Array: ...
    def count_lanes(self, mask: Bool) -> int:
        """Number of true lanes of a broadcast mask."""
        ...

    def count_warps(self, mask: Bool) -> int:
        """Number of warps with a true lane."""
        ...


# -- control flow ---------------------------------------------------------------------------------------------------
class Fragment:
    """Lanes that are at one instruction and step together: of each warp at most one group.

    ``alone``: until it has started, no other lanes of its warps may join it. ``pooled``: it comes from the pool to a
    BSYNC, which those who wait there issue with it.
    """

    __slots__ = ("alone", "lanes", "mask", "pc", "pooled", "steps", "warps")

    def __init__(self, pc: int, mask: Bool, lanes: int, warps: int, steps: int, alone: bool = False) -> None:
        self.pc = pc
        self.mask = mask
        self.lanes = lanes
        self.warps = warps
        self.steps = steps
        self.alone = alone
        self.pooled = False


@dataclass
class Waiting:
    """Lanes that wait in a convergence barrier, and where they go on."""

    slot: int
    pc: int
    mask: Bool
    steps: int


@dataclass
class BlockBarrier:
    """One named barrier of every block: who arrived, who waits, and what BAR.RED reduces."""

    arrived: Bool
    threads: int | None = None
    waits: list[tuple[int, Bool, int]] = field(default_factory=list)
    reduction: str = ""
    values: Bool = field(default_factory=lambda: np.zeros((1, 1, 1), np.bool_))


class Batch(LaneState, Protocol):
    """A batch with what runs and what waits: the view of control flow and of the device runtime."""

    barriers: list[Array]
    restored: list[Bool]
    live: Bool
    fragments: list[Fragment]
    waits: list[Waiting]
    others: list[Fragment]  #: of each warp the side that the last split set aside
    pool: list[Fragment]  #: sides that later splits pushed out of ``others``
    block_barriers: dict[int, BlockBarrier]
    barrier_result: Array
    exits: dict[int, Bool]
    hits: dict[StraightCode, list[int]]
    patience: int
    detached: bool
    partial: bool
    phases: list[int]
    returns: list[Array]
    observer: Observer | None
    warp_numbers: Array | None

    @property
    def quiet(self) -> bool:
        """Nothing runnable and nothing waiting beside the current fragment: it holds all live lanes."""
        ...

    def part(self, rows: Array, warps: Array) -> Batch:
        """The warps (rows[i], warps[i]) as a batch with one per row; it shares the memories and has yet to start."""
        ...

    def chosen_by_order(self) -> Fragment:
        """Take the fragment whose turn it is, where the launch has an order of warps."""
        ...

    def set_return(self, target: Array) -> None: ...
    def push(self, pc: int, mask: Bool, steps: int, *, alone: bool = False) -> None:
        """Lanes that are ready to run from ``pc``."""
        ...

    def complete_phase(self) -> None:
        """A phase of an mbarrier is complete: those who wait for one look again."""
        ...


#: Executes one instruction for the active lanes of a batch.
Step = Callable[[Batch], Any]
#: Ends a straight run: the next program counter of the fragment, or PARKED.
Terminator = Callable[[Batch, Fragment], int]
#: Executes an instruction that needs no more than lanes.
Execute = Callable[[Lanes], None]


class StraightCode:
    """Straight-line code: what executes each instruction, and the terminator (None: falls through to ``end``)."""

    __slots__ = ("end", "first", "last", "steps", "terminator")

    def __init__(self, first: int, steps: tuple[Step, ...], terminator: Terminator | None, end: int) -> None:
        self.first = first
        self.last = first + len(steps) + (terminator is not None)  #: number after the last instruction
        self.steps = steps
        self.terminator = terminator
        self.end = end


class Code(Protocol):
    """All code of a cubin with the kernel's section first; program counters count from there."""

    kernel: str
    function: Function
    sections: dict[str, int]
    instructions: list[Instruction]
    end: int

    @property
    def graph(self) -> Graph: ...
    @property
    def runs(self) -> Mapping[int, StraightCode]: ...
    def run_at(self, pc: int) -> StraightCode: ...
    def location(self, index: int) -> CodeLocation: ...
    def label_at(self, section: int, name: str) -> int:
        """The number of the instruction at a label of a section (by its first program counter); -1: no such label."""
        ...

    def unknown(self, index: int, reason: str) -> EmulationError: ...
    def address_of(self, symbol: str) -> int | None:
        """Where a symbol is that the code names; None where nobody knows."""
        ...


@dataclass(frozen=True)
class Site:
    """Where an instruction is: its number, its program counter, and the code around it."""

    index: int
    pc: int
    section: int  #: program counter of the first instruction of its section
    instruction: Instruction
    program: Code

    @property
    def next(self) -> int:
        return self.pc + INSTRUCTION_BYTES

    def target(self, operand: Operand) -> int:
        """Program counter that a label or an immediate names; raises NotCovered."""
        if operand.kind is OperandKind.LABEL:
            if operand.value is not None:
                return self.section + int(operand.value)
            if operand.name in self.program.sections:
                return self.program.sections[operand.name]
            address = self.program.address_of(operand.name)
            if address is not None:
                return address - CODE_BASE
        elif operand.kind is OperandKind.IMMEDIATE:
            relative = self.instruction.opcode in ("BRX", "CALL", "RET")
            return int(operand.value or 0) + (self.next if relative else self.section)
        raise NotCovered(f"target {operand.text}")

    def holds(self, pc: int) -> bool:
        """Whether it is a program counter of this code, as against one of the device runtime."""
        return 0 <= pc < self.program.end and pc % INSTRUCTION_BYTES == 0


# -- the launch -----------------------------------------------------------------------------------------------------
class Region(Protocol):
    """A live buffer: bytes ``start`` to ``end`` (not included) of the arena."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Heap(Protocol):
    """Device-side malloc and free. Addresses are virtual; 0 says that there is no room."""

    def allocate(self, nbytes: int) -> int: ...
    def free(self, address: int) -> bool: ...


class GlobalMemory(Protocol):
    """Buffers by virtual address; the arrays are views of the whole arena, indexed by offset / width."""

    bytes: NDArray[np.uint8]
    halves: NDArray[np.uint16]
    words: NDArray[np.uint32]
    double_words: NDArray[np.uint64]
    written: NDArray[np.uint8]
    heap: Heap | None

    def allocate(self, nbytes: int) -> int: ...
    def view(self, address: int, nbytes: int) -> NDArray[np.uint8]: ...
    def region_of(self, offset: int) -> Region | None: ...
    def owned(self, offsets: NDArray[np.int64], width: int) -> NDArray[np.bool_]: ...
    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Offsets of the first bytes of all live buffers, ascending, and of the bytes past their ends."""
        ...

    def describe_nearest(self, address: int) -> str: ...


class Constants(Protocol):
    """(bank, byte offset, width) -> the constant as a (1, 1, 1) array."""

    @property
    def banks(self) -> Mapping[int, bytes]: ...
    def __getitem__(self, key: tuple[int, int, int], /) -> Array: ...
    def gather(self, bank: int, index: Array, offset: int, width: int) -> Array: ...


class DeviceRuntime(Protocol):
    """Functions that kernels call and that are no code of theirs."""

    @property
    def text(self) -> str:
        """What was printed so far."""
        ...

    def call(self, batch: Batch, pc: int, location: CodeLocation) -> int:
        """Run the function at ``pc`` for the active lanes; returns where they go on."""
        ...


class UnsetReads(Protocol):
    """Looks for loads of what nobody stored: ``found`` has the first by position of the buffer."""

    found: dict[int, CodeLocation]

    def look(self, lanes: LaneState, instruction: Instruction, offsets: NDArray[np.int64], width: int) -> None: ...


class WarpOrder(Protocol):
    """Warps of a block run one at a time; see ``options.Order``."""

    @property
    def seed(self) -> int | None: ...
    @property
    def lowest_first(self) -> bool: ...


class LaunchLimits(Protocol):
    """What those who execute ask of ``options.EmulationOptions``."""

    @property
    def instruction_limit(self) -> int: ...
    @property
    def poison(self) -> int: ...
    @property
    def observer(self) -> Observer | None: ...
    @property
    def order(self) -> WarpOrder | None: ...
    @property
    def cooperative(self) -> bool: ...


class LaunchContext(Protocol):
    """One launch as all its batches see it."""

    kernel: str
    grid: Dim3
    block: Dim3
    threads: int
    warps: int
    present: Bool  #: lanes that exist
    code_base: int
    dynamic_shared_bytes: int
    shared_bytes: int
    reserved_shared_bytes: int
    local_bytes: int
    thread_values: dict[str, Array]
    atomic_lock: Lock
    deadline: float | None  #: by ``time.perf_counter``; above it the numpy engine gives up
    unset_reads: UnsetReads | None

    @property
    def options(self) -> LaunchLimits: ...
    @property
    def program(self) -> Code: ...
    @property
    def arena(self) -> GlobalMemory: ...
    @property
    def constants(self) -> Constants: ...
    @property
    def runtime(self) -> DeviceRuntime: ...
    def name_lane(self, lanes: LaneState, where: tuple[int, int, int]) -> tuple[Dim3, Dim3]:
        """(block, thread) indices of a lane given as (block row, warp, lane) of a batch."""
        ...


class Engine(Protocol):
    """Runs blocks of one launch; the numpy engine is the definition."""

    def run(self, blocks: NDArray[np.int64]) -> Counters:
        """Execute these blocks (numbers in the grid) and count; raises EmulationError and its kinds."""
        ...


class Observer(Protocol):
    """Watches a launch from within. Without one (``EmulationOptions.observer`` is None) nothing is asked or kept.

    Masks are broadcastable to (blocks, warps, 32). What an observer raises ends the launch.
    """

    def begin(self, batch: Batch) -> None:
        """A batch of blocks starts; its ``block_ids`` say which."""
        ...

    def bind(self, decoded: Decoded, index: int, step: Step) -> Step:
        """What executes instruction ``index`` in place of ``step``; asked once, when it is first reached.

        It runs with ``batch.mask`` the lanes whose guard is true. Branches, EXIT and barriers are no steps.
        """
        ...

    def barrier(self, batch: Batch, number: int, arrived: Bool, leaving: Bool) -> None:
        """A generation of a block barrier is complete: who arrived, and who of them waited and goes on."""
        ...

    def warp_barrier(self, batch: Batch, lanes: Bool, pc: int) -> None:
        """Lanes met in the WARPSYNC before program counter ``pc`` and go on."""
        ...

    def phase(self, batch: Batch, addresses: Array, lanes: Bool) -> None:
        """Lanes found the phase of the mbarrier at their shared address complete (SYNCS.PHASECHK.TRYWAIT)."""
        ...

    def end(self, batch: Batch) -> None:
        """All threads of the batch ended."""
        ...
