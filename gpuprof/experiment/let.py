"""``let:`` of a reference: parts of expressions by name, put into the expressions that name them."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from gpuprof.experiment.collect import Collector, Skip
from gpuprof.experiment.document import Path_
from gpuprof.experiment.expressions import syntax_tree
from gpuprof.experiment.model import Buffer
from gpuprof.experiment.outside_references import is_file, is_function
from gpuprof.experiment.points import Point

KEY = "let"
#: Keys of an output of which only a part is compared.
VALUE, WHERE = "value", "where"
#: Parts of parts grow fast; what an expression may become.
MAX_CHARACTERS = 20_000


def with_parts(
    reference: Mapping[str, Any], path: Path_, point: Point, buffers: Mapping[str, Buffer], collector: Collector
) -> tuple[dict[str, Any], dict[str, str]]:
    """Values and conditions by output, each part of ``let`` in place of its name. A part may use those before.

    Mistakes go to the collector; an output whose expression has one is left out.
    """
    parts: dict[str, str] = {}
    given = reference.get(KEY, {})
    for name, text in given.items() if isinstance(given, dict) else ():
        place = (*path, KEY, name)
        if name in buffers or name in point.scope:
            kind = "buffer" if name in buffers else "size or parameter"
            collector.add(place, f"name already used for a {kind}")
        with collector.at(place):
            collector.known(place, collector.expression(place, text), [*buffers, *point.scope, *parts], {})
            parts[name] = _inserted(place, text, parts, collector)
    outputs: dict[str, Any] = {}
    where: dict[str, str] = {}
    for output, text in reference.items():
        if output == KEY and isinstance(given, dict):
            continue
        if isinstance(text, dict) and set(text) != {VALUE, WHERE}:
            message = f"expected an expression, or {{{VALUE}: expression, {WHERE}: condition}} for a part of the output"
            collector.add((*path, output), message)
            continue
        with collector.at((*path, output)):
            if isinstance(text, dict):
                where[output] = _inserted((*path, output, WHERE), text[WHERE], parts, collector)
                text = text[VALUE]
            outputs[output] = _inserted((*path, output), text, parts, collector) if parts else text
    return outputs, where


def _inserted(path: Path_, text: Any, parts: Mapping[str, str], collector: Collector) -> str:
    """The expression with parts in place of their names; raises Skip after reporting a mistake."""
    if not isinstance(text, str):
        return str(text)
    if is_file(text) or is_function(text):
        return text
    if not parts.keys() & collector.expression(path, text).names:
        return text
    tree = _Insert(parts).visit(syntax_tree(text.strip()))
    whole = ast.unparse(tree)
    if len(whole) > MAX_CHARACTERS:
        collector.add(path, f"becomes longer than {MAX_CHARACTERS:,} characters with its parts put in")
        raise Skip
    return whole


class _Insert(ast.NodeTransformer):
    def __init__(self, parts: Mapping[str, str]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.AST:
        part = self._parts.get(node.id)
        return node if part is None else syntax_tree(part)
