"""Every line of many cubins, seven architectures: the round trip, the mix as a plain count, and nvdisasm's own JSON."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gpuprof.sass.analysis import analyse
from gpuprof.sass.def_use import roles
from gpuprof.sass.model import Disassembly, OperandKind
from gpuprof.sass.parse import parse_disassembly
from tests.sass.render import render
from tests.sass.sass_tools import ARCHS, DATA, compile_cubin, disassemble, printed_lines

SOURCES = sorted(DATA.glob("*.cu"))
#: Left out for architectures whose code differs little from a neighbour's: nvdisasm needs half a second to start.
NEAR_ANOTHER = dict.fromkeys(("sm_86", "sm_100"), ("corpus_calls", "corpus_half", "corpus_warp"))
#: Words of texture and barrier instructions that are operands without parts.
WORDS = {"1D", "2D", "3D", "CUBE", "ARRAY_1D", "ARRAY_2D", "A1D", "A2D", "BUFFER"}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("corpus")
    with ThreadPoolExecutor(2) as pool:
        cubins = [cubin for some in pool.map(lambda source: _cubins(source, folder), SOURCES) for cubin in some]
        return dict(zip((cubin.name for cubin in cubins), pool.map(disassemble, cubins), strict=True))


def _cubins(source: Path, folder: Path) -> list[Path]:
    archs = [arch for arch in ARCHS if source.stem not in NEAR_ANOTHER.get(arch, ())]
    return [compile_cubin(source, arch, folder) for arch in archs]


@pytest.fixture(scope="module")
def parsed(texts: dict[str, str]) -> dict[str, Disassembly]:
    return {name: parse_disassembly(text) for name, text in texts.items()}


@pytest.mark.slow
def test_every_line_round_trips(texts: dict[str, str], parsed: dict[str, Disassembly]) -> None:
    assert len(texts) >= 50
    total = 0
    for name, text in texts.items():
        instructions = [one for function in parsed[name].functions.values() for one in function.instructions]
        printed = [line.replace("] [", "][") for line in printed_lines(text)]  # nvdisasm parts bank and offset in some
        assert [render(one).strip() for one in instructions] == printed, name
        assert all(one.understood for one in instructions), name
        total += len(printed)
    assert total > 40_000


@pytest.mark.slow
def test_operands_without_parts_are_known_words(parsed: dict[str, Disassembly]) -> None:
    found = {
        operand.text
        for code in parsed.values()
        for function in code.functions.values()
        for one in function.instructions
        for operand in one.operands
        if operand.kind is OperandKind.OTHER
    }
    assert found <= WORDS


@pytest.mark.slow
def test_the_mix_is_a_plain_count_over_the_text(texts: dict[str, str], parsed: dict[str, Disassembly]) -> None:
    for name, text in texts.items():
        counted: Counter[str] = Counter()
        for line in printed_lines(text):
            words = [word for word in line.split() if not word.startswith("@")]
            counted[words[0].split(".")[0]] += 1
        ours: Counter[str] = Counter()
        for function in parsed[name].functions.values():
            ours.update(analyse(function, parsed[name].arch).mix)
            padding = function.instructions[function.body_length :]
            ours.update(one.opcode for one in padding)
        assert ours == counted, name


@pytest.mark.slow
def test_every_label_that_is_named_is_known(parsed: dict[str, Disassembly]) -> None:
    for name, code in parsed.items():
        for function in code.functions.values():
            for one in function.instructions:
                for operand in one.operands:
                    if operand.kind is OperandKind.LABEL and operand.name.startswith((".L", "$")) and "@" not in name:
                        inside = operand.name in function.labels
                        assert inside == (operand.value is not None), (name, one.text)
                if one.opcode == "BRA":
                    assert one.operands[-1].value is not None, (name, one.text)


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_nvdisasms_json_gives_the_same_opcodes_and_operands(arch: str, tmp_path: Path) -> None:
    """A second source: ``nvdisasm -json`` prints opcode and operands apart (without ``.reuse``)."""
    cubin = compile_cubin(DATA / "corpus_memory.cu", arch, tmp_path)
    listed = json.loads(disassemble(cubin, "-json"))[1]
    code = parse_disassembly(disassemble(cubin))
    checked = 0
    for entry in listed:
        function = code.functions[entry["function-name"]]
        theirs = entry["sass-instructions"]
        for ours, other in zip(function.instructions, theirs, strict=False):
            assert ours.mnemonic == other["opcode"]
            guard = ours.predicate.text if ours.predicate is not None else None
            assert guard == other.get("predicate", "@").lstrip("@") or (guard is None and "predicate" not in other)
            checked += 1
    assert checked > 500


@pytest.mark.slow
def test_loads_write_as_many_registers_as_their_width(parsed: dict[str, Disassembly]) -> None:
    """LDG.E.128 R4 writes R4 to R7, whatever the architecture."""
    seen = set()
    for code in parsed.values():
        for function in code.functions.values():
            for one in function.instructions:
                if one.opcode == "LDG" and one.operands[0].kind is OperandKind.REGISTER and not one.operands[0].is_zero:
                    width = next((int(word) for word in one.modifiers if word in ("64", "128")), 32)
                    first = one.operands[0].index
                    assert roles(one).writes == tuple(("R", first + n) for n in range(width // 32))
                    seen.add(width)
    assert seen == {32, 64, 128}


@pytest.mark.slow
def test_live_registers_agree_with_nvdisasm(tmp_path: Path) -> None:
    """The peak of nvdisasm's own count (-plr). Where one subroutine has several callers ours is an upper bound."""
    cubin = compile_cubin(DATA / "patterns.cu", "sm_89", tmp_path)
    text = disassemble(cubin, "-c", "-plr", "-lrm", "count")
    code = parse_disassembly(disassemble(cubin))
    for part in text.split(".section\t.text.")[1:]:
        name = part.split(",")[0].strip().split('"')[0]
        counts = re.findall(r"/\*([0-9a-f]{4})\*/[^|]*//\s*\|\s*(\d*)\s*\|", part)
        function = code.functions[name]
        ours = analyse(function, "sm_89", with_live=True).live
        assert ours is not None
        theirs = max(int(count or 0) for _, count in counts)
        assert ours.peak >= theirs - 1, name
        if not function.subroutines:
            assert ours.peak <= theirs + 1, name
