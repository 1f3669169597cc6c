"""Constants of every architecture beside the figures of each, and bank 0's names."""

from __future__ import annotations

import pytest

from gpuprof import arch as architectures
from gpuprof.isa import machine
from gpuprof.isa.constant_bank import BankNames, parameter_base


@pytest.mark.parametrize("arch", architectures.known())
def test_figures_of_an_architecture_agree_with_the_common_ones(arch: str) -> None:
    facts = architectures.get(arch)
    number = int(arch.removeprefix("sm_"))
    assert facts.shared_bytes_reserved == (machine.RESERVED_SHARED_BYTES if number >= 80 else 0)
    assert machine.reserved_bytes_in_section(number) == (facts.shared_bytes_reserved if number >= 90 else 0)
    assert facts.max_threads_per_block == machine.MAX_BLOCK_THREADS


@pytest.mark.parametrize(
    ("arch", "offset", "name"),
    [
        ("sm_75", 0x0, "blockDim.x"),
        ("sm_89", 0x14, "gridDim.z"),
        ("sm_90", 0xC, "gridDim.x"),
        ("sm_100", 0x360, "blockDim.x"),
        ("sm_120", 0x378, "gridDim.z"),
        ("sm_120", 0x0, "c[0x0][0x0]"),
        ("sm_89", 0x168, "parameter 1"),
        ("sm_90", 0x21C, "parameter 1+0x4"),
        ("sm_90a", 0x210, "parameter 0"),
        ("sm_103", 0x380, "parameter 0"),
        ("sm_89", 0x170, "c[0x0][0x170]"),
    ],
)
def test_names_of_bank_0(arch: str, offset: int, name: str) -> None:
    assert BankNames(arch, ((0, 8), (8, 8))).name(0, offset) == name


def test_parameters_begin_where_code_reads_them() -> None:
    assert [parameter_base(arch) for arch in ("sm_75", "sm_89", "sm_90", "sm_120")] == [0x160, 0x160, 0x210, 0x380]
