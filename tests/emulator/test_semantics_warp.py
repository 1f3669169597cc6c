"""Shuffles, votes, matches, reductions, transposes: a lane at a time, by CUDA's definitions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.lanes import SmallLanes, execute, lanes_with

WARPS = 3


def machine(seed: int = 0, active: bool = True, small: bool = False) -> SmallLanes:
    random = np.random.default_rng(seed)
    high = 4 if small else 2**32
    lanes = lanes_with(
        R1=random.integers(0, high, 32 * WARPS, np.uint32),
        R2=random.integers(0, 40, 32 * WARPS, np.uint32),
        R3=random.integers(0, 2, 32 * WARPS, np.uint32),
        predicates={"P1": random.random(32 * WARPS) < 0.5},
    )
    lanes.registers |= {"R0": lanes.registers["R1"] * 0 + 7, "UR4": np.zeros((1, WARPS, 1), np.uint32)}
    lanes.predicates["P0"] = lanes.registers["R1"] == 1
    if not active:
        lanes.mask = random.random((1, WARPS, 32)) < 0.6
        lanes.mask[:, 0] = True
    return lanes


def shuffle(mode: str, lane: int, b: int, width: int) -> tuple[int, bool]:
    """__shfl_*_sync's documentation for a power-of-two width."""
    start = lane // width * width
    if mode == "IDX":
        return start + b % width, True
    target = {"UP": lane - b, "DOWN": lane + b, "BFLY": lane ^ b}[mode]
    if mode == "UP":
        return (target, True) if target >= start else (lane, False)
    return (target, True) if target < start + width else (lane, False)


@pytest.mark.parametrize("width", [32, 16, 8, 2])
@pytest.mark.parametrize("mode", ["IDX", "UP", "DOWN", "BFLY"])
def test_shuffles(mode: str, width: int) -> None:
    lanes = machine()
    value = lanes.registers["R1"].copy()
    c = (32 - width) << 8 | (0 if mode == "UP" else 0x1F)
    for b in (0, 1, 3, 8, 16, 31):
        execute(f"SHFL.{mode} P0, R0, R1, {b:#x}, {c:#x}", lanes)
        for warp in range(WARPS):
            for lane in range(32):
                source, inside = shuffle(mode, lane, b, width)
                assert lanes.full(lanes.registers["R0"])[0, warp, lane] == value[0, warp, source], (
                    mode,
                    width,
                    b,
                    lane,
                )
                assert np.broadcast_to(lanes.predicates["P0"], value.shape)[0, warp, lane] == inside


def test_shuffle_by_a_register_that_differs_by_lane() -> None:
    lanes = machine()
    execute("SHFL.IDX PT, R0, R1, R2, 0x1f", lanes)
    index = (lanes.registers["R2"] & np.uint32(31)).astype(int)
    assert (lanes.registers["R0"] == np.take_along_axis(lanes.registers["R1"], index, axis=-1)).all()


@pytest.mark.parametrize("active", [True, False])
def test_votes(active: bool) -> None:
    lanes = machine(1, active)
    mask, predicate = lanes.mask.copy(), lanes.predicates["P1"].copy()
    execute("VOTE.ANY R0, PT, P1", lanes)
    execute("VOTEU.ANY UR4, UPT, PT", unmasked(lanes))
    for warp in range(WARPS):
        on = [lane for lane in range(32) if mask[0, warp, lane]]
        ballot = sum(1 << lane for lane in on if predicate[0, warp, lane])
        assert all(lanes.full(lanes.registers["R0"])[0, warp, lane] == ballot for lane in on)
    for how, test in (("ANY", any), ("ALL", all)):
        execute(f"VOTE.{how} P0, !P1", lanes)
        for warp in range(WARPS):
            on = [lane for lane in range(32) if mask[0, warp, lane]]
            agreed = test(not predicate[0, warp, lane] for lane in on)
            assert all(lanes.full(lanes.predicates["P0"])[0, warp, lane] == agreed for lane in on)


def unmasked(lanes: SmallLanes) -> SmallLanes:
    """The machine as a uniform result sees it: written once per warp, whatever lanes are on."""
    copy = SmallLanes(lanes.blocks, lanes.warps)
    copy.registers, copy.predicates = lanes.registers, lanes.predicates
    return copy


@pytest.mark.parametrize("active", [True, False])
def test_matches(active: bool) -> None:
    lanes = machine(2, active, small=True)
    lanes.registers["R1"][0, 2] = 3  # one warp that agrees
    value, mask = lanes.registers["R1"].copy(), lanes.mask.copy()
    execute("MATCH.ANY R0, R1", lanes)
    for warp in range(WARPS):
        on = [lane for lane in range(32) if mask[0, warp, lane]]
        for lane in on:
            want = sum(1 << other for other in on if value[0, warp, other] == value[0, warp, lane])
            assert lanes.full(lanes.registers["R0"])[0, warp, lane] == want
    execute("MATCH.ALL P0, R0, R1", lanes)
    for warp in range(WARPS):
        on = [lane for lane in range(32) if mask[0, warp, lane]]
        same = len({int(value[0, warp, lane]) for lane in on}) == 1
        everyone = sum(1 << lane for lane in on)
        for lane in on:
            assert lanes.full(lanes.predicates["P0"])[0, warp, lane] == same
            assert lanes.full(lanes.registers["R0"])[0, warp, lane] == (everyone if same else 0)


REDUCTIONS = {
    "": lambda values: int(np.bitwise_and.reduce(values)),
    ".OR": lambda values: int(np.bitwise_or.reduce(values)),
    ".XOR": lambda values: int(np.bitwise_xor.reduce(values)),
    ".SUM": lambda values: sum(values.tolist()) % 2**32,
    ".SUM.S32": lambda values: sum(values.tolist()) % 2**32,
    ".MIN": lambda values: min(values.tolist()),
    ".MAX": lambda values: max(values.tolist()),
    ".MIN.S32": lambda values: min(values.view(np.int32).tolist()) % 2**32,
    ".MAX.S32": lambda values: max(values.view(np.int32).tolist()) % 2**32,
}


@pytest.mark.parametrize("how", sorted(REDUCTIONS))
def test_reductions(how: str) -> None:
    lanes = machine(3)
    active = np.random.default_rng(4).random((1, WARPS, 32)) < 0.6
    lanes.active = lambda: active  # type: ignore[method-assign]
    execute(f"REDUX{how} UR4, R1", lanes)
    for warp in range(WARPS):
        want = REDUCTIONS[how](lanes.registers["R1"][0, warp][active[0, warp]])
        assert lanes.registers["UR4"][0, warp, 0] == want


def test_movm_transposes_halves() -> None:
    lanes = SmallLanes(1, 1)
    matrix = np.arange(64, dtype=np.uint16).reshape(8, 8)
    lanes.registers["R1"] = matrix.view(np.uint32).reshape(1, 1, 32)
    execute("MOVM.16.MT88 R0, R1", lanes)
    assert (lanes.registers["R0"].view(np.uint16).reshape(8, 8) == matrix.T).all()


def test_r2ur_takes_the_first_active_lane() -> None:
    lanes = machine(5)
    active = lanes.registers["R3"] == 1
    active[0, 1] = False
    active[0, 1, 17] = True
    lanes.active = lambda: active  # type: ignore[method-assign]
    execute("R2UR UR4, R1", lanes)
    assert lanes.registers["UR4"].shape == (1, WARPS, 1)
    assert lanes.registers["UR4"][0, 1, 0] == lanes.registers["R1"][0, 1, 17]
