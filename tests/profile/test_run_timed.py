"""A whole timed run over real processes: good variants are timed and compared, bad ones cost their own rows."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from torture.make_config import BAD, build_cubin, write

from gpuprof import experiment as experiments
from gpuprof.device.base import DeviceDescription
from gpuprof.device.choice import DeviceChoice
from gpuprof.profile.observer import SilentObserver
from gpuprof.profile.options import RunOptions
from gpuprof.profile.run import run_prepared
from gpuprof.profile.setup import prepare_run
from gpuprof.results.json import from_json, to_json
from gpuprof.results.model import Result, Run, Status

HERE = Path(__file__).parent
GPU = DeviceDescription("gpu", "Tiny", "sm_89", uuid="GPU-tiny")
GOOD = 8


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("torture")
    return write(folder, GOOD, build_cubin(folder / "cubin"))


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HERE))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def run(config: Path, options: RunOptions, devices: tuple[str, ...] = ("gpu:0",)) -> Run:
    experiment = experiments.load(config)
    setup = prepare_run(experiment, dataclasses.replace(options, devices=("emulated",)))
    setup = dataclasses.replace(
        setup, devices=DeviceChoice(devices, (GPU,) * len(devices)), worker_module="tiny_worker"
    )
    return run_prepared(experiment, dataclasses.replace(options, launch_timeout=1.5), SilentObserver(), setup)


def rows(found: Run) -> dict[str, Result]:
    return {result.variant: result for result in found.results}


def test_every_bad_variant_costs_its_own_row_and_the_good_ones_are_timed(config: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    found = run(config, RunOptions(json=target))
    assert found.complete
    table = rows(found)
    assert len(table) == GOOD + len(BAD)
    for number in range(1, GOOD + 1):
        row = table[f"scale/F={number}.0"]
        assert (row.status, row.reason) == (Status.OK, None)
        assert row.timing is not None
        assert len(row.timing.samples_us) == 20  # the YAML's iters
        assert row.timing.median_us == pytest.approx(100 / number)
        if number > 1:
            assert row.timing.speedup == pytest.approx(number)
            assert row.timing.comparison == "faster"
    expected = {
        "does_not_build": (Status.BUILD_FAILED, "undeclared_name"),
        "out_of_bounds": (Status.LAUNCH_FAILED, "illegal memory access"),
        "just_past_the_end": (Status.LAUNCH_FAILED, "SIGABRT"),
        "endless": (Status.TIMED_OUT, "did not end within 1.5 s"),
        "leaves_some": (Status.DIFFERS, "never written: 7 elements"),
        "gives_nan": (Status.DIFFERS, "y[100]: got nan"),
        "changes_its_input": (Status.DIFFERS, "input x was changed, first at [3]"),
        "out_of_memory": (Status.LAUNCH_FAILED, "bytes asked"),
        "wrong_arguments": (Status.LAUNCH_FAILED, "takes 4 parameters"),
    }
    for name, (status, words) in expected.items():
        assert table[name].status is status, name
        assert words in (table[name].reason or ""), name
    assert set(expected) == set(BAD)
    assert to_json(from_json(target.read_text())) == to_json(found)


def test_an_input_that_was_changed_is_whole_again_for_the_next_variant(config: Path) -> None:
    found = run(config, RunOptions(variants=("changes_its_input", "scale/F=1.0")))
    assert rows(found)["scale/F=1.0"].status is Status.OK


def test_resume_runs_the_rest_and_only_the_rest(config: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    first = run(config, RunOptions(json=target, variants=("scale/F=1.0", "scale/F=2.0", "gives_nan")))
    second = run(config, RunOptions(json=target, variants=("scale/*", "gives_nan"), resume=True))
    before, after = rows(first), rows(second)
    assert repr({label: after[label] for label in before}) == repr(before)
    assert "3 rows were kept" in " ".join(second.notes)
    later = after["scale/F=5.0"].timing
    assert later is not None
    assert later.speedup == pytest.approx(5.0)  # the kept baseline was sampled again to compare with
    changed = run(config, RunOptions(json=target, variants=("scale/F=1.0",), resume=True, seeds=2))
    assert "kept" not in " ".join(changed.notes)  # another check: the row does not stand for it


def test_two_devices_share_the_variants_and_compare_each_with_its_own_baseline(config: Path) -> None:
    found = run(config, RunOptions(variants=("scale/*",)), devices=("gpu:0", "gpu:1"))
    table = rows(found)
    assert len(table) == GOOD
    for number in range(2, GOOD + 1):
        timing = table[f"scale/F={number}.0"].timing
        assert timing is not None
        assert timing.speedup == pytest.approx(number)
    assert {row.timing.device for row in found.results if row.timing} <= {"gpu:0", "gpu:1"}


@pytest.mark.parametrize("overlap", [True, False])
def test_a_device_with_a_single_variant_times_the_baseline_for_it(config: Path, overlap: bool) -> None:
    options = RunOptions(variants=("scale/F=1.0", "scale/F=2.0"), overlap=overlap)
    found = run(config, options, devices=("gpu:0", "gpu:1"))
    second = rows(found)["scale/F=2.0"].timing
    assert second is not None
    assert second.speedup == pytest.approx(2.0)


def test_timing_may_wait_for_the_builds(config: Path) -> None:
    found = run(config, RunOptions(variants=("scale/F=1.0", "does_not_build"), overlap=False))
    assert [row.status for row in found.results] == [Status.OK, Status.BUILD_FAILED]


def test_sizes_that_do_not_fit_together_are_timed_all_the_same(config: Path, tmp_path: Path) -> None:
    """Two variants of 40 MB each on a device of 64 MiB: each is loaded again when its turn comes."""
    room = "{dtype: uint8, shape: [40000000], scratch: true}"
    text = config.read_text().split("variants:")[0] + "variants:\n"
    for name in ("one", "two"):
        args = f"kernel: uses_room, block: 256, grid: 16, args: [n, x, y, {name}_room]"
        text += f"  {name}: {{source: torture.cubin, {args}, buffers: {{{name}_room: {room}}}}}\n"
    path = config.with_name("large.yaml")
    path.write_text(text.replace("baseline: scale/F=1.0", "baseline: one"))
    found = run(path, RunOptions(overlap=False))
    assert [row.status for row in found.results] == [Status.OK, Status.OK], found.results
    two = rows(found)["two"].timing
    assert two is not None
    assert two.comparison == "same"
