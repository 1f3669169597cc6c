"""A YAML file as plain Python data, with the line of every key: what the schema and the checks report against.

The file is read from parser events rather than through PyYAML's constructors, so that duplicate keys, alias bombs,
depth and YAML 1.1's surprises (``NO`` is false, ``010`` is 8, ``1e-5`` is text) are decided here. Scalars follow the
YAML 1.2 core schema; ``<<`` merges. A comma inside parentheses does not part the items of ``[cdiv(N, 16), 1]`` or of
``{flop: max(M, N)}``, as it would in plain YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gpuprof.errors import ConfigError, ConfigProblem
from gpuprof.system.files import reason_unreadable

Path_ = tuple[str | int, ...]  #: keys and list positions from the root: ("variants", "naive", "block", 0)

MAX_FILE_BYTES = 1 << 20
MAX_NODES = 100_000  #: after aliases are expanded: 100 experiments' worth, and far below a bomb
MAX_DEPTH = 32

_INT = re.compile(r"[-+]?[0-9]+(_[0-9]+)*")
_BASED = re.compile(r"[-+]?0(x[0-9a-fA-F]+|o[0-7]+|b[01]+)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_HARMLESS_TAGS = (None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq")))
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", "+.inf", ".Inf"), float("inf")),
    "-.inf": float("-inf"),
    ".nan": float("nan"),
}


@dataclass
class Document:
    """The file's data and where everything is. ``lines`` maps a path to its 1-based line."""

    path: Path
    data: dict[str, Any]
    lines: dict[Path_, int] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()  #: duplicate keys: the first of each is in ``data``

    def line(self, path: Path_) -> int | None:
        """The line of ``path``, or of its nearest parent that has one."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return None

    def problem(self, path: Path_, message: str) -> ConfigProblem:
        return ConfigProblem(str(self.path), self.line(path), _printable(key_text(path)), _printable(message))


def key_text(path: Path_) -> str:
    """``variants.naive.block[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _printable(text: str) -> str:
    r"""The text with control characters as ``\x1b``, so that what a file holds cannot steer a terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: f"\\x{ord(match[0]):02x}", text)


def read_document(path: Path) -> Document:
    """Read and compose ``path``; raises ConfigError for anything that is not one YAML mapping.

    Duplicate keys are in ``problems``, so that they are reported with the file's other mistakes.
    """
    text = _read_text(path)
    try:
        return _Composer(path, text).compose()
    except yaml.MarkedYAMLError as error:
        raise ConfigError((_syntax_problem(path, text, error),)) from None
    except yaml.YAMLError as error:
        raise _failure(path, *_unreadable(text, error)) from None


def _failure(path: Path, line: int | None, message: str) -> ConfigError:
    return ConfigError((ConfigProblem(str(path), line, "", message),))


def _read_text(path: Path) -> str:
    reason = reason_unreadable(path, MAX_FILE_BYTES)
    if reason is not None:
        raise _failure(path, None, f"cannot be read: {reason}")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise _failure(path, None, f"cannot be read: {error.strerror or error}") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise _failure(path, line, f"is not UTF-8 text (byte 0x{raw[error.start]:02x}); save it as UTF-8") from None


def _unreadable(text: str, error: yaml.YAMLError) -> tuple[int | None, str]:
    """Line and sentence for a character that no YAML may hold."""
    character, position = getattr(error, "character", None), getattr(error, "position", None)
    if character is None or position is None:
        return None, f"is not YAML: {' '.join(str(error).split())}"
    code = character if isinstance(character, int) else ord(character)
    bad = next((place for place, letter in enumerate(text) if ord(letter) == code), 0)
    return text[:bad].count("\n") + 1, f"is not YAML: the character U+{code:04X} is not allowed"


def _syntax_problem(path: Path, text: str, error: yaml.MarkedYAMLError) -> ConfigProblem:
    if error.problem and "could not find expected ':'" in error.problem and error.context_mark:
        here = error.context_mark.line + 1
        return ConfigProblem(str(path), here, "", "is not YAML: expected `key: value`, and there is no colon")
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else None
    lines = text.splitlines()
    if mark and mark.line < len(lines) and re.match(r"\s*\t", lines[mark.line]):
        return ConfigProblem(str(path), line, "", "a tab indents this line; YAML allows only blanks there")
    parts = [part for part in (error.context, error.problem) if part]
    braces = mark is not None and any(re.search(r"[\w<,]\s*\{\w+\}", text) for text in lines[: mark.line + 1][-2:])
    hint = '; quote text with braces inside {...} or [...]: "f<{TILE}>"' if braces else ""
    return ConfigProblem(str(path), line, "", f"is not YAML: {', '.join(parts)}{hint}")


@dataclass
class _Node:
    """A composed value: a scalar, a list of nodes, or a dict of nodes; with its line and size."""

    value: Any
    line: int
    count: int = 1  #: nodes below and including this one, aliases expanded
    key_lines: dict[str, int] = field(default_factory=dict)
    text: str | None = None  #: as written, of a plain scalar

    @property
    def is_open(self) -> bool:
        """Whether it is plain text that the comma after it cut inside parentheses."""
        return self.text is not None and self.text.count("(") > self.text.count(")")

    @property
    def is_open_template(self) -> bool:
        """The same for ``f<float`` of ``{kernel: f<float, 32>}``."""
        return self.text is not None and re.search(r"\w<[^<>]*$", self.text) is not None

    def join(self, text: str) -> None:
        self.text = self.value = f"{self.text}, {text}"


class _Composer:
    """Builds the document from parser events, collecting duplicate keys."""

    def __init__(self, path: Path, text: str) -> None:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._path = path
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=loader))
        self._anchors: dict[str, _Node] = {}
        self._problems: list[ConfigProblem] = []

    def compose(self) -> Document:
        next(self._events)  # stream start
        event = next(self._events)
        if isinstance(event, yaml.StreamEndEvent):
            raise _failure(self._path, None, "is empty; `gpuprof new NAME` writes an example to start from")
        root = self._node(next(self._events), ())
        next(self._events)  # document end
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise _failure(self._path, after.start_mark.line + 1, "a second document begins here; a file holds one")
        if not isinstance(root.value, dict):
            raise _failure(self._path, root.line, f"expected a mapping of keys, got {_kind(root.value)}")
        document = Document(self._path, {}, problems=tuple(self._problems))
        document.data = _plain(root, (), document.lines)
        return document

    def _node(self, event: Any, path: Path_) -> _Node:
        line = event.start_mark.line + 1
        if len(path) > MAX_DEPTH:
            raise _failure(self._path, line, f"is nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise _failure(self._path, line, f"*{event.anchor} refers to no anchor &{event.anchor} above")
            return self._anchors[event.anchor]
        if event.tag not in _HARMLESS_TAGS:
            raise _failure(self._path, line, f"the tag {event.tag} has no meaning here; remove it")
        if isinstance(event, yaml.ScalarEvent):
            node = _Node(_scalar(event), line, text=event.value if event.implicit[0] else None)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._sequence(event, line, path)
        else:
            node = self._mapping(event, line, path)
        if node.count > MAX_NODES:
            raise _failure(self._path, line, f"expands to more than {MAX_NODES} values (aliases of aliases?)")
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        return node

    def _sequence(self, start: Any, line: int, path: Path_) -> _Node:
        items: list[_Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            item = self._node(event, (*path, len(items)))
            if start.flow_style and items and items[-1].is_open and item.text is not None:
                items[-1].join(item.text)
            else:
                items.append(item)
        return _Node(items, line, 1 + sum(item.count for item in items))

    def _mapping(self, start: Any, line: int, path: Path_) -> _Node:
        node = _Node({}, line)
        merged: list[_Node] = []
        last: _Node | None = None
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key_line = event.start_mark.line + 1
            if not isinstance(event, yaml.ScalarEvent):
                raise _failure(self._path, key_line, "a key must be a plain word (quote `{NAME}` where text is meant)")
            place = (*path, event.value)
            value = self._node(next(self._events), place)
            node.count += value.count
            if start.flow_style and last is not None and value.text == "" and (last.is_open or last.is_open_template):
                last.join(event.value)
                continue
            last = value
            if event.value == "<<" and event.implicit[0]:
                merged.extend(value.value if isinstance(value.value, list) else [value])
            elif event.value in node.value:
                message = f"duplicate key; first on line {node.key_lines[event.value]}"
                self._problems.append(ConfigProblem(str(self._path), key_line, key_text(place), message))
            else:
                node.value[event.value] = value
                node.key_lines[event.value] = key_line
        self._merge(node, merged)
        return node

    def _merge(self, node: _Node, merged: list[_Node]) -> None:
        for other in merged:
            if not isinstance(other.value, dict):
                raise _failure(self._path, node.line, "`<<` takes a mapping (an alias of one), or a list of them")
            for key, value in other.value.items():
                if key not in node.value:
                    node.value[key] = value
                    node.key_lines[key] = other.key_lines[key]
                    node.count += value.count


def _scalar(event: Any) -> Any:
    text: str = event.value
    if not event.implicit[0]:  # quoted, a block scalar, or tagged
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 40 else text
    if _BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def _plain(node: _Node, path: Path_, lines: dict[Path_, int]) -> Any:
    """The node as plain data, writing lines on the way; a mapping's entries are on their keys' lines."""
    lines.setdefault(path, node.line)
    if isinstance(node.value, dict):
        for key in node.value:
            place = (*path, key)
            lines[place] = node.key_lines[key]
        return {key: _plain(child, (*path, key), lines) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child, (*path, position), lines) for position, child in enumerate(node.value)]
    return node.value
