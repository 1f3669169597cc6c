"""The console that every command prints to: as wide as the terminal, 100 columns and no colour elsewhere."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

#: The width of tables in files and pipes: what a README and a mail show without folding.
PLAIN_WIDTH = 100


def make_console(file: IO[str] | None = None, *, stderr: bool = False) -> Console:
    """A console that obeys NO_COLOR and COLUMNS, and prints plain lines of 100 columns where there is no terminal."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    if file is None and isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal without µ or ± shows ? and not a traceback
    console = Console(file=file, stderr=stderr, highlight=False, emoji=False, markup=False, soft_wrap=False)
    if not console.is_terminal and not os.environ.get("COLUMNS", "").isdigit():
        console.width = PLAIN_WIDTH
    return console
