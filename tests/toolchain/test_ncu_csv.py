"""The parser of ncu's CSV: layouts of several versions, locales, damage. See data/ncu/README.md for the samples."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuprof.errors import ProfilerError
from gpuprof.toolchain.ncu_csv import NumberStyle, number_style, parse_ncu_csv

DATA = Path(__file__).parent / "data" / "ncu"
REAL = "raw_2025.3.1_h200.csv"
SAMPLES = sorted(path.name for path in DATA.glob("*.csv"))


def sample(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def test_a_recorded_session_of_an_h200() -> None:
    launches = parse_ncu_csv(sample(REAL))
    assert [launch.kernel for launch in launches] == ["lds32"] * 4
    first = launches[0]
    assert (first.block, first.grid) == ((32, 1, 1), (1, 1, 1))
    # read in the file by eye: 1,888 ns, 23 warp instructions, 736 thread instructions, 8 store sectors summed
    assert first.values["gpu__time_duration.sum"] == 1888
    assert first.units["gpu__time_duration.sum"] == "ns"
    assert first.values["smsp__inst_executed.sum"] == 23
    assert first.values["smsp__thread_inst_executed.sum"] == 736
    assert first.texts["device__attribute_display_name"] == "NVIDIA H200"
    assert isinstance(first.values["smsp__inst_executed.sum"], int)


def test_details_page_of_2020_has_no_block_and_marks_absent_values() -> None:
    first, second = parse_ncu_csv(sample("details_2020.3_constructed.csv"))
    assert first.kernel == "compute_step(int, float*)"
    assert first.block is None
    assert first.values == {
        "gpu__time_duration.sum": 11733,
        "smsp__inst_executed.sum": 1234567,
        "sm__warps_active.avg.pct_of_peak_sustained_active": 39.60,
    }
    assert second.values == {"gpu__time_duration.sum": 5120}
    assert second.texts == {}


def test_details_page_with_rules_skips_what_is_no_metric() -> None:
    (launch,) = parse_ncu_csv(sample("details_2023.2_rules_constructed.csv"))
    assert launch.grid == (1024, 1, 1)
    assert launch.values == {"dram__bytes_read.sum": 2820, "Duration": 3070}
    assert launch.units == {"dram__bytes_read.sum": "byte", "Duration": "ns"}


def test_german_numbers() -> None:
    (launch,) = parse_ncu_csv(sample("raw_2021.3_german_constructed.csv"))
    assert launch.values == {
        "gpu__time_duration.sum": 2048,
        "smsp__inst_executed.sum": 1234567,
        "sm__throughput.avg.pct_of_peak_sustained_elapsed": 39.6,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 512,
    }


def test_french_numbers_and_a_kernel_name_with_an_accent() -> None:
    (launch,) = parse_ncu_csv(sample("raw_2024.1_french_constructed.csv"))
    assert launch.kernel == "échelle<float>(float *)"
    assert launch.values["gpu__time_duration.sum"] == 2048
    assert launch.values["smsp__inst_executed.sum"] == 1234567
    assert launch.values["sm__throughput.avg.pct_of_peak_sustained_elapsed"] == 39.6


def test_nvtx_columns_and_units_that_are_not_base_units() -> None:
    (launch,) = parse_ncu_csv(sample("raw_2023.1_nvtx_units_constructed.csv"))
    assert launch.kernel == "void k<4>(int)"
    assert launch.block == (32, 8, 1)
    assert launch.values["gpu__time_duration.sum"] == 1_250_000  # ns
    assert launch.values["dram__bytes_read.sum"] == 12_500_000
    assert launch.values["dram__bytes.sum.per_second"] == pytest.approx(731.5e9)


@pytest.mark.parametrize("text", ["", "==PROF== Connected\nhello\n", "no,table,here\n1,2,3\n", "\x00\ufeff"])
def test_no_table_is_no_launch(text: str) -> None:
    assert parse_ncu_csv(text) == ()


def test_carriage_returns_and_a_byte_order_mark() -> None:
    name = "raw_2024.1_french_constructed.csv"
    assert parse_ncu_csv("\ufeff" + sample(name).replace("\n", "\r\n")) == parse_ncu_csv(sample(name))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_within_a_row_is_an_error_and_never_a_wrong_number(name: str) -> None:
    text = sample(name)
    whole = {(launch.identifier, key): value for launch in parse_ncu_csv(text) for key, value in launch.values.items()}
    chance = random.Random(name)
    for _ in range(40):
        cut = text[: chance.randrange(len(text))]
        try:
            launches = parse_ncu_csv(cut)
        except ProfilerError as error:
            assert "cut short" in str(error)  # noqa: PT017 (either outcome is right)
            continue
        for launch in launches:
            for key, value in launch.values.items():
                assert whole[launch.identifier, key] == value


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damage_raises_nothing_but_profiler_errors(data: st.DataObject) -> None:
    text = sample(data.draw(st.sampled_from([name for name in SAMPLES if name != REAL])))
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 60))
    junk = data.draw(st.text(alphabet=st.sampled_from('",\n\r\t0123456789.eE+-()ID\x00\u00a0Ü'), max_size=60))
    try:
        launches = parse_ncu_csv(text[:start] + junk + text[start + length :])
    except ProfilerError:
        return
    assert all(math.isfinite(value) for launch in launches for value in launch.values.values())


def test_quotes_that_do_not_match_are_an_error() -> None:
    with pytest.raises(ProfilerError, match="quotes do not match"):
        parse_ncu_csv('"ID","Kernel Name","a__b.sum"\n"0"x","k","7\n"1","k","8"\n')


@given(st.text(max_size=300))
@settings(deadline=None)
def test_any_text_raises_nothing_but_profiler_errors(text: str) -> None:
    try:
        parse_ncu_csv('"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n' + text)
        parse_ncu_csv('"ID","Process ID","Kernel Name","a__b.sum"\n' + text)
    except ProfilerError:
        pass


@pytest.mark.parametrize(
    ("cells", "decimal"),
    [
        (["1,234,567"], "."),
        (["1.234.567"], ","),
        (["1,234.5"], "."),
        (["1.234,5"], ","),
        (["0,123"], ","),
        (["0.123"], "."),
        (["12,34"], ","),
        (["1,234"], "."),
        (["1234,567"], ","),
        (["1,234", "0,5"], ","),
        (["text", "", "7"], "."),
    ],
)
def test_the_style_of_numbers(cells: list[str], decimal: str) -> None:
    assert number_style(cells).decimal == decimal


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234", 1234), ("-5", -5), ("4.0e-05", 4e-05), ("1e400", None), ("", None), ("(!) n/a", None), ("12 kB", None)],
)
def test_reading_one_number(text: str, value: float | None) -> None:
    assert NumberStyle().read(text) == value
