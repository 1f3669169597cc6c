"""``gpuprof schema``: the JSON Schema agrees with what ``check`` accepts."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from gpuprof.cli.schema import command
from gpuprof.experiment import bundled

CONFIGS = sorted(bundled.bundled_folder("configs").glob("*.yaml"))


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    schema = json.loads(CliRunner().invoke(command).output)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_bundled_configs_are_valid_as_an_editor_reads_them(
    path: Path, validator: jsonschema.Draft202012Validator
) -> None:
    """An editor's YAML parts ``cdiv(N, 16)`` at the comma; the schema must not mind."""
    assert [error.message for error in validator.iter_errors(yaml.safe_load(path.read_text()))] == []


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("itres",), 5),
        (("iters",), "many"),
        (("iters",), 0),
        (("buffers", "A", "dtype"), "float"),
        (("buffers", "A", "ouput"), True),
        (("buffers", "A", "fill"), {"random": "gauss"}),
        (("variants", "naive", "kernal"), "f"),
        (("variants", "naive", "args"), [{"value": 3, "typ": "int32"}]),
        (("variants",), {}),
    ],
)
def test_mistakes_are_marked(place: tuple[str, ...], value: object, validator: jsonschema.Draft202012Validator) -> None:
    data = yaml.safe_load((bundled.bundled_folder("configs") / "gemm_1024.yaml").read_text())
    here = data
    for key in place[:-1]:
        here = here[key]
    here[place[-1]] = value
    assert list(validator.iter_errors(data))


def test_every_key_has_a_description(validator: jsonschema.Draft202012Validator) -> None:
    models = [validator.schema, *validator.schema["$defs"].values()]
    for model in models:
        for key, schema in model.get("properties", {}).items():
            assert schema.get("description"), f"{model['title']}.{key}"
