"""The JSON of a run: an exact round trip, valid for every reader, and clear words for what is no run."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuprof.errors import StoreError
from gpuprof.isa import ncu_metrics as m
from gpuprof.results.json import check_target, from_json, read_run, to_json, write_whole
from gpuprof.results.lines import by_line
from gpuprof.results.model import (
    SCHEMA_VERSION,
    Environment,
    Result,
    Run,
    Status,
    Timing,
)

DATA = Path(__file__).parent / "data"
RUNS = ("emulated_run", "gpu_run")


def smallest_run(**changes: object) -> Run:
    environment = Environment("0.1.0", "3.12", "Linux", "none")
    run = Run("e", "", "e.yaml", "2026-11-29T12:00:00Z", 0.5, environment, ())
    return replace(run, **changes)


@pytest.mark.parametrize("name", RUNS)
def test_a_stored_run_survives_the_round_trip_exactly(name: str) -> None:
    text = (DATA / f"{name}.json").read_text()
    assert to_json(from_json(text)) + "\n" == text


def test_the_decoded_run_equals_the_encoded_one_in_types_too() -> None:
    run = replace(read_run(DATA / "gpu_run.json"), results=read_run(DATA / "gpu_run.json").results[:2])
    again = from_json(to_json(run))
    assert again == run
    assert again.results[0].status is Status.OK
    assert isinstance(again.results[0].timing, Timing)
    assert isinstance(again.results[0].launch.grid, tuple)


values = st.one_of(st.integers(), st.floats(allow_nan=False), st.text().filter(lambda s: s not in ("NaN", "Infinity")))


@given(
    parameters=st.dictionaries(st.text(), values.filter(lambda v: v != "-Infinity")),
    samples=st.lists(st.floats(allow_nan=False)),
    reason=st.none() | st.text(),
    work=st.none() | st.floats(allow_nan=False),
)
@settings(deadline=None)
def test_any_run_survives_the_round_trip(parameters, samples, reason, work) -> None:
    timing = Timing(tuple(samples), 1.0, (0.5, 1.5), 0.5, 1.0, "cold", 0.0)
    result = Result("v", "v", parameters, {"N": 3}, Status.TIMED_OUT, reason, timing=timing, work_flop=work)
    run = smallest_run(results=(result,))
    again = from_json(to_json(run))
    assert again == run
    assert [type(value) for value in again.results[0].parameters.values()] == [type(v) for v in parameters.values()]


def test_numbers_that_are_not_finite_are_valid_json_and_come_back() -> None:
    timing = Timing((math.nan, math.inf), math.nan, (-math.inf, math.inf), 0.0, 0.0, "cold", 0.0)
    run = smallest_run(results=(Result("v", "v", {}, {}, Status.OK, timing=timing),))

    def refuse(word: str) -> float:
        raise AssertionError(f"{word} is not JSON")

    json.loads(to_json(run), parse_constant=refuse)
    back = from_json(to_json(run)).results[0].timing
    assert math.isnan(back.samples_us[0])
    assert math.isnan(back.median_us)
    assert back.samples_us[1] == math.inf
    assert back.interval_us == (-math.inf, math.inf)


def test_absent_values_are_null_with_their_reason_beside_them() -> None:
    result = json.loads((DATA / "emulated_run.json").read_text())["results"][0]
    assert result["timing"] is None
    assert result["missing"]["timing"] == "no GPU"


def test_a_newer_schema_is_refused_by_number() -> None:
    data = json.loads(to_json(smallest_run()))
    data["schema_version"] = SCHEMA_VERSION + 1
    with pytest.raises(StoreError, match=rf"newer gpuprof \(schema version {SCHEMA_VERSION + 1}.*upgrade"):
        from_json(json.dumps(data))


def test_fields_of_a_later_release_are_ignored_and_missing_ones_take_their_defaults() -> None:
    data = json.loads(to_json(smallest_run(notes=("n",))))
    data["colour"] = "blue"
    del data["notes"]
    assert from_json(json.dumps(data)) == smallest_run()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"results": 3}, "run.results should be a list, not a number"),
        ({"results": [{"variant": "v"}]}, r"run.results\[0\].family is missing"),
        ({"seconds": "fast"}, "run.seconds should be float, not text"),
        ({"complete": 1}, "run.complete should be bool, not a number"),
        ({"environment": None}, "run.environment should be an object, not null"),
        ({"schema_version": True}, "not a valid version"),
        ({"schema_version": None}, "not a valid version"),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(change, message) -> None:
    data = json.loads(to_json(smallest_run())) | change
    with pytest.raises(StoreError, match=message):
        from_json(json.dumps(data))


def test_an_unknown_status_lists_the_known_ones() -> None:
    run = smallest_run(results=(Result("v", "v", {}, {}, Status.OK),))
    with pytest.raises(StoreError, match=r"run\.results\[0\]\.status is 'great'.*ok, differs, build_failed"):
        from_json(to_json(run).replace('"ok"', '"great"'))


@pytest.mark.parametrize("text", ["", "[]", "null", "3", '"x"', "{}", "{", "[" * 100_000, "1" * 5000, "\ud800"])
def test_what_is_no_run_is_a_store_error(text: str) -> None:
    with pytest.raises(StoreError):
        from_json(text)


def test_every_truncation_of_a_file_is_a_store_error(tmp_path: Path) -> None:
    whole = (DATA / "emulated_run.json").read_bytes().rstrip()
    chance = random.Random(1)
    for _ in range(60):
        file = tmp_path / "cut.json"
        file.write_bytes(whole[: chance.randrange(len(whole))])
        with pytest.raises(StoreError, match=r"cut\.json"):
            read_run(file)


def test_random_bytes_are_a_store_error(tmp_path: Path) -> None:
    file = tmp_path / "noise.json"
    file.write_bytes(random.Random(2).randbytes(4096))
    with pytest.raises(StoreError, match="UTF-8"):
        read_run(file)


def test_writing_replaces_the_file_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "Läufe 1" / "run.json"
    file.parent.mkdir()
    file.write_text("old")
    write_whole(to_json(smallest_run()), file)
    assert read_run(file) == smallest_run()
    assert list(file.parent.iterdir()) == [file]


def test_writing_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_whole(to_json(smallest_run()), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert read_run(tmp_path / "real.json") == smallest_run()


def test_a_folder_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot write .*No such file"):
        write_whole(to_json(smallest_run()), tmp_path / "nowhere" / "run.json")
    with pytest.raises(StoreError, match="cannot read"):
        read_run(tmp_path / "nowhere.json")


def test_a_target_is_checked_without_a_trace(tmp_path: Path) -> None:
    check_target(tmp_path / "new.json")
    check_target(Path("/dev/null"))
    assert list(tmp_path.iterdir()) == []
    for bad, words in ((tmp_path, "it is a folder"), (tmp_path / "no" / "x.json", "No such file")):
        with pytest.raises(StoreError, match=words):
            check_target(bad)


def test_a_run_of_schema_version_1_is_read() -> None:
    """Version 1 called the reference's element ``want``."""
    text = (DATA / "emulated_run.json").read_text()
    former = text.replace('"expected": "Infinity"', '"want": "Infinity"')
    former = former.replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 1')
    assert former.count('"want"') == 1
    assert from_json(former) == from_json(text)


@pytest.mark.parametrize("version", [1, 2])
def test_runs_of_earlier_versions_are_shown_and_compared(version: int, tmp_path: Path) -> None:
    """Files that gpuprof of that time wrote: ``y = 2 x`` on 100 floats, emulated for sm_90."""
    stored = DATA / f"schema_{version}.json"
    assert json.loads(stored.read_text())["schema_version"] == version
    run = read_run(stored)
    counters = run.results[0].counters
    assert counters is not None
    entries = counters.per_instruction
    assert sum(entry.counters[m.INSTRUCTIONS] for entry in entries) == counters.values[m.INSTRUCTIONS] == 68
    (load,) = (entry for entry in entries if "LDG" in entry.text)
    assert (load.step, Path(load.file).name, load.line) == ("scale", "scale.cu", 3)
    assert [line.line for line in by_line(counters)][:1] == [1]
    again = tmp_path / "again.json"
    write_whole(to_json(run), again)
    assert read_run(again) == run
    assert json.loads(again.read_text())["schema_version"] == SCHEMA_VERSION
    for command in (["show", str(stored)], ["compare", str(stored), str(again)]):
        done = subprocess.run([sys.executable, "-m", "gpuprof", *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "scale" in done.stdout
