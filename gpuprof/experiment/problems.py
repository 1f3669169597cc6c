"""From pydantic's errors to sentences with file, line, key and the nearest valid key; all of a file at once.

A mistake is reported and repaired (a misspelt key renamed, a wrong value dropped), and the file validated again, so
that the mistakes behind the first ones show too, and none that only follow from them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ValidationError

from gpuprof.errors import ConfigProblem
from gpuprof.experiment import schema
from gpuprof.experiment.document import Document, Path_
from gpuprof.experiment.expressions import nearest

_TYPES = {
    "string_type": "text",
    "int_type": "an integer",
    "bool_type": "true or false",
    "float_type": "a number",
    "dict_type": "a mapping",
    "list_type": "a list",
    "model_type": "a mapping",
}


@dataclass
class Validated:
    """The model as far as it could be read, the problems, and the paths that were dropped to read it."""

    model: schema.ExperimentModel | None
    problems: list[ConfigProblem]
    dropped: list[Path_] = field(default_factory=list)


def validate(document: Document) -> Validated:
    """Validate the document's data; never raises for a wrong one."""
    data = copy.deepcopy(document.data)
    result = Validated(None, list(document.problems))
    for _ in range(100):
        try:
            result.model = schema.ExperimentModel.model_validate(data)
            return result
        except ValidationError as error:
            if not _try_repair(document, data, error, result):
                return result
    return result


@dataclass(frozen=True)
class _Fault:
    """One of pydantic's errors: where in the data, and for a misspelt key the key that it stands for."""

    path: Path_
    item: Any
    rename: str | None = None

    @property
    def missing(self) -> tuple[Path_, Any] | None:
        return (self.path, self.item["loc"][-1]) if self.item["type"] == "missing" else None


def _try_repair(document: Document, data: dict[str, Any], error: ValidationError, result: Validated) -> bool:
    """Report each error and take its cause out of ``data``; whether anything changed."""
    faults = [_fault(data, item) for item in error.errors(include_url=False)]
    renames = {(fault.path[:-1], fault.rename) for fault in faults if fault.rename is not None}
    changed = False
    for fault in faults:
        if _under(fault.path, result.dropped):
            continue  # it only follows from what was dropped
        if fault.missing is None:
            result.problems.append(_problem(document, fault))
        elif fault.missing not in renames:
            result.problems.append(document.problem(fault.path, _missing(fault.missing[1], fault.path)))
    for fault in sorted(faults, key=lambda fault: fault.rename is None):
        if fault.rename is not None:
            changed |= _rename(document, data, fault)
        elif fault.missing is None or fault.missing not in renames:
            changed |= _drop(data, fault.path, result)
    return changed


def _fault(data: dict[str, Any], item: Any) -> _Fault:
    path = _real(data, item["loc"])
    if item["type"] != _EXTRA:
        return _Fault(path, item)
    near = nearest(str(path[-1]), _valid_keys(path))
    return _Fault(path, item, near if near not in _parent(data, path) else None)


def _under(path: Path_, dropped: list[Path_]) -> bool:
    return any(drop[: len(path)] == path for drop in dropped)


_EXTRA = "extra_forbidden"


def _problem(document: Document, fault: _Fault) -> ConfigProblem:
    path = fault.path
    if fault.item["type"] == _EXTRA:
        valid = _valid_keys(path)
        near = nearest(str(path[-1]), valid)
        hint = f"; did you mean '{near}'?" if near else ""
        return document.problem(path, f"unknown key{hint} (valid: {', '.join(valid)})")
    return document.problem(path, _message(fault.item))


def _message(item: Any) -> str:
    kind, context = item["type"], item.get("ctx", {})
    got = schema.describe(item["input"])
    if kind == "expected":
        return str(item["msg"])
    if kind == "greater_than_equal":
        return f"expected at least {context['ge']}, got {got}"
    if kind == "less_than_equal":
        return f"expected at most {context['le']}, got {got}"
    if kind == "too_short":
        return "expected at least one entry, got none"
    if kind == "string_too_short":
        return "expected text, got none"
    if kind == "string_pattern_mismatch":
        rule = "use letters, digits and _; a variant's name has no / or = and no blank at its ends"
        return f"{got} is not a valid name: {rule}"
    if kind == "literal_error":
        return f"expected {context['expected']}, got {got}"
    return f"expected {_TYPES[kind]}, got {got}" if kind in _TYPES else f"{item['msg']}, got {got}"


def _missing(key: Any, path: Path_) -> str:
    description = ""
    for model in _models(path):
        if key in model.model_fields:
            description = f": {model.model_fields[key].description}"
    return f"`{key}` is missing{description}"


#: Which models may be at a path, "*" being any name or position.
_PLACES: dict[tuple[str, ...], tuple[type[BaseModel], ...]] = {
    (): (schema.ExperimentModel,),
    ("buffers", "*"): (schema.BufferModel,),
    ("buffers", "*", "fill"): (schema.RandomFill, schema.PointerFill),
    ("buffers", "*", "fill", "*"): (schema.PointerFill,),
    ("symbols", "*"): (schema.SymbolModel,),
    ("symbols", "*", "fill"): (schema.RandomFill,),
    ("buffers", "*", "unordered"): (schema.UnorderedModel,),
    ("tolerance",): (schema.ToleranceModel,),
    ("work",): (schema.WorkModel,),
    ("expect", "*"): (schema.ExpectationModel,),
    ("args", "*"): (schema.ArgumentModel,),
    ("variants", "*"): (schema.VariantModel,),
    ("steps", "*"): (schema.StepModel,),
    ("defaults",): (schema.DefaultsModel,),
}


def _models(path: Path_) -> tuple[type[BaseModel], ...]:
    """The models of the mapping at ``path``: the longest place that its end matches."""
    for place in sorted(_PLACES, key=len, reverse=True):
        end = path[len(path) - len(place) :] if len(place) <= len(path) else None
        if end is not None and all(part in ("*", actual) for part, actual in zip(place, end, strict=True)):
            return _PLACES[place]
    return ()


def _valid_keys(path: Path_) -> list[str]:
    return [key for model in _models(path[:-1]) for key in model.model_fields]


def _real(data: Any, location: tuple[str | int, ...]) -> Path_:
    """The part of pydantic's location that exists in the data; union tags and ``[key]`` are left out."""
    path: list[str | int] = []
    here = data
    for part in location:
        if isinstance(here, dict) and part in here:
            here = here[str(part)]
        elif isinstance(here, list) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def _parent(data: Any, path: Path_) -> Any:
    for part in path[:-1]:
        data = data[part]
    return data


def _rename(document: Document, data: dict[str, Any], fault: _Fault) -> bool:
    """Put the value under the key that was meant; its lines go with it."""
    parent, wrong = _parent(data, fault.path), str(fault.path[-1])
    if wrong not in parent or fault.rename is None or fault.rename in parent:
        return False
    parent[fault.rename] = parent.pop(wrong)
    depth = len(fault.path)
    for path, line in list(document.lines.items()):
        if path[:depth] == fault.path:
            renamed = (*path[: depth - 1], fault.rename, *path[depth:])
            document.lines[renamed] = line
    return True


def _drop(data: dict[str, Any], path: Path_, result: Validated) -> bool:
    """Take the entry out; a list's item takes its list with it, since positions carry meaning."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        return False
    try:
        parent = _parent(data, path)
        present = path[-1] in parent
    except (KeyError, IndexError, TypeError):
        return True
    if present:
        del parent[path[-1]]
    result.dropped.append(path)
    return True
