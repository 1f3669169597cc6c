"""Writes the pictures of pages in ``docs/screenshots``: ``python -m tests.report.screenshots``."""

from __future__ import annotations

import base64
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.report.browser import DATA, chromium, media, resize, stored_page

FOLDER = DATA.parent.parent.parent / "docs" / "screenshots"


@dataclass(frozen=True)
class Shot:
    """A part of a page: from the element that ``start`` selects, ``height`` pixels of it."""

    name: str
    page: str
    start: str = "header"
    width: int = 1120
    height: int = 720
    scheme: str = "light"
    action: str = ""  #: JavaScript before the shot


#: Scrolls both panes of the first open code view to its hottest line and pins it.
PIN = """
const view = document.querySelector("details.code[open]"), row = view.querySelector(".sass tr.h9[data-p]");
row.click();
"""
OPEN = """
for (const each of document.querySelectorAll("details.code")) {{
  each.open = each.querySelector("summary strong").textContent === "{}";
}}
"""
SHOTS = (
    Shot("transpose", "transpose", height=760),
    Shot("lanes", "transpose", "section[aria-labelledby$='-lanes']", height=760),
    Shot("code", "transpose", "details.code[open]", height=720, action=OPEN.format("tiled") + PIN),
    Shot("sweep", "gemm_tiles", "section[aria-labelledby$='-pictures']", height=900),
    Shot("dark", "coalescing", height=760, scheme="dark"),
    Shot("narrow", "reduction", width=400, height=800),
    Shot("wrong", "wrong", "section[aria-labelledby$='-checks']", height=560),
)


def shoot(driver: Any, page: Path, shot: Shot) -> bytes:
    """The PNG of one part."""
    media(driver, scheme=shot.scheme)
    resize(driver, shot.width, shot.height)
    driver.get(page.as_uri())
    driver.execute_script(shot.action)
    top = driver.execute_script(
        "return document.querySelector(arguments[0]).getBoundingClientRect().top + scrollY", shot.start
    )
    resize(driver, shot.width, int(top) + shot.height)  # all of it in the window: nothing scrolls under a pinned pane
    clip = {"x": 0, "y": max(0, top - 12), "width": shot.width, "height": shot.height, "scale": 1}
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    return base64.b64decode(found["data"])


def main() -> None:
    """Every shot, in colours of a palette, which halves the files."""
    import io

    from PIL import Image

    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as driver:
        for shot in SHOTS:
            page = Path(folder) / f"{shot.page}.html"
            page.write_text(stored_page(shot.page), encoding="utf-8")
            image = Image.open(io.BytesIO(shoot(driver, page, shot))).convert("RGB")
            target = FOLDER / f"{shot.name}.png"
            image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)
            print(f"{target.relative_to(FOLDER.parent.parent)}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
