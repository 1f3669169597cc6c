"""``gpuprof cache``: what the build cache holds, and emptying it."""

from __future__ import annotations

import json

import click

#: What each kind of entry is.
_KINDS = {
    "cubins": "machine code",
    "libraries": "host libraries",
    "manifests": "what each build read",
    "sass": "disassembly",
    "lanes": "kernels compiled for the emulator",
    "facts": "what was read from machine code",
    "versions": "tool versions",
    "links": "links for folder names with special characters",
}


@click.command()
@click.option("--clear", is_flag=True, help="Empty it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(clear: bool, as_json: bool) -> None:
    """The build cache: its folder, what is in it, and emptying it with --clear."""
    from gpuprof.toolchain.cache import open_cache

    cache = open_cache()
    usage = cache.clear() if clear else cache.usage()
    total = sum(kind.bytes for kind in usage)
    if as_json:
        kinds = {kind.kind: {"files": kind.files, "bytes": kind.bytes} for kind in usage}
        data = {"folder": str(cache.root), "bytes": total, "kinds": kinds, "cleared": clear, "note": cache.note}
        click.echo(json.dumps(data, indent=2))
        return
    if cache.note:
        click.echo(f"note: {cache.note}", err=True)
    click.echo(f"{'emptied ' if clear else ''}{cache.root}: {_bytes(total)} in {sum(k.files for k in usage):,} files")
    for kind in usage:
        label = _KINDS.get(kind.kind, "")
        click.echo(f"  {kind.kind:<12}{kind.files:>8,} files  {_bytes(kind.bytes):>10}  {label}".rstrip())


def _bytes(count: int) -> str:
    for limit, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= limit:
            return f"{count / limit:.1f} {unit}"
    return f"{count} B"
