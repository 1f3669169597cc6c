"""Mutations of files that gpuprof reads: no traceback, no hang, no memory beyond bounds.

``python -m tests.robustness.fuzz --seconds 600 [--seed N] [--kind yaml]`` runs as long as one likes; the suite runs a
fixed number with a fixed seed. Every input is read in a forked child with limits on processor time and memory.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
CPU_SECONDS = 60
MEMORY_BYTES = 2 << 30
#: Exit codes of a child: fine, an unexpected exception.
FINE, TRACEBACK = 0, 99


def mutate_bytes(data: bytes, generator: random.Random) -> bytes:
    """One to eight changes: bytes set, flipped, removed, repeated, moved, or a field of 2 to 8 bytes replaced."""
    changed = bytearray(data)
    for _ in range(generator.randint(1, 8)):
        if not changed:
            break
        at = generator.randrange(len(changed))
        length = generator.choice((1, 1, 2, 4, 8, 16, 64))
        action = generator.randrange(6)
        if action == 0:
            changed[at] = generator.randrange(256)
        elif action == 1:
            changed[at] ^= 1 << generator.randrange(8)
        elif action == 2:
            del changed[at : at + length]
        elif action == 3:
            changed[at:at] = changed[at : at + length] * generator.choice((1, 2, 50))
        elif action == 4:
            value = generator.choice(
                (0, 1, (1 << 8 * length) - 1, 1 << (8 * length - 1), generator.getrandbits(8 * length))
            )
            changed[at : at + length] = value.to_bytes(length, "little")
        else:
            del changed[at:]
    return bytes(changed)


#: Pieces that a mutated YAML gets: values of other types, large numbers, keys at wrong places, YAML's own syntax.
PIECES = (
    *(
        "true",
        "null",
        "-1",
        "0",
        "1e400",
        ".nan",
        "99999999999999999999",
        '"',
        "'",
        "[",
        "{",
        "}",
        "&a",
        "*a",
        "<<: *a",
    ),
    *("~", "!!python/object:os.system", "fill: random", "shape: [N, N, N]", "where: N / 0", "params: {T: [1, 2, 2]}"),
    *("steps: []", "grid: [0]", "block: 4096", "args: [y, y]", "reference: {y: y}", "\t", "\x00", "\u2028", "é", "- -"),
)


def mutate_text(text: str, generator: random.Random) -> str:
    """One to six changes of lines, words and pieces."""
    lines = text.split("\n")
    for _ in range(generator.randint(1, 6)):
        at = generator.randrange(len(lines))
        action = generator.randrange(6)
        if action == 0:
            lines[at] = lines[generator.randrange(len(lines))]
        elif action == 1:
            del lines[at : at + generator.randint(1, 3)]
            lines = lines or [""]
        elif action == 2:
            lines.insert(at, " " * generator.randint(0, 8) + generator.choice(PIECES))
        elif action == 3:
            words = lines[at].split(" ")
            words[generator.randrange(len(words))] = generator.choice(PIECES)
            lines[at] = " ".join(words)
        elif action == 4:
            lines[at] = " " * generator.randint(0, 6) + lines[at].lstrip()
        else:
            place = generator.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:place] + generator.choice(PIECES) + lines[at][place:]
    return "\n".join(lines)


def command(*arguments: str) -> None:
    """A command of gpuprof in this process; what it prints is dropped."""
    from gpuprof.cli import main

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            main(list(arguments))
        except SystemExit as ended:
            if ended.code not in (0, 1, 2, 3):
                raise AssertionError(f"exit code {ended.code}") from None


def yaml_inputs(generator: random.Random, folder: Path) -> Iterator[Callable[[], None]]:
    texts = [path.read_text() for path in sorted((ROOT / "configs").glob("*.yaml"))]
    path = folder / "c.yaml"
    while True:
        path.write_text(mutate_text(generator.choice(texts), generator), encoding="utf-8", errors="replace")
        yield lambda: command("check", str(path))


def cubin_inputs(generator: random.Random, folder: Path) -> Iterator[Callable[[], None]]:
    cubins = [path for path in sorted((ROOT / "tests").rglob("*.cubin")) if path.stat().st_size < 200_000]
    path = folder / "k.cubin"
    while True:
        path.write_bytes(mutate_bytes(generator.choice(cubins).read_bytes(), generator))
        yield lambda: command("sass", str(path), "--json")


def npy_inputs(generator: random.Random, folder: Path) -> Iterator[Callable[[], None]]:
    whole = io.BytesIO()
    np.save(whole, np.arange(64, dtype=np.float32))
    (folder / "k.cu").write_text('extern "C" __global__ void k(float *x) { x[threadIdx.x] = 1; }\n')
    config = folder / "c.yaml"
    config.write_text(
        "buffers:\n  x: {dtype: float32, shape: [64], fill: x.npy, output: true}\n"
        "variants:\n  v: {source: k.cu, kernel: k, block: 64, grid: 1, args: [x]}\n"
    )
    while True:
        (folder / "x.npy").write_bytes(mutate_bytes(whole.getvalue(), generator))
        yield lambda: command("check", str(config))


def json_inputs(generator: random.Random, folder: Path) -> Iterator[Callable[[], None]]:
    texts = [path.read_text() for path in sorted((ROOT / "tests" / "results" / "data").glob("*_run.json"))]
    path = folder / "r.json"
    while True:
        text = generator.choice(texts)
        changed = mutate_text(text, generator) if generator.random() < 0.5 else None
        path.write_bytes(
            mutate_bytes(text.encode(), generator) if changed is None else changed.encode("utf-8", "replace")
        )
        yield lambda: command("show", str(path))


def history_inputs(generator: random.Random, folder: Path) -> Iterator[Callable[[], None]]:
    from gpuprof.results.history import History
    from gpuprof.results.json import read_run

    whole = folder / "whole.sqlite"
    History(whole).store(read_run(ROOT / "tests" / "results" / "data" / "emulated_run.json"))
    path = folder / "h.sqlite"
    while True:
        path.write_bytes(mutate_bytes(whole.read_bytes(), generator))
        yield lambda: command("history", "--history", str(path))


KINDS: dict[str, Callable[[random.Random, Path], Iterator[Callable[[], None]]]] = {
    "yaml": yaml_inputs,
    "cubin": cubin_inputs,
    "npy": npy_inputs,
    "json": json_inputs,
    "history": history_inputs,
}


def judged(read: Callable[[], None]) -> str | None:
    """Read an input in a child with limits; what went wrong, or None."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
        status = FINE
        try:
            read()
        except (sqlite3.Error, Exception):
            os.write(writing, traceback.format_exc()[-3000:].encode("utf-8", "replace"))
            status = TRACEBACK
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read().decode("utf-8", "replace")
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == TRACEBACK:
        return text
    if code < 0:
        return f"ended by signal {-code} after {usage.ru_utime:.0f} s"
    if usage.ru_maxrss * 1024 > MEMORY_BYTES:
        return f"took {usage.ru_maxrss >> 10} MiB"
    return None


def fuzz(kind: str, seed: int, *, count: int | None = None, seconds: float | None = None) -> tuple[int, list[str]]:
    """How many inputs of a kind were read, and what went wrong with them; ends after ``count`` or ``seconds``."""
    wrong = []
    done = 0
    ends = time.monotonic() + (seconds or 1e9)
    with tempfile.TemporaryDirectory() as name:
        os.environ.setdefault("GPUPROF_CACHE_DIR", str(Path(name) / "cache"))
        for read in KINDS[kind](random.Random(f"{kind} {seed}"), Path(name)):
            if time.monotonic() > ends or done == count:
                break
            problem = judged(read)
            done += 1
            if problem is not None:
                wrong.append(problem)
    return done, wrong


def main() -> None:
    """Fuzz every kind, or one, and print what went wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120.0, help="in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=KINDS)
    options = parser.parse_args()
    kinds = [options.kind] if options.kind else list(KINDS)
    failed = False
    for kind in kinds:
        done, wrong = fuzz(kind, options.seed, seconds=options.seconds / len(kinds))
        print(f"{kind}: {done:,} inputs, {len(wrong)} wrong", flush=True)
        for problem in wrong[:5]:
            print(problem)
        failed = failed or bool(wrong)
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
