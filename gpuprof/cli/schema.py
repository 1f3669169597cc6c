"""``gpuprof schema``: the JSON Schema of the YAML."""

from __future__ import annotations

import json

import click


@click.command()
def command() -> None:
    """Print the JSON Schema of the YAML, so that editors complete and check it.

    \b
    gpuprof schema > gpuprof.schema.json
    and as the first line of a YAML file, for editors with the YAML language server:
    # yaml-language-server: $schema=gpuprof.schema.json
    """
    from gpuprof.experiment.schema import json_schema

    click.echo(json.dumps(json_schema(), indent=2))
