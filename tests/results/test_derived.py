"""What is derived from counters, with the expected numbers computed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.counters import InstructionCounters
from gpuprof.report.units import FORMATTERS
from gpuprof.results.derived import TABLE, derived_values, describe
from gpuprof.results.json import read_run
from gpuprof.results.model import BuildFacts, Counters, Result, Status

DATA = Path(__file__).parent / "data"


def counted(values: dict[str, float], **fields: object) -> Result:
    return Result("v", "v", {}, {}, Status.OK, counters=Counters(values, "emulator", 1, 1), **fields)


def test_the_naive_gemm_of_an_h200() -> None:
    """154,664,960 warp instructions, 4,949,278,720 lanes of which 4,942,987,264 on, 1,073,741,824 FFMA (1024^3)."""
    values = derived_values(read_run(DATA / "emulated_run.json").results[0])
    assert values["warp_instructions"] == 154_664_960
    assert values["ffma"] == 1024**3
    assert values["ffma_share"] == pytest.approx(1_073_741_824 / 4_942_987_264)
    assert values["lane_efficiency"] == pytest.approx(4_949_278_720 / (32 * 154_664_960))
    assert values["load_sectors_per_request"] == 2.0  # 134,217,728 sectors of 67,108,864 requests
    assert values["store_sectors_per_request"] == 4.0
    assert values["sectors_per_request"] == pytest.approx((134_217_728 + 131_072) / (67_108_864 + 32_768))
    assert values["branch_efficiency"] == 0.99
    # 2 * 1024^3 flop over 32 bytes of each of 134,348,800 sectors
    assert values["flop_per_byte"] == pytest.approx(2 * 1024**3 / (32 * 134_348_800))
    assert "bank_conflict_ways" not in values  # it uses no shared memory: no value, not 0


def test_ways_are_wavefronts_over_the_conflict_free_number() -> None:
    """A 128-bit load needs 4 wavefronts: 10 of them with 40 wavefronts conflict-free, 80 with 2-way conflicts."""
    result = counted(
        {
            m.shared_instructions("ld"): 10,
            m.shared_wavefronts("ld"): 80,
            m.shared_conflicts("ld"): 40,
            m.shared_wavefronts("st"): 32,
            m.shared_conflicts("st"): 31,
        }
    )
    values = derived_values(result)
    assert values["shared_load_ways"] == 2.0
    assert values["shared_store_ways"] == 32.0
    assert values["bank_conflict_ways"] == pytest.approx(112 / 41)


def test_ways_from_the_instructions_where_the_kernel_has_no_conflict_counter() -> None:
    """Two 128-bit loads of 4 ideal wavefronts with 8 and 4, a store of 1 with 3."""
    instructions = [
        {m.shared_wavefronts("ld"): 8, m.SHARED_WAVEFRONTS_IDEAL: 4},
        {m.shared_wavefronts("ld"): 4, m.SHARED_WAVEFRONTS_IDEAL: 4},
        {m.shared_wavefronts("st"): 3, m.SHARED_WAVEFRONTS_IDEAL: 1},
        {m.INSTRUCTIONS: 1},
    ]
    counters = Counters(
        {}, "emulator", 1, 1, per_instruction=tuple(InstructionCounters(0, "", counters=part) for part in instructions)
    )
    values = derived_values(Result("v", "v", {}, {}, Status.OK, counters=counters))
    assert values["shared_load_ways"] == 1.5
    assert values["shared_store_ways"] == 3.0
    assert values["bank_conflict_ways"] == pytest.approx(15 / 9)


def test_merged_loads_are_conflict_free_and_not_better() -> None:
    """A 128-bit load of one address by all lanes: 2 wavefronts where lanes and width say 4."""
    part = {m.shared_wavefronts("ld"): 2, m.SHARED_WAVEFRONTS_IDEAL: 4}
    counters = Counters(
        {m.SHARED_WAVEFRONTS: 2, m.SHARED_WAVEFRONTS_IDEAL: 4},
        "emulator",
        1,
        1,
        per_instruction=(InstructionCounters(0, "", counters=part),),
    )
    assert derived_values(Result("v", "v", {}, {}, Status.OK, counters=counters))["shared_load_ways"] == 1.0
    assert derived_values(counted(dict(counters.values)))["bank_conflict_ways"] == 1.0


def test_ways_of_all_accesses_together() -> None:
    values = derived_values(counted({m.SHARED_WAVEFRONTS: 96, m.SHARED_WAVEFRONTS_IDEAL: 32}))
    assert values["bank_conflict_ways"] == 3.0
    assert "shared_load_ways" not in values


def test_asynchronous_copies_are_not_counted_twice() -> None:
    """l1tex counts them among the loads; the sass counters on their own."""
    both = {m.sectors("ld"): 10, m.sectors("st"): 2, m.sass_sectors("ld"): 6, m.sass_sectors("ldgsts"): 4}
    assert derived_values(counted(both, work_flop=3840.0))["flop_per_byte"] == 10.0
    alone = {name: value for name, value in both.items() if name.startswith("smsp")}
    assert derived_values(counted(alone, work_flop=3200.0))["flop_per_byte"] == 10.0


def test_ways_are_unknown_where_the_conflict_free_number_is() -> None:
    values = derived_values(counted({m.shared_instructions("ld"): 10, m.shared_wavefronts("ld"): 40}))
    assert not [name for name in values if name.endswith("ways")]


def test_flop_of_each_precision() -> None:
    """FADD 1, FFMA 2, DFMA 2, and an HFMA2 is two fused operations: 4."""
    ops = {"fadd": 5, "ffma": 7, "dfma": 11, "hfma": 13, "hadd": 17}
    result = counted({m.thread_op(op): count for op, count in ops.items()})
    assert derived_values(result)["flop_counted"] == 5 + 14 + 22 + 52 + 34


def test_the_formula_of_the_yaml_goes_before_counted_flop() -> None:
    """Tensor cores do not count as FFMA."""
    values = {m.thread_op("ffma"): 0, m.sectors("ld"): 2, m.sectors("st"): 2}
    assert derived_values(counted(values, work_flop=1024.0))["flop_per_byte"] == 1024 / (4 * 32)


def test_useful_bytes_and_local_memory() -> None:
    result = counted(
        {
            m.GLOBAL_SECTORS: 32,
            m.GLOBAL_SECTORS_IDEAL: 4,
            m.sectors("ld", "local"): 8,
            m.sass_sectors("st", "local"): 16,
        }
    )
    values = derived_values(result)
    assert values["useful_bytes_percent"] == 12.5
    assert values["local_sectors"] == 24


def test_ncu_counters_stand_in_where_the_emulator_did_not_count() -> None:
    result = Result("v", "v", {}, {}, Status.OK, ncu=Counters({m.INSTRUCTIONS: 7}, "ncu", 1, 1))
    assert derived_values(result)["warp_instructions"] == 7


def test_resources() -> None:
    build = BuildFacts((), 0.0, False, "", "", "", 40, 8, 16, 24, 1024, 2048)
    values = derived_values(Result("v", "v", {}, {}, Status.OK, build=build))
    assert values == {"registers": 40, "spill_bytes": 24, "stack_bytes": 24, "shared_bytes": 3072}


def test_nothing_known_is_nothing_derived() -> None:
    assert derived_values(Result("v", "v", {}, {}, Status.BUILD_FAILED)) == {}
    assert derived_values(counted({m.INSTRUCTIONS: 0, m.THREAD_INSTRUCTIONS: 0})) == {
        "warp_instructions": 0,
        "thread_instructions": 0,
        "sm_cycles": 0,
    }


def test_names_are_unique_and_every_unit_has_a_formatter() -> None:
    names = [entry.name for entry in TABLE]
    assert len(set(names)) == len(names)
    assert {entry.unit for entry in TABLE} <= set(FORMATTERS)
    assert {entry.kind for entry in TABLE} == {"measured", "counted"}
    assert describe("registers").meaning == "registers per thread"
    assert describe("nothing") is None
