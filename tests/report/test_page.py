"""The HTML page: whole, offline, escaped, never ranking a wrong result. Browsers read it in ``test_page_browser``."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gpuprof.errors import MissingToolError
from gpuprof.isa.listing import FindingFacts, Listing
from gpuprof.report.exports import run_html
from gpuprof.report.page.code import code_views
from gpuprof.results.json import read_run
from gpuprof.results.model import Run

DATA = Path(__file__).parent.parent / "results" / "data"
VOID = {"meta", "input", "br", "wbr"}
EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&amp;"


@pytest.fixture
def emulated() -> Run:
    return read_run(DATA / "emulated_run.json")


@pytest.fixture
def gpu() -> Run:
    return read_run(DATA / "gpu_run.json")


class Page(HTMLParser):
    """Counts tags, and collects whatever would load something, run something or name something twice."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: dict[str, int] = {}
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.identifiers: list[str] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            local = name == "href" and (value or "").startswith("#")
            if name in ("src", "href", "srcset", "data", "xlink:href", "style") and not local:
                self.loads.append(f"{tag} {name}")
            if name.startswith("on"):
                self.handlers.append(name)
            if name == "id":
                self.identifiers.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_is_whole_and_loads_nothing(gpu: Run) -> None:
    text = run_html(gpu)
    page = Page(text)
    assert page.open == []
    assert page.loads == []
    assert page.handlers == []
    assert len(page.identifiers) == len(set(page.identifiers))
    assert "url(" not in text
    assert "873.4 µs" in page.text
    assert page.tags["script"] == 1


def test_the_policy_allows_the_page_s_own_script_and_style_alone(gpu: Run) -> None:
    text = run_html(gpu)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    said = policy[1].replace("&#39;", "'")
    assert said.startswith("default-src 'none'")
    assert "unsafe" not in said
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in said


def test_a_wrong_result_is_never_ranked(emulated: Run) -> None:
    bars = run_html(emulated).partition('aria-label="Bars of')[2].partition("</svg>")[0]
    assert "tiled/TILE=16" in bars
    assert "TILE=32" not in bars


def test_everything_that_a_run_says_is_escaped(emulated: Run) -> None:
    first = emulated.results[0]
    assert first.build is not None
    build = replace(first.build, kernel=EVIL, code_sha256="abc", command=("nvcc", EVIL))
    code = Listing(
        EVIL,
        EVIL,
        (f"B------:R-:W-:-:S01 0:1 {EVIL}", f"B------:R-:W-:-:S01 - @{EVIL} MOV"),
        (f"{EVIL}.cu",),
        findings=(FindingFacts(0, EVIL, EVIL, EVIL, f"{EVIL}.cu", 1),),
    )
    run = replace(
        emulated,
        experiment=EVIL,
        description=EVIL,
        config=EVIL,
        notes=(EVIL,),
        environment=replace(emulated.environment, command=(EVIL,), gpu=EVIL, variables={EVIL: EVIL}),
        results=(
            replace(first, variant=EVIL, build=build, parameters={EVIL: EVIL}),
            replace(first, variant=f"{EVIL}2", reason=EVIL, family=EVIL),
        ),
        code={"abc": code},
        sources={f"{EVIL}.cu": f"// {EVIL}\n"},
    )
    page = Page(run_html(run))
    assert page.open == []
    assert page.tags["script"] == 1
    assert "img" not in page.tags
    assert page.handlers == []
    assert page.text.count("onerror") >= 12


def test_code_without_a_listing_is_shown_as_it_was_counted(emulated: Run) -> None:
    assert not emulated.code
    views, _ = code_views(emulated)
    for view in views:
        assert view.rows


def test_without_the_extra_a_page_says_what_to_install(gpu: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    import gpuprof.report.page.render as render

    monkeypatch.setattr(render, "NEEDED", {"no_such_module": "vl-convert-python"})
    with pytest.raises(MissingToolError, match=r"pip install '.\[report\]'"):
        run_html(gpu)
