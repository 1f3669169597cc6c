"""A modelled time, and where it goes: plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """A modelled time in microseconds; low and high are an assumed interval (docs/model.md)."""

    us: float
    low_us: float
    high_us: float
    kind: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """A part of the code: warp cycles spent there as a share of all, and of those each reason's share."""

    name: str
    share: float
    reasons: Mapping[str, float]
    waits_for: tuple[str, ...] = ()  #: instructions whose results are waited for, the longest waits first


@dataclass(frozen=True)
class WhatIf:
    """The modelled time if one thing were free, and how much less that is."""

    name: str
    us: float
    saves_us: float


@dataclass(frozen=True)
class Explanation:
    """One variant. Shares are of the warp cycles of its longest launch on one SM."""

    variant: str
    prediction: Prediction
    kernel: str
    issue_share: float  #: of the issue slots of the SM in which an instruction issued
    reasons: Mapping[str, float]
    lines: tuple[Share, ...]
    loops: tuple[Share, ...]
    what_if: tuple[WhatIf, ...]
