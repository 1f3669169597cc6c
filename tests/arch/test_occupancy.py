"""Occupancy against NVIDIA's own header, compiled here, and against values worked out by hand."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from gpuprof import arch
from gpuprof.arch.facts import ArchFacts
from gpuprof.arch.occupancy import LIMITS, Occupancy, occupancy
from gpuprof.errors import UsageError
from gpuprof.toolchain.tools import wheel_folders

_PROGRAM = Path(__file__).with_name("occupancy_header.cpp")
_BITS = {1: "warps", 2: "registers", 4: "shared memory", 8: "blocks", 16: "barriers"}
_UNLIMITED = 2**31 - 1
_POINTS_PER_ARCH = 700

Point = tuple[int, int, int, int, int, int, int]  #: carveout, threads, registers, static, dynamic, opt-in, barriers


def _header_folder() -> Path:
    folders = [*wheel_folders("include"), Path("/usr/local/cuda/include")]
    for folder in folders:
        if (folder / "cuda_occupancy.h").is_file():
            return folder
    pytest.skip("cuda_occupancy.h is in none of the NVIDIA wheels (nvidia-cuda-runtime has it)")


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("occupancy") / "header"
    subprocess.run(["g++", "-O1", "-w", "-I", _header_folder(), _PROGRAM, "-o", program], check=True)
    return program


def _points(facts: ArchFacts) -> list[Point]:
    """Edges of every limit, and random points between them."""
    chance = random.Random(f"occupancy {facts.arch}")
    limit = facts.shared_bytes_per_block_optin
    threads = [1, 31, 32, 33, 64, 96, 127, 128, 129, 192, 256, 288, 384, 511, 512, 768, 1023, 1024]
    registers = [0, 16, 24, 32, 33, 40, 41, 64, 65, 72, 80, 96, 128, 168, 224, 255]
    points: list[Point] = [(-1, t, r, 0, 0, 0, 1) for t in threads for r in registers]
    edges = [0, 1, 128, 1024, 47 * 1024, 48 * 1024 - 1, 48 * 1024, 48 * 1024 + 1, limit - 1, limit, limit + 1]
    points += [(-1, t, 32, 0, d, d, 1) for t in (32, 128, 256) for d in edges]
    for _ in range(_POINTS_PER_ARCH - len(points)):
        static = chance.choice([0, chance.randrange(0, 49153)])
        dynamic = chance.choice([0, chance.randrange(0, limit + 2048), chance.randrange(0, 16384)])
        opt_in = chance.choice([dynamic, dynamic, limit, dynamic // 2])
        points.append(
            (
                chance.choice([-1, -1, 0, 25, 50, 75, 100, chance.randrange(0, 101)]),
                chance.choice([chance.randrange(1, 1025), 32 * chance.randrange(1, 33)]),
                chance.randrange(16, 256),
                static,
                dynamic,
                opt_in,
                chance.choice([0, 1, 1, 2, 5, 16]),
            )
        )
    return points


def _ask_header(program: Path, facts: ArchFacts, points: list[Point]) -> list[list[int]]:
    major, minor = facts.compute_capability.split(".")
    device = (major, minor, facts.max_threads_per_sm, facts.shared_bytes_per_sm)
    device += (facts.shared_bytes_per_block_optin, facts.shared_bytes_reserved)
    lines = "\n".join(" ".join(str(value) for value in (*device, *point)) for point in points)
    done = subprocess.run([program], input=lines, capture_output=True, text=True, check=True)
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def _ours(facts: ArchFacts, point: Point) -> Occupancy:
    carveout, threads, registers, static, dynamic, opt_in, barriers = point
    return occupancy(
        facts,
        threads,
        registers,
        static,
        dynamic,
        carveout_percent=None if carveout < 0 else carveout,
        barriers=barriers,
        max_dynamic_shared=opt_in,
    )


@pytest.mark.parametrize("name", arch.known())
def test_equals_the_header(header: Path, name: str) -> None:
    facts = arch.get(name)
    points = _points(facts)
    answers = _ask_header(header, facts, points)
    assert len(answers) == len(points) >= 500  # over nine architectures: more than 4,500
    for point, (status, blocks, bits, *limits, allocated) in zip(points, answers, strict=True):
        got = _ours(facts, point)
        want = [None if limit == _UNLIMITED else limit for limit in limits]
        assert status == 0, point
        assert got.blocks_per_sm == blocks, (name, point)
        assert [got.limits[limit] for limit in LIMITS] == want, (name, point)
        assert set(got.factors) == {word for bit, word in _BITS.items() if bits & bit}, (name, point)
        assert got.shared_bytes_per_block == allocated, (name, point)


@pytest.mark.parametrize(
    ("name", "threads", "registers", "static", "dynamic", "blocks", "percent", "limiter"),
    [
        ("sm_89", 1024, 32, 0, 0, 1, 200 / 3, "warps"),
        ("sm_89", 256, 40, 0, 0, 6, 100.0, "warps+registers"),
        ("sm_89", 288, 224, 0, 0, 0, 0.0, "registers"),  # 9 warps are checked as 12: 86,016 registers
        ("sm_89", 128, 32, 0, 101376, 1, 100 / 12, "shared memory"),
        ("sm_89", 128, 32, 0, 101377, 0, 0.0, "shared memory"),
        ("sm_80", 256, 40, 0, 0, 6, 75.0, "registers"),
        ("sm_75", 256, 40, 0, 0, 4, 100.0, "warps"),
        ("sm_90", 33, 32, 0, 0, 32, 100.0, "warps+registers+blocks"),
        ("sm_120", 64, 32, 0, 0, 24, 100.0, "warps+blocks+barriers"),
    ],
)
def test_worked_values(
    name: str, threads: int, registers: int, static: int, dynamic: int, blocks: int, percent: float, limiter: str
) -> None:
    got = occupancy(arch.get(name), threads, registers, static, dynamic)
    assert (got.blocks_per_sm, got.limiter) == (blocks, limiter)
    assert got.percent == pytest.approx(percent)


def test_every_figure_has_a_source() -> None:
    for name in arch.known():
        facts = arch.get(name)
        assert all(facts.sources[key] for key in facts.sources)
        assert len(facts.sources) == 21


def test_datasheet_peak_follows_from_the_widths() -> None:
    """FP32 peak = SMs x lanes x 2 x boost clock; the datasheet rounds, and some quote another clock."""
    for name in arch.known():
        facts = arch.get(name)
        for product in facts.products:
            peak = product.sms * facts.fp32_fma_per_clock * 2 * product.boost_mhz * 1e-6
            assert peak == pytest.approx(product.fp32_tflops, rel=0.03), product.name


@pytest.mark.parametrize("text", ["sm_89", "8.9", "89", "compute_89", "SM_89", " sm_89 ", "sm_89a"])
def test_names_of_an_architecture(text: str) -> None:
    assert arch.get(text).arch == "sm_89"


def test_unknown_architecture_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"sm_121.*there are sm_120, sm_103"):
        arch.get("sm_121")
    with pytest.raises(UsageError, match=r"sm_88.*there are sm_8[79], sm_8[79]"):
        arch.get("sm_88")
    with pytest.raises(UsageError, match="no hardware facts for arch 'zork'"):
        arch.get("zork")
