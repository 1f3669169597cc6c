"""Whole kernels against numpy: control flow, barriers, memories, atomics, the device runtime."""

from __future__ import annotations

import numpy as np
import pytest

from gpuprof.errors import BarrierRuleError, DeviceAssertError, MemoryFaultError
from tests.emulator.emulated_kernels import Kernels, i32, ints

INST = "smsp__inst_executed.sum"


@pytest.fixture(params=["sm_89", "sm_90"], name="kernels")
def _kernels(request: pytest.FixtureRequest) -> Kernels:
    return Kernels(request.param.replace("_", ""))


def arange(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


def test_block_and_thread_indices(kernels: Kernels) -> None:
    out = ints(2 * 3 * 2, 5 * 3 * 2)
    kernels.run("block_ids", (2, 3, 2), (5, 3, 2), out)
    assert np.array_equal(out, np.arange(12)[:, None] * 10000 + np.arange(30))


def test_threads_that_exited_are_not_waited_for(kernels: Kernels) -> None:
    out = ints(256) - 1
    kernels.run("early_exit_barrier", 1, 256, out)
    assert np.array_equal(out[:64], arange(64))
    assert (out[64:] == -1).all()


def test_a_barrier_in_half_a_warp(kernels: Kernels) -> None:
    with pytest.raises(BarrierRuleError, match="16 threads of the block went round this barrier") as caught:
        kernels.run("half_warp_barrier", 1, 32, ints(32))
    assert caught.value.location is not None
    assert caught.value.location.line == 44


def test_barriers_that_reduce(kernels: Kernels) -> None:
    values = np.random.default_rng(3).integers(0, 10, (20, 96)).astype(np.int32)
    values[4] = 5
    out = ints(20, 3)
    kernels.run("counting_barriers", 20, 96, values, out)
    assert np.array_equal(out[:, 0], (values > 3).sum(axis=1))
    assert np.array_equal(out[:, 1] != 0, (values > 0).all(axis=1))
    assert np.array_equal(out[:, 2] != 0, (values > 8).any(axis=1))


def test_a_named_barrier_between_producer_and_consumer(kernels: Kernels) -> None:
    out = ints(32)
    kernels.run("producer_consumer", 1, 64, out)
    assert np.array_equal(out, 131 - arange(32))


def collatz_steps(n: int) -> int:
    steps = 0
    while n != 1:
        n, steps = (3 * n + 1 if n % 2 else n // 2), steps + 1
    return steps


def test_data_dependent_loops_over_many_warps(kernels: Kernels) -> None:
    start = np.random.default_rng(1).integers(1, 3000, 5000).astype(np.int32)
    out = ints(5000)
    counters = kernels.run("collatz", 20, 256, start, out, i32(5000)).counters
    assert np.array_equal(out, [collatz_steps(int(n)) for n in start])
    alone = Kernels(kernels.cubin.stem.removeprefix("engine_"), threads=1)
    counted = [
        alone.run("collatz", 1, 32, start[32 * warp : 32 * warp + 32], ints(32), i32(32)).counters[INST]
        for warp in range(20)
    ]
    first = kernels.run("collatz", 20, 32, start[:640], ints(640), i32(640)).counters[INST]
    assert first == sum(counted)  # whatever runs beside a warp, it executes the same instructions
    assert counters["sm__warps_launched.sum"] == 160


def test_nested_divergence(kernels: Kernels) -> None:
    trips = np.random.default_rng(2).integers(0, 60, 64).astype(np.int32)
    want = []
    for lane, trip in enumerate(trips):
        total = 0
        for i in range(trip):
            if i % 3 == 0:
                total += sum(j * lane for j in range(i))
            elif i % 3 == 1:
                total ^= i
            if total > 5000:
                break
        want.append(total)
    out = ints(64)
    kernels.run("nested", 1, 64, trips, out)
    assert np.array_equal(out, want)


def test_a_switch(kernels: Kernels) -> None:
    choice, i = arange(96) % 9, arange(96)
    cases = [i * 7, i // 3, i - 90, i ^ 0x55, ~i, i << 3, i * i, i % 5, i * 0 - 1]
    out = ints(96)
    kernels.run("choose", 1, 96, choice, out)
    assert np.array_equal(out, np.choose(choice, cases))


def test_recursion(kernels: Kernels) -> None:
    out = ints(70)
    kernels.run("recursive", 1, 70, i32(7), out)
    assert np.array_equal(out, np.array([13, 21, 34, 55])[arange(70) % 4])


def test_function_pointers(kernels: Kernels) -> None:
    out = ints(40)
    kernels.run("function_pointers", 1, 40, i32(21), out)
    assert np.array_equal(out, np.where(arange(40) % 2, 42, 22))


def test_local_memory(kernels: Kernels) -> None:
    out = ints(48)
    counters = kernels.run("local_array", 1, 48, i32(11), out).counters
    want = [sum((i * 7) % 11 * 11 * (i + lane) for i in range(11)) for lane in range(48)]
    assert np.array_equal(out, want)
    stores = counters["smsp__sass_inst_executed_op_local_st.sum"]
    assert stores >= 2 * 11  # two warps
    # words of one lane offset lie side by side: a full warp's word is 4 sectors, the half warp's 2
    assert counters["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"] == stores // 2 * (4 + 2)


@pytest.mark.parametrize("which", [0, 1, 32, 64])
def test_generic_pointers(kernels: Kernels, which: int) -> None:
    """Lanes of one warp may follow pointers into shared and into global memory."""
    values, out = arange(64) * 3, ints(64)
    counters = kernels.run("generic_pointer", 1, 64, values, out, i32(which)).counters
    want = np.where(arange(64) & which, 1063 - arange(64), (63 - arange(64)) * 3)
    assert np.array_equal(out, want)
    if which == 32:  # one warp reads shared memory, the other global
        assert counters["smsp__sass_inst_executed_op_shared_ld.sum"] == 1
        assert counters["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] == 1


def test_vectors_and_sign_extension(kernels: Kernels) -> None:
    values, out = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    narrow, wide = (arange(32) * 1500 - 20000).astype(np.int16), ints(32)
    counters = kernels.run("vectors", 1, 32, values, out, narrow, wide).counters
    assert np.array_equal(out.reshape(32, 4), values.reshape(32, 4)[:, ::-1])
    assert np.array_equal(wide, narrow)
    # one 128-bit load of 512 bytes (16 sectors), one 16-bit load of 64 bytes (2)
    assert counters["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 18


def test_the_written_map_knows_bytes(kernels: Kernels) -> None:
    device = kernels.device
    bytes_, halves = device.allocate(100), device.allocate(200)
    from gpuprof.device.base import Launch, Pointer

    arguments = (Pointer(bytes_), Pointer(halves))
    device.launch(Launch(kernels.cubin, "narrow_stores", (1, 1, 1), (32, 1, 1), 0, arguments))
    assert np.flatnonzero(device.written(bytes_)).tolist() == list(range(0, 96, 3))
    assert np.flatnonzero(device.written(halves)).tolist() == [6 * n + k for n in range(32) for k in (0, 1)]
    device.poison(bytes_, 0)
    assert not device.written(bytes_).any()


def test_global_atomics(kernels: Kernels) -> None:
    counters, order = ints(4), ints(100)
    total, wrap = np.zeros(1, np.float32), np.zeros(1, np.uint32)
    kernels.run("atomics", 1, 100, counters, order, total, wrap)
    assert sorted(order) == list(range(100))
    lanes = np.bitwise_xor.reduce(1 << (arange(100) % 31))
    assert counters.tolist() == [100, 297, 77, lanes]
    assert (total[0], wrap[0]) == (50.0, 0)


def test_shared_atomics(kernels: Kernels) -> None:
    values = np.random.default_rng(5).integers(0, 1 << 30, 40 * 128).astype(np.uint32)
    out = ints(16)
    kernels.run("histogram", 40, 128, values, out)
    assert np.array_equal(out, np.bincount(values % 16, minlength=16))


def test_a_spin_lock_makes_progress(kernels: Kernels) -> None:
    lock, total = ints(1), ints(1)
    kernels.run("spin_lock", 3, 40, lock, total)
    assert (lock[0], total[0]) == (0, 120)


def test_asynchronous_copies(kernels: Kernels) -> None:
    values, out = arange(64, 4), ints(64, 4)
    counters = kernels.run("async_copy", 1, 64, values, out).counters
    assert np.array_equal(out, values[::-1])
    assert counters["smsp__sass_inst_executed_op_ldgsts.sum"] == 2


def test_matrices_of_ldmatrix(kernels: Kernels) -> None:
    out = ints(96)
    kernels.run("load_matrix", 1, 32, out)
    lane = arange(32)
    first = 8 * (lane // 4) + 2 * (lane % 4)  # element (row lane/4, column 2(lane%4)) of an 8x8 matrix
    assert np.array_equal(out[:32], first | first + 1 << 16)
    assert np.array_equal(out[32:64], first + 192 | first + 193 << 16)
    low, high = 8 * (2 * (lane % 4)) + lane // 4, 8 * (2 * (lane % 4) + 1) + lane // 4
    assert np.array_equal(out[64:], low | high << 16)


def test_tiles_of_a_warp(kernels: Kernels) -> None:
    values, out = arange(96) ** 2, ints(6)
    kernels.run("tile_reduce", 1, 96, values, out)
    assert np.array_equal(out, values.reshape(6, 16).sum(axis=1))


def test_a_shuffle_of_some_lanes(kernels: Kernels) -> None:
    values, out = arange(64) * 5, ints(64)
    kernels.run("masked_shuffle", 1, 64, values, out)
    assert np.array_equal(out, np.where(arange(64) % 2, values + values[arange(64) ^ 2], values))


def test_device_variables_outlive_a_launch(kernels: Kernels) -> None:
    out = ints(8)
    for launches in (1, 2):
        kernels.run("globals", 1, 8, out)
        assert np.array_equal(out, np.array([5, 6, 7, 8] * 2) + 100 * launches)


def test_printf(kernels: Kernels) -> None:
    text = np.frombuffer(b"hello\0", np.uint8).copy()
    printed = kernels.run("prints", 1, 64, i32(-5), np.float64(2.5).tobytes(), text).printed
    want = "{} 4294967291  2.50 hello x -5 ff %|-5  |\n"
    assert printed == want.format(0) + want.format(1)


def test_a_failed_assert_has_its_text(kernels: Kernels) -> None:
    kernels.run("asserts", 1, 32, i32(32))
    with pytest.raises(
        DeviceAssertError, match=r"engine\.cu:\d+: .*asserts.*`n > \(int\)threadIdx.x` failed"
    ) as caught:
        kernels.run("asserts", 1, 64, i32(33))
    assert caught.value.location is not None
    assert caught.value.location.thread == (33, 0, 0)


def test_the_heap(kernels: Kernels) -> None:
    small = Kernels(kernels.cubin.stem.removeprefix("engine_"), heap_bytes=4096)
    pointers = np.zeros(32, np.uint64)
    small.run("heap", 1, 32, i32(64), pointers)
    assert len(set(pointers.tolist())) == 32
    assert not (pointers % 16).any()
    small.run("heap", 1, 32, i32(2048), pointers)  # half of the heap is in use: one such block fits
    assert np.count_nonzero(pointers) == 0 or pointers[pointers != 0].size == 1
    with pytest.raises(MemoryFaultError, match="out of bounds"):
        small.run("null_pointer", 1, 1, ints(1), (1 << 40).to_bytes(8, "little"))


def test_a_sample_scales_to_the_whole_grid(kernels: Kernels) -> None:
    """700x500 elements in 16x16 blocks: the last column and row of blocks are partly outside."""
    name = kernels.cubin.stem.removeprefix("engine_")
    values, out = np.ones(700 * 500, np.float32), np.zeros(700 * 500, np.float32)
    arguments = (values, out, i32(700), i32(500))
    whole = kernels.run("bounded", (44, 32), (16, 16), *arguments)
    out[:] = 0
    sampled = Kernels(name, budget=100_000).run("bounded", (44, 32), (16, 16), *arguments)
    assert (whole.blocks_run, whole.scaled) == (44 * 32, False)
    assert sampled.blocks_run < 60
    assert sampled.blocks_total == 44 * 32
    tags = "smsp__sass_l1tex_tags_mem_global.sum"  # rows begin at changing places of a 128-byte line: an estimate
    assert sampled.counters[tags] == pytest.approx(whole.counters[tags], rel=0.01)
    assert {**sampled.counters, tags: 0} == {**whole.counters, tags: 0}
    assert np.count_nonzero(out) < 60 * 256


def test_counters_do_not_depend_on_threads_or_batches(kernels: Kernels) -> None:
    name = kernels.cubin.stem.removeprefix("engine_")
    start = np.random.default_rng(9).integers(1, 500, 40_000).astype(np.int32)
    results = []
    for threads in (1, 3):
        out = ints(40_000)
        counters = Kernels(name, threads=threads).run("collatz", 157, 256, start, out, i32(40_000)).counters
        results.append((counters, out.tolist()))
    assert results[0] == results[1]


def test_counts_of_each_source_line(kernels: Kernels) -> None:
    launch = kernels.run(
        "bounded", (2, 1), (16, 16), np.ones(512, np.float32), np.zeros(512, np.float32), i32(32), i32(16)
    )
    assert sum(each.counters[INST] for each in launch.per_instruction) == launch.counters[INST]
    stores = [each for each in launch.per_instruction if each.text.startswith(("STG", "@")) and "STG" in each.text]
    assert len(stores) == 1
    assert stores[0].file.endswith("engine.cu")
    assert stores[0].line is not None
    assert stores[0].counters["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"] == 16


def test_a_jump_table_is_read_by_the_lanes_that_are_there(kernels: Kernels) -> None:
    """The other lanes' index registers already hold other values, such as ~185."""
    out = ints(200) - 77
    kernels.run("jump_table", 1, 200, out)
    assert out.tolist() == [_jump(i) for i in range(200)]


def _jump(i: int) -> int:
    looped = i * int(np.prod([1 + j for j in range(i % 5)]))
    cases = (i + 3, 7 * i - 5, i - 5, ~i, i ^ 0x55, i * i, looped, i << 2, i >> 1, i | 1024, -77, i % 9, -i)
    return cases[i % 13]


def test_a_shared_sum_of_doubles_by_compare_and_swap(kernels: Kernels) -> None:
    out = np.zeros(1)
    kernels.run("shared_double_sum", 1, 64, out)
    assert out[0] == 0.5 * 63 * 64 / 2


def test_a_clock_of_64_bits_goes_forward(kernels: Kernels) -> None:
    out = np.zeros(64, np.int64)
    kernels.run("clocks", 1, 32, out)
    assert (out[:32] > 0).all()
    assert (out[32:] >= out[:32]).all()


@pytest.mark.parametrize("arch", ["sm89", "sm90", "sm120"])
def test_sums_of_128_bits_carry(arch: str) -> None:
    """On sm_120 nvcc adds pairs: IADD.64 RZ, P0, ... and IADD.64.X."""
    random = np.random.default_rng(8)
    a, b = (random.integers(-(1 << 63), 1 << 63, 32) for _ in range(2))
    a[:4], b[:4] = (0, -1, 1, 0), (0, 0, -1, 5)
    out = np.zeros(64, np.int64)
    Kernels(arch).run("sum_of_128_bits", 1, 32, a, b, out)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert out[:32].tolist() == [(x * y + x) >> 64 for x, y in pairs]
    assert out[32:].tolist() == [(x * y - (y << 3)) >> 64 for x, y in pairs]


def test_a_compare_and_swap_that_writes_a_predicate() -> None:
    """ATOMS.CAST.SPIN.64 P0, [R3], R4, R6 of sm_120."""
    out = np.zeros(1)
    Kernels("sm120", instruction_limit=20_000).run("shared_double_sum", 1, 64, out)
    assert out[0] == 0.5 * 63 * 64 / 2
