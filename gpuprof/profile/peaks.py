"""Ceilings of one GPU: measured once by ``device/peaks.cu`` and kept by uuid, or the datasheet's, marked as such."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from gpuprof.device.base import DeviceDescription
from gpuprof.device.jobs import BufferReference, BufferSpec, Job, KernelCall
from gpuprof.errors import MissingDeviceError, StoreError
from gpuprof.isa.opcodes import Operation, names_where
from gpuprof.profile.messages import Load, Open, Sample
from gpuprof.profile.options import GPU_LAUNCH_TIMEOUT
from gpuprof.profile.supervisor import DeviceSupervisor
from gpuprof.results.model import PeakFacts, Result, SassFacts
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest

THREADS = 256
BLOCKS_PER_SM = 8  #: 8 x 256 threads fill an SM of every architecture since sm_80 (1,536 or 2,048 threads)
ITERATIONS = 4096
FP32_FLOP = 2 * 16  #: per thread and iteration: CHAINS in peaks.cu
TENSOR_FLOP = 4096 * 8 // 32  #: per thread and iteration: m16n8k16 and TILES in peaks.cu
SAMPLES = 20
#: Bytes of each array that DRAM is measured with: twenty times the largest L2, at most an eighth of the memory.
DRAM_BYTES = 1 << 30
#: Opcodes that run on tensor cores with half inputs; warpgroup products have another ceiling, which mma.sync misses.
TENSOR_OPCODES = ("HMMA",)
WARPGROUP_OPCODES = ("HGMMA", "UTCHMMA")
DOUBLE_OPCODES = names_where(lambda row: row.operation is Operation.FP64)


@dataclass(frozen=True)
class Peaks:
    """Rates of one GPU: GFLOP/s and GB/s. ``source`` is ``measured`` or ``datasheet``."""

    gpu: str
    uuid: str
    fp32_gflops: float
    tensor_gflops: float
    dram_copy_gbps: float
    dram_read_gbps: float
    source: str = "measured"
    when: str = ""

    @property
    def dram_gbps(self) -> float:
        """The higher of the two DRAM rates."""
        return max(self.dram_copy_gbps, self.dram_read_gbps)

    @property
    def facts(self) -> PeakFacts:
        """What a run keeps of them."""
        return PeakFacts(self.gpu, self.fp32_gflops, self.tensor_gflops, self.dram_gbps, self.source)


def peaks_path(uuid: str) -> Path:
    """Where a GPU's measured peaks are kept."""
    from platformdirs import user_data_path

    return user_data_path("gpuprof", appauthor=False) / "peaks" / f"{uuid}.json"


