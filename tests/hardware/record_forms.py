"""Record the launches of ``form_launches`` on a GPU: outputs, counters, and counts of every instruction.

    python tests/hardware/record_forms.py OUT [SECONDS]

Needs a GPU of compute capability 9.0, nvcc and ncu on the PATH, pycuda and numpy; no gpuprof. Writes OUT/forms.zip
(written anew after every part): ``launches.json`` (recipes, errors, counters, tool versions), ``outputs.npz``,
``NAME.cubin``, and ``source_N.csv`` / ``raw_N.csv``, ncu's pages of the launches that launches.json names for them.
A launch that fails or hangs is left out with the reason; after SECONDS (default 330) nothing more is started.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from form_launches import FOLDER, TENSOR, TRACE, all_launches, contents
from record_configs import ARCH, METRICS, environment
from recorded_launches import RecordedLaunch

#: Launches under one ncu: enough that its start costs little, few enough that a failure loses little.
CHUNK = 50
#: Seconds that one process of launches without ncu may take; under ncu, seconds for a chunk.
PLAIN_LIMIT, CHUNK_LIMIT = 40, 110
WANTED = (
    *METRICS,
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
)


def build(launches: list[RecordedLaunch], scratch: Path) -> tuple[dict[tuple[str, tuple[str, ...]], Path], list[str]]:
    """(source, flags) -> cubin; and what could not be built."""
    cubins, errors = {}, []
    for key in dict.fromkeys((launch.source, launch.flags) for launch in launches):
        cubin = scratch / f"{Path(key[0]).stem}{'_trace' if key[1] else ''}.cubin"
        command = ["nvcc", "-std=c++17", "-O3", f"-arch={ARCH}", "-lineinfo", "-cubin", *key[1], "-o", str(cubin)]
        done = subprocess.run([*command, str(FOLDER / key[0])], capture_output=True, text=True)
        if done.returncode:
            errors.append(f"{key}: {done.stderr[-2000:]}")
        else:
            cubins[key] = cubin
    return cubins, errors


def drive(plan: Path, outputs: Path | None) -> None:
    """Launch everything once, in order; each is announced before, so that the parent knows which one failed."""
    import pycuda.driver as cuda

    cuda.init()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    modules: dict[str, Any] = {}
    kept: dict[str, np.ndarray] = {}
    for item in json.loads(plan.read_text()):
        print(f"LAUNCH {item['number']}", flush=True)
        if item["cubin"] not in modules:
            modules[item["cubin"]] = cuda.module_from_file(item["cubin"])
        function = modules[item["cubin"]].get_function(item["kernel"])
        arguments, buffers = [], []
        for arg in item["args"]:
            if arg["kind"] == "scalar":
                arguments.append(np.dtype(arg["dtype"]).type(arg["value"]))
                continue
            host = contents(arg["dtype"], arg["count"], arg["fill"])
            buffers.append((arg, host, cuda.to_device(host)))
            arguments.append(buffers[-1][2])
        function(*arguments, block=(*item["block"], 1, 1)[:3], grid=(*item["grid"], 1, 1)[:3])
        context.synchronize()
        for position, (arg, host, device) in enumerate(buffers):
            if arg["output"] and outputs is not None:
                back = np.empty_like(host)
                cuda.memcpy_dtoh(back, device)
                kept[f"{item['number']}_{position}"] = back.view(np.uint8)
            device.free()
    if outputs is not None:
        np.savez_compressed(outputs, **kept)
    context.pop()
    context.detach()


def attempt(command: list[str], limit: float) -> tuple[int, str, str]:
    """Return code (124 where it hung), standard output and errors."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=max(limit, 5), errors="replace")
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        text = [
            part.decode(errors="replace") if isinstance(part, bytes) else part or ""
            for part in (error.stdout, error.stderr)
        ]
        return 124, text[0], text[1]


