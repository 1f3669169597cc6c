"""A child for the supervision tests: answers, crashes, hangs or dies as it is told."""

from __future__ import annotations

import ctypes
import os
import sys
import time

from gpuprof.device.process import serve_connection


def main() -> None:
    connection = serve_connection()
    while (message := connection.recv()) is not None:
        if message == "crash":
            ctypes.string_at(0)
        elif message == "hang":
            time.sleep(600)
        elif message == "exit":
            sys.exit("out of luck")
        elif message == "abort":
            os.abort()
        else:
            connection.send(("echo", message, os.getpid()))


if __name__ == "__main__":
    main()
