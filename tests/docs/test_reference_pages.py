"""The reference pages are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gpuprof
from tests.docs.reference_pages import DOCS, ENVIRONMENT, PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page]()


@pytest.mark.parametrize("page", PAGES)
def test_every_key_of_a_page_has_a_meaning(page: str) -> None:
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in PAGES[page]().splitlines() if line.startswith("| `")]
    assert len(rows) > 60
    assert [name.strip() for name, *_, meaning in rows if not meaning.strip()] == []


def test_the_table_of_environment_variables_is_the_codes() -> None:
    texts = [file.read_text(encoding="utf-8") for file in Path(gpuprof.__file__).parent.rglob("*.py")]
    read = {name for text in texts for name in re.findall(r'"(GPUPROF_[A-Z_]+)"', text)}
    assert read == set(re.findall(r"`(GPUPROF_[A-Z_]+)`", ENVIRONMENT))
    for name in re.findall(r"`([A-Z_]+)`", ENVIRONMENT):
        assert any(name in text for text in texts), f"nothing reads {name}"
