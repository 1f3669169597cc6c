"""Links between the pages lead to files, and the lists of pages are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.doc_commands import PAGES, ROOT

_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def _links(page: Path) -> set[Path]:
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    return {(page.parent / target).resolve() for target in targets if "://" not in target}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    assert [str(target) for target in _links(page) if not target.exists()] == []


def test_the_list_of_pages_is_complete() -> None:
    assert set((ROOT / "docs").glob("*.md")) - {ROOT / "docs" / "README.md"} <= _links(ROOT / "docs" / "README.md")


def test_every_page_of_results_is_listed_and_every_config_once() -> None:
    results = ROOT / "docs" / "results"
    listed = _links(results / "README.md") | _links(ROOT / "docs" / "README.md")
    assert set(results.glob("*.md")) <= listed
    configs = re.findall(r"^\| \[(\w+)\]\(", (results / "README.md").read_text(encoding="utf-8"), re.M)
    assert len(configs) == len(set(configs)) > 20


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
