"""Tensor maps: what cuTensorMapEncodeTiled refuses (CUDA driver API), and the bytes that a copy announces."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuprof.isa.tensor_map import TensorMap, mistakes_of

GOOD = TensorMap("float16", (256, 128), (512,), (64, 32), swizzle=128)


def test_a_valid_map_has_no_mistakes() -> None:
    assert mistakes_of(GOOD) == []
    assert GOOD.copied_bytes == 64 * 32 * 2
    assert GOOD.array_bytes == 127 * 512 + 255 * 2 + 2


def test_steps_thin_out_a_box() -> None:
    thin = replace(GOOD, steps=(1, 3))
    assert thin.counts == (64, 11)  # rows 0, 3, ... 30 of 32
    assert thin.copied_bytes == 64 * 11 * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dtype": "complex64"}, "a tensor map of complex64"),
        ({"box": (64, 257)}, "box 257 of a tensor map: 1 to 256 is possible"),
        ({"strides": (520,)}, "rows of a tensor map lie 520 bytes apart"),
        ({"box": (4, 32), "swizzle": 0}, "a row of the box has 8 bytes: that must be a multiple of 16"),
        ({"box": (128, 32)}, "a row of the box has 256 bytes, more than its swizzle of 128"),
        ({"steps": (1, 9)}, "step 9 of a tensor map: 1 to 8 is possible"),
        ({"box": (64,)}, "needs a box of 2 sizes, not 1"),
        ({"swizzle": 48}, "swizzle 48: one of 0, 32, 64, 128"),
    ],
)
def test_what_the_driver_refuses(change: dict[str, object], message: str) -> None:
    (found,) = mistakes_of(replace(GOOD, **change))
    assert message in found
