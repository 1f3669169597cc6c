"""``defaults:`` of the YAML, written into the variants and steps that do not say otherwise.

It is done on the file's data, before the schema sees it, so that a mistake in a default is reported at its own line.
"""

from __future__ import annotations

import copy
from typing import Any

from gpuprof.experiment.document import Document, Path_

SECTION = "defaults"
#: Keys of a kernel launch that a default may give.
_OF_LAUNCHES = ("block", "grid", "shared", "args")
#: Lists that come before the experiment's own.
_LISTS = ("flags", "include")


def apply_defaults(document: Document) -> None:
    """Write the section's values into ``document``; what has the wrong shape is left to the schema."""
    given = document.data.get(SECTION)
    if not isinstance(given, dict):
        return
    for key in _LISTS:
        if key in given:
            _prepend(document, key, given[key])
    variants = document.data.get("variants")
    for name, variant in variants.items() if isinstance(variants, dict) else ():
        if isinstance(variant, dict):
            path: Path_ = ("variants", name)
            if "fill" not in variant:
                _give(document, variant, path, "source", given)
            _launches(document, variant, path, given)


def _launches(document: Document, step: dict[str, Any], path: Path_, given: dict[str, Any]) -> None:
    """Defaults for a launch, or for those among its steps."""
    steps = step.get("steps")
    if isinstance(steps, list):
        for position, inner in enumerate(steps):
            if isinstance(inner, dict):
                _launches(document, inner, (*path, "steps", position), given)
    elif "kernel" in step:
        for key in _OF_LAUNCHES:
            _give(document, step, path, key, given)


def _give(document: Document, target: dict[str, Any], path: Path_, key: str, given: dict[str, Any]) -> None:
    if key not in given or key in target:
        return
    target[key] = copy.deepcopy(given[key])
    for place, line in list(document.lines.items()):
        if place[:2] == (SECTION, key):
            document.lines[path + (key,) + place[2:]] = line  # noqa: RUF005 (no star in an index before Python 3.11)


def _prepend(document: Document, key: str, values: Any) -> None:
    own = document.data.get(key, [])
    both = [values if isinstance(values, list) else [values], own if isinstance(own, list) else [own]]
    document.data[key] = [*both[0], *both[1]]
    document.lines.setdefault((key,), document.lines.get((SECTION, key), 1))
