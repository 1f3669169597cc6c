"""References that are not expressions: a ``.npy`` file, or a Python function of the user's. None runs here.

A function is called with the buffers, sizes and parameters that its own parameters name: ``def conv2d(x, taps, N)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuprof.errors import ExpressionError
from gpuprof.experiment.expressions import nearest
from gpuprof.experiment.model import PythonFunction
from gpuprof.system.files import MAX_TEXT_BYTES, read_regular

_FUNCTION = re.compile(r"(?P<file>[^:\n]+\.py)\s*:\s*(?P<name>[A-Za-z_]\w*)")


def is_file(text: str) -> bool:
    """Whether a reference names a ``.npy`` file."""
    return text.strip().endswith(".npy")


def is_function(text: str) -> bool:
    """Whether a reference names a Python function, ``ref.py:conv2d``."""
    return _FUNCTION.fullmatch(text.strip()) is not None


def function_of(text: str, folder: Path) -> PythonFunction:
    """The function that ``is_function`` text names; its file counts from ``folder``. Nothing is read."""
    match = _FUNCTION.fullmatch(text.strip())
    assert match is not None
    return PythonFunction(folder / match["file"], match["name"])


@dataclass(frozen=True)
class Signature:
    """What a function of a file asks for. ``open``: it takes whatever there is (``**values``)."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    open: bool


def signature_of(function: PythonFunction) -> Signature:
    """The parameters of a function as its file declares them; raises ExpressionError, UnreadableFileError."""
    text = read_regular(function.file, MAX_TEXT_BYTES).decode("utf-8", "replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ExpressionError(f"{function.file.name} is not Python: {error}") from None
    known = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = known.get(function.name)
    if found is None:
        near = nearest(function.name, known)
        hint = f"; did you mean '{near}'?" if near else ""
        raise ExpressionError(f"{function.file.name} has no function {function.name}{hint} ({_listed(known)})")
    return _signature(function, found.args)


def _listed(names: Iterable[str]) -> str:
    return f"it has {', '.join(names)}" if list(names) else "it has none"


def _signature(function: PythonFunction, arguments: ast.arguments) -> Signature:
    if arguments.posonlyargs or arguments.vararg is not None:
        raise ExpressionError(f"{function} takes arguments by position only; name them as buffers and sizes")
    named = [argument.arg for argument in arguments.args]
    needed = named[: len(named) - len(arguments.defaults)]
    optional = named[len(needed) :]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        (needed if default is None else optional).append(argument.arg)
    return Signature(tuple(needed), tuple(optional), arguments.kwarg is not None)


def missing_values(function: PythonFunction, known: Iterable[str]) -> str | None:
    """What is wrong with the function's parameters, given the names that there are; None where all is there."""
    names = list(known)
    absent = [name for name in signature_of(function).needed if name not in names]
    if not absent:
        return None
    near = nearest(absent[0], names)
    hint = f"; did you mean '{near}'?" if near else ""
    there = ", ".join(names)
    return f"{function} takes '{absent[0]}', which is not a buffer, size or parameter{hint} (there are: {there})"
