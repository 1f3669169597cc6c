"""Local memory: spills, the stack, and arrays indexed at run time."""

from __future__ import annotations

from collections.abc import Iterator

from gpuprof.isa.opcodes import Space, opcode
from gpuprof.sass.findings.model import Case, Found
from gpuprof.sass.model import Instruction, OperandKind


def local_memory(case: Case) -> Iterator[Found]:
    """Accesses to local memory by loop and by whether their place on the stack is fixed."""
    groups: dict[tuple[int, bool, bool], list[int]] = {}
    for index in case.own_body:
        instruction = case.code(index)
        row = opcode(instruction.opcode)
        if row.space is Space.LOCAL and (row.is_load or row.is_store):
            key = (case.loop_number(index), case.may_be_skipped(index), is_stack_slot(instruction))
            groups.setdefault(key, []).append(index)
    for (number, _, slot), indices in groups.items():
        weight = 90 + 10 * case.depth(indices[0]) if number else 25
        if not slot:
            yield Found(
                "local array", weight, indices, "local memory accesses at run-time addresses",
                "a local array indexed at run time lives in memory: unroll its loops or use shared memory", each=1,
                single="local memory access at a run-time address",
            )  # fmt: skip
        elif case.spill_bytes:
            yield Found(
                "spill", weight + 5, indices, "accesses to spilled registers",
                "use fewer live values, a smaller tile per thread, or __launch_bounds__ that allow more registers",
                each=1, single="access to a spilled register",
            )  # fmt: skip
        elif number and not _has_local_array(case):
            yield Found(
                "stack", weight - 5, indices, "accesses to the thread's stack in local memory",
                "spilled registers or a local array: use fewer live values, or unroll so that indices are constant",
                each=1, single="access to the thread's stack in local memory",
            )  # fmt: skip


def _has_local_array(case: Case) -> bool:
    """Whether the same code has accesses at run-time addresses, which say it already."""
    return any(
        opcode(case.code(index).opcode).space is Space.LOCAL and not is_stack_slot(case.code(index))
        for index in case.own_body
    )


def is_stack_slot(instruction: Instruction) -> bool:
    """``[R1+0x10]``: a fixed place on the stack."""
    operand = next((operand for operand in instruction.operands if operand.kind is OperandKind.MEMORY), None)
    if operand is None:
        return False
    bases = [part for part in (operand.base, operand.uniform) if part is not None and not part.is_zero]
    return all(part.kind is OperandKind.REGISTER and part.index == 1 for part in bases)
