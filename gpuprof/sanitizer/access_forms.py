"""What each memory instruction does: which space, how many bytes, read, write or atomic, and in whose sight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.contract import Decoded, NotCovered
from gpuprof.emulator.memory.addresses import access_width, memory_operand, narrow_address, wide_address
from gpuprof.emulator.memory.arena import GLOBAL_BASE
from gpuprof.emulator.state.special_values import LOCAL_WINDOW_HIGH, SHARED_WINDOW_HIGH
from gpuprof.sass.model import Instruction, Operand, OperandKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpuprof.emulator.contract import Batch, LaneState, Step

    Array = NDArray[Any]
    Bool = NDArray[np.bool_]
    #: Is told of a store: the batch, the access, offsets into the arena, and which lanes.
    StoreLook = Callable[["Batch", "AccessForm", Array, Bool], None]

READ, WRITE, ATOMIC, COPY = "read", "write", "atomic", "asynchronous write"
#: The unit of a bulk copy's length.
BULK_BYTES = 16
#: Who sees an access or fence in order: nobody, the block, the GPU, all.
NONE, BLOCK, GPU, SYSTEM = range(4)
_SCOPES = {"CTA": BLOCK, "SM": BLOCK, "GPU": GPU, "SYS": SYSTEM, "VC": GPU}

#: opcode -> (what it does, the spaces it may go to)
_KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "LDG": (READ, ("global",)),
    "LD": (READ, ("global", "shared", "local")),
    "LDS": (READ, ("shared",)),
    "LDSM": (READ, ("shared",)),
    "LDL": (READ, ("local",)),
    "STG": (WRITE, ("global",)),
    "ST": (WRITE, ("global", "shared", "local")),
    "STS": (WRITE, ("shared",)),
    "STL": (WRITE, ("local",)),
    "ATOMG": (ATOMIC, ("global",)),
    "ATOM": (ATOMIC, ("global", "shared")),
    "RED": (ATOMIC, ("global",)),
    "REDG": (ATOMIC, ("global",)),
    "ATOMS": (ATOMIC, ("shared",)),
}


#: Opcodes that change memory.
#: Accesses that are not looked at: tensor copies, and the factors of warpgroup products.
UNWATCHED = frozenset(("UTMALDG", "UTMASTG", "HGMMA", "QGMMA", "IGMMA"))
WRITING = frozenset(name for name, (verb, _) in _KINDS.items() if verb != READ) | {"LDGSTS", "UBLKCP", "STSM"}


@dataclass(frozen=True, eq=False)
class AccessForm:
    """One access of an instruction. ``places`` gives, for the active lanes, (space, byte addresses, mask) parts."""

    index: int
    instruction: Instruction
    verb: str
    width: int
    spaces: tuple[str, ...]
    address: Callable[[LaneState], Array]
    scope: int  #: of a strong access or atomic; NONE: weak
    data: Operand | None  #: what a store writes, or the register that a load fills
    lanes: int = 32  #: the number of lanes, from the first, that give addresses (LDSM)
    once: bool = False  #: each warp's first active lane executes it alone (the uniform datapath)
    length: Callable[[LaneState], Array] | None = None  #: of a bulk copy: bytes, of which ``width`` are a part

    @property
    def swaps(self) -> bool:
        """Whether it is a compare-and-swap."""
        return self.verb == ATOMIC and bool({"CAS", "CAST"} & set(self.instruction.modifiers))

    @property
    def writes(self) -> bool:
        return self.verb != READ

    @property
    def words(self) -> int:
        """The 32-bit words that a lane touches; a narrower access touches one."""
        return max(1, self.width // 4)

    def places(self, lanes: Batch) -> list[tuple[str, Array, Bool]]:
        """By space: byte addresses (global ones as offsets into the arena), and which lanes."""
        addresses, mask = self.address(lanes), lanes.mask
        if self.once:
            mask = np.logical_and(mask, lanes.launch.present)
            mask = np.broadcast_to(mask, (*mask.shape[:2], 32))
            mask = np.logical_and(mask, np.arange(32) == mask.argmax(axis=2)[:, :, None])
        if self.length is not None:
            return self._pieces(lanes, addresses, mask)
        if self.lanes < 32:
            mask = np.logical_and(mask, np.arange(32).reshape(1, 1, 32) < self.lanes)
        if self.spaces == ("global",):
            return [("global", _offsets(addresses), mask)]
        if len(self.spaces) == 1:
            return [(self.spaces[0], addresses, mask)]
        high = addresses >> np.uint64(32)
        low = np.bitwise_and(addresses, np.uint64(0xFFFFFFFF)).astype(np.int64)
        shared, local = high == np.uint64(SHARED_WINDOW_HIGH), high == np.uint64(LOCAL_WINDOW_HIGH)
        parts = [
            ("global", _offsets(addresses), np.logical_and(mask, ~(shared | local))),
            ("shared", low, np.logical_and(mask, shared)),
            ("local", low, np.logical_and(mask, local)),
        ]
        return [part for part in parts if part[2].any()]

    def _pieces(self, lanes: LaneState, addresses: Array, mask: Bool) -> list[tuple[str, Array, Bool]]:
        assert self.length is not None
        length = np.where(mask, self.length(lanes), 0)
        return [
            (self.spaces[0], addresses + start, np.logical_and(mask, length > start))
            for start in range(0, int(length.max()), self.width)
        ]


def access_forms(decoded: Decoded, index: int) -> tuple[AccessForm, ...]:
    """The accesses of an instruction; none for one that touches no memory that is watched."""
    instruction = decoded.instruction
    if instruction.opcode == "LDGSTS":
        return _copy(decoded, index)
    if instruction.opcode == "UBLKCP":
        return _bulk_copy(decoded, index)
    if instruction.opcode == "SYNCS":
        return _object_access(decoded, index)
    known = _KINDS.get(instruction.opcode)
    if known is None:
        return ()
    verb, spaces = known
    try:
        operand = memory_operand(instruction)
    except NotCovered:
        return ()
    wide = "global" in spaces
    width, _ = access_width(instruction)
    if verb == ATOMIC:
        width = 8 if decoded.has("64", "U64", "S64", "F64") else 4
    lanes = 32
    if instruction.opcode == "LDSM":
        width, lanes = 16, 8 * next((int(word) for word in ("2", "4") if decoded.has(word)), 1)
    address = wide_address(operand) if wide else _remembered(operand)
    scope = access_scope(decoded) if wide else BLOCK if verb == ATOMIC else NONE
    if verb == ATOMIC and scope == NONE:
        scope = GPU
    data = instruction.operands[-1] if verb == WRITE else instruction.operands[0] if verb == READ else None
    return (AccessForm(index, instruction, verb, width, spaces, address, scope, data, lanes),)


def before_global_stores(decoded: Decoded, index: int, step: Step, look: StoreLook) -> Step:
    """``step`` with ``look`` called first for what it is about to store to global memory; other steps as they are."""
    forms = [form for form in access_forms(decoded, index) if form.writes and "global" in form.spaces]
    if not forms:
        return step

    def execute(batch: Batch) -> None:
        for form in forms:
            for space, places, mask in form.places(batch):
                if space == "global":
                    look(batch, form, places, mask)
        step(batch)

    return execute


def access_scope(decoded: Decoded) -> int:
    """The scope of a STRONG access or of a MEMBAR; NONE for a weak access."""
    if decoded.instruction.opcode != "MEMBAR" and not decoded.has("STRONG", "MMIO"):
        return NONE
    return next((_SCOPES[word] for word in decoded.modifiers if word in _SCOPES), SYSTEM)


def _copy(decoded: Decoded, index: int) -> tuple[AccessForm, ...]:
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    if len(memories) != 2:
        return ()
    width, _ = access_width(decoded.instruction)
    instruction = decoded.instruction
    low = np.uint64(width - 1)
    source = wide_address(memories[1])
    conditions = [operand for operand in decoded.operands if operand.kind is OperandKind.PREDICATE]

    def aligned(lanes: LaneState) -> Array:
        result: Array = np.bitwise_and(source(lanes), ~low)
        return result

    forms = [AccessForm(index, instruction, COPY, width, ("shared",), narrow_address(memories[0]), NONE, None)]
    if not conditions and not decoded.has("ZFILL"):
        forms.append(AccessForm(index, instruction, READ, width, ("global",), aligned, NONE, None))
    return tuple(forms)


def _bulk_copy(decoded: Decoded, index: int) -> tuple[AccessForm, ...]:
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    registers = [memory.uniform or memory.base for memory in memories]
    if len(registers) != 2 or registers[0] is None:
        return ()
    target, amount = registers[0], decoded.operands[-1]

    def address(lanes: LaneState) -> Array:
        return lanes.u32_next(target, 0).astype(np.int64)

    def length(lanes: LaneState) -> Array:
        return lanes.u32(amount).astype(np.int64) * BULK_BYTES

    instruction = decoded.instruction
    form = AccessForm(index, instruction, COPY, BULK_BYTES, ("shared",), address, NONE, None, once=True, length=length)
    return (form,)


def bulk_object(decoded: Decoded) -> Callable[[LaneState], Array]:
    """Per lane: the shared address of the mbarrier that counts a bulk copy's bytes."""
    memory = next(operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY)
    register = memory.uniform or memory.base
    assert register is not None
    return lambda lanes: lanes.u32_next(register, 1)


