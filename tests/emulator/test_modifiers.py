"""A modifier that the emulator does not know stops a kernel by its name, for every opcode that it executes."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.emulator.coverage import coverage
from gpuprof.emulator.program import Program
from gpuprof.emulator.semantics.base import TABLE
from gpuprof.errors import EmulationError
from gpuprof.sass.model import Instruction
from gpuprof.sass.operands import parse_operand
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.disasm import disassemble_text

Programs = dict[str, tuple[Program, int]]

DATA = Path(__file__).parent / "data"
HARDWARE = Path(__file__).parents[1] / "hardware"

pytestmark = pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm")


#: Operands that stand in for others.
STRANGERS = tuple(
    parse_operand(text)
    for text in ("R4", "RZ", "P0", "PT", "0x4", "c[0x0][0x160]", "[R2]", "UR4", "UP0", "1.5", "B0", "SR_TID.X", "SB0")
)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    """Mnemonic -> a program that has it, and its number there, over the stored cubins of three architectures."""
    folder = tmp_path_factory.mktemp("cubins")
    with zipfile.ZipFile(HARDWARE / "forms_cubins.zip") as archive:
        archive.extractall(folder)
    found: dict[str, tuple[Program, int]] = {}
    for cubin in sorted([*DATA.glob("*.cubin"), *folder.glob("*.cubin"), HARDWARE / "questions" / "questions.cubin"]):
        code = parse_disassembly(disassemble_text(find_tools(), cubin))
        arch = int("".join(letter for letter in code.arch if letter.isdigit()))
        for name, function in code.functions.items():
            program = None
            for number, instruction in enumerate(function.body):
                if instruction.mnemonic not in found:
                    program = program or Program(code, name, arch)
                    found[instruction.mnemonic] = (program, number)
    return found


def test_an_unknown_modifier_is_refused_by_name(programs: Programs) -> None:
    known = 0
    for mnemonic, (program, number) in programs.items():
        if program.why_not(number) is not None:
            continue
        known += 1
        instruction = program.instructions[number]
        program.instructions[number] = replace(instruction, modifiers=(*instruction.modifiers, "NOSUCH"))
        reason = program.why_not(number)
        program.instructions[number] = instruction
        assert "NOSUCH" in (reason or ""), mnemonic
    assert known > 300


def test_coverage_says_how_many_kernels_can_run(tmp_path: Path) -> None:
    with zipfile.ZipFile(HARDWARE / "forms_cubins.zip") as archive:
        archive.extract("kinds.cubin", tmp_path)
    code = parse_disassembly(disassemble_text(find_tools(), tmp_path / "kinds.cubin"))
    found = coverage(code)
    assert found.functions == len(code.functions) == found.runnable
    name, function = next(iter(code.functions.items()))
    broken = replace(function.instructions[0], modifiers=("NOSUCH",))
    functions = {**code.functions, name: replace(function, instructions=(broken, *function.instructions[1:]))}
    assert coverage(replace(code, functions=functions)).runnable == found.runnable - 1


def changed(instruction: Instruction) -> Iterator[Instruction]:
    """The instruction with operands and modifiers missing, doubled, exchanged or of another kind."""
    operands, modifiers = instruction.operands, instruction.modifiers
    for place in range(len(operands)):
        before, after = operands[:place], operands[place + 1 :]
        yield replace(instruction, operands=before)
        yield replace(instruction, operands=before + after)
        yield replace(instruction, operands=(*before, operands[place], *operands[place:]))
        for stranger in STRANGERS:
            yield replace(instruction, operands=(*before, stranger, *after))
    for stranger in STRANGERS:
        yield replace(instruction, operands=(*operands, stranger))
    yield replace(instruction, operands=operands[::-1])
    yield replace(instruction, modifiers=())
    for place in range(len(modifiers)):
        yield replace(instruction, modifiers=modifiers[:place] + modifiers[place + 1 :])


def test_forms_that_nobody_expects_are_unknown_instructions(programs: Programs) -> None:
    """Whatever operands an opcode comes with: it is bound, or it is not covered. Nothing else is raised."""
    reasons = 0
    for program, number in programs.values():
        instruction = program.instructions[number]
        for other in changed(instruction):
            program.instructions[number] = other
            reasons += program.why_not(number) is not None
        program.instructions[number] = instruction
    assert reasons > 1000


def test_a_mistake_of_the_emulator_is_no_unknown_instruction(
    programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, number = programs["FADD"]
    monkeypatch.setitem(TABLE, "FADD", lambda insn: {}["planted"])
    with pytest.raises(EmulationError, match="the emulator failed on an instruction"):
        program.why_not(number)
