"""Special registers, votes, shuffles, reductions and tensor instructions as C++ text."""

from __future__ import annotations

from collections.abc import Callable

from gpuprof.emulator.compiled.operands import (
    is_lanes,
    lanes_text,
    mask_text,
    register_text,
    target_text,
    wide_text,
    word_text,
)
from gpuprof.emulator.memory.addresses import memory_operand
from gpuprof.emulator.semantics.accumulate import adder_of
from gpuprof.emulator.semantics.base import Decoded, NotCovered
from gpuprof.emulator.semantics.forms import arithmetic_form, is_predicate, wanted
from gpuprof.emulator.semantics.tensor import HMMA_SHAPES, IMMA_SHAPES
from gpuprof.emulator.state.launch import CODE_BASE
from gpuprof.emulator.state.special_values import LOCAL_WINDOW_HIGH, SHARED_WINDOW_HIGH
from gpuprof.sass.model import Operand, OperandKind

Lines = list[str]
#: Special registers by the runtime's numbers (across.cpp).
SPECIAL = {
    name: number
    for number, name in enumerate(
        [
            "SR_TID.X",
            "SR_TID.Y",
            "SR_TID.Z",
            "SR_TID",
            "SR_LANEID",
            "SR_VIRTID",
            "SR_WARPID",
            "SR_EQMASK",
            "SR_LTMASK",
            "SR_LEMASK",
            "SR_GTMASK",
            "SR_GEMASK",
            "SR_CTAID.X",
            "SR_CTAID.Y",
            "SR_CTAID.Z",
            "SR_SMEMSZ",
            "SR_CLOCKLO",
            "SR_CLOCKHI",
        ]
    )
} | {"SR_GLOBALTIMERLO": 16, "SR_GLOBALTIMERHI": 17}
PER_LANE = 12  #: special registers below this number differ between lanes
#: Those that are always the same (state/special.py).
FIXED = {
    "SRZ": 0,
    "SR_VIRTUALSMID": 0,
    "SR_SMID": 0,
    "SR_NSMID": 1,
    "SR_SWINHI": SHARED_WINDOW_HIGH,
    "SR_LWINHI": LOCAL_WINDOW_HIGH,
    "SR_CgaCtaId": 0,
    "SR_CgaSize": 1,
    "SR_REGALLOC": 0,
    "SR_ORDERING_TICKET": 0,
    "SR_NWARPID": 64,
}


def store_lanes(target: Operand, text: str, step: int = 0) -> str:
    """A word for every written lane of a register."""
    to = f"(R + {32 * (target.index + step)})[l]"
    return f"{{ const u32 word_ = {text}; LANES {{ {to} = (wm >> l & 1u) ? word_ : {to}; }} }}"


def store_word(target: Operand, text: str, step: int = 0) -> str:
    """A word that is the same for all lanes, to a register or a uniform register."""
    if target.is_zero:
        return ""
    if target.kind is OperandKind.UNIFORM:
        return f"w.U[{target.index + step}] = {text};"
    return store_lanes(target, text, step)


def store_truth(target: Operand, text: str) -> str:
    """A truth value that is the same for all lanes, to a predicate."""
    if target.is_zero:
        return ""
    if target.kind is OperandKind.UNIFORM_PREDICATE:
        return f"w.UP[{target.index}] = ({text}) ? 1u : 0u;"
    return f"w.P[{target.index}] = (w.P[{target.index}] & ~wm) | (({text}) ? wm : 0u);"


def read_special(decoded: Decoded, index: int) -> Lines:
    target, source = decoded.operands[0], decoded.operands[-1]
    name = source.name.rstrip()
    wide = decoded.instruction.opcode.startswith("C") and not decoded.has("32")
    lines = [_special(target, name, 0)]
    if wide:
        lines.append(_special(target, name.removesuffix("LO") + "HI" if name.endswith("LO") else name, 1))
    return lines


def _special(target: Operand, name: str, step: int) -> str:
    if name in FIXED:
        return store_word(target, f"0x{FIXED[name]:x}u", step)
    number = SPECIAL.get(name)
    if number is None:
        raise NotCovered(f"special register {name}")
    if target.is_zero:
        return ""
    if number >= PER_LANE:
        return store_word(target, f"gp_special_word(w, {number})", step)
    if target.kind is OperandKind.UNIFORM:
        place = f"w.U[{target.index + step}]"
        return f"{{ u32 all_[32]; gp_special(w, all_, ~0u, {number}); {place} = all_[__builtin_ctz(m)]; }}"
    return f"gp_special(w, R + {32 * (target.index + step)}, wm, {number});"


