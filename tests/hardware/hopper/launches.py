"""The launches of the probes: plain data with nothing but numpy, for the recording machine and for the replay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

try:
    from tests.hardware.hopper.sources import IMAGE_BYTES, PRODUCTS, Product
except ImportError:  # on the recording machine this folder is the path
    from sources import IMAGE_BYTES, PRODUCTS, Product  # type: ignore[import-not-found,no-redef]

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
#: Where the right operand's tile begins in the image.
RIGHT = IMAGE_BYTES // 2


@dataclass(frozen=True)
class Layout:
    """How a descriptor describes a tile: swizzled bytes of a row (0: none), its two offsets, where it starts."""

    swizzle: int
    leading: int
    stride: int
    start: int = 0

    def word(self, tile: int) -> int:
        """The descriptor of a tile that begins at this byte of the image."""
        mode = {0: 0, 128: 1, 64: 2, 32: 3}[self.swizzle]
        return (tile + self.start) >> 4 | self.leading >> 4 << 16 | self.stride >> 4 << 32 | mode << 62


#: Tiles whose rows of K lie together, and tiles whose columns do (``tnsp``).
ALONG_K = (
    Layout(0, 128, 256),
    Layout(0, 2048, 128),
    Layout(32, 16, 256),
    Layout(64, 16, 512),
    Layout(64, 16, 512, 32),
    Layout(128, 16, 1024),
    Layout(128, 16, 1024, 64),
    Layout(128, 16, 2048, 96),
    Layout(128, 16, 1024, 256),
)
ACROSS_K = (
    Layout(0, 128, 1024),
    Layout(0, 2048, 128),
    Layout(32, 1024, 256),
    Layout(64, 2048, 512),
    Layout(128, 4096, 1024),
    Layout(128, 2048, 4096),
    Layout(128, 8192, 1024, 2048),
)


@dataclass(frozen=True)
class ProductLaunch:
    """One launch of a product's kernel."""

    name: str
    product: Product
    left: int
    right: int
    scale: int
    mixture: str
    seed: int

    def arrays(self) -> tuple[Bytes, Bytes, Bytes]:
        """(image, registers, sums) as bytes."""
        rng = np.random.default_rng(self.seed)
        types = self.product.kind.split(".")
        image = np.concatenate([numbers(rng, types[side], self.mixture, IMAGE_BYTES // 2) for side in (1, 2)])
        registers = numbers(rng, types[1], self.mixture, 128 * 16)
        mixture = "zero" if self.mixture == "cancel" else self.mixture
        sums = numbers(rng, types[0], mixture, 128 * 4 * self.product.registers)
        return image, registers, sums


def numbers(rng: np.random.Generator, kind: str, mixture: str, nbytes: int) -> Bytes:
    """Bytes of a type: ``normal`` near one, ``range`` of many exponents, ``special`` any bits, ``cancel`` +-2^n."""
    width, exponent, mantissa = {
        "f32": (4, 8, 23), "tf32": (4, 8, 23), "f16": (2, 5, 10), "bf16": (2, 8, 7), "e4m3": (1, 4, 3),
        "e5m2": (1, 5, 2), "s8": (1, 0, 0), "u8": (1, 0, 0), "s32": (4, 0, 0),
    }[kind]  # fmt: skip
    word = {1: np.uint8, 2: np.uint16, 4: np.uint32}[width]
    count = nbytes // width
    bits = rng.integers(0, 2 ** (8 * width), count, dtype=np.uint64)
    if mixture == "zero":
        bits[:] = 0
    elif exponent and mixture != "special":
        bias = 2 ** (exponent - 1) - 1
        low, high = {"normal": (-2, 2), "range": (-min(bias - 1, 20), min(bias, 20)), "cancel": (-6, 7)}[mixture]
        chosen = rng.integers(bias + low, bias + high, count, dtype=np.uint64)
        fraction = bits & np.uint64(2**mantissa - 1)
        if mixture == "cancel":
            fraction[:] = 0
        sign = bits >> np.uint64(8 * width - 1) << np.uint64(8 * width - 1)
        bits = sign | chosen << np.uint64(mantissa) | fraction
    return bits.astype(word).view(np.uint8)


def product_launches() -> list[ProductLaunch]:
    """Every product over every layout it may have, and over mixtures of numbers."""
    launches = []
    for product in PRODUCTS:
        tail = product.tail.split(", ")
        lefts = ACROSS_K if len(tail) > 4 and tail[3] == "1" else ALONG_K
        rights = ACROSS_K if len(tail) > 3 and tail[-1] == "1" and len(product.tail) > 8 else ALONG_K
        pairs = [(lefts[number % len(lefts)], layout, "normal", 1) for number, layout in enumerate(rights)]
        pairs += [(layout, rights[number % len(rights)], "normal", 1) for number, layout in enumerate(lefts)]
        room = IMAGE_BYTES - RIGHT
        pairs = [pair for pair in pairs if pair[1].stride * product.columns // 8 + pair[1].start <= room]
        if product.columns > 64:
            pairs = pairs[-3:]
        plain = (lefts[0], rights[0])
        mixtures = ("range", "special", "cancel") * (3 if product.columns <= 64 else 1)
        pairs += [(*plain, mixture, 1) for mixture in mixtures] + [(*plain, "normal", 0)]
        for left, right, mixture, scale in pairs:
            number = len(launches)
            words = left.word(0), right.word(RIGHT)
            launches.append(ProductLaunch(f"{product.name} {number}", product, *words, scale, mixture, number))
    return launches


@dataclass(frozen=True)
class TensorMap:
    """What cuTensorMapEncodeTiled is given, innermost dimension first; strides in bytes from the second one on."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    steps: tuple[int, ...] = ()
    swizzle: int = 0
    interleave: int = 0
    nan_fill: bool = False

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class CopyLaunch:
    """A box copied to shared memory at ``offset``, or stored from it."""

    name: str
    map: TensorMap
    place: tuple[int, ...]
    store: bool = False
    offset: int = 0
    count: int = field(default=1024, kw_only=True)  #: 16-byte words of shared memory that are written out


def copy_launches() -> list[CopyLaunch]:
    """Boxes of every rank, all swizzles, beyond the edges, with steps."""
    half = TensorMap("float16", (128, 96), (256,), (64, 32))
    launches = [
        CopyLaunch("row", TensorMap("float32", (1000,), (), (128,)), (64,)),
        CopyLaunch("row beyond", TensorMap("float32", (1000,), (), (128,)), (948,)),
        CopyLaunch("row misaligned", TensorMap("float32", (1000,), (), (128,)), (950,)),
        CopyLaunch("row before", TensorMap("int32", (1000,), (), (64,)), (-20,)),
        CopyLaunch("plain", half, (64, 32)),
        CopyLaunch("corner", half, (96, 80)),
        CopyLaunch("before", half, (-8, -3)),
        CopyLaunch("nothing", half, (128, 96)),
    ]
    for swizzle, columns in ((32, 16), (64, 32), (128, 64)):
        map = TensorMap("float16", (128, 96), (256,), (columns, 48), swizzle=swizzle)
        launches += [
            CopyLaunch(f"swizzle {swizzle}", map, (32, 5)),
            CopyLaunch(f"swizzle {swizzle} edge", map, (112, 60)),
            CopyLaunch(f"swizzle {swizzle} offset", map, (0, 0), offset=1024 + 128),
            CopyLaunch(f"swizzle {swizzle} store", map, (48, 70), store=True),
        ]
    narrow = TensorMap("float16", (128, 96), (256,), (16, 40), swizzle=128)
    bytes_ = TensorMap("uint8", (512, 40), (512,), (128, 16), swizzle=128)
    steps = TensorMap("float32", (64, 64), (256,), (32, 16), steps=(1, 2))
    wide = TensorMap("float64", (32, 64), (256,), (16, 8), nan_fill=True)
    nan = TensorMap("float16", (128, 96), (256,), (64, 32), nan_fill=True)
    cube = TensorMap("float32", (32, 20, 10), (128, 128 * 20), (16, 8, 3), swizzle=64)
    four = TensorMap("bfloat16", (32, 12, 6, 4), (64, 64 * 12, 64 * 72), (16, 4, 3, 2), swizzle=32)
    five = TensorMap("int32", (16, 6, 5, 4, 3), (64, 384, 1920, 7680), (8, 2, 2, 2, 2))
    launches += [
        CopyLaunch("narrow rows", narrow, (16, 8)),
        CopyLaunch("bytes", bytes_, (96, 3)),
        CopyLaunch("steps", steps, (0, 4)),
        CopyLaunch("steps edge", steps, (48, 60)),
        CopyLaunch("nan", nan, (104, 90)),
        CopyLaunch("nan floats", TensorMap("float32", (64, 64), (256,), (16, 8), nan_fill=True), (52, 60)),
        CopyLaunch("doubles", wide, (24, 60)),
        CopyLaunch("cube", cube, (8, 4, 2)),
        CopyLaunch("cube edge", cube, (24, 15, 8)),
        CopyLaunch("four", four, (16, 2, 1, 1)),
        CopyLaunch("four edge", four, (24, 10, 4, 3)),
        CopyLaunch("five", five, (4, 1, 2, 1, 0)),
        CopyLaunch("five edge", five, (12, 5, 4, 3, 2)),
        CopyLaunch("row store", TensorMap("float32", (1000,), (), (128,)), (920,), store=True),
        CopyLaunch("corner store", half, (96, 80), store=True),
        CopyLaunch("cube store", cube, (24, 15, 8), store=True),
        CopyLaunch("four store", four, (24, 10, 4, 3), store=True),
        CopyLaunch("five store", five, (12, 5, 4, 3, 2), store=True),
    ]
    return launches


def tensor_bytes(map: TensorMap) -> int:
    """Bytes from the first to the last row of the tensor."""
    strides = (ITEM[map.dtype], *map.strides)
    return sum((size - 1) * stride for size, stride in zip(map.shape, strides, strict=True)) + ITEM[map.dtype]


ITEM = {"uint8": 1, "float16": 2, "bfloat16": 2, "float32": 4, "int32": 4, "float64": 8}


def tensor_content(nbytes: int) -> Bytes:
    """Bytes that differ from their neighbours."""
    return (np.arange(nbytes, dtype=np.uint32) * 2654435761 >> 13).astype(np.uint8)


def shared_content(count: int) -> Bytes:
    """What lies in shared memory before a box is stored from it: ``count`` words of 16 bytes."""
    return tensor_content(16 * count)[::-1].copy()


def box_bytes(map: TensorMap) -> int:
    """Bytes that a copy of the box announces to its barrier."""
    steps = map.steps or (1,) * map.rank
    counts = [-(-size // step) for size, step in zip(map.box, steps, strict=True)]
    return int(np.prod(counts)) * ITEM[map.dtype]
