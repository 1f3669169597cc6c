"""For the whole suite: golden files, what the processes of one run share, and who runs which test."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.shared_results import FOLDER_VARIABLE

Golden = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-golden", action="store_true", help="Write golden files anew; read the difference before committing."
    )


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    """Holds a text against a golden file, or writes the file with --write-golden."""

    def check(file: Path, text: str) -> None:
        if pytestconfig.getoption("--write-golden"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return check


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the process that starts the others, or the only one
        os.environ[FOLDER_VARIABLE] = tempfile.mkdtemp(prefix="gpuprof-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(FOLDER_VARIABLE), ignore_errors=True)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files whose fixtures are made once for all their tests are run by one process each; other tests by any."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class FilesWithFixtures(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split("::")[0]
            return file if _shares_fixtures(config.rootpath / file) else nodeid

    return FilesWithFixtures(config, log)


_KNOWN: dict[Path, bool] = {}


def _shares_fixtures(file: Path) -> bool:
    if file not in _KNOWN:
        _KNOWN[file] = 'scope="module"' in file.read_text(encoding="utf-8")
    return _KNOWN[file]
