"""``defaults``, ``repeat``, ``let``, null and zero arguments: what spares a long chain of launches its repetitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuprof.errors import ConfigError
from gpuprof.experiment.model import KernelStep, NullArgument, ScalarArgument, ZeroArgument
from gpuprof.results.expectations import load_experiment as load

Write = Callable[..., Path]

CHAIN = """
sizes: {N: 64}
defaults: {source: k.cu, block: 32, flags: -O1}
flags: -G
buffers:
  x: {dtype: float32, shape: N, fill: i}
  y: {dtype: float32, shape: N, output: true}
reference:
  let: {top: max(x), e: exp(x - top)}
  y: e / sum(e)
variants:
  chain:
    steps:
      - {kernel: first, grid: 2, args: [x, y, null, {zeros: 3}]}
      - repeat: log2(N)
        index: k
        steps:
          - {kernel: step, grid: "cdiv(N, block_x)", args: [y, 2**k]}
          - {kernel: inner, block: 2**k, grid: 1, args: [y], repeat: 2}
  alone: {kernel: first, grid: 1, args: [x, y, null, {zeros: 3}]}
"""


def kernels(write: Write, *replacements: tuple[str, str]) -> list[KernelStep]:
    experiment = load(write(*replacements, text=CHAIN))
    return [step for step in experiment.variants[0].steps if isinstance(step, KernelStep)]


def test_a_group_is_repeated_with_its_number_in_expressions(write: Write) -> None:
    steps = kernels(write)
    assert len(steps) == 1 + 6 * (1 + 2)
    assert [step.args[1] for step in steps if step.kernel == "step"] == [
        ScalarArgument(2**k, "int32") for k in range(6)
    ]
    assert [step.name for step in steps[1:5]] == ["step[0]", "inner[0][0]", "inner[0][1]", "step[1]"]
    assert len({step.name for step in steps}) == len(steps)


def test_defaults_stand_where_nothing_else_is_said(write: Write) -> None:
    experiment = load(write(text=CHAIN))
    first, step, inner = kernels(write)[:3]
    assert (first.block, step.block, inner.block) == ((32, 1, 1), (32, 1, 1), (1, 1, 1))
    assert {each.source.name for each in (first, step, inner)} == {"k.cu"}
    assert experiment.variants[1].steps[0].block == (32, 1, 1)
    assert experiment.variants[0].flags == ("-O1", "-G")


def test_null_and_structs_without_content_are_arguments(write: Write) -> None:
    assert kernels(write)[0].args[2:] == (NullArgument(), ZeroArgument(3))


def test_parts_of_a_reference_are_put_in(write: Write) -> None:
    (text,) = load(write(text=CHAIN)).variants[0].reference.expressions.values()
    assert text == "exp(x - max(x)) / sum(exp(x - max(x)))"


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("repeat: log2(N)", "repeat: 0 - 2", 15, "is -2; a step is repeated 0 times or more"),
        ("repeat: log2(N)", "repeat: 20000", 15, "is 20,000; a variant has at most 10,000 steps"),
        ("index: k", "index: N", 16, "'N' is used already; give the repetition another name"),
        ("block: 32, flags", "block: 2048, flags", 3, "2048"),
        ("zeros: 3}]}\n      - repeat", "zeros: 0}]}\n      - repeat", 14, "expected at least 1"),
        ("e: exp(x - top)", "y: exp(x - top)", 9, "name already used for a buffer"),
        ("e: exp(x - top)", "e: exp(x - tip)", 9, "tip"),
        ("y: e / sum(e)", "y: {a: 1}", 10, "expected an expression, or {value: expression"),
        ("defaults: {source: k.cu,", "defaults: {sourze: k.cu,", 3, "did you mean 'source'"),
        ("        index: k\n", "        index: k\n        block: 3\n", 17, "conflicts with `steps`"),
    ],
)
def test_mistakes_are_reported_at_their_line(write: Write, old: str, new: str, line: int, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(write((old, new), text=CHAIN))
    assert any(problem.line == line and message in str(problem) for problem in caught.value.problems), caught.value


def test_nothing_is_repeated_no_times(write: Write) -> None:
    assert [step.kernel for step in kernels(write, ("repeat: log2(N)", "repeat: 0"))] == ["first"]
