"""What buffers hold before the first launch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gpuprof.errors import ExpressionError
from gpuprof.experiment import fills
from gpuprof.experiment.fills import materialize
from gpuprof.experiment.model import Buffer, Experiment, Fill

Loaded = Callable[..., Experiment]


def buffer(dtype: str, count: int, expression: str, **names: int) -> Buffer:
    return Buffer("A", dtype, (count,), Fill("expression", expression=expression, names=tuple(names.items())))


def test_an_expression_in_the_flat_index(loaded: Loaded) -> None:
    a = materialize(loaded().variants[0].buffers["A"])
    assert a.dtype == np.float32
    assert a.shape == (64, 16)
    np.testing.assert_array_equal(a.ravel(), np.arange(1024) % 13 - 6)


def test_blocks_join_without_a_seam() -> None:
    count = fills.BLOCK + 5
    np.testing.assert_array_equal(materialize(buffer("int32", count, "i * K", K=3)), np.arange(count) * 3)


@pytest.mark.parametrize(
    ("dtype", "expression", "reason"),
    [
        ("int32", "i / 2", "gives 0.5, which int32 cannot hold"),
        ("uint8", "i * 2", "gives 2046, outside uint8's 0 to 255"),
        ("uint32", "i - 1", "gives -1, outside uint32's"),
        ("float16", "i * 100", "gives 65600, which float16 cannot hold"),
        ("float32", "1 / (i - 512)", "gives inf"),
        ("float32", "sqrt(3 - i)", "gives nan"),
        ("float32", "1 // (i - 512)", "divides by zero"),
        ("int64", "i ** 7", "leaves the range"),
    ],
)
def test_a_value_that_the_dtype_cannot_hold_is_an_error(dtype: str, expression: str, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        materialize(buffer(dtype, 1024, expression))


def test_poison_is_nan_or_ones() -> None:
    for dtype in ("float16", "float32", "float64"):
        assert np.isnan(materialize(Buffer("C", dtype, (3, 2), Fill("poison")))).all()
    assert (materialize(Buffer("C", "int32", (3,), Fill("poison"))) == -1).all()


def test_random_is_repeatable_and_differs_by_buffer_and_seed(loaded: Loaded) -> None:
    one = loaded(('fill: "i % 13 - 6"', "fill: random"), ('fill: "i % 7 - 3"', "fill: random")).variants[0].buffers
    a, b = materialize(one["A"]), materialize(one["B"])
    np.testing.assert_array_equal(a, materialize(one["A"]))
    assert not np.array_equal(a.ravel()[:512], b.ravel())
    assert not np.array_equal(a, materialize(one["A"], seed_offset=1))
    assert 0 <= a.min() < 0.05
    assert 0.95 < a.max() < 1


def test_random_distributions(loaded: Loaded) -> None:
    normal = loaded(('fill: "i % 13 - 6"', "fill: {random: normal, mean: 5, std: 2, seed: 3}")).variants[0].buffers["A"]
    values = materialize(normal)
    assert abs(values.mean() - 5) < 0.3  # 1024 values: the mean's own deviation is 2 / 32
    assert abs(values.std() - 2) < 0.2
    whole = "{random: integers, low: -3, high: 4}"
    integers = loaded(('float32, shape: [M, K], fill: "i % 13 - 6"', f"int32, shape: [M, K], fill: {whole}"))
    assert sorted(np.unique(materialize(integers.variants[0].buffers["A"]))) == [-3, -2, -1, 0, 1, 2, 3]


def test_a_file_is_relative_to_the_yaml_and_checked(loaded: Loaded, tmp_path: Path) -> None:
    data = np.arange(1024, dtype=np.float32).reshape(64, 16)
    np.save(tmp_path / "a.npy", data)
    replaced = ('fill: "i % 13 - 6"', "fill: a.npy")
    np.testing.assert_array_equal(materialize(loaded(replaced).variants[0].buffers["A"]), data)
    for wrong, reason in (
        (data.astype(np.float64), "holds float64, and the buffer is float32"),
        (data[:3], r"has the shape \[3, 16\], and the buffer \[64, 16\]"),
        (np.array([{}], dtype=object), "is not a readable .npy file"),
    ):
        np.save(tmp_path / "a.npy", wrong, allow_pickle=True)
        with pytest.raises(Exception, match=reason):
            loaded(replaced)


def test_equal_fills_of_different_points_are_equal(loaded: Loaded) -> None:
    """So that inputs are made once: a fill keeps only the sizes that it reads."""
    _, eight, sixteen = loaded().variants
    assert eight.buffers["A"] == sixteen.buffers["A"]
    assert len({eight.buffers["A"], sixteen.buffers["A"]}) == 1
