"""A fixed number of mutated inputs of each kind; ``python -m tests.robustness.fuzz`` goes on from there."""

from __future__ import annotations

import pytest

from tests.robustness.fuzz import KINDS, fuzz

#: Inputs of a kind: what takes a few seconds.
COUNTS = {"yaml": 20, "cubin": 6, "npy": 20, "json": 20, "history": 20}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_mutated_inputs_are_read_or_refused(kind: str) -> None:
    done, wrong = fuzz(kind, 2026, count=COUNTS[kind])
    assert done == COUNTS[kind]
    assert not wrong, wrong[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_many_mutated_inputs(kind: str) -> None:
    done, wrong = fuzz(kind, 2027, seconds=24)
    assert done > 0
    assert not wrong, wrong[0]
