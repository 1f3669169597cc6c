"""A modifier that the emulator does not know stops a kernel by its name, for every opcode that it executes."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gpuprof.emulator.coverage import coverage
from gpuprof.emulator.program import Program
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.disasm import disassemble_text

DATA = Path(__file__).parent / "data"
HARDWARE = Path(__file__).parents[1] / "hardware"

pytestmark = pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm")


def programs(folder: Path) -> dict[str, tuple[Program, int]]:
    """Mnemonic -> a program that has it, and its number there, over the stored cubins of three architectures."""
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


def test_an_unknown_modifier_is_refused_by_name(tmp_path: Path) -> None:
    known = 0
    for mnemonic, (program, number) in programs(tmp_path).items():
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