def _object_access(decoded: Decoded, index: int) -> tuple[AccessForm, ...]:
    """mbarrier.init is a write; arrivals and tests are atomics of the block."""
    if decoded.has("EXCH"):
        verb, once = WRITE, True
    elif decoded.has("ARRIVE", "PHASECHK"):
        verb, once = ATOMIC, False
    else:
        return ()
    address = narrow_address(memory_operand(decoded.instruction))
    scope = BLOCK if verb == ATOMIC else NONE
    return (AccessForm(index, decoded.instruction, verb, 8, ("shared",), address, scope, None, once=once),)


def arrives(instruction: Instruction) -> bool:
    """Whether threads arrive at an mbarrier by it."""
    counts = not {"A0TR", "A0T1"} & set(instruction.modifiers)
    return instruction.opcode in ("SYNCS", "ATOMS") and "ARRIVE" in instruction.modifiers and counts


def _remembered(operand: Operand) -> Callable[[LaneState], Array]:
    """``narrow_address`` that gives the same array as long as its registers are the same arrays."""
    from gpuprof.emulator.memory.addresses import address_sources

    compute, sources = narrow_address(operand), address_sources(operand)
    last: list[Any] = [None, None, None]

    def address(lanes: LaneState) -> Array:
        first, second = sources(lanes)
        if last[2] is None or last[0] is not first or last[1] is not second:
            last[:] = [first, second, compute(lanes)]
        result: Array = last[2]
        return result

    return address


