"""Make what the suite keeps of a recording of ``record_forms.py``.

    python -m tests.hardware.compact_forms forms.zip [OUT]

Writes OUT/forms.json.gz (launches by number: counters, checksums of outputs), forms_cubins.zip, forms_outputs.npz and
forms_counts.npz (per launch one row an instruction: executed, threads, threads predicated on, divergent branches).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hardware.form_launches import TRACE

COLUMNS = (
    "Instructions Executed",
    "Thread Instructions Executed",
    "Predicated-On Thread Instructions Executed",
    "Divergent Branches",
)


def source_pages(text: str) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """(kernel, one row per instruction) of every launch on a source page, in order."""
    name, header, rows = "", [], []
    for line in csv.reader(io.StringIO(text)):
        if line[:1] == ["Kernel Name"]:
            if name:
                yield name, rows
            name, header, rows = line[1], [], []
        elif line and not header:
            header = line
        elif line:
            rows.append(dict(zip(header, line, strict=False)))
    if name:
        yield name, rows


def raw_page(text: str) -> list[dict[str, str]]:
    """One row per launch, without the row of units."""
    lines = list(csv.reader(io.StringIO(text[text.index('"ID"') :])))
    return [dict(zip(lines[0], line, strict=False)) for line in lines[2:]]


def number(text: str) -> float | int | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        return None
    return int(value) if value.is_integer() else value


def compact(archive: zipfile.ZipFile, out: Path) -> None:
    facts = json.loads(archive.read("launches.json"))
    pages: dict[int, tuple[list[dict[str, str]], list[tuple[str, list[dict[str, str]]]]]] = {}
    for page in {item["page"] for item in facts["launches"] if "page" in item}:
        raw = raw_page(archive.read(f"raw_{page}.csv").decode())
        sources = list(source_pages(archive.read(f"source_{page}.csv").decode()))
        if len(sources) == 2 * len(raw):  # ncu 2025.3 prints every launch twice
            sources = sources[::2]
        pages[page] = (raw, sources)
    counts: dict[str, np.ndarray] = {}
    launches: list[dict[str, Any]] = []
    for item in facts["launches"]:
        if item["group"] == TRACE:
            continue
        kept: dict[str, Any] = {"name": item["name"], "group": item["group"], "number": item["number"]}
        kept["cubin"] = Path(item["cubin"]).name
        if "page" in item:
            raw, sources = pages[item["page"]]
            name, rows = sources[item["position"]]
            assert name == item["kernel"], (name, item["kernel"])
            counters = {
                key: number(value) for key, value in raw[item["position"]].items() if "__" in key or "memory_" in key
            }
            kept["counters"] = {
                key: value
                for key, value in counters.items()
                if value is not None and not key.startswith(("launch__", "device__", "profiler__"))
            }
            counts[str(item["number"])] = np.array(
                [[int(row.get(column) or 0) for column in COLUMNS] for row in rows], np.int32
            )
        launches.append(kept)
    text = json.dumps({"environment": facts["environment"], "launches": launches})
    (out / "forms.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    np.savez_compressed(out / "forms_counts.npz", **counts)
    numbers = {str(item["number"]) for item in launches}
    with np.load(io.BytesIO(archive.read("outputs.npz"))) as arrays:
        kept_arrays = {key: arrays[key] for key in arrays.files if key.split("_")[0] in numbers}
    np.savez_compressed(out / "forms_outputs.npz", **kept_arrays)
    with zipfile.ZipFile(out / "forms_cubins.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as cubins:
        for name in sorted({item["cubin"] for item in launches}):
            cubins.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), archive.read(name), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    with zipfile.ZipFile(sys.argv[1]) as recording:
        compact(recording, Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent)
