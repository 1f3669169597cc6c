"""The real tools, and a cache that starts empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuprof.toolchain import Toolchain, find_tools
from gpuprof.toolchain.build import Builder


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Nothing that a test builds or finds comes from the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUPROF_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session")
def tools(own_cache: Path) -> Toolchain:
    return find_tools()


@pytest.fixture
def builder(tools: Toolchain, tmp_path: Path) -> Builder:
    """With an empty cache of its own."""
    return Builder(tools, cache_dir=tmp_path / "builds")
