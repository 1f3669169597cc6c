"""Vega-Lite to SVG that stands in a page: colours of the page's style, a title, hover texts, nothing to load.

Colours are written as ``var(--name)``, so that light, dark and print follow the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

Spec = Mapping[str, Any]

INK, MUTED, LINE, ACCENT, SECOND = "var(--ink)", "var(--muted)", "var(--line)", "var(--accent)", "var(--second)"
GOOD, BAD, PAPER = "var(--good)", "var(--bad)", "var(--paper)"
#: From little to much.
SEQUENCE = tuple(f"var(--heat-{step})" for step in range(1, 8))
#: Kinds side by side.
SERIES = tuple(f"var(--series-{number})" for number in range(1, 7))
#: Pixels; the page shows pictures at up to this width, and at 400 pixels two thirds of it.
WIDTH = 520
WIDE = 1060

_NAMESPACE = "http://www.w3.org/2000/svg"
_LONG_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_GEOMETRY = frozenset({"d", "transform", "x", "y", "x2", "y2", "width", "height"})

_CONFIG: dict[str, Any] = {
    "background": None,
    "view": {"stroke": None},
    "font": "sans-serif",
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "labelLimit": 0,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": MUTED,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 0,
        "orient": "bottom",
        "columns": 3,
        "symbolStrokeWidth": 2,
    },
    "header": {"labelColor": INK, "titleColor": MUTED, "labelFontSize": 12, "titleFontSize": 12},
    "text": {"color": INK, "fontSize": 12, "aria": False},
    "rule": {"color": INK, "aria": False},
    "bar": {"color": ACCENT},
    "point": {"color": ACCENT, "filled": True, "size": 60, "opacity": 1},
    "line": {"color": ACCENT, "aria": False},
    "range": {"category": list(SERIES), "ordinal": list(SEQUENCE), "heatmap": list(SEQUENCE)},
}


def to_svg(spec: Spec, title: str) -> Markup:
    """The chart; ``title`` is what a screen reader says of the whole, marks keep their description as hover text."""
    import vl_convert

    whole = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "width": WIDTH,
        "padding": {"left": 8, "right": 14, "top": 4, "bottom": 4},  # fonts of the reader may be wider
        **spec,
        "config": _CONFIG,
    }
    return Markup(_for_page(vl_convert.vegalite_to_svg(whole, vl_version="5.20"), title))


def _for_page(text: str, title: str) -> str:
    ElementTree.register_namespace("", _NAMESPACE)
    root = ElementTree.fromstring(text)
    for element in root.iter():
        _clean(element)
    for name in ("width", "height", "class"):
        root.attrib.pop(name, None)
    width = root.get("viewBox", "0 0 0 0").split()[2]
    root.set("class", f"picture w{min(round(float(width) / 100), 12)}")
    root.set("role", "img")
    root.set("aria-label", title)
    return ElementTree.tostring(root, encoding="unicode")


def _clean(element: ElementTree.Element) -> None:
    """Hover texts in place of roles that only Vega knows, and coordinates of a tenth of a pixel."""
    said = element.attrib.pop("aria-label", "")
    role = element.attrib.pop("role", "")
    for name in ("aria-roledescription", "aria-hidden", "class", "font-family", "pointer-events"):
        element.attrib.pop(name, None)
    if said and role == "graphics-symbol" and element.tag != f"{{{_NAMESPACE}}}g":
        hover = ElementTree.Element(f"{{{_NAMESPACE}}}title")
        hover.text = said
        element.insert(0, hover)
    for name in _GEOMETRY & element.attrib.keys():
        element.set(
            name, _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), element.get(name, ""))
        )
