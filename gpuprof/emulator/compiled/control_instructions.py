"""Control flow as C++: branches, calls, exits, convergence and block barriers (``emulator.control.instructions``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpuprof.emulator.compiled.operands import (
    PREDICATES,
    REGISTERS,
    is_lanes,
    lanes_text,
    mask_text,
    word_text,
)
from gpuprof.emulator.compiled.warp_instructions import store_lanes
from gpuprof.emulator.semantics.base import Decoded, NotCovered
from gpuprof.emulator.state.launch import CODE_BASE
from gpuprof.isa.machine import INSTRUCTION_BYTES
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from gpuprof.emulator.contract import Site

Lines = list[str]
MASK64 = 2**64 - 1
WARPSYNC_SLOT, GROUP_SLOT = 16, 17
_RELATIVE, _INDIRECT = ("BRA", "JMP"), ("BRX", "JMX", "CALL", "RET")


def allow(decoded: Decoded, *known: str) -> None:
    """Raise NotCovered for a modifier that the translation was not made for."""
    unknown = [word for word in decoded.modifiers if word not in known]
    if unknown:
        raise NotCovered(f"modifier .{'.'.join(unknown)}")


def _place(site: Site, operand: Operand) -> int:
    return site.target(operand) // INSTRUCTION_BYTES


def _next(site: Site) -> int:
    return site.index + 1


def branch_targets(site: Site) -> tuple[list[int], bool]:
    """Instruction numbers that may follow a terminator, and whether others may, too."""
    instruction = site.instruction
    conditional = instruction.predicate is not None or any(
        operand.kind in PREDICATES for operand in instruction.operands
    )
    conditional = conditional or instruction.opcode in ("BSYNC", "WARPSYNC", "BAR", "CALL")
    conditional = conditional or any(word in instruction.modifiers for word in ("DIV", "CONV"))
    targets = [_next(site)] if conditional else []
    if instruction.opcode == "WARPSYNC" and "COLLECTIVE" in instruction.modifiers:
        targets.append(_place(site, instruction.operands[-1]))
    if instruction.opcode in ("EXIT", "ENDCOLLECTIVE", "BSYNC", "WARPSYNC", "BAR", "BPT"):
        return targets, False
    operands = [operand for operand in instruction.operands if operand.kind not in PREDICATES]
    indirect = any(operand.kind in REGISTERS for operand in operands) and instruction.opcode in _INDIRECT
    for operand in operands:
        if operand.kind in (OperandKind.LABEL, OperandKind.IMMEDIATE) and not indirect:
            targets.append(_place(site, operand))
    targets += [site.program.label_at(site.section, name) for name in instruction.targets]
    return [target for target in targets if target >= 0], indirect


def _guarded(decoded: Decoded, site: Site, body: Lines) -> Lines:
    """``body`` for the lanes ``m`` with a true guard; it ends by returning; the others go on."""
    guard = decoded.instruction.predicate
    if guard is None:
        return body
    return [
        f"const u32 on_ = m & {mask_text(guard)}; if (on_ != m) count_off(w, {site.index}, on_, m);",
        f"if (!on_) return {_next(site)};",
        f"return gp_split(w, {_next(site)}, on_, [&](const u32 m, const u32 wm) -> i32 {{ (void)wm;",
        *body,
        "});",
    ]


def branch(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "U", "ANY", "ALL", "DIV", "CONV", "INC", "REL", "NOINC", "ABS")
    if decoded.has("DIV", "CONV"):
        return _branch_on_convergence(decoded, site)
    target, guard = _place(site, decoded.operands[-1]), decoded.instruction.predicate
    second = [operand for operand in decoded.operands[:-1] if operand.kind in PREDICATES]
    if guard is None and not second:
        if target == site.index:
            return [f"return gp_stop(w, REPEAT_IN_NUMPY, {site.index});"]
        return [f"return {target};"]
    lines = [f"const u32 on_ = m & {'~0u' if guard is None else mask_text(guard)};"]
    lines.append(f"if (on_ != m) count_off(w, {site.index}, on_, m);")
    if second:
        lines.append(f"const u32 yes_ = on_ & {mask_text(second[0])};")
        lines.append(f"w.C[{site.index} * COUNTERS + UNTAKEN] += bits(on_ & ~yes_);")
    yes = "yes_" if second else "on_"
    if decoded.has("ANY", "ALL"):
        yes = f"({yes} ? m : 0u)" if decoded.has("ANY") else f"({yes} == m ? m : 0u)"
    return [*lines, f"return gp_branch(w, {site.index}, {yes}, {target}, {_next(site)});"]


def _branch_on_convergence(decoded: Decoded, site: Site) -> Lines:
    target, wanted = _place(site, decoded.operands[-1]), decoded.operands[0]
    if is_lanes(wanted):
        raise NotCovered(wanted.text)
    compare = "!=" if decoded.has("DIV") else "=="
    lines = [f"u32 yes_ = ({word_text(wanted)} & w.live & ~m) {compare} 0 ? m : 0;"]
    guard = decoded.instruction.predicate
    if guard is not None:
        lines.append(f"yes_ &= {mask_text(guard)};")
    return [*lines, f"return gp_branch(w, {site.index}, yes_, {target}, {_next(site)});"]


def indirect(decoded: Decoded, site: Site) -> Lines:
    operands = [operand for operand in decoded.operands if operand.kind not in PREDICATES]
    registers = [operand for operand in operands if operand.kind in REGISTERS and not operand.is_zero]
    if not any(operand.kind in REGISTERS for operand in operands):
        return branch(decoded, site)
    allow(decoded, "REL", "ABS", "NOINC", "NODEC", "INC", "DEC", "U")
    labels = [operand for operand in operands if operand.kind not in REGISTERS]
    target = site.target(labels[-1]) if labels else 0
    absolute = decoded.has("ABS") or decoded.instruction.opcode == "JMX"
    add = -CODE_BASE if absolute else target
    low = high = "gp_zeros"
    body: Lines = []
    if registers and is_lanes(registers[0]):
        low, high = f"R + {32 * registers[0].index}", f"R + {32 * (registers[0].index + 1)}"
    elif registers:
        index = registers[0].index
        body.append(f"u32 low_[32], high_[32]; LANES {{ low_[l] = w.U[{index}]; high_[l] = w.U[{index + 1}]; }}")
        low, high = "low_", "high_"
    size = site.program.end
    scatter = f"gp_scatter(w, {site.index}, %s, {low}, {high}, 0x{add & MASK64:x}ull, {size}ull)"
    guard = decoded.instruction.predicate
    if guard is None:
        return [*body, f"return {scatter % 'm'};"]
    return [
        *body,
        f"const u32 on_ = m & {mask_text(guard)}; if (on_ != m) count_off(w, {site.index}, on_, m);",
        f"if (!on_) return {_next(site)};",
        f"if (on_ != m) gp_push(w, {_next(site)}, m & ~on_);",
        f"return {scatter % 'on_'};",
    ]


def exit_lanes(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "KEEPREFCOUNT")
    guard = decoded.instruction.predicate
    lines = [f"const u32 on_ = m & {'~0u' if guard is None else mask_text(guard)};"]
    lines.append(f"if (on_ != m) count_off(w, {site.index}, on_, m);")
    conditions = [mask_text(operand) for operand in decoded.operands if operand.kind in PREDICATES]
    yes = " & ".join(("on_", *conditions))
    return [*lines, f"return gp_exit(w, {site.index}, {yes}, {_next(site)});"]


def bsync(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "RECONVERGENT", "RELIABLE")
    slot = decoded.operands[0].index
    return _guarded(decoded, site, [f"return gp_arrive(w, {slot}, {_next(site)}, m);"])


def warpsync(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "ALL", "EXCLUSIVE", "COLLECTIVE")
    masks = [operand for operand in decoded.operands if operand.kind not in (*PREDICATES, OperandKind.LABEL)]
    mask = None if decoded.has("ALL") or not masks else masks[0]
    lines: Lines = []
    if mask is None:
        words, word = "nullptr", "~0u"
    elif is_lanes(mask):
        words, word = lanes_text(mask, "x_", lines), "0u"
    else:
        words, word = "nullptr", word_text(mask)
    if decoded.has("EXCLUSIVE", "COLLECTIVE"):
        lines.append(f"gp_set_barrier(w, {GROUP_SLOT}, {words}, {word}, wm, 2);")
        if decoded.has("COLLECTIVE"):
            lines.append(f"gp_set_return(w, {_place(site, decoded.operands[-1])}, wm);")
        return _guarded(decoded, site, [*lines, f"return gp_arrive_group(w, {_next(site)}, m);"])
    lines.append(f"gp_set_barrier(w, {WARPSYNC_SLOT}, {words}, {word}, m, 2);")
    return _guarded(decoded, site, [*lines, f"return gp_arrive(w, {WARPSYNC_SLOT}, {_next(site)}, m);"])


def end_collective(decoded: Decoded, site: Site) -> Lines:
    allow(decoded)
    return _guarded(decoded, site, ["return gp_end_collective(w, m);"])


def bar(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "SYNC", "ARV", "RED", "POPC", "AND", "OR", "DEFER_BLOCKING")
    numbers = [operand for operand in decoded.operands if operand.kind not in PREDICATES]
    predicates = [operand for operand in decoded.operands if operand.kind in PREDICATES]
    lines: Lines = []
    texts = []
    for place, operand in enumerate(numbers):
        if not is_lanes(operand):
            texts.append(word_text(operand))
            continue
        lines.append(
            f"const u32* x{place}_ = R + {32 * operand.index}; const u32 n{place}_ = x{place}_[__builtin_ctz(m)];"
        )
        lines.append(
            f"for (u32 l = 0; l < 32; ++l) if ((m >> l & 1) && x{place}_[l] != n{place}_) "
            f"return gp_stop(w, REPEAT_IN_NUMPY, {site.index});"
        )
        texts.append(f"n{place}_")
    number, threads = (*texts, "0u")[0], (*texts, "~0u", "~0u")[1] if texts else "~0u"
    kind = 4 if decoded.has("ARV") else 0
    value = "0u"
    if decoded.has("RED"):
        kind = next(place for place, word in enumerate(("POPC", "AND", "OR"), 1) if decoded.has(word))
        value = mask_text(predicates[-1])
    lines.append(f"return gp_barrier(w, {_next(site)}, m, {number}, {threads}, {kind}, {value});")
    return _guarded(decoded, site, lines)


def trap(decoded: Decoded, site: Site) -> Lines:
    return _guarded(decoded, site, [f"return gp_stop(w, REPEAT_IN_NUMPY, {site.index});"])


def bssy(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "RECONVERGENT", "RELIABLE")
    return [f"gp_set_barrier(w, {decoded.operands[0].index}, nullptr, m, wm, 0);"]


def break_barrier(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "RECONVERGENT", "RELIABLE")
    slot = next(operand.index for operand in decoded.operands if operand.kind is OperandKind.BARRIER)
    return [f"gp_break(w, {slot}, m);"]


def bmov(decoded: Decoded, site: Site) -> Lines:
    allow(decoded, "32", "CLEAR")
    target, source = decoded.operands[0], decoded.operands[1]
    if source.kind is OperandKind.BARRIER:
        lines = []
        if is_lanes(target):
            to = f"(R + {32 * target.index})[l]"
            lines.append(f"LANES {{ {to} = (wm >> l & 1u) ? w.B[{source.index}][l] : {to}; }}")
        elif not target.is_zero:
            raise NotCovered(decoded.instruction.text)
        if decoded.has("CLEAR"):
            lines.append(f"gp_set_barrier(w, {source.index}, nullptr, 0, wm, 2);")
        return lines
    if target.kind is not OperandKind.BARRIER:
        raise NotCovered(decoded.instruction.text)
    if is_lanes(source):
        return [f"gp_set_barrier(w, {target.index}, R + {32 * source.index}, 0, wm, 1);"]
    return [f"gp_set_barrier(w, {target.index}, nullptr, {word_text(source)}, wm, 1);"]


def nothing(decoded: Decoded, site: Site) -> Lines:
    return []


#: opcode -> what ends a straight run.
ENDS: dict[str, Callable[[Decoded, Site], Lines]] = {
    "BRA": branch,
    "JMP": branch,
    "BRX": indirect,
    "JMX": indirect,
    "CALL": indirect,
    "RET": indirect,
    "EXIT": exit_lanes,
    "BSYNC": bsync,
    "WARPSYNC": warpsync,
    "ENDCOLLECTIVE": end_collective,
    "BAR": bar,
    "BPT": trap,
}

#: opcode -> control instructions that go on.
CONTROL: dict[str, Callable[[Decoded, Site], Lines]] = {
    "BSSY": bssy,
    "BREAK": break_barrier,
    "BMOV": bmov,
    **dict.fromkeys(
        (
            "YIELD", "NANOSLEEP", "NOP", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CGAERRBAR",
            "CCTL", "CCTLL", "FENCE", "PREEXIT", "ACQBULK", "WARPGROUP",
        ),
        nothing,
    ),
}  # fmt: skip

__all__ = ["CONTROL", "ENDS", "branch_targets", "store_lanes"]