def to_uniform(decoded: Decoded, index: int) -> Lines:
    if decoded.modifiers:
        raise NotCovered(decoded.instruction.text)
    predicates = [operand for operand in decoded.operands if is_predicate(operand) and not operand.is_zero]
    target, source = (operand for operand in decoded.operands if not is_predicate(operand))
    text = f"({register_text(source)})[__builtin_ctz(m)]" if is_lanes(source) else word_text(source)
    lines = [f"const u32 chosen_ = {text};"]
    if predicates:
        differs = f"({register_text(source)})[l] != chosen_" if is_lanes(source) else "false"
        lines.append(f"u32 differs_ = 0; LANES {{ differs_ |= (u32)({differs}) << l; }}")
    for operand in predicates:
        if operand.kind is not OperandKind.PREDICATE:
            raise NotCovered(decoded.instruction.text)
        lines.append(f"w.P[{operand.index}] = (w.P[{operand.index}] & ~wm) | (differs_ & wm);")
    return lines if target.is_zero else [*lines, f"w.U[{target.index}] = chosen_;"]


def elect(decoded: Decoded, index: int) -> Lines:
    predicate, target, source = decoded.operands
    lines = [
        f"const u32 ready_ = m & {mask_text(source)};",
        "const u32 lane_ = ready_ ? (u32)__builtin_ctz(ready_) : 0u;",
    ]
    if not predicate.is_zero:
        if predicate.kind is not OperandKind.PREDICATE:
            raise NotCovered(decoded.instruction.text)
        place = f"w.P[{predicate.index}]"
        lines.append(f"{place} = ({place} & ~wm) | (ready_ & (1u << lane_) & wm);")
    return [*lines, store_word(target, "lane_")]


def vote(decoded: Decoded, index: int) -> Lines:
    operands = decoded.operands
    result = None if is_predicate(operands[0]) else operands[0]
    test, source = operands if result is None else operands[1:]
    how = next(word for word in ("ANY", "ALL", "EQ") if decoded.has(word))
    truth = {"ANY": "yes_ != 0", "ALL": "yes_ == m", "EQ": "yes_ == m || yes_ == 0"}[how]
    lines = [f"const u32 yes_ = m & {mask_text(source)};"]
    if result is not None:
        lines.append(store_word(result, "yes_"))
    return [*lines, store_truth(test, truth)]


def shuffle(decoded: Decoded, index: int) -> Lines:
    form = arithmetic_form(decoded)
    mode = next(number for number, word in enumerate(("IDX", "UP", "DOWN", "BFLY")) if decoded.has(word))
    inside, _ = wanted(form.predicate_results)
    lines: Lines = []
    value, b, c = (lanes_text(source, f"x{number}_", lines) for number, source in enumerate(form.sources))
    lines.append(f"const u32 valid_ = gp_shuffle({target_text(form.result)}, wm, {value}, {b}, {c}, {mode});")
    if inside is not None:
        lines.append(f"w.P[{inside.index}] = (w.P[{inside.index}] & ~wm) | (valid_ & wm);")
    else:
        lines.append("(void)valid_;")
    return lines


def match(decoded: Decoded, index: int) -> Lines:
    form = arithmetic_form(decoded)
    source = form.sources[0]
    same, _ = wanted(form.predicate_results)
    lines: Lines = []
    low = lanes_text(source, "x_", lines)
    high = f"R + {32 * (source.index + 1)}" if decoded.has("U64") and is_lanes(source) else "gp_zeros"
    if decoded.has("U64") and not is_lanes(source) and not source.is_zero:
        raise NotCovered(decoded.instruction.text)
    call = f"gp_match(w, {target_text(form.result)}, m, wm, {low}, {high}, {int(decoded.has('ALL'))})"
    return [*lines, f"{call};" if same is None else store_truth(same, call)]


REDUCTIONS = ("SUM", "MIN", "MAX", "AND", "OR", "XOR")


def reduce(decoded: Decoded, index: int) -> Lines:
    form = arithmetic_form(decoded)
    name = next((word for word in decoded.modifiers if word in REDUCTIONS), "AND")
    if set(decoded.modifiers) - {*REDUCTIONS, "S32", "U32"}:
        raise NotCovered(decoded.instruction.mnemonic)
    lines: Lines = []
    value = lanes_text(form.sources[0], "x_", lines)
    kind = REDUCTIONS.index(name) | 8 * decoded.has("S32")
    return [*lines, store_word(form.result, f"gp_reduce({value}, m, {kind})")]


