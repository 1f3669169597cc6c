"""The number of lanes of a warp, and helpers on their masks."""

from __future__ import annotations

WARP = 32
