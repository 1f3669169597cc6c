"""The examples of CONTRIBUTING.md are code that is there, in as many files as it says."""

from __future__ import annotations

import csv
import re

import pytest

from tests.docs.doc_commands import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PACKAGE = ROOT / "gpuprof"


def squeezed(text: str) -> str:
    """Without blanks, so that a quotation may be broken into lines otherwise."""
    return re.sub(r"\s", "", text)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def example_opcodes() -> list[dict[str, str]]:
    lines = [line for line in section("An opcode").splitlines() if line.startswith("| ")]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_rows_of_the_opcodes_are_those_of_the_table() -> None:
    with (PACKAGE / "isa" / "data" / "opcodes.csv").open(encoding="utf-8") as file:
        table = {row["opcode"]: row for row in csv.DictReader(file)}
    rows = example_opcodes()
    assert len(rows) == 3
    for row in rows:
        assert {name: table[row["opcode"]][name] for name in row} == row


def test_an_opcode_is_in_two_files() -> None:
    """The table of opcodes and the module that executes it: no other module names it."""
    for row in example_opcodes():
        naming = [path for path in PACKAGE.rglob("*.py") if f'"{row["opcode"]}"' in path.read_text(encoding="utf-8")]
        assert naming == [PACKAGE / "emulator" / "semantics" / "packed.py"]


@pytest.mark.parametrize(
    ("title", "name", "files"),
    [
        ("A derived value", "branch_efficiency", {"results/derived.py"}),
        ("An option of `run`", "jobs", {"profile/options.py", "profile/setup.py"}),
        ("A counter", "SOURCE_EXECUTED", {"isa/ncu_metrics.py", "emulator/counting/metrics.py"}),
        ("A column", "lane efficiency", {"report/columns.py"}),
    ],
)
def test_an_example_is_quoted_from_files_that_the_section_names(title: str, name: str, files: set[str]) -> None:
    text = section(title)
    assert files <= set(re.findall(r"`gpuprof/([\w/.]+)`", text))
    blocks = re.findall(r"```python\n(.*?)```", text, re.S) or re.findall(r"`([^`]*\b" + name + r"\b[^`]*)`", text)
    quoted = [code for code in blocks if name in code and re.search(r"[=(]", code)]
    assert quoted
    sources = [squeezed((PACKAGE / file).read_text(encoding="utf-8")) for file in files]
    for code in quoted:
        assert any(squeezed(code) in source for source in sources), code


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`((?:gpuprof|tests|docs)/[\w/.*]+)`", PAGE)
    assert len(named) > 15
    missing = [name for name in named if not name.startswith("gpuprof/arch/data/sm_NN") and not any(ROOT.glob(name))]
    assert missing == []
