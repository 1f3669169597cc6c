"""``gpuprof configs``: the experiments that are bundled or in this folder."""

from __future__ import annotations

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print names, paths and descriptions as JSON.")
def command(as_json: bool) -> None:
    """List the experiments that are bundled or in this folder, with their descriptions."""
    from gpuprof.cli import listing
    from gpuprof.experiment import bundled

    listing.show(listing.entries(bundled.configs(), listing.config_description), as_json)
