"""A real GPU: memory, guards, launches, faults, and a clock. Skipped where there is none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpuprof.device.clock import sample_job
from gpuprof.device.drivers import why_no_driver
from gpuprof.device.gpus import find_gpus
from gpuprof.device.jobs import BufferReference, BufferSpec, Job, KernelCall
from gpuprof.device.launcher import jobs_ended, launcher_command, write_spec
from gpuprof.device.session import MAX_COPIES, Session
from gpuprof.errors import DeviceMemoryError, LaunchError
from gpuprof.profile.messages import Check, Load, Open, Sample
from gpuprof.profile.setup import build_support
from gpuprof.profile.supervisor import DeviceSupervisor
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.build import Builder
from gpuprof.toolchain.model import BuildRequest

GPUS = find_gpus().devices
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not GPUS or why_no_driver() is not None, reason="needs an NVIDIA GPU and pycuda or cuda-bindings"
    ),
]
N = 1 << 20
SOURCE = """
extern "C" __global__ void add_one(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 1;
}
extern "C" __global__ void past_the_end(int n, const float *x, float *y)
{
    if (threadIdx.x + blockIdx.x == 0) y[n + 2] = x[0];
}
extern "C" __global__ void fault(int n, const float *x, float *y) { *(float *)8 = x[0]; }
extern "C" __global__ void big_shared(int n, const float *x, float *y)
{
    extern __shared__ float room[];
    room[threadIdx.x + 16000] = x[threadIdx.x];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = room[16000 + (threadIdx.x ^ 1)];
}
__device__ int launches;
extern "C" __global__ void nth_launch(int n, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) y[0] = ++launches;
}
extern "C" __global__ void endless(int n, const float *x, float *y) { while (n) *(volatile float *)y = 0; }
"""


@pytest.fixture(scope="module")
def builder() -> Builder:
    return Builder(find_tools())


@pytest.fixture(scope="module")
def support(builder: Builder) -> Path:
    return build_support(builder, str(GPUS[0].arch))


@pytest.fixture(scope="module")
def cubin(builder: Builder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("gpu") / "k.cu"
    source.write_text(SOURCE)
    return builder.build(BuildRequest(source, "add_one", str(GPUS[0].arch))).cubin


@pytest.fixture
def x_file(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.arange(N, dtype=np.float32))
    return tmp_path / "x.npy"


def job(cubin: Path, x_file: Path, symbol: str, shared: int = 0) -> Job:
    buffers = (
        BufferSpec("x", "float32", (N,), 4 * N, x_file),
        BufferSpec("y", "float32", (N,), 4 * N, output=True),
    )
    arguments = (N.to_bytes(4, "little"), BufferReference("x"), BufferReference("y"))
    return Job(symbol, buffers, (KernelCall("k", cubin, symbol, (N // 256, 1, 1), (256, 1, 1), shared, arguments),))


@pytest.fixture
def session(support: Path) -> Iterator[Session]:
    from gpuprof.device.gpu import GpuDevice

    device = GpuDevice(0)
    device.support = support
    opened = Session(device)
    yield opened
    opened.close()
    opened.device.close()


def test_a_launch_and_its_outputs(session: Session, cubin: Path, x_file: Path) -> None:
    add = job(cubin, x_file, "add_one")
    session.prepare(add, 0xFF)
    assert np.isnan(session.outputs(add)["y"]).all()
    assert session.run(add) == ()
    assert np.array_equal(session.outputs(add)["y"], np.arange(1, N + 1, dtype=np.float32))
    assert session.damage(add) is None
    right = np.arange(1, N + 1, dtype=np.float32)
    assert session.holds_bytes(add, "y", right)
    for index in (0, N // 2, N - 1):  # in each of the pieces that are copied one by one
        wrong = right.copy()
        wrong[index] = 0
        assert not session.holds_bytes(add, "y", wrong)
    can = session.device.capabilities
    assert None not in (can.clock, can.comparison, can.pieces, can.guards, can.host_calls, can.support)


def test_outputs_are_compared_piece_by_piece_where_the_gpu_has_no_kernel_for_it(
    session: Session, cubin: Path, x_file: Path
) -> None:
    session.device.support = None  # type: ignore[attr-defined]
    add = job(cubin, x_file, "add_one")
    session.prepare(add, 0xFF)
    session.run(add)
    right = np.arange(1, N + 1, dtype=np.float32)
    assert session.holds_bytes(add, "y", right)
    for index in (0, N // 2, N - 1):
        wrong = right.copy()
        wrong[index] = 0
        assert not session.holds_bytes(add, "y", wrong)


@pytest.mark.parametrize("nbytes", [1, 15, 16, 17, 4096, 100_003, 3_000_017])
def test_the_gpu_finds_a_single_byte_that_differs(session: Session, nbytes: int) -> None:
    device: Any = session.device
    left, right = device.allocate(nbytes), device.allocate(nbytes)
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    device.write(left, data)
    device.write(right, data)
    assert device.equal(left, right)
    for index in {0, nbytes // 2, max(0, nbytes - 17), nbytes - 1}:
        wrong = data.copy()
        wrong[index] ^= 1
        device.write(right, wrong)
        assert not device.equal(left, right)


def test_many_copies_leave_the_memory_as_it_was(session: Session, cubin: Path, x_file: Path) -> None:
    add = job(cubin, x_file, "add_one")
    session.prepare(add, 0xFF)
    session.run(add)
    device: Any = session.device
    before = len(device._allocations)
    for value in range(3 * MAX_COPIES):
        assert not session.holds_bytes(add, "y", np.full(N, value, np.float32))
    assert len(device._allocations) == before + MAX_COPIES
    session.keep_only([add])
    assert len(device._allocations) == before


def test_a_write_just_past_the_end_is_found(session: Session, cubin: Path, x_file: Path) -> None:
    past = job(cubin, x_file, "past_the_end")
    session.prepare(past, 0xFF)
    session.run(past)
    assert "8 bytes past the end of buffer y" in (session.damage(past) or "")
    assert session.damage(past) is None  # the guard stands again


def test_dynamic_shared_memory_above_48_kb_is_opted_in(session: Session, cubin: Path, x_file: Path) -> None:
    big = job(cubin, x_file, "big_shared", shared=65536)
    session.prepare(big, 0xFF)
    session.run(big)
    assert session.outputs(big)["y"][:4].tolist() == [1.0, 0.0, 3.0, 2.0]


def test_more_memory_than_there_is_says_how_much_is_free(session: Session) -> None:
    with pytest.raises(DeviceMemoryError, match=r"bytes were asked for, .* are free"):
        session.device.allocate(1 << 45)


@pytest.mark.parametrize("protocol", ["cold", "warm"])
def test_times_are_those_of_the_memory_system(session: Session, cubin: Path, x_file: Path, protocol: str) -> None:
    add = job(cubin, x_file, "add_one")
    session.prepare(add, 0xFF)
    session.run(add)
    found = sample_job(session, add, protocol, 20, 1)
    assert found.remarks == ()
    # 8 MiB moved: between 50 GB/s (any GPU) and 20 TB/s (none)
    assert all(0.4 < sample < 170 for sample in found.samples_us)


def test_a_batch_is_no_slower_per_launch_than_single_launches(session: Session, cubin: Path, x_file: Path) -> None:
    add = job(cubin, x_file, "add_one")
    session.prepare(add, 0xFF)
    session.run(add)
    single = float(np.median(sample_job(session, add, "warm", 30, 1).samples_us))
    batch = float(np.median(sample_job(session, add, "warm", 10, 50).samples_us))
    assert batch < single * 1.2


OPEN = Open("gpu:0", str(GPUS[0].arch), None, 0) if GPUS else Open("gpu:0", None, None, 0)


def check(work: Job) -> Check:
    return Check((work,), (), None, {}, 0xFF, "no reference")


def test_a_fault_and_a_hang_cost_a_worker_and_the_next_one_works(support: Path, cubin: Path, x_file: Path) -> None:
    supervisor = DeviceSupervisor(OPEN, launch_timeout=3.0, support=lambda: support)
    try:
        assert supervisor.open().uuid == GPUS[0].uuid
        with pytest.raises(LaunchError, match=r"illegal|fail"):
            supervisor.check(check(job(cubin, x_file, "fault")))
        assert supervisor.take_replaced()
        with pytest.raises(LaunchError, match=r"did not end within 3 s"):
            supervisor.check(check(job(cubin, x_file, "endless")))
        good = job(cubin, x_file, "add_one")
        assert supervisor.check(check(good)).verification.verdict == "unchecked"
        supervisor.load(Load(good))
        assert len(supervisor.sample(Sample("add_one", "cold", 5, 1)).samples_us) == 5
    finally:
        supervisor.close()


def test_the_launcher_runs_a_job_once(cubin: Path, x_file: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    write_spec(job(cubin, x_file, "add_one"), spec, tmp_path / "out")
    done = subprocess.run(launcher_command(spec), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out" / "y.npy")[-1] == N


def test_the_launcher_runs_jobs_apart(cubin: Path, x_file: Path, tmp_path: Path) -> None:
    """Global variables start anew with each job."""
    spec, progress = tmp_path / "spec.json", tmp_path / "progress"
    jobs = [job(cubin, x_file, name) for name in ("nth_launch", "add_one", "nth_launch")]
    write_spec(jobs, spec, tmp_path / "out", progress)
    done = subprocess.run(launcher_command(spec), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert np.load(tmp_path / "out" / "y.npy")[0] == 1
    assert jobs_ended(progress) == 3


def test_the_launcher_says_which_job_ended_it(cubin: Path, x_file: Path, tmp_path: Path) -> None:
    spec, progress = tmp_path / "spec.json", tmp_path / "progress"
    write_spec([job(cubin, x_file, name) for name in ("add_one", "fault", "add_one")], spec, progress=progress)
    done = subprocess.run(launcher_command(spec), capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert "the launch failed" in done.stderr
    assert jobs_ended(progress) == 1


def test_a_process_that_closes_its_device_ends_well(support: Path) -> None:
    code = (
        "from pathlib import Path\n"
        "from gpuprof.device.gpu import GpuDevice\n"
        "device = GpuDevice(0)\n"
        f"device.support = Path({str(support)!r})\n"
        "device.allocate(1 << 20)\n"
        "device.flush_l2(); device.hold(); device.release(); device.synchronize()\n"
        "assert not device.hold_failed()\n"
        "device.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