class Recording:
    """What is known so far, and the archive that keeps it."""

    def __init__(self, out: Path, seconds: float) -> None:
        self.out, self.ends = out, time.monotonic() + seconds
        self.items: list[dict[str, Any]] = []
        self.outputs: dict[str, np.ndarray] = {}
        self.files: dict[str, bytes] = {}
        self.notes: list[str] = []

    @property
    def left(self) -> float:
        return self.ends - time.monotonic()

    def say(self, text: str) -> None:
        print(f"{self.left:4.0f} s left: {text}", flush=True)
        self.notes.append(text)

    def write(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        facts = {"environment": environment(), "launches": self.items, "notes": self.notes}
        with zipfile.ZipFile(self.out / "forms.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr("launches.json", json.dumps(facts))
            for name, data in self.files.items():
                archive.writestr(name, data)
            with archive.open("outputs.npz", "w") as file:
                np.savez_compressed(file, **self.outputs)


def run_plain(recording: Recording, items: list[dict[str, Any]], scratch: Path) -> None:
    """Outputs of these launches; one that fails or hangs gets an ``error`` and the rest is tried again."""
    plan, outputs = scratch / "plan.json", scratch / "outputs.npz"
    for _ in range(8):
        rest = [item for item in items if "error" not in item]
        plan.write_text(json.dumps(rest))
        outputs.unlink(missing_ok=True)
        code, text, errors = attempt(
            [sys.executable, __file__, "--drive", str(plan), str(outputs)], min(PLAIN_LIMIT, recording.left)
        )
        if outputs.exists():
            with np.load(outputs) as arrays:
                recording.outputs.update({name: arrays[name] for name in arrays.files})
            return
        announced = [line.split()[1] for line in text.splitlines() if line.startswith("LAUNCH ")]
        reason = f"return code {code}: {errors.strip().splitlines()[-1] if errors.strip() else 'no message'}"
        if not announced:
            recording.say(reason)
            return
        failed = next(item for item in rest if item["number"] == int(announced[-1]))
        failed["error"] = reason
        recording.say(f"{failed['name']}: {reason}")


def run_ncu(recording: Recording, items: list[dict[str, Any]], scratch: Path, number: int) -> None:
    """ncu's raw and source pages of these launches."""
    plan, report = scratch / "plan.json", scratch / f"report_{number}.ncu-rep"
    plan.write_text(json.dumps(items))
    base = ["ncu", "--clock-control", "none", "--cache-control", "none", "--target-processes", "application-only", "-f"]
    collect = ["--section", "SourceCounters", "--metrics", ",".join(WANTED), "-o", str(report.with_suffix(""))]
    code, text, errors = attempt(
        [*base, *collect, sys.executable, __file__, "--drive", str(plan)], min(CHUNK_LIMIT, recording.left)
    )
    if not report.exists():
        recording.say(f"ncu {number}: return code {code}: {text[-500:]} {errors[-500:]}")
        return
    for page in ("raw", "source"):
        read = ["ncu", "--import", str(report), "--page", page, "--csv", "--print-units", "base"]
        forms = ([*read, "--print-source", "sass"], read) if page == "source" else (read,)
        for form in forms:
            code, text, errors = attempt(form, 60)
            if code == 0 and len(text) > 1000:
                recording.files[f"{page}_{number}.csv"] = text.encode()
                break
        else:
            recording.say(f"ncu page {page} {number}: {text[-300:]} {errors[-300:]}")
            if report.stat().st_size < 3 << 20:
                recording.files[report.name] = report.read_bytes()
    for position, item in enumerate(items):
        item["page"], item["position"] = number, position


def record(out: Path, seconds: float) -> None:
    recording = Recording(out, seconds)
    groups = all_launches()
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        cubins, errors = build([launch for group in groups.values() for launch in group], scratch)
        for error in errors:
            recording.say(error)
        planned: dict[str, list[dict[str, Any]]] = {}
        for group, launches in groups.items():
            planned[group] = []
            for launch in launches:
                if (launch.source, launch.flags) in cubins:
                    cubin = cubins[launch.source, launch.flags]
                    item = {**launch.recipe(), "group": group, "cubin": str(cubin), "number": len(recording.items)}
                    recording.items.append(item)
                    planned[group].append(item)
        recording.files = {path.name: path.read_bytes() for path in cubins.values()}
        recording.say("built")
        for group in planned.values():
            run_plain(recording, group, scratch)
        recording.say("outputs recorded")
        recording.write()
        counted = [
            item
            for group, items in planned.items()
            if group not in (TENSOR, TRACE)
            for item in items
            if "error" not in item
        ]
        # first one launch of every kernel, then the others
        counted.sort(key=lambda item: item["name"].endswith((" 1", " 2")))
        for number, start in enumerate(range(0, len(counted), CHUNK)):
            if recording.left < 30:
                recording.say(f"no time for {len(counted) - start} launches under ncu")
                break
            run_ncu(recording, counted[start : start + CHUNK], scratch, number)
            recording.say(f"ncu {number} done")
            recording.write()
        recording.write()


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--drive":
        drive(Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
    elif len(sys.argv) in (2, 3):
        record(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 330.0)
    else:
        raise SystemExit(__doc__)
