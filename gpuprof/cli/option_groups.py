"""Options under headings in ``--help``, and options that are fields of a dataclass."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import click

Function = TypeVar("Function", bound=Callable[..., Any])
Flags = TypeVar("Flags")

_OTHER = "Other"


class GroupedCommand(click.Command):
    """A command whose help has a section per heading, in the order of the headings' first options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "heading", _OTHER), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def heading(title: str) -> Callable[[Function], Function]:
    """Put the options below this decorator, up to the next heading, under ``title``."""

    def decorate(function: Function) -> Function:
        # decorators apply from the last one up: an option without a heading is between this one and the next
        for parameter in getattr(function, "__click_params__", ()):
            if not hasattr(parameter, "heading"):
                parameter.heading = title  # read by GroupedCommand
        return function

    return decorate


def field_options(*kinds: type, title: str) -> Callable[[Function], Function]:
    """An option for each field of the dataclasses that ``profile.options.option`` declares for this heading."""

    def decorate(function: Function) -> Function:
        for kind in reversed(kinds):
            hints = get_type_hints(kind)
            for field in reversed(fields(kind)):
                if field.metadata.get("heading") == title:
                    function = _option(field, hints[field.name])(function)
        return heading(title)(function)

    return decorate


def read_flags(kind: type[Flags], flags: Mapping[str, Any]) -> Flags:
    """What click parsed, as a frozen dataclass: a field per flag, of its parameter's name."""
    return kind(**{field.name: flags[field.name] for field in fields(kind)})  # type: ignore[arg-type]


def field_values(kind: type, flags: Mapping[str, Any]) -> dict[str, Any]:
    """The constructor's arguments of ``kind`` that were options."""
    return {field.name: flags[field.name] for field in fields(kind) if "heading" in field.metadata}


def _option(field: Field[Any], hint: Any) -> Callable[[Function], Function]:
    kind = next(part for part in (*get_args(hint), hint) if part is not type(None))
    flag = f"--{field.name.replace('_', '-')}"
    if kind is bool:
        return click.option(flag, is_flag=True, help=field.metadata["help"])
    return click.option(
        flag,
        type=_type(kind, field.metadata),
        default=field.default,
        help=field.metadata["help"],
        metavar=field.metadata["metavar"] or None,
    )


def _type(kind: type, metadata: Mapping[str, Any]) -> Any:
    """click's type for a field's type: what click.option takes as ``type``."""
    minimum = metadata["minimum"]
    if kind is Path:
        return click.Path(path_type=Path, file_okay=metadata["metavar"] != "DIR")
    if minimum is None:
        return kind
    return click.IntRange(int(minimum)) if kind is int else click.FloatRange(minimum)
