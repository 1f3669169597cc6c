"""Make what the suite keeps of a recording of ``hopper/record.py``.

    python -m tests.hardware.hopper.compact hopper.zip [OUT]

Writes OUT/hopper.cubin, OUT/launches.json.gz (by number: name, error, checksum of what it wrote, counters) and
OUT/outputs.npz, what the launches with small results wrote.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.hardware.compact_forms import number

#: Bytes of a result that is kept whole; of others the checksum says whether they are equal.
WHOLE = 4096


def compact(archive: zipfile.ZipFile, out: Path) -> None:
    facts = json.loads(archive.read("launches.json"))
    with np.load(io.BytesIO(archive.read("outputs.npz"))) as arrays:
        outputs = {int(name): arrays[name] for name in arrays.files}
    launches: list[dict[str, Any]] = []
    for place, launch in enumerate(facts["launches"]):
        kept = {"name": launch["name"]} | ({"error": launch["error"]} if "error" in launch else {})
        if place in outputs:
            kept["sha256"] = hashlib.sha256(outputs[place].tobytes()).hexdigest()
        counters = {key: number(value) for key, value in launch.get("counters", {}).items() if value}
        kept["counters"] = {
            key: value
            for key, value in counters.items()
            if value is not None and (key.endswith(".sum") or key.startswith("memory_"))
        }
        launches.append(kept)
    text = json.dumps({"environment": facts["environment"], "launches": launches})
    (out / "launches.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (out / "hopper.cubin").write_bytes(archive.read("hopper.cubin"))
    whole = {str(place): data for place, data in outputs.items() if len(data) <= WHOLE}
    np.savez_compressed(out / "outputs.npz", **whole)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    with zipfile.ZipFile(sys.argv[1]) as recording:
        compact(recording, Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent)
