"""Writes the runs that the tests of the page show: ``python -m tests.report.record_pages [NAME...|FILE.json.gz...]``.

A file is a run that was measured on a GPU. Each is what ``gpuprof run NAME --html`` keeps, without the paths of the
machine that it ran on.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DATA = Path(__file__).parent / "data"
#: name -> further arguments; small sizes, so that the files stay small.
RUNS: dict[str, tuple[str, ...]] = {
    "transpose": (),
    "coalescing": (),
    "reduction": (),
    "gemm_tiles": (),
    "bank_strides": ("--set", "STRIDE=0,1,2,4,8,16,32,33"),
    "tests/report/wrong.yaml": (),
}


#: What of a path is before a folder of the repository.
_FOLDERS = re.compile(r"/[^\"\s:(),]*/(kernels|configs|tests)(?=/)/")


def record(name: str, arguments: tuple[str, ...]) -> Path:
    """Run one experiment on the emulator and keep its JSON."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "run.json"
        command = [sys.executable, "-m", "gpuprof", "run", name, *arguments, "--device", "emulated", "--no-history"]
        subprocess.run([*command, "--json", str(target), "--html", str(Path(folder) / "run.html")], cwd=ROOT)
        return keep(json.loads(target.read_text(encoding="utf-8")), name, arguments)


def keep(data: dict[str, object], name: str, arguments: tuple[str, ...] = ()) -> Path:
    """Write a run's JSON to ``DATA``, every path relative to the repository."""
    environment = data["environment"]
    assert isinstance(environment, dict)
    environment["command"] = ["gpuprof", "run", Path(name).stem, *arguments, "--html", f"{Path(name).stem}.html"]
    for result in data["results"] if isinstance(data["results"], list) else ():
        for build in (result["build"], *(step["build"] for step in result["steps"])):
            if build:
                build["command"] = [word.rsplit("/", 1)[-1] for word in build["command"]]
    environment["gpu_uuid"] = None
    text = _FOLDERS.sub(r"\1/", json.dumps(data, ensure_ascii=False))
    target = DATA / f"{Path(name).stem}.json.gz"
    target.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    return target


def keep_measured(file: Path) -> Path:
    """The JSON (.json.gz) of a run on a GPU, made with ``gpuprof peaks`` before it."""
    return keep(json.loads(gzip.decompress(file.read_bytes())), file.name.partition(".")[0])


if __name__ == "__main__":
    measured = [Path(each) for each in sys.argv[1:] if each.endswith(".json.gz")]
    for each in measured:
        print(keep_measured(each))
    for chosen, options in RUNS.items():
        if len(sys.argv) < 2 or Path(chosen).stem in sys.argv[1:]:
            print(record(chosen, options))
