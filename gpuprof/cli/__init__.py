"""The command line: one module per command, imported only when that command runs."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from gpuprof.errors import GpuprofError
from gpuprof.version import __version__

#: command -> (module of gpuprof.cli, one line of help). The function in the module is called ``command``.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Build every variant of an experiment, check it, time it, print one table."),
    "check": ("check", "Validate a YAML file and list the variants it expands to; build nothing."),
    "counters": ("counters", "Hardware counters of each variant, from the emulator or Nsight Compute."),
    "tune": ("tune", "Search parameters for the best variant, within a budget of trials or minutes."),
    "sanitize": ("sanitize", "Races, uninitialised memory, wrong barriers and bounds of each variant, with no GPU."),
    "sass": ("sass", "A kernel's machine code: resources, loops, the FFMA stream, predication, findings."),
    "ptx": ("ptx", "A kernel's PTX, with source lines."),
    "occupancy": ("occupancy", "Blocks and warps per SM, the percentage, and what limits it."),
    "kernels": ("kernels", "The kernels that are bundled or in this folder."),
    "configs": ("configs", "The experiments that are bundled or in this folder."),
    "new": ("new", "Write a starter kernel and YAML into this folder."),
    "schema": ("schema", "The JSON Schema of the YAML, for editors."),
    "history": ("history", "The stored runs."),
    "show": ("show", "Print a stored run, or a JSON file, again."),
    "report": ("report", "One HTML page of several runs and experiments."),
    "compare": ("compare", "Compare two runs, variant by variant."),
    "explain": ("explain", "Where the time goes, as modelled: stall reasons, and what would be gained."),
    "calibrate": ("calibrate", "Measure this GPU's constants, for modelled times anywhere."),
    "peaks": ("peaks", "Measure this GPU's FP32, tensor and DRAM ceilings once, and keep them."),
    "doctor": ("doctor", "Which tools and devices were found, and the command that supplies a missing one."),
    "cache": ("cache", "The build cache: its size, and emptying it."),
}


class LazyGroup(click.Group):
    """A group that knows its commands' names and help without importing them (``--help`` stays fast)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"gpuprof.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            ctx.fail(f"no command '{args[0]}'.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="gpuprof")
def cli() -> None:
    """Compile, check, time and explain CUDA kernels.

    With no GPU, kernels still build, run on an emulator of the machine code, are verified and counted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: run a command, print a GpuprofError as one message, end with its exit code."""
    try:
        # outside standalone mode click hands an Exit's code back instead of raising it
        code = cli.main(None if arguments is None else list(arguments), standalone_mode=False, prog_name="gpuprof")
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except GpuprofError as error:
        click.echo(f"{click.style('error:', fg='red')} {error}", err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        place = error.filename or "standard output"
        click.echo(f"{click.style('error:', fg='red')} cannot use {place}: {error.strerror or error}", err=True)
        _drop_output()
        sys.exit(1)


def _drop_output() -> None:
    """Let Python's own flush at the end write nowhere: what it could not write once it cannot write then."""
    import os

    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
