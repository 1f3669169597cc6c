"""Pages of real runs in a real Chromium: errors, overflow, sorting, filtering, code highlighting, accessibility."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.browser import A4_WIDTH, AXE, NEEDED, chromium, media, programs, resize, stored_page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason=NEEDED),
    pytest.mark.xdist_group("browser"),
]
PAGES = ("transpose", "coalescing", "reduction", "gemm_tiles", "bank_strides", "gemm_ladder", "wrong")

#: Elements that reach beyond the window, unless they scroll in a box of their own; and pictures that cut off a text.
CUT_OFF = """
const inside = (element) => element.closest(".scroll, .pane");
const out = [];
for (const element of document.body.querySelectorAll("*")) {
  if (element.closest("svg")) continue;
  const box = element.getBoundingClientRect();
  if (!box.width || inside(element.parentElement) || element.matches(".skip, caption")) continue;
  if (box.right > innerWidth + 1 || box.left < -1) out.push(element.tagName + "." + element.className);
}
for (const text of document.querySelectorAll("svg text")) {
  const box = text.getBoundingClientRect(), around = text.ownerSVGElement.getBoundingClientRect();
  if (box.width && (box.right > around.right + 1 || box.left < around.left - 1)) out.push("text " + text.textContent);
}
if (document.documentElement.scrollWidth > innerWidth) out.push("the document");
return out;
"""
#: On paper nothing scrolls: what a box hides is lost.
HIDDEN_ON_PAPER = """
return [...document.querySelectorAll(".scroll, .pane, figure, table, pre, code")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => each.tagName + "." + each.className + " " + each.textContent.trim().slice(0, 40));
"""


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in PAGES:
        found[name] = folder / f"{name}.html"
        found[name].write_text(stored_page(name), encoding="utf-8")
    return found


@pytest.fixture
def transpose(driver: Any, pages: dict[str, Path]) -> Any:
    media(driver)
    resize(driver, 1280)
    driver.get(pages["transpose"].as_uri())
    return driver


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_paper_and_reports_no_error(driver: Any, pages: dict[str, Path], name: str) -> None:
    media(driver)
    driver.get_log("browser")
    for width in (400, 1280):
        resize(driver, width)
        driver.get(pages[name].as_uri())
        driver.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert driver.execute_script(CUT_OFF) == [], width
    assert driver.execute_script("return performance.getEntriesByType('resource').map((each) => each.name)") == []
    media(driver, kind="print")
    resize(driver, A4_WIDTH)
    assert driver.execute_script(CUT_OFF) == []
    assert driver.execute_script(HIDDEN_ON_PAPER) == []
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert len(printed["data"]) > 10_000
    assert driver.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(driver: Any, pages: dict[str, Path], name: str, scheme: str) -> None:
    media(driver, scheme=scheme)
    resize(driver, 1280)
    driver.get(pages[name].as_uri())
    driver.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    driver.execute_script(gzip.decompress(AXE.read_bytes()).decode())
    driver.set_script_timeout(60)
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run({ resultTypes: ['violations'] }).then((found) => done(found.violations));"
    )
    bad = [
        (each["id"], each["impact"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"][:300])
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert bad == []


def names(driver: Any) -> list[str]:
    """The variants that the table shows, in its order."""
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll('.sortable table.data')[0].tBodies[0].rows]"
        ".filter((row) => !row.hidden).map((row) => row.cells[0].textContent)"
    )
    return found


def head(driver: Any, name: str) -> Any:
    return driver.find_element("css selector", f"table.data th[data-name='{name}'] button")


def test_a_click_and_a_key_sort(transpose: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    before = names(transpose)
    button = head(transpose, "warp_instructions")
    button.click()
    up = names(transpose)
    assert up == ["copy", "plain", "tiled", "padded", "swizzled", "memcpy"]
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    button.send_keys(Keys.ENTER)
    assert names(transpose) == ["swizzled", "tiled", "padded", "plain", "copy", "memcpy"]
    first = transpose.find_element("css selector", "table.data thead th:first-child button")
    first.send_keys(Keys.SPACE)
    assert names(transpose) == sorted(before)


def test_the_filter_takes_words_and_comparisons(transpose: Any) -> None:
    field = transpose.find_element("css selector", "input[type=search]")
    for text, expected in (
        ("pad", ["padded"]),
        ("registers>18", ["tiled", "padded", "swizzled"]),
        ("ok regs<20", ["plain", "copy"]),
        ("shared_load_ways>1", ["tiled"]),
    ):
        field.clear()
        field.send_keys(text)
        assert names(transpose) == expected, text
    count = transpose.find_element("css selector", ".count").text
    assert count == "1 of 6 rows"


def test_the_first_column_stays_where_it_is(driver: Any, pages: dict[str, Path]) -> None:
    media(driver)
    resize(driver, 400)
    driver.get(pages["gemm_tiles"].as_uri())
    left = """
    const box = document.querySelector(".sortable .scroll"), cell = box.querySelector("tbody th");
    box.scrollLeft = 200;
    return [box.scrollLeft, cell.getBoundingClientRect().left - box.getBoundingClientRect().left];
    """
    scrolled, offset = driver.execute_script(left)
    assert scrolled > 0
    assert abs(offset) < 1


LIT = """
const view = document.querySelector("details.code[open]");
const lit = (side) => [...view.querySelectorAll(`.${side} tr.lit`)].map((row) => row.cells[0].textContent);
return [lit("source"), lit("sass")];
"""


def test_pointing_at_a_side_lights_up_the_other(transpose: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    row = transpose.find_element("css selector", "details.code[open] .source tr[data-p]")
    transpose.execute_script("arguments[0].scrollIntoView({ block: 'center' })", row)
    ActionChains(transpose).move_to_element(row).perform()
    source, sass = transpose.execute_script(LIT)
    assert source == [row.find_element("css selector", "th").text]
    assert sass
    ActionChains(transpose).move_to_element(transpose.find_element("css selector", "summary")).perform()
    assert transpose.execute_script(LIT) == [[], []]


def test_a_click_and_the_arrow_keys_pin_a_line(transpose: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    rows = transpose.find_elements("css selector", "details.code[open] .sass tr[data-p]")
    transpose.execute_script("arguments[0].scrollIntoView({ block: 'center' })", rows[0])
    rows[0].click()
    source, sass = transpose.execute_script(LIT)
    assert len(source) == 1
    assert rows[0].find_element("css selector", "th").text in sass
    pane = transpose.find_element("css selector", "details.code[open] .source")
    transpose.execute_script("arguments[0].focus()", pane)
    lines = [row.get_attribute("data-p") for row in pane.find_elements("css selector", "tr[data-p]")]
    pane.send_keys(Keys.ARROW_DOWN)
    pane.send_keys(Keys.ARROW_DOWN)
    current = pane.find_element("css selector", "tr[aria-current]")
    assert current.get_attribute("data-p") == lines[1]
    source, sass = transpose.execute_script(LIT)
    assert source == [current.find_element("css selector", "th").text]
    assert sass
    pane.send_keys(Keys.ESCAPE)
    assert transpose.execute_script(LIT) == [[], []]


def test_code_is_coloured_by_what_is_chosen(transpose: Any) -> None:
    heats = """
    const view = document.querySelector("details.code[open]"), choice = view.querySelector("select.heat");
    const hottest = () => [...view.querySelectorAll(".sass tr.h9 .i")].map((cell) => cell.textContent);
    const by = (name) => {
      choice.value = [...choice.options].find((each) => each.text === name).value;
      choice.dispatchEvent(new Event("change"));
      return hottest();
    };
    return [by("executed"), by("sectors")];
    """
    before, after = transpose.execute_script(heats)
    assert before != after
    assert after
    assert all("STG" in text for text in after)