def transpose(decoded: Decoded, index: int) -> Lines:
    form = arithmetic_form(decoded)
    lines: Lines = []
    value = lanes_text(form.sources[0], "x_", lines)
    return [*lines, f"gp_transpose({target_text(form.result)}, {value}, wm);"]


def query_space(decoded: Decoded, index: int) -> Lines:
    address = wide_text(memory_operand(decoded.instruction))
    high = "(u32)((((u64)a_.high[l] << 32 | a_.low[l]) + a_.add) >> 32)"
    windows = f"const Wide a_ = {address}; u32 in_ = 0; LANES {{ const u32 high_ = {high}; "
    kinds = {
        "S": f"high_ == {SHARED_WINDOW_HIGH}u",
        "L": f"high_ == {LOCAL_WINDOW_HIGH}u",
        "G": f"high_ != {SHARED_WINDOW_HIGH}u && high_ != {LOCAL_WINDOW_HIGH}u",
    }
    kind = next(word for word in decoded.modifiers if word in kinds)
    lines = [f"{windows} in_ |= (u32)({kinds[kind]}) << l; }}"]
    for operand in decoded.operands:
        if operand.kind is OperandKind.PREDICATE and not operand.is_zero:
            lines.append(f"w.P[{operand.index}] = (w.P[{operand.index}] & ~wm) | (in_ & wm);")
    return lines


def program_counter(decoded: Decoded, index: int) -> Lines:
    target = decoded.operands[0]
    label = decoded.operands[1] if len(decoded.operands) > 1 else None
    own = index * 16
    place = own if label is None else own - decoded.instruction.address + int(label.value or 0)
    address = CODE_BASE + place
    words = (address & 0xFFFFFFFF, address >> 32)
    return [store_word(target, f"0x{word:x}u", step) for step, word in enumerate(words)]


def hmma(decoded: Decoded, index: int) -> Lines:
    depth = HMMA_SHAPES.get(decoded.modifiers[0])
    if depth is None or set(decoded.modifiers) - {*HMMA_SHAPES, "F32", "F16", "BF16", "TF32"}:
        raise NotCovered(decoded.instruction.mnemonic)
    adder = adder_of(decoded.arch)
    wide = decoded.has("TF32")
    kind = 2 if wide else 1 if decoded.has("BF16") else 0
    narrow = int(decoded.modifiers[1] == "F16")
    d, a, b, c = (_fragment(operand) for operand in decoded.operands[:4])
    block = adder.block // 2 if wide else adder.block
    return [f"gp_hmma({d}, {a}, {b}, {c}, wm, {depth}, {kind}, {narrow}, {block}, {adder.bits});"]


def imma(decoded: Decoded, index: int) -> Lines:
    shape = decoded.modifiers[0]
    kinds = [name for name in decoded.modifiers if name in ("S8", "U8", "S4", "U4")]
    if shape not in IMMA_SHAPES or len(kinds) != 2:
        raise NotCovered(decoded.instruction.mnemonic)
    rows = 8 if shape.startswith("88") else 16
    flags = kinds[0].startswith("S") | 2 * kinds[1].startswith("S") | 4 * kinds[0].endswith("4")
    d, a, b, c = (_fragment(operand) for operand in decoded.operands[:4])
    saturate = int(decoded.has("SAT"))
    return [f"gp_imma({d}, {a}, {b}, {c}, wm, {rows}, {IMMA_SHAPES[shape]}, {flags}, {saturate});"]


def _fragment(operand: Operand) -> str:
    return f"(u32*)({register_text(operand)})"


def barrier_result(decoded: Decoded, index: int) -> Lines:
    lines = []
    for operand in decoded.operands:
        if is_predicate(operand):
            lines.append(store_truth(operand, "w.barrier_result != 0"))
        else:
            lines.append(store_word(operand, "w.barrier_result"))
    return lines


#: opcode -> C++ lines for a decoded instruction and its number.
WARP_WIDE: dict[str, Callable[[Decoded, int], Lines]] = {
    "S2R": read_special,
    "S2UR": read_special,
    "CS2R": read_special,
    "CS2UR": read_special,
    "R2UR": to_uniform,
    "ELECT": elect,
    "VOTE": vote,
    "VOTEU": vote,
    "SHFL": shuffle,
    "MATCH": match,
    "REDUX": reduce,
    "CREDUX": reduce,
    "MOVM": transpose,
    "QSPC": query_space,
    "LEPC": program_counter,
    "HMMA": hmma,
    "IMMA": imma,
    "B2R": barrier_result,
}
