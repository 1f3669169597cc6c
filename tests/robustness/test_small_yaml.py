"""A few bytes of YAML that ask for minutes or gigabytes: accepted or refused within bounds, never a traceback."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = 'extern "C" __global__ void k(float *y) { y[threadIdx.x] = 1; }\n'
BUFFERS = "buffers:\n  y: {dtype: float32, shape: [N], output: true}\n"
VARIANT = "variants:\n  v: {source: k.cu, kernel: k, block: 32, grid: GRID, args: [y]MORE}\n"
MANY = ",".join(map(str, range(316)))
AXES = f", params: {{A: [{MANY}], B: [{MANY}]}}"
SORTS = "+".join(["sum(sort(arange(4000000)))"] * 70)
LARGE = ",".join(["arange(200000000)"] * 40)
#: Processor seconds and bytes that a check may take.
CPU_SECONDS, PEAK_BYTES = 10, 500 << 20


def config(sizes: str = "{N: 32}", more: str = "", grid: str = "1", rest: str = "") -> str:
    variant = VARIANT.replace("GRID", grid).replace("MORE", more)
    return f"sizes: {sizes}\n{BUFFERS}{variant}{rest}"


def lines(count: int, text: str) -> str:
    return "".join(text.format(n=n, after=n + 1) for n in range(count))


CASES = {
    "a size that joins gigabytes": config(f'{{N: "sum(concat({LARGE})) % 7 + 1"}}'),
    "a reference that joins gigabytes": config(rest=f'reference: {{y: "sum(concat({LARGE}))"}}\n'),
    "a reference of many sorts": config(
        rest='reference: {y: "' + "+".join(["sum(sort(arange(4000000)))"] * 70) + '"}\n'
    ),
    "a slow where at 100,000 points": config(more=f'{AXES}, where: "{"+".join(["A*B"] * 450)} > 1e9"'),
    "a wrong where at 100,000 points": config(more=f'{AXES}, where: "A // 0 > 1"'),
    "a wrong grid at 100,000 points": config(more=AXES, grid='"A // 0"'),
    "a chain of sizes": f"sizes:\n  N: 32\n{lines(5000, '  S{n}: S{after} + 1' + chr(10))}  S5000: 1\n{BUFFERS}"
    + VARIANT.replace("GRID", "1").replace("MORE", ""),
    "keys that are not known": config() + lines(9000, "x{n}: 1\n"),
    "one key many times": config() + "a: 1\n" * 15_000,
    "folders that do not exist": config(more=", include: [" + ",".join(f'"d{n}"' for n in range(10_000)) + "]"),
    "aliases of aliases": "a: &a0 [1, 1]\n" + lines(24, "b{n}: &a{after} [*a{n}, *a{n}, *a{n}, *a{n}]\n") + config(),
    "an alias of itself": "sizes: &s {N: *s}\n" + BUFFERS + VARIANT,
    "brackets in brackets": config() + "x: " + "[" * 2000 + "]" * 2000 + "\n",
    "large powers": config('{N: "' + "*".join(["(2**500)"] * 100) + '"}'),
    "a truth value as a fill": config()
    .replace("float32", "uint64")
    .replace("output: true", "output: true, fill: true"),
}


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_a_check_ends_soon_and_small(text: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "c.yaml").write_text(text)
    limit = (CPU_SECONDS, CPU_SECONDS + 1)
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuprof", "check", "c.yaml"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit),
    )
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 2), errors[-2000:]
    assert "Traceback" not in errors
    assert len(errors.splitlines()) <= 101
    assert usage.ru_maxrss * 1024 < PEAK_BYTES
