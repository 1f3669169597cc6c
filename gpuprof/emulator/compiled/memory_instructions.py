"""Loads, stores, copies and atomics as calls of the runtime."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpuprof.emulator.compiled.operands import (
    PREDICATES,
    is_lanes,
    mask_text,
    narrow_text,
    register_text,
    target_text,
    wide_text,
    word_text,
)
from gpuprof.emulator.memory.addresses import access_width, memory_operand
from gpuprof.emulator.memory.async_copy import misreads_guard
from gpuprof.emulator.memory.atomics import AtomicForm
from gpuprof.emulator.semantics.base import Decoded, NotCovered
from gpuprof.sass.model import Operand, OperandKind

Lines = list[str]
#: What an atomic combines in, by dtype name.
TYPES = {"uint32": 0, "int32": 1, "uint64": 2, "int64": 3, "float32": 4, "float64": 5}
HALVES, BFLOATS = 6, 7
OPERATIONS = ("ADD", "MIN", "MAX", "AND", "OR", "XOR", "INC", "DEC", "EXCH", "CAS")
BYPASS, ZERO_FILL, MISREAD = 1, 2, 4


#: Modifiers that this translation was made for; an instruction with another one is left to numpy.
WORDS = frozenset(
    [
        "STRONG",
        "WEAK",
        "CONSTANT",
        "PRIVATE",
        "MMIO",
        "CTA",
        "SM",
        "GPU",
        "SYS",
        "E",
        "EF",
        "EL",
        "LU",
        "EU",
        "NA",
        "LTC64B",
        "LTC128B",
        "LTC256B",
        "PF1",
        "PF2",
        "PF3",
        "PF4",
        "U8",
        "S8",
        "U16",
        "S16",
        "32",
        "64",
        "128",
        "ADD",
        "MIN",
        "MAX",
        "AND",
        "OR",
        "XOR",
        "INC",
        "DEC",
        "EXCH",
        "CAS",
        "S32",
        "U32",
        "S64",
        "U64",
        "F32",
        "F64",
        "FTZ",
        "RN",
        "F16x2",
        "BF16x2",
        "BF16_V2",
        "POPC",
        "CAST",
        "SPIN",
        "16",
        "M88",
        "MT88",
        "2",
        "4",
        "U",
        "BYPASS",
        "ACCESS",
        "ZFILL",
    ]
)


def translate_access(decoded: Decoded, index: int) -> Lines:
    """C++ of a memory instruction; raises NotCovered."""
    unknown = [word for word in decoded.modifiers if word not in WORDS]
    if unknown:
        raise NotCovered(f"modifier .{'.'.join(unknown)}")
    return MEMORY[decoded.instruction.opcode](decoded, index)


def _checked(call: str) -> str:
    return f"if (!{call}) return STOPPED;"


def _load(function: str, place: Callable[[Operand], str]) -> Callable[[Decoded, int], Lines]:
    def write(decoded: Decoded, index: int) -> Lines:
        width, signed = access_width(decoded.instruction)
        target, address = target_text(decoded.operands[0]), place(memory_operand(decoded.instruction))
        if function == "gp_load_global" and width == 4:
            return [_checked(f"gp_ldg4(w, {index}, m, wm, {target}, {address})")]
        return [_checked(f"{function}(w, {index}, m, wm, {target}, {address}, {width}, {int(signed)})")]

    return write


def _store(function: str, place: Callable[[Operand], str]) -> Callable[[Decoded, int], Lines]:
    def write(decoded: Decoded, index: int) -> Lines:
        width, _ = access_width(decoded.instruction)
        source, address = register_text(decoded.operands[-1]), place(memory_operand(decoded.instruction))
        return [_checked(f"{function}(w, {index}, m, {source}, {address}, {width})")]

    return write


def load_matrix(decoded: Decoded, index: int) -> Lines:
    matrices = next((int(word) for word in ("2", "4") if decoded.has(word)), 1)
    target, address = target_text(decoded.operands[0]), narrow_text(memory_operand(decoded.instruction))
    transposed = int(decoded.has("MT88"))
    return [_checked(f"gp_load_matrix(w, {index}, m, wm, {target}, {address}, {matrices}, {transposed})")]


def _atomic(function: str, place: Callable[[Operand], str]) -> Callable[[Decoded, int], Lines]:
    def write(decoded: Decoded, index: int) -> Lines:
        form = AtomicForm(decoded)
        operation = form.operation
        kind = TYPES[np.dtype(operation.dtype).name]
        if decoded.has("F16x2"):
            kind = HALVES
        elif decoded.has("BF16x2", "BF16_V2"):
            kind = BFLOATS
        number = OPERATIONS.index(operation.name) | kind << 4
        sources = [register_text(source) for source in form.sources]
        sources += ["gp_zeros"] * (2 - len(sources))
        old = "nullptr" if form.target is None else target_text(form.target)
        address = place(memory_operand(decoded.instruction))
        lines = [_checked(f"{function}(w, {index}, m, wm, {old}, {address}, {sources[0]}, {sources[1]}, {number})")]
        lines += [f"w.P[{operand.index}] |= wm;" for operand in form.done if operand.kind is OperandKind.PREDICATE]
        return lines

    return write


def shared_atomic(decoded: Decoded, index: int) -> Lines:
    address = narrow_text(memory_operand(decoded.instruction))
    if decoded.has("CAST"):
        return _spin(decoded, index, address)
    if decoded.has("POPC"):
        return [_checked(f"gp_count_shared(w, {index}, m, {address})")]
    return _atomic("gp_atomic_shared", narrow_text)(decoded, index)


def _spin(decoded: Decoded, index: int, address: str) -> Lines:
    target = decoded.operands[0]
    sources = [operand for operand in decoded.operands[1:] if operand.kind is not OperandKind.MEMORY]
    compare, new = (register_text(source) for source in sources)
    done, predicate = "nullptr", "nullptr"
    if target.kind is OperandKind.PREDICATE:
        predicate = "nullptr" if target.is_zero else f"&w.P[{target.index}]"
    else:
        done = target_text(target)
    width = 8 if decoded.has("64") else 4
    call = f"gp_spin_shared(w, {index}, m, wm, {done}, {predicate}, {address}, {compare}, {new}, {width})"
    return [_checked(call)]


def copy_parts(decoded: Decoded) -> tuple[str, str]:
    """(the lanes that read, the last arguments) of an LDGSTS."""
    memories = [operand for operand in decoded.operands if operand.kind is OperandKind.MEMORY]
    conditions = [operand for operand in decoded.operands if operand.kind is OperandKind.PREDICATE]
    width, _ = access_width(decoded.instruction)
    flags = BYPASS * decoded.has("BYPASS") | ZERO_FILL * decoded.has("ZFILL") | MISREAD * misreads_guard(decoded)
    reads = " & ".join(("m", *(mask_text(condition) for condition in conditions)))
    return reads, f"{narrow_text(memories[0])}, {wide_text(memories[1])}, {width}, {flags}"


def copy(decoded: Decoded, index: int) -> Lines:
    reads, rest = copy_parts(decoded)
    return [_checked(f"gp_copy_async(w, {index}, m, {reads}, {rest})")]


def misread_copy(decoded: Decoded, index: int) -> Lines:
    """What the counters by instruction have besides (``memory.async_copy.with_misread_guard``)."""
    guard = decoded.instruction.predicate
    if not misreads_guard(decoded) or guard is None or not guard.negate:
        return []
    reads, rest = copy_parts(decoded)
    return [f"gp_copy_misread(w, {index}, m, {reads}, {rest});"]


def load_constant(decoded: Decoded, index: int) -> Lines:
    """LDC and its uniform forms; the places are read before the results are written."""
    target, source = decoded.operands[0], decoded.operands[-1]
    width, signed = access_width(decoded.instruction)
    if source.bank is None or source.bank > 4:
        raise NotCovered(f"operand {source.text}")
    uniform = target.kind is OperandKind.UNIFORM
    base, offset = source.base, int(source.value or 0)
    steps = range(0, width, 4)
    small = "" if width >= 4 else f"(u32)(i32)({'i' if signed else 'u'}{8 * width})"
    if base is not None and is_lanes(base):
        if uniform:
            raise NotCovered(source.text)
        name = register_text(base)
        lines = [f"u32 c_[{len(steps)}][32];"]
        for number, step in enumerate(steps):
            call = f"gp_load_constant(w, wm, m, c_[{number}], {name}, {source.bank}, {offset + step}u, {min(width, 4)})"
            lines.append(f"if (!{call}) return gp_stop(w, REPEAT_IN_NUMPY, {index});")
        if not target.is_zero:
            for number in range(len(steps)):
                to = f"(R + {32 * (target.index + number)})[l]"
                lines.append(f"LANES {{ {to} = (wm >> l & 1u) ? {small}c_[{number}][l] : {to}; }}")
        return lines
    if base is None or base.is_zero:
        if offset + width > 65536 or offset < 0:
            raise NotCovered(f"operand {source.text}")
        places = [f"{offset + step}u" for step in steps]
        lines = []
    else:
        places = [f"{word_text(base)} + {(offset + step) & 0xFFFFFFFF}u" for step in steps]
        lines = [f"if ((u64)({places[-1]}) + 4 > 65536) return gp_stop(w, REPEAT_IN_NUMPY, {index});"]
    for number, place in enumerate(places):
        lines.append(f"const u32 c{number}_ = {small}constant(w, {source.bank}, {place});")
    if target.is_zero:
        return lines
    for number in range(len(places)):
        if uniform:
            lines.append(f"w.U[{target.index + number}] = c{number}_;")
        else:
            to = f"(R + {32 * (target.index + number)})[l]"
            lines.append(f"LANES {{ {to} = (wm >> l & 1u) ? c{number}_ : {to}; }}")
    return lines


#: opcode -> C++ lines for a decoded instruction and its number.
MEMORY: dict[str, Callable[[Decoded, int], Lines]] = {
    "LDG": _load("gp_load_global", wide_text),
    "STG": _store("gp_store_global", wide_text),
    "LD": _load("gp_load_generic", wide_text),
    "ST": _store("gp_store_generic", wide_text),
    "LDS": _load("gp_load_shared", narrow_text),
    "STS": _store("gp_store_shared", narrow_text),
    "LDSM": load_matrix,
    "LDL": _load("gp_load_local", narrow_text),
    "STL": _store("gp_store_local", narrow_text),
    "LDC": load_constant,
    "ULDC": load_constant,
    "LDCU": load_constant,
    "LDGSTS": copy,
    "ATOMS": shared_atomic,
    "ATOMG": _atomic("gp_atomic_global", wide_text),
    "ATOM": _atomic("gp_atomic_generic", wide_text),
    "RED": _atomic("gp_atomic_global", wide_text),
    "REDG": _atomic("gp_atomic_global", wide_text),
}

__all__ = ["MEMORY", "PREDICATES", "misread_copy", "translate_access"]
