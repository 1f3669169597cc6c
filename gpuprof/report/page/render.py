"""Templates to one file: style and script go into the page, and its policy allows exactly those two texts by hash."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gpuprof.errors import MissingToolError

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: What the extra ``report`` brings: module -> package.
NEEDED = {"jinja2": "jinja2", "vl_convert": "vl-convert-python"}
_TEMPLATES = "templates"


def require_report_extra() -> None:
    """Raise MissingToolError now, and not after a long run, where a page could not be written."""
    missing = [package for module, package in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise MissingToolError(f"--html needs {' and '.join(missing)}: pip install '.[report]'")


def render(template: str, **values: object) -> str:
    """The template with ``values`` as one HTML text. Everything is escaped but what is marked as safe markup."""
    style, script = _asset("page.css"), _asset("page.js")
    return (
        _environment()
        .get_template(template)
        .render(style=style, script=script, policy=content_policy(style, script), **values)
    )


def content_policy(style: str, script: str) -> str:
    """The page's Content-Security-Policy: nothing is loaded, only this style and this script count."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(_TEMPLATES).joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    require_report_extra()
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__, _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    return environment


def _breakable(text: str) -> Markup:
    """A name that may be folded after a slash."""
    from markupsafe import Markup, escape

    return Markup("/<wbr>").join(escape(part) for part in text.split("/"))
