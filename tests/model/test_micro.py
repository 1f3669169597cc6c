"""Constants from the micro-kernels' counters, for a machine whose constants are known."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.arch.gpu_constants import gpu_constants
from gpuprof.model.micro import OPERATIONS, Micro, constants_of

MHZ, SMS, WORDS = 2000.0, 100, 1 << 26


def pairs(cycles: float, warps: int = 16) -> np.ndarray:
    found = np.zeros(32, np.int64)
    found[1 : 2 * warps : 2] = round(cycles)
    return found


def machine() -> Micro:
    cycles = {f"interval/OP={number}": pairs(4096 * 4 * 2) for number in range(len(OPERATIONS))}
    cycles |= {f"latency/OP={number}": pairs(512 * 20) for number in range(len(OPERATIONS))}
    beside = 21  # of address arithmetic
    cycles |= {
        "chase_shared": pairs(1024 * (23 + beside)),
        "chase_constant": pairs(1024 * (40 + beside)),
        "chase_l1": pairs(1024 * (34 + beside)),
        "chase_l2": pairs(2048 * (250 + beside)),
        "chase_dram": pairs(2048 * (600 + beside)),
        "chase_pages": pairs(120 * (600 + 500 + beside)),
        "barrier/BLOCK=256": pairs(256 * (9 + 8 * 2)),
        "barrier/BLOCK=512": pairs(256 * (9 + 16 * 2)),
        "cold_code": pairs(512 * 50),
    }
    times = {
        "nothing/BLOCK=32/BLOCKS=4224": 10.0,
        "nothing/BLOCK=32/BLOCKS=67584": 10.0 + 63360 / SMS * 160 / MHZ,
        "nothing/BLOCK=1024/BLOCKS=4224": 20.0,
        "nothing/BLOCK=1024/BLOCKS=67584": 20.0 + 63360 / SMS * 320 / MHZ,
        "nothing_twice": 4.0,
        "nothing_thrice": 5.0,
        "dram_read/PART=4": 20.0,
        "dram_read/PART=1": 20.0 + WORDS * 3 / 1000 / MHZ,
        "l2_read/TURNS=2": 9.0,
        "l2_read/TURNS=10": 9.0 + (1 << 27) / 3000 / MHZ,
    }
    return Micro(cycles, times, MHZ, SMS, WORDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("l2_latency", 250),
        ("dram_latency", 600),
        ("tlb_latency", 500),
        ("constant_latency", 40),
        ("barrier_latency", 9),
        ("barrier_interval", 2),
        ("transcendental_latency", 20),
        ("interval.fma", 4),
        ("interval.alu", 2),
        ("interval.tensor.HMMA.16816", 2),
        ("block_interval", 160),
        ("warp_interval", 10),
        ("launch_gap_us", 1),
        ("dram_bytes_per_cycle", 1000),
        ("l2_bytes_per_cycle", 3000),
    ],
)
def test_constants(name: str, value: float) -> None:
    assert constants_of(machine(), 34, 23)[name] == pytest.approx(value, rel=1e-3)


def test_every_constant_is_one_of_a_file() -> None:
    assert constants_of(machine(), 34, 23).keys() <= gpu_constants("h200").constants.keys()
