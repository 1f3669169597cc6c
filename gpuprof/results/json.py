"""A run as JSON text and back: the master of which every table, page and comparison is a view.

The text is ``results.model.Run`` field by field. What JSON cannot say: a number that is not finite is written as the
string ``"NaN"``, ``"Infinity"`` or ``"-Infinity"``, so that the text is valid for every reader. Fields that this
version does not know are ignored, and fields that an older text lacks take their defaults; another schema version is
refused.
"""

from __future__ import annotations

import collections.abc
import json
import math
import os
import secrets
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from gpuprof.errors import StoreError
from gpuprof.results.model import SCHEMA_VERSION, Counters, Difference, Result, Run
from gpuprof.system.files import reason_unreadable

#: Larger files are refused unread: a run of 10,000 variants with every sample stays far below.
MAX_BYTES = 1 << 30

_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(run: Run, *, indent: int | None = 2) -> str:
    """The run as JSON text, keys in the order of the model."""
    return json.dumps(encode(run), indent=indent, ensure_ascii=False, allow_nan=False)


class RunEncoder:
    """``to_json`` for a run that grows: what was encoded before is not encoded again."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Result, str]] = {}

    def to_json(self, run: Run) -> str:
        """Exactly the text of ``to_json``."""
        text = to_json(replace(run, results=()))
        if not run.results:
            return text
        rows = ",\n    ".join(self._row(result) for result in run.results)
        # line breaks within strings are escaped, so that this line can be no part of one
        return text.replace('\n  "results": []', f'\n  "results": [\n    {rows}\n  ]', 1)

    def _row(self, result: Result) -> str:
        known = self._rows.get(result.variant)
        if known is not None and known[0] is result:
            return known[1]
        text = json.dumps(encode(result), indent=2, ensure_ascii=False, allow_nan=False).replace("\n", "\n    ")
        self._rows[result.variant] = (result, text)
        return text


def from_json(text: str, *, origin: str = "this text") -> Run:
    """The run that ``to_json`` wrote; ``origin`` names the source in messages.

    Raises:
        StoreError: not JSON, not a run, or of a schema version that this gpuprof does not read.
    """
    data = _versioned(_parse(text, origin), origin)
    run = _decoded({**data, "schema_version": SCHEMA_VERSION}, Run, "run", origin)
    assert isinstance(run, Run)
    return run


def result_from_json(text: str, *, origin: str = "this text") -> Result:
    """One row of a run, as ``encode`` gives it; raises StoreError as ``from_json`` does."""
    result = _decoded(_parse(text, origin), Result, "result", origin)
    assert isinstance(result, Result)
    return result


def _parse(text: str, origin: str) -> object:
    try:
        data: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{origin} is not valid JSON ({error}): was it cut short?") from None
    return data


def _decoded(data: object, kind: type, name: str, origin: str) -> object:
    try:
        return _decode(data, kind, name)
    except _WrongShapeError as error:
        raise StoreError(f"{origin} is JSON, but not a run of gpuprof: {error}") from None


def write_whole(text: str, path: Path) -> None:
    """Write ``text`` in UTF-8 to a new file beside ``path``, then rename it, so that a reader sees old or new.

    A link is followed, and what is not a plain file (``/dev/stdout``, a pipe) is written directly.

    Raises:
        StoreError: the folder does not exist or cannot be written.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
            return
        part = _part_beside(target)
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def check_target(path: Path) -> None:
    """Could ``write_whole`` write there? Leaves nothing behind.

    Raises:
        StoreError: the folder does not exist or cannot be written, or ``path`` is a folder.
    """
    try:
        target = path.resolve()
        if target.is_dir():
            raise StoreError(f"cannot write {path}: it is a folder")
        if target.exists() and not target.is_file():
            return
        part = _part_beside(target)
        part.touch()
        part.unlink()
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def _part_beside(target: Path) -> Path:
    """A name in the target's folder that nobody else uses."""
    return target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}.part")


def read_run(path: Path) -> Run:
    """The run in a JSON file.

    Raises:
        StoreError: the file is missing, too large, or no run.
    """
    reason = reason_unreadable(path, MAX_BYTES)
    if reason is not None:
        raise StoreError(f"cannot read {path}: {reason}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{path} is not a run's JSON: it is not text in UTF-8") from None
    return from_json(text, origin=str(path))


