"""The process that reads machine code: ``python -m gpuprof.profile.code_reading_process FD``. Answers ReadRequests."""

from __future__ import annotations

import os

from gpuprof.device.process import serve_connection
from gpuprof.profile.code_reading import read_here

#: Builds and launches come first: the device waits for them, and only the table waits for what is read here.
NICE = 10


def main() -> None:
    """Serve until the parent says None or goes away."""
    connection = serve_connection()
    os.nice(NICE)
    try:
        while (request := connection.recv()) is not None:
            connection.send(read_here(request))
    except (EOFError, ConnectionResetError, BrokenPipeError):
        pass


if __name__ == "__main__":
    main()
