"""The labelled kernels: at least 150, with precision and recall of what is found in them."""

from __future__ import annotations

import pytest

from tests.sass.labelled_kernels import ARCHS, SOURCES, labels_of, precision_and_recall, verdicts


def test_there_are_enough_kernels_of_either_kind() -> None:
    labels = [label for source in SOURCES for label in labels_of(source)]
    assert len(labels) >= 150
    assert sum(not label.expect for label in labels) >= 60


@pytest.mark.parametrize(
    "arch", ["sm_89", *(pytest.param(arch, marks=pytest.mark.slow) for arch in ARCHS if arch != "sm_89")]
)
def test_precision_and_recall(arch: str) -> None:
    """What nvcc makes of a kernel differs between its versions, so that single kernels may fall out."""
    results = [verdict for source in SOURCES for verdict in verdicts(source, arch)]
    told = [(one.label.kernel, sorted(one.wrong), sorted(one.missed)) for one in results if one.wrong or one.missed]
    precision, recall = precision_and_recall(results)
    assert precision >= 0.97, told
    assert recall >= 0.95, told
