"""Warpgroup products and tensor copies that ``hopper/record.py`` recorded on an H200, replayed from the stored cubin.

Bytes are equal, special values and every layout of a descriptor included, and so is every counter that ncu gave.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuprof.device.base import Launch, LaunchArgument, LaunchCounters, MappedTensor, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.errors import MemoryFaultError
from gpuprof.isa import tensor_map
from gpuprof.toolchain import find_tools
from tests.hardware.hopper.launches import (
    IMAGE_BYTES,
    Bytes,
    CopyLaunch,
    ProductLaunch,
    box_bytes,
    copy_launches,
    product_launches,
    shared_content,
    tensor_bytes,
    tensor_content,
)

DATA = Path(__file__).parent / "hopper"
LAUNCHES: list[ProductLaunch | CopyLaunch] = [*product_launches(), *copy_launches()]
RECORDS: list[dict[str, Any]] = json.loads(gzip.decompress((DATA / "launches.json.gz").read_bytes()))["launches"]
PRODUCTS = sorted({launch.product.name for launch in product_launches()})
COPIES = [number for number, launch in enumerate(LAUNCHES) if isinstance(launch, CopyLaunch)]

pytestmark = pytest.mark.skipif(find_tools().nvdisasm is None, reason="needs nvdisasm")


@cache
def device() -> EmulatedDevice:
    return EmulatedDevice(EmulationOptions(budget=None, per_instruction=True))


class Buffers:
    """Device memory of one launch."""

    def __init__(self) -> None:
        self.handles: list[Any] = []

    def holding(self, data: Bytes) -> Pointer:
        pointer = self.of(data.nbytes)
        device().write(pointer.handle, data)
        return pointer

    def of(self, nbytes: int) -> Pointer:
        self.handles.append(device().allocate(nbytes))
        return Pointer(self.handles[-1])

    def free(self) -> None:
        for handle in self.handles:
            device().free(handle)


def word(value: int, nbytes: int = 4) -> bytes:
    return value.to_bytes(nbytes, "little", signed=nbytes == 4)


def product_call(launch: ProductLaunch, buffers: Buffers) -> tuple[str, list[LaunchArgument], Pointer, int]:
    image, registers, sums = (buffers.holding(array) for array in launch.arrays())
    nbytes = 128 * 4 * launch.product.registers
    result = buffers.of(nbytes)
    numbers = [word(launch.left, 8), word(launch.right, 8), word(launch.scale)]
    return launch.product.name, [image, *numbers, registers, sums, result], result, nbytes


def copy_call(launch: CopyLaunch, buffers: Buffers) -> tuple[str, list[LaunchArgument], Pointer, int]:
    map = launch.map
    host = tensor_content(tensor_bytes(map))
    tensor, image = buffers.holding(host), buffers.holding(shared_content(launch.count))
    more = [launch.count] if launch.store else [box_bytes(map), launch.offset, launch.count]
    mapped = MappedTensor(
        tensor,
        tensor_map.TensorMap(map.dtype, map.shape, map.strides, map.box, map.steps, map.swizzle, map.nan_fill),
    )
    kind = "store" if launch.store else "load"
    arguments = [mapped, *(word(value) for value in (*launch.place, *more)), image]
    written = (tensor, len(host)) if launch.store else (image, 16 * launch.count)
    return f"{kind}_{map.rank}d", arguments, *written


def replay(number: int) -> tuple[LaunchCounters, Bytes]:
    launch, buffers = LAUNCHES[number], Buffers()
    call = product_call if isinstance(launch, ProductLaunch) else copy_call
    try:
        kernel, arguments, written, nbytes = call(launch, buffers)  # type: ignore[arg-type]
        request = Launch(DATA / "hopper.cubin", kernel, (1, 1, 1), (128, 1, 1), IMAGE_BYTES, tuple(arguments))
        counters = device().launch(request)
        return counters, device().read(written.handle, "uint8", (nbytes,))
    finally:
        buffers.free()


def check(number: int) -> None:
    record = RECORDS[number]
    counters, got = replay(number)
    with np.load(DATA / "outputs.npz") as outputs:
        if str(number) in outputs.files:
            wrong = np.flatnonzero(got != outputs[str(number)])
            assert not len(wrong), f"{record['name']}: {len(wrong)} bytes differ, the first at {wrong[0]}"
    assert hashlib.sha256(got.tobytes()).hexdigest() == record["sha256"], record["name"]
    differing = {
        name: (counters.counters[name], value)
        for name, value in record["counters"].items()
        if counters.counters.get(name, value) != value
    }
    assert not differing, f"{record['name']}: (emulator, GPU): {differing}"


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str) -> None:
    """One of every layout and mixture of numbers in the ordinary run, the others in the slow one."""
    numbers = [n for n, each in enumerate(LAUNCHES) if isinstance(each, ProductLaunch) and each.product.name == name]
    for number in numbers[::6]:
        check(number)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRODUCTS)
def test_all_products(name: str) -> None:
    for number, each in enumerate(LAUNCHES):
        if isinstance(each, ProductLaunch) and each.product.name == name:
            check(number)


@pytest.mark.parametrize("number", COPIES, ids=[RECORDS[number]["name"].replace(" ", "-") for number in COPIES])
def test_copies(number: int) -> None:
    if "error" in RECORDS[number]:
        with pytest.raises(MemoryFaultError, match="not at a multiple of 16 bytes"):
            replay(number)
        return
    check(number)


def test_the_recording_is_of_these_launches() -> None:
    assert [record["name"] for record in RECORDS] == [launch.name for launch in LAUNCHES]
    counted = [record for record in RECORDS if record["counters"]]
    assert len(counted) >= 50
    classes = {name for record in counted for name in record["counters"] if "_op_" in name}
    assert len(classes) >= 20