def stored_peaks(uuid: str | None) -> Peaks | None:
    """The measured peaks of a GPU, or None; an unreadable file counts as none."""
    if uuid is None:
        return None
    try:
        return Peaks(**json.loads(peaks_path(uuid).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def store_peaks(peaks: Peaks) -> Path:
    """Keep them; raises StoreError."""
    path = peaks_path(peaks.uuid)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_suffix(".part")
        scratch.write_text(json.dumps(asdict(peaks), indent=2), encoding="utf-8")
        scratch.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from None
    return path


def datasheet_peaks(gpu: DeviceDescription) -> Peaks | None:
    """The datasheet's figures for a GPU of the data files, by name and multiprocessor count; None for any other."""
    from gpuprof import arch

    if gpu.arch is None:
        return None
    for product in arch.get(gpu.arch).products:
        model = product.name.split()[0]
        if model in gpu.name.split() and product.sms == gpu.multiprocessors:
            tflops = 1e3
            return Peaks(
                gpu.name,
                gpu.uuid or "",
                product.fp32_tflops * tflops,
                product.fp16_tensor_tflops * tflops,
                product.dram_gbps,
                product.dram_gbps,
                source="datasheet",
            )
    return None


def peaks_of(gpu: DeviceDescription) -> Peaks | None:
    """Measured, else the datasheet's, else None."""
    return stored_peaks(gpu.uuid) or datasheet_peaks(gpu)


def percent_of_peak(result: Result, peaks: Peaks) -> Mapping[str, float]:
    """``percent_of_peak_flops`` and ``percent_of_peak_bandwidth`` of a timed row, those that a ceiling exists for."""
    if result.timing is None:
        return {}
    ceiling = flop_ceiling(result.sass, peaks)
    found = {}
    if result.timing.gflops is not None and ceiling is not None:
        found["percent_of_peak_flops"] = 100 * result.timing.gflops / ceiling
    if result.timing.gbps is not None:
        found["percent_of_peak_bandwidth"] = 100 * result.timing.gbps / peaks.dram_gbps
    return found


def with_percent(result: Result, peaks: Peaks | None) -> Result:
    """The row with its share of the peaks."""
    if peaks is None:
        return result
    return replace(result, modelled={**result.modelled, **percent_of_peak(result, peaks)})


def flop_ceiling(sass: SassFacts | None, peaks: Peaks) -> float | None:
    """GFLOP/s that code of this mix can reach; None where no peak is known for it."""
    if sass is None or any(sass.mix.get(name) for name in (*WARPGROUP_OPCODES, *DOUBLE_OPCODES)):
        return None
    return peaks.tensor_gflops if any(sass.mix.get(name) for name in TENSOR_OPCODES) else peaks.fp32_gflops


def measure_peaks(builder: Builder, name: str, gpu: DeviceDescription, support: Path) -> Peaks:
    """Run the four kernels on ``gpu`` (``name`` is ``gpu:N``); raises LaunchError, BuildError."""
    if gpu.arch is None or gpu.multiprocessors is None:
        raise MissingDeviceError(f"{gpu.name} reports no architecture")
    supervisor = DeviceSupervisor(Open(name, gpu.arch, None, 0), GPU_LAUNCH_TIMEOUT, support=lambda: support)
    supervisor.open()
    try:
        rates = {
            job.label: _best_rate(supervisor, job, amount)
            for job, amount in _jobs(builder, gpu.arch, gpu.multiprocessors, gpu.memory_bytes or DRAM_BYTES * 8)
        }
    finally:
        supervisor.close()
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Peaks(gpu.name, gpu.uuid or "", rates["fp32"], rates["tensor"], rates["copy"], rates["read"], when=now)


def _best_rate(supervisor: DeviceSupervisor, job: Job, amount: float) -> float:
    """Giga-amount per second in the fastest of the samples."""
    supervisor.load(Load(job))
    samples = supervisor.sample(Sample(job.label, "warm", SAMPLES, 1)).samples_us
    supervisor.drop(job.label)
    return amount / min(samples) / 1e3


def _jobs(builder: Builder, arch: str, multiprocessors: int, memory_bytes: int) -> list[tuple[Job, float]]:
    """Each job with the operations or bytes of one launch."""
    blocks = multiprocessors * BLOCKS_PER_SM
    threads = blocks * THREADS
    out = BufferSpec("out", "float32", (threads,), threads * 4, output=True)
    unit = 16 * 4 * threads
    count = max(1, min(DRAM_BYTES, memory_bytes // 8) // unit) * unit
    source = BufferSpec("source", "float32", (count // 4,), count, scratch=True)
    target = replace(source, name="target")
    iterations, number = ITERATIONS.to_bytes(4, "little"), (count // 16).to_bytes(8, "little")
    half = b"\x00\x00\x00\x3f"  # 0.5f: the sums stay finite
    plans: tuple[tuple[str, tuple[BufferSpec, ...], tuple[BufferReference | bytes, ...], float], ...] = (
        ("fp32", (out,), (iterations, half, BufferReference("out")), FP32_FLOP * ITERATIONS * threads),
        ("tensor", (out,), (iterations, BufferReference("out")), TENSOR_FLOP * ITERATIONS * threads),
        ("copy", (source, target), (BufferReference("source"), BufferReference("target"), number), 2.0 * count),
        ("read", (source, out), (BufferReference("source"), BufferReference("out"), number), float(count)),
    )
    return [
        (Job(label, buffers, (_call(builder, arch, label, blocks, arguments),)), amount)
        for label, buffers, arguments, amount in plans
    ]


def _call(
    builder: Builder, arch: str, label: str, blocks: int, arguments: tuple[BufferReference | bytes, ...]
) -> KernelCall:
    from gpuprof import device

    source = Path(str(device.__file__)).parent / "peaks.cu"
    build = builder.build(BuildRequest(source=source, kernel=f"gpuprof_peak_{label}", arch=arch))
    return KernelCall(label, build.cubin, build.symbol, (blocks, 1, 1), (THREADS, 1, 1), 0, arguments)
