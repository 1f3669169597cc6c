"""Kernels as people write them, one for each thing that an experiment can say: all run on the emulator and are right.

Each YAML of this folder is one experiment over one or two sources; every variant's status must be ``ok`` unless
``EXPECTED`` has another.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof import api

FOLDER = Path(__file__).parent
CONFIGS = sorted(FOLDER.glob("*.yaml"))
#: (experiment, variant) -> status, and a word of its reason.
EXPECTED: dict[tuple[str, str], tuple[str, str]] = {
    ("launches", "coop_not"): ("launch_failed", "`cooperative: true`"),
    ("launches", "coop_too_large"): ("launch_failed", "fit on a GPU at once"),
    ("clusters", "swap"): ("launch_failed", "the emulator executes no clusters"),
    ("clusters", "built_in"): ("launch_failed", "the emulator executes no clusters"),
}


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda path: path.stem)
def test_every_variant_runs_and_is_right(config: Path) -> None:
    run = api.run(config, device="emulated", allow_python=True)
    found = {result.variant: (result.status.value, result.reason or "") for result in run.results}
    wrong = {
        name: (status, reason)
        for name, (status, reason) in found.items()
        if not matches(EXPECTED.get((config.stem, name), ("ok", "")), status, reason)
    }
    assert found
    assert not wrong


def matches(expected: tuple[str, str], status: str, reason: str) -> bool:
    return status == expected[0] and expected[1] in reason
