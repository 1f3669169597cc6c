"""Which kind of operation ncu counts an opcode under, on a few launches of an H200, chosen for their opcodes.

``test_recorded_configs.py`` holds every recorded launch; these are over in seconds.
"""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path

import pytest

from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.opcodes import COUNTED_OPERATIONS, opcode
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


#: Kernels of one repeated instruction in straight code of 128 lanes (``record_operation_classes.py``).
SINGLE = json.loads((DATA / "operation_classes.json").read_text(encoding="utf-8"))
LANES = 128


@pytest.mark.parametrize("name", sorted(SINGLE))
def test_the_table_has_the_class_of_single_opcodes(name: str) -> None:
    expected = Counter()
    for opcode_name, count in SINGLE[name]["opcodes"].items():
        expected[opcode(opcode_name).operation.value] += count * LANES
    classes = [operation.value for operation in COUNTED_OPERATIONS]
    found = {each: SINGLE[name]["lanes"][m.thread_op(each)] for each in classes}
    assert found == {each: expected[each] for each in classes}
