"""What a compiler or disassembler gave, kept for the other processes of the same run of the suite."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from filelock import FileLock

FOLDER_VARIABLE = "GPUPROF_TEST_RESULTS"
T = TypeVar("T")


def once_per_run(key: object, make: Callable[[], T]) -> T:
    """The value of ``make`` for this key (anything whose ``repr`` says it all), made by one process of the run."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder is None:
        return make()
    file = Path(folder) / hashlib.sha256(repr(key).encode()).hexdigest()
    with FileLock(f"{file}.lock"):
        if file.exists():
            value: T = pickle.loads(file.read_bytes())
            return value
        value = make()
        part = file.with_suffix(".part")
        part.write_bytes(pickle.dumps(value))
        part.replace(file)
        return value
