"""Which kind of operation ncu counts an opcode under, on a few launches of an H200, chosen for their opcodes.

``test_recorded_configs.py`` holds every recorded launch; these are over in seconds.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gpuprof.toolchain import find_tools
from tests.hardware.test_recorded_configs import DATA, RECORDS, replay

PREFIX = "smsp__sass_thread_inst_executed_op_"

#: Recorded launch -> the opcodes that no other kind of launch here tells.
LAUNCHES = {
    "gemm_naive 64x64x64": "PLOP3",
    "micro_gemm_4x4 70x92x20": "P2R",
    "votes": "FLO POPC BREV VOTE",
    "active_masks": "FLO BREV SHFL",
    "bits": "PRMT IDP VABSDIFF",
    "matches": "MATCH",
    "recursion": "BMOV",
}

pytestmark = [
    pytest.mark.skipif(not RECORDS, reason="nothing recorded"),
    pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm"),
]


@pytest.mark.parametrize("name", LAUNCHES)
def test_operations_by_kind(name: str, tmp_path: Path) -> None:
    record = next(record for record in RECORDS if record["name"] == name)
    with zipfile.ZipFile(DATA / "configs_cubins.zip") as archive:
        cubin = Path(archive.extract(f"{record['cubin']}.cubin", tmp_path))
    counters, _ = replay(record, cubin)
    recorded = {key: value for key, value in record["counters"].items() if key.startswith(PREFIX)}
    assert len(recorded) >= 15
    assert {key: counters.counters[key] for key in recorded} == recorded, LAUNCHES[name]