def encode(value: object) -> Any:
    """Any value of the model as what ``json`` takes."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return _plain_scalar(value)


def _plain_scalar(value: object) -> Any:
    item = getattr(value, "item", None)  # a numpy scalar that slipped in
    if item is None:
        raise TypeError(f"{type(value).__name__} has no place in a run")
    return encode(item())


#: Keys that earlier schema versions spelled differently, by class and present name.
_FORMER_NAMES: Mapping[tuple[type, str], str] = {
    (Difference, "expected"): "want",  # version 1
    (Counters, "per_instruction"): "per_line",  # versions 1 and 2
}


class _WrongShapeError(Exception):
    """A value of the text that does not fit the model; the message starts with its path."""


def _versioned(data: object, origin: str) -> Mapping[str, object]:
    """``data``, a run of this schema version or an earlier one."""
    if not isinstance(data, dict) or "schema_version" not in data:
        raise StoreError(f"{origin} is JSON, but not a run of gpuprof: it has no schema_version")
    version = data["schema_version"]
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise StoreError(f"{origin} has schema_version {version!r}, which is not a valid version")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{origin} was written by a newer gpuprof (schema version {version}, this one reads up to "
            f"{SCHEMA_VERSION}): upgrade gpuprof to read it"
        )
    return data


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _decode(data: object, kind: Any, path: str) -> object:
    """``data`` as the annotated type ``kind``; raises _WrongShapeError with ``path``."""
    if kind is object:
        return data
    if isinstance(kind, type) and is_dataclass(kind):
        return _decode_dataclass(data, kind, path)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _decode_enum(data, kind, path)
    origin = get_origin(kind)
    decoder = _CONTAINERS.get(origin) if origin is not None else None
    return decoder(data, get_args(kind), path) if decoder else _decode_scalar(data, (kind,), path)


def _decode_dataclass(data: object, kind: type, path: str) -> object:
    if not isinstance(data, dict):
        raise _WrongShapeError(f"{path} should be an object, not {_name(data)}")
    hints = _hints(kind)
    values = {}
    for field in fields(kind):
        key = field.name if field.name in data else _FORMER_NAMES.get((kind, field.name), field.name)
        if key in data:
            values[field.name] = _decode(data[key], hints[field.name], f"{path}.{key}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise _WrongShapeError(f"{path}.{field.name} is missing")
    return kind(**values)


def _decode_enum(data: object, kind: type[Enum], path: str) -> Enum:
    try:
        return kind(data)
    except ValueError:
        known = ", ".join(str(member.value) for member in kind)
        raise _WrongShapeError(f"{path} is {data!r}; it should be one of {known}") from None


def _decode_union(data: object, kinds: tuple[Any, ...], path: str) -> object:
    if data is None and type(None) in kinds:
        return None
    others = tuple(kind for kind in kinds if kind is not type(None))
    if all(kind in (int, float, str, bool) for kind in others):
        return _decode_scalar(data, others, path)
    return _decode(data, others[0], path)


def _decode_tuple(data: object, kinds: tuple[Any, ...], path: str) -> tuple[object, ...]:
    if not isinstance(data, list):
        raise _WrongShapeError(f"{path} should be a list, not {_name(data)}")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_decode(item, kinds[0], f"{path}[{n}]") for n, item in enumerate(data))
    if len(data) != len(kinds):
        raise _WrongShapeError(f"{path} has {len(data)} elements; it should have {len(kinds)}")
    return tuple(_decode(item, kind, f"{path}[{n}]") for n, (item, kind) in enumerate(zip(data, kinds, strict=True)))


def _decode_mapping(data: object, kinds: tuple[Any, ...], path: str) -> Mapping[str, object]:
    if not isinstance(data, dict):
        raise _WrongShapeError(f"{path} should be an object, not {_name(data)}")
    return {key: _decode(item, kinds[1], f"{path}.{key}") for key, item in data.items()}


def _decode_scalar(data: object, kinds: tuple[Any, ...], path: str) -> object:
    if float in kinds and isinstance(data, str) and data in _WORDS:
        return _WORDS[data]
    if isinstance(data, bool):
        if bool in kinds:
            return data
    elif isinstance(data, int) and float in kinds and int not in kinds:
        return float(data) if abs(data) < 1 << 1023 else math.copysign(math.inf, data)
    elif isinstance(data, kinds):
        return data
    raise _WrongShapeError(f"{path} should be {' or '.join(kind.__name__ for kind in kinds)}, not {_name(data)}")


def _name(data: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(data), "a number")


_Decoder = Callable[[object, tuple[Any, ...], str], object]
_CONTAINERS: Mapping[Any, _Decoder] = {
    Union: _decode_union,
    types.UnionType: _decode_union,
    tuple: _decode_tuple,
    collections.abc.Mapping: _decode_mapping,
}
