"""Types that numpy has no word for: what is in memory, what fills may hold, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpuprof.errors import ExpressionError
from gpuprof.experiment import element_types as types
from gpuprof.experiment.fills import materialize
from gpuprof.experiment.model import Buffer, Experiment, Fill

REAL = [name for name in types.DTYPES if types.kind_of(name) in "fiu"]


@pytest.mark.parametrize("name", REAL)
def test_storage_gives_the_values_back(name: str) -> None:
    low = max(-8, types.integer_limits(name)[0]) if types.kind_of(name) in "iu" else -8
    values = np.arange(low, low + 16).reshape(2, 8).astype(types.value_dtype(name))
    stored = types.to_storage(values, name)
    assert stored.shape == types.storage_shape(name, values.shape)
    assert stored.nbytes == types.nbytes_of(name, values.size)
    assert np.array_equal(types.from_storage(stored, name), values)


def test_bits_are_those_of_the_formats() -> None:
    """1.5 by the formats' definitions; two 4-bit numbers share a byte, the first in its low half."""
    for name, bits in (("bfloat16", 0x3FC0), ("float8_e4m3", 0x3C), ("float8_e5m2", 0x3E)):
        assert types.to_storage(np.array([1.5], types.value_dtype(name)), name)[0] == bits
    assert list(types.to_storage(np.array([1, -2, 7, -8], np.int8), "int4")) == [0xE1, 0x87]
    assert list(types.to_storage(np.array([1 + 2j], np.complex64), "complex64")[0]) == [1, 2]


def test_largest_values_have_no_infinity_in_e4m3() -> None:
    assert materialize(Buffer("x", "float8_e4m3", (1,), Fill("constant", value=448)))[0] == 448
    with pytest.raises(ExpressionError, match="500"):
        materialize(Buffer("x", "float8_e4m3", (1,), Fill("constant", value=500)))
    with pytest.raises(ExpressionError, match="outside int4's -8 to 7"):
        materialize(Buffer("x", "int4", (2,), Fill("constant", value=8)))


def test_random_fills_stay_in_the_type() -> None:
    fill = Fill("random", distribution="normal", seed=1)
    assert np.iscomplexobj(materialize(Buffer("x", "complex64", (8,), fill)))
    assert materialize(Buffer("x", "bfloat16", (8,), fill)).dtype.name == "bfloat16"


def test_a_list_holds_every_element(loaded: Callable[..., Experiment], mistakes: Callable[..., list[str]]) -> None:
    new = ('A: {dtype: float32, shape: [M, K], fill: "i % 13 - 6"}', "A: {dtype: float32, shape: 3, fill: [1, K, 0.5]}")
    plain = ("reference: {C: A @ B}", "reference: {C: 0}")
    buffer = loaded(new, plain).variants[0].buffers["A"]
    assert list(materialize(buffer)) == [1, 16, 0.5]
    assert mistakes((new[0], "A: {dtype: float32, shape: 3, fill: [1, 2]}"), plain)[0].endswith(
        "lists 2 values, and the shape [3] has 3"
    )


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ("{dtype: pointer, shape: 2, fill: [B, D]}", "there is no buffer 'D'"),
        ("{dtype: pointer, shape: 2, fill: [B]}", "lists 1 addresses, and the shape [2] has 2"),
        ("{dtype: pointer, shape: 2, fill: 0}", "lists the buffers that it points to"),
        ("{dtype: pointer, shape: 2, output: true, fill: [B, B]}", "an input: addresses differ"),
        ("{dtype: float32, shape: 2, fill: {buffer: B}}", "addresses are of dtype pointer"),
        ("{dtype: pointer, shape: 2, fill: {buffer: B, offset: i * 1000}}", "is 1000 at i = 1; B has 512 elements"),
        ("{dtype: int4, shape: [2, 3], fill: 0}", "two int4 share a byte"),
        ("{dtype: bf16, shape: 2, fill: 0}", "perhaps 'bfloat16'"),
    ],
)
def test_mistakes_are_one_line(mistakes: Callable[..., list[str]], buffer: str, message: str) -> None:
    replaced = ('A: {dtype: float32, shape: [M, K], fill: "i % 13 - 6"}', f"A: {buffer}")
    found = mistakes(replaced, ("reference: {C: A @ B}", "reference: {C: 0}"))
    assert any(message in line for line in found), found


def test_addresses_count_elements(loaded: Callable[..., Experiment]) -> None:
    new = "A: {dtype: pointer, shape: 3, fill: {buffer: B, offset: i * N}}"
    variant = loaded(
        ('A: {dtype: float32, shape: [M, K], fill: "i % 13 - 6"}', new), ("reference: {C: A @ B}", "reference: {C: 0}")
    ).variants[0]
    assert [each.offset_bytes for each in variant.buffers["A"].fill.pointers if each] == [0, 128, 256]
