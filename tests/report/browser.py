"""A headless Chromium for tests and screenshots of the page, driven by selenium; None where there is none."""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuprof.report.page.document import runs_page
from gpuprof.results.json import from_json

DATA = Path(__file__).parent / "data"
AXE = Path(__file__).parent / "axe" / "axe.min.js.gz"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)
NEEDED = "needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)"
#: Pixels of A4 in landscape without the page's margins, at 96 per inch.
A4_WIDTH = round((297 - 2 * 12) / 25.4 * 96)


def programs() -> tuple[str, str] | None:
    """The browser and its driver."""
    browser = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def chromium() -> Iterator[Any]:
    """A driver with a profile of its own; raises RuntimeError where no browser is."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    found = programs()
    if found is None:
        raise RuntimeError(NEEDED)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.binary_location = found[0]
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(found[1]))
        try:
            yield driver
        finally:
            driver.quit()


def resize(driver: Any, width: int, height: int = 900) -> None:
    """The window's inner size in CSS pixels."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def media(driver: Any, *, kind: str = "", scheme: str = "light") -> None:
    """``print`` or the screen, light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": features})


def stored_page(name: str) -> str:
    """The page of a run under ``DATA``."""
    return runs_page([from_json(gzip.decompress((DATA / f"{name}.json.gz").read_bytes()).decode())])
