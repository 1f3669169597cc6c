"""``--columns``, equal columns, and the YAML's own values."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gpuprof.errors import ConfigError, UsageError
from gpuprof.isa.counters import InstructionCounters
from gpuprof.report.run_table import ALL_SPECS, render_run, specs_for
from gpuprof.results.derived import derived_values
from gpuprof.results.expectations import load_experiment, with_own_values
from gpuprof.results.json import read_run
from gpuprof.results.model import Counters, Result, Run, Status
from gpuprof.results.requested import requested_bytes, requested_load_bytes

DATA = Path(__file__).parent.parent / "results" / "data"
RUN, GPU_RUN = read_run(DATA / "emulated_run.json"), read_run(DATA / "gpu_run.json")


def names(run: Run, *columns: str) -> list[str]:
    return [head.name for head in specs_for(run, columns=columns)]


def test_names_replace_the_columns_and_signs_change_the_usual_ones() -> None:
    assert names(RUN, "registers", "load_bytes_per_request") == [
        "variant",
        "status",
        "registers",
        "load_bytes_per_request",
    ]
    usual = names(RUN)
    assert names(RUN, "+store_bytes_per_request") == [*usual, "store_bytes_per_request"]
    assert names(RUN, "-registers") == [name for name in usual if name != "registers"]
    assert names(replace(RUN, columns=("-registers",)), "+registers") == [
        *(name for name in usual if name != "registers"),
        "registers",
    ]


def test_a_column_on_request_stands_beside_its_own() -> None:
    shown = names(GPU_RUN, "+time_over_baseline")
    assert shown[shown.index("speedup") + 1] == "time_over_baseline"
    values = derived_values(GPU_RUN["tiled/TILE=16"])
    assert values["time_over_baseline"] == pytest.approx(1 / values["speedup"])


def test_a_name_without_a_value_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="registers"):
        names(RUN, "registrs")
    assert names(replace(RUN, columns=("+of_another_machine",))) == names(RUN)


def test_no_two_columns_have_one_name() -> None:
    found = [head.name for head in dict.fromkeys(ALL_SPECS)]
    assert len(found) == len(set(found))


def test_a_column_that_is_equal_in_all_rows_goes_first_and_is_said() -> None:
    file = io.StringIO()
    render_run(RUN, Console(file=file, width=78, color_system=None))
    text = " ".join(file.getvalue().split())
    assert "in every row" in text


def test_requested_bytes_are_width_times_lanes() -> None:
    def entry(text: str, lanes: int, sectors: int) -> InstructionCounters:
        counts = {"thread_inst_executed_true": lanes}
        counts |= {"memory_l2_theoretical_sectors_global": sectors} if sectors else {}
        return InstructionCounters(0, text, counters=counts)

    lines = (
        entry("LDG.E.128 R4, desc[UR4][R2.64]", 64, 32),
        entry("@!P0 LDG.E.U8 R1, desc[UR4][R2.64]", 10, 1),
        entry("STG.E desc[UR4][R2.64], R5", 32, 4),
        entry("LDS.128 R4, [R2]", 32, 0),
        entry("FFMA R1, R2, R3, R4", 32, 0),
    )
    counters = Counters({}, "emulator", 1, 1, per_instruction=lines)
    assert requested_load_bytes(counters) == 64 * 16 + 10
    assert requested_bytes(counters) == 64 * 16 + 10 + 32 * 4
    assert requested_bytes(Counters({}, "ncu", 1, 1)) is None


YAML = """
sizes: {N: 64}
buffers: {y: {dtype: float32, shape: N, output: true}}
values: {VALUE}
columns: [+double]
variants:
  a: {source: k.cu, kernel: f, block: 64, grid: 1, args: [y]}
expect: [double == 14]
"""


def config(folder: Path, values: str) -> Path:
    (folder / "k.cu").write_text('extern "C" __global__ void f(float* y) { y[threadIdx.x] = 1; }')
    path = folder / "c.yaml"
    path.write_text(YAML.replace("{VALUE}", values))
    return path


def test_the_yaml_defines_its_own_values(tmp_path: Path) -> None:
    experiment = load_experiment(config(tmp_path, "{double: 2 * warp_instructions}"))
    result = Result(
        "a", "a", {}, {"N": 64}, Status.OK, counters=Counters({"smsp__inst_executed.sum": 7}, "emulator", 1, 1)
    )
    (found,) = with_own_values(experiment, [result])
    assert found.values == {"double": 14.0}
    assert "double" in names(Run("e", "", "", "", 0.0, RUN.environment, (found,), columns=experiment.columns))
    (silent,) = with_own_values(experiment, [replace(result, counters=None)])
    assert not silent.values
    assert "warp_instructions" in silent.missing["double"]


@pytest.mark.parametrize(("values", "said"), [("{registers: 1}", "already"), ("{double: 2 * warps_of}", "warps_of")])
def test_a_wrong_value_is_an_error_of_its_line(tmp_path: Path, values: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_experiment(config(tmp_path, values))
