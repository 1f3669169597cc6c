"""Reading YAML: lines, scalars, and files that are no YAML."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.errors import ConfigError
from gpuprof.experiment.document import read_document


def read(tmp_path: Path, text: str | bytes) -> dict:
    path = tmp_path / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_document(path).data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", 10),
        ("0x10", 16),
        ("1_000", 1000),
        ("1e-5", 1e-5),
        ("1.5", 1.5),
        ("NO", "NO"),
        ("on", "on"),
        ("1:30", "1:30"),
        ("true", True),
        ("~", None),
        ("", None),
        ("'12'", "12"),
        ("2*M*N", "2*M*N"),
        ("2001-01-01", "2001-01-01"),
    ],
)
def test_scalars_follow_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    assert read(tmp_path, f"a: {text}") == {"a": value}


def test_a_comma_in_parentheses_does_not_part_items(tmp_path: Path) -> None:
    data = read(tmp_path, "a: [cdiv(N, 16), max(1, min(2, M)), 3]\nb: {flop: max(M, N, 2), bytes: 4}\n")
    assert data == {"a": ["cdiv(N, 16)", "max(1, min(2, M))", 3], "b": {"flop": "max(M, N, 2)", "bytes": 4}}


def test_template_arguments_stay_together_in_a_flow_mapping(tmp_path: Path) -> None:
    data = read(tmp_path, "v: {kernel: f<float, 32, true>, where: M<3, block: 1}\n")
    assert data == {"v": {"kernel": "f<float, 32, true>", "where": "M<3", "block": 1}}


def test_merge_keys(tmp_path: Path) -> None:
    data = read(tmp_path, "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")
    assert data["b"] == {"x": 1, "y": 3}


def test_lines_are_those_of_keys_and_items(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a:\n  b: 1\n  c:\n    - x\n    - y\n")
    document = read_document(path)
    assert [document.line(place) for place in (("a",), ("a", "b"), ("a", "c", 1), ("a", "missing"))] == [1, 2, 5, 1]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

WRONG = {
    "empty": ("", "is empty; `gpuprof new NAME` writes an example"),
    "only a comment": ("# nothing\n", "is empty"),
    "a list": ("- a\n", ":1: expected a mapping of keys, got a list"),
    "text": ("hello\n", ":1: expected a mapping of keys, got text"),
    "a tab": ("a:\n\tb: 1\n", ":2: a tab indents this line"),
    "two documents": ("a: 1\n---\nb: 2\n", ":2: a second document begins here"),
    "braces": ("v: {kernel: f<{TILE}>, block: 1}\n", 'quote text with braces inside {...} or [...]: "f<{TILE}>"'),
    "braces of several": ("v: {kernel: f<float, {TILE}>}\n", "quote text with braces inside"),
    "not closed": ("a: [1, 2\nb: 3\n", "is not YAML: "),
    "a bomb": (BOMB, "expands to more than 100000 values"),
    "an alias of nothing": ("a: *b\n", ":1: "),
    "a Python tag": (
        "a: !!python/object/apply:os.system [x]\n",
        "the tag tag:yaml.org,2002:python/object/apply:os.system has no",
    ),
    "another tag": ("a: !thing x\n", ":1: the tag !thing has no meaning here"),
    "deep": ("a: " + "[" * 500 + "]" * 500, ":1: is nested more than 32 deep"),
    "huge": ("#" * (1 << 20) + "\na: 1\n", "at most 1,048,576 are read"),
    "latin-1": (b"a: 1\nb: caf\xe9\n", ":2: is not UTF-8 text (byte 0xe9)"),
    "a control character": ("b: 1\na: \x01\n", ":2: is not YAML: the character U+0001 is not allowed"),
    "no colon": ("a:\n  b: 1\n  c 2\n  d: 3\n", ":3: is not YAML: expected `key: value`, and there is no colon"),
    "a mapping as key": ("{a: 1}: 2\n", ":1: a key must be a plain word"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_what_is_not_one_mapping_is_refused_with_its_line(case: tuple[str | bytes, str], tmp_path: Path) -> None:
    text, expected = case
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert expected in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_document(tmp_path)
