"""The reference pages are those of the code."""

from __future__ import annotations

import pytest

from tests.docs.reference_pages import DOCS, PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_up_to_date(page: str) -> None:
    assert (DOCS / page).read_text(encoding="utf-8") == PAGES[page]()