def _offsets(addresses: Array) -> Array:
    result: Array = np.subtract(addresses, np.uint64(GLOBAL_BASE)).view(np.int64)
    return result


def memory_words(lanes: LaneState, space: str, places: Array) -> Array:
    """The word at each of these byte addresses of shared or global memory (as ``AccessForm.places`` gives them)."""
    if space == "global":
        return lanes.launch.arena.words.take(places >> 2, mode="clip")
    rows = lanes.shared.rows(4)
    return rows.reshape(-1).take((places >> 2) + lanes.row_offsets(rows.shape[1]), mode="clip")


def flip_words(lanes: LaneState, space: str, places: Array, mask: Bool, poison: int, flip: np.uint32) -> None:
    """Where one of these words holds ``poison``, it holds that with the bits of ``flip`` turned."""
    memory = lanes.launch.arena.words if space == "global" else lanes.shared.rows(4).reshape(-1)
    words = places >> 2
    if space != "global":
        words = words + lanes.row_offsets(lanes.shared.rows(4).shape[1])
    shape = np.broadcast_shapes(words.shape, mask.shape)
    chosen = np.unique(np.broadcast_to(words, shape)[np.broadcast_to(mask, shape)])
    chosen = chosen[memory[chosen] == np.uint32(poison)]
    memory[chosen] ^= flip
