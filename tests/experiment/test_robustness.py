"""Whatever stands in a YAML file, it loads or it is refused with its place: never a traceback."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuprof.errors import ConfigError, ConfigProblem
from gpuprof.experiment import load
from gpuprof.experiment.bundled import bundled_folder
from gpuprof.experiment.document import read_document

JUNK: list[Any] = [
    *(None, True, 0, -1, 1.5, 2**70, float("inf"), float("nan"), [], {}, [1], [[1]], ["A", {}], {"a": 1}),
    *(
        "",
        "x",
        "A @",
        "()",
        "1/0",
        "*",
        "{",
        "{TILE}",
        "2**70",
        "T(A)",
        "x.npy",
        "random",
        "not",
        "i // 0",
        "é",
        "\x00",
    ),
    *("sum(A, axis=5)", "max()", "arange()", "full(1)", "take(A, 1e3)", "uint32(1e300)", "'a' < 'b'", "1e308 * 10"),
    *({"random": "normal"}, {"value": "M", "dtype": "int32"}, {"variant": "naive"}, "A if A > 1 else B", "-True"),
]
KEYS = ["kernl", "fill", "x", "M", "steps", "byte", "once", "host", "expect", "where", "shared"]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(place for key, child in children for place in places(child, (*path, key)))]


def spoil(data: Any, choose: random.Random) -> None:
    """Replace, delete or rename one value somewhere."""
    place = choose.choice(places(data)[1:])
    parent = data
    for key in place[:-1]:
        parent = parent[key]
    act = choose.random()
    if act < 0.75:
        parent[place[-1]] = copy.deepcopy(choose.choice(JUNK))
    elif act < 0.85:
        del parent[place[-1]]
    elif isinstance(parent, dict):
        parent[choose.choice(KEYS)] = parent[place[-1]]


def problems_of(path: Path) -> tuple[ConfigProblem, ...]:
    try:
        load(path)
    except ConfigError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("name", ["gemm_1024", "gemm_tiles", "reduction", "wmma", "histogram", "softmax"])
def test_spoilt_configs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    original = read_document(bundled_folder("configs") / f"{name}.yaml").data
    path = Path("spoilt.yaml")
    refused = 0
    for seed in range(30):
        data = copy.deepcopy(original)
        choose = random.Random(f"{name} {seed}")
        for _ in range(choose.choice([1, 1, 2])):
            spoil(data, choose)
        path.write_text(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))
        problems = problems_of(path)
        refused += bool(problems)
        assert all(problem.file == "spoilt.yaml" and problem.line for problem in problems), problems
    assert refused > 10
