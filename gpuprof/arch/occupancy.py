"""Occupancy, step by step as NVIDIA's ``cuda_occupancy.h`` (CUDA 13) computes it.

The suite compiles that header and compares every result, limits and limiting factors included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpuprof.arch.facts import ArchFacts

#: In the order in which they are shown.
LIMITS = ("warps", "registers", "shared memory", "blocks", "barriers")
_MAX_REGISTERS_CHECKED = 256  #: what the header lets a thread ask for


@dataclass(frozen=True)
class Occupancy:
    """What fits on one SM. ``limits`` gives blocks per SM by each limit, None where it never limits.

    ``factors`` are the header's limiting factors: the limits that equal the minimum before barriers are looked at,
    and barriers where they equal the result.
    """

    blocks_per_sm: int
    warps_per_block: int
    max_warps_per_sm: int
    limits: Mapping[str, int | None]
    factors: tuple[str, ...]
    registers_per_block: int  #: allocated
    shared_bytes_per_block: int  #: allocated, with the driver's reserve
    shared_bytes_per_sm: int  #: the carve-out that is chosen

    @property
    def warps_per_sm(self) -> int:
        return self.blocks_per_sm * self.warps_per_block

    @property
    def percent(self) -> float:
        return 100.0 * self.warps_per_sm / self.max_warps_per_sm

    @property
    def binding(self) -> tuple[str, ...]:
        """The limits that equal the result."""
        return tuple(name for name in LIMITS if self.limits[name] == self.blocks_per_sm)

    @property
    def limiter(self) -> str:
        """``registers+warps``: the binding limits in one word."""
        return "+".join(self.binding)


def occupancy(
    facts: ArchFacts,
    threads: int,
    registers: int,
    static_shared: int,
    dynamic_shared: int,
    *,
    carveout_percent: int | None = None,
    barriers: int = 1,
    max_dynamic_shared: int | None = None,
) -> Occupancy:
    """Occupancy of blocks of ``threads`` threads with ``registers`` per thread.

    Shared memory is the user's bytes per block, without the driver's reserve. ``max_dynamic_shared`` is the opt-in
    that the launch sets (by default exactly what it needs); ``carveout_percent`` the preferred share of shared
    memory (None: the driver's default, all of it); ``barriers`` the named barriers of a block (0: uses none).
    Raises ValueError for numbers that no launch can have.
    """
    if threads < 1 or registers < 0 or static_shared < 0 or dynamic_shared < 0:
        raise ValueError("threads must be at least 1, registers and shared memory at least 0")
    warps = _divide_up(threads, facts.warp_size)
    by_registers, registers_per_block = _register_limit(facts, warps, registers)
    opt_in = dynamic_shared if max_dynamic_shared is None else max_dynamic_shared
    by_shared, shared_per_block, shared_per_sm = _shared_limit(
        facts, static_shared, dynamic_shared, opt_in, carveout_percent
    )
    limits: dict[str, int | None] = {
        "warps": facts.max_warps_per_sm // warps if threads <= facts.max_threads_per_block else 0,
        "registers": by_registers,
        "shared memory": by_shared,
        "blocks": facts.max_blocks_per_sm,
        "barriers": _barrier_limit(facts, barriers),
    }
    blocks, factors = _combine(limits)
    return Occupancy(
        blocks_per_sm=blocks,
        warps_per_block=warps,
        max_warps_per_sm=facts.max_warps_per_sm,
        limits=limits,
        factors=factors,
        registers_per_block=registers_per_block,
        shared_bytes_per_block=shared_per_block,
        shared_bytes_per_sm=shared_per_sm,
    )


def _register_limit(facts: ArchFacts, warps: int, registers: int) -> tuple[int | None, int]:
    """Blocks, and registers allocated per block. Warps are spread over the sub-partitions, each with its own share.

    The check for the hardware's maximum pretends that every sub-partition holds the same number of warps.
    """
    per_warp = _round_up(registers * facts.warp_size, facts.register_allocation_unit)
    per_block = per_warp * warps
    assumed = per_warp * _round_up(warps, facts.subpartitions)
    if assumed > facts.registers_per_block or registers > _MAX_REGISTERS_CHECKED:
        return 0, per_block
    if per_warp == 0:
        return None, 0
    warps_per_partition = facts.registers_per_sm // facts.subpartitions // per_warp
    return warps_per_partition * facts.subpartitions // warps, per_block


def _shared_limit(
    facts: ArchFacts, static: int, dynamic: int, opt_in: int, carveout_percent: int | None
) -> tuple[int | None, int, int]:
    """Blocks, bytes allocated per block, and bytes of shared memory of the SM under the chosen carve-out."""
    used = _round_up(static + facts.shared_bytes_reserved + dynamic, facts.shared_allocation_unit)
    wants_opt_in = static + facts.shared_bytes_reserved + opt_in > facts.shared_bytes_per_block
    ceiling = facts.shared_bytes_per_block_optin if wants_opt_in else facts.shared_bytes_per_block
    preferred = _preferred_shared(facts, carveout_percent)
    if dynamic > opt_in or used > ceiling + facts.shared_bytes_reserved:
        return 0, used, preferred
    per_sm = preferred if preferred >= used else next_carveout(facts, used)
    return (per_sm // used if used else None), used, per_sm


def _preferred_shared(facts: ArchFacts, percent: int | None) -> int:
    if percent is None:
        return facts.shared_bytes_per_sm
    return next_carveout(facts, facts.shared_bytes_per_sm * percent // 100)


def next_carveout(facts: ArchFacts, wanted: int) -> int:
    """The smallest size of shared memory per SM that holds ``wanted`` bytes."""
    return next((size for size in facts.shared_carveouts_bytes if size >= wanted), facts.shared_bytes_per_sm)


def _barrier_limit(facts: ArchFacts, barriers: int) -> int | None:
    return facts.barriers_per_sm // barriers if facts.barriers_per_sm and barriers > 0 else None


def _combine(limits: Mapping[str, int | None]) -> tuple[int, tuple[str, ...]]:
    """The minimum, and the header's limiting factors (which it does not clear when barriers lower the result)."""
    first = {name: limit for name, limit in limits.items() if name != "barriers" and limit is not None}
    blocks = min(first.values())
    factors = [name for name in LIMITS if first.get(name) == blocks]
    by_barriers = limits["barriers"]
    if by_barriers is not None and by_barriers <= blocks:
        blocks = by_barriers
        factors.append("barriers")
    return blocks, tuple(factors)


def _divide_up(value: int, unit: int) -> int:
    return -(-value // unit)


def _round_up(value: int, unit: int) -> int:
    return _divide_up(value, unit) * unit
