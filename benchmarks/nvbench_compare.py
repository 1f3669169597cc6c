"""Cold times of bundled kernels by gpuprof and by NVIDIA's nvbench, side by side, from the same cubins.

    python benchmarks/nvbench_compare.py [--out FOLDER] [--limit 0.02] [CONFIG ...]

Needs a GPU and cuda-bench (``pip install 'cuda-bench[cu13]'``). Every variant of one kernel launch is compared; nvbench
runs in a process of its own, with its defaults: L2 flush, blocking kernel, stop at 0.5 % noise. Exit code 1 when a
median is further from nvbench's than the limit.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CONFIGS = ("gemm_1024", "micro_gemm", "transpose", "bandwidth", "saxpy", "softmax", "gemv")


@dataclass(frozen=True)
class Row:
    """Both medians of one variant, in microseconds."""

    name: str
    gpuprof_us: float
    nvbench_us: float

    @property
    def difference(self) -> float:
        """gpuprof over nvbench, less one."""
        return self.gpuprof_us / self.nvbench_us - 1


class Driver:
    """The few calls of the CUDA driver that a launch takes, on whatever context is current."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *arguments: Any) -> None:
        """Call and check."""
        code = getattr(self._library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name} gave error {code}")

    def upload(self, array: np.ndarray[Any, Any]) -> int:
        """A copy of an array in device memory."""
        address = ctypes.c_uint64()
        data = np.ascontiguousarray(array)
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, data.nbytes)))
        self.call("cuMemcpyHtoD_v2", address, data.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(data.nbytes))
        return address.value

    def function(self, cubin: Path, symbol: str, shared_bytes: int) -> ctypes.c_void_p:
        """A kernel, opted in to its dynamic shared memory (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8)."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin.read_bytes())
        self.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
        if shared_bytes > 48 * 1024:
            self.call("cuFuncSetAttribute", function, 8, shared_bytes)
        return function


def run_nvbench(spec: Path, result: Path) -> None:
    """In the child: one job under nvbench; writes nvbench's JSON."""
    import cuda.bench as bench

    from gpuprof.device.gpu import pack_parameters
    from gpuprof.device.jobs import KernelCall
    from gpuprof.device.launcher import read_spec

    (job,) = read_spec(spec)
    (call,) = (call for call in job.calls if isinstance(call, KernelCall))

    def benchmark(state: Any) -> None:
        driver = Driver()
        addresses = {
            buffer.name: driver.upload(
                np.load(buffer.file) if buffer.file else np.zeros(buffer.shape, np.dtype(buffer.dtype))
            )
            for buffer in job.buffers
        }
        packed = pack_parameters(
            tuple(
                argument
                if isinstance(argument, bytes)
                else (addresses[argument.buffer] + argument.offset_bytes).to_bytes(8, "little")
                for argument in call.arguments
            )
        )
        data = ctypes.create_string_buffer(packed, len(packed))
        size = ctypes.c_size_t(len(packed))
        # CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END
        extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(data), 2, ctypes.addressof(size), 0)
        function = driver.function(call.cubin, call.symbol, call.shared_bytes)

        def launcher(launch: Any) -> None:
            stream = ctypes.c_void_p(launch.get_stream().addressof())
            driver.call("cuLaunchKernel", function, *call.grid, *call.block, call.shared_bytes, stream, None, extra)

        state.exec(launcher)

    bench.register(benchmark)
    bench.run_all_benchmarks([sys.argv[0], "--json", str(result), "--devices", "0"])


def nvbench_median_us(spec: Path, folder: Path) -> float:
    """The median of nvbench's cold measurement (the mean where this nvbench gives no median)."""
    from cuda.bench.results import BenchmarkResult

    result = folder / "nvbench.json"
    command = [sys.executable, __file__, "--nvbench", str(spec), str(result)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    (benchmark,) = BenchmarkResult.from_json(result).values()
    summaries = benchmark.states[0].summaries
    found = summaries.get("nv/cold/time/gpu/median") or summaries["nv/cold/time/gpu/mean"]
    return float(found.value) * 1e6


def compare(config: str, folder: Path) -> Iterator[Row]:
    """Every variant of one launch."""
    from gpuprof import experiment as experiments
    from gpuprof.device.jobs import KernelCall
    from gpuprof.device.launcher import write_spec
    from gpuprof.profile.built_variant import BuiltVariant, build_request
    from gpuprof.profile.observer import SilentObserver
    from gpuprof.profile.options import RunOptions
    from gpuprof.profile.run import run_experiment
    from gpuprof.profile.setup import prepare_run
    from gpuprof.profile.shared_arrays import SharedData

    experiment = experiments.load(experiments.find_config(config))
    options = RunOptions(devices=("gpu:0",))
    run = run_experiment(experiment, options, SilentObserver())
    medians = {result.variant: result.timing.median_us for result in run.results if result.timing}
    setup, data = prepare_run(experiment, options), SharedData()
    try:
        for variant in experiment.variants:
            step = variant.main_step
            if variant.label not in medians or step is None or len(variant.steps) != 1:
                continue
            request = build_request(variant, step, setup.arch_of(variant), experiment.path.parent)
            built = BuiltVariant(variant, {step.name: setup.builder.build(request)}, {})
            job = built.job(data.specs(variant))
            assert all(isinstance(call, KernelCall) for call in job.calls)
            spec = folder / "spec.json"
            write_spec(job, spec)
            yield Row(f"{experiment.name} {variant.label}", medians[variant.label], nvbench_median_us(spec, folder))
    finally:
        data.close()


def main() -> None:
    """Print the table as Markdown and keep it."""
    if sys.argv[1:2] == ["--nvbench"]:
        run_nvbench(Path(sys.argv[2]), Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configs", nargs="*", default=CONFIGS)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--limit", type=float, default=0.02)
    options = parser.parse_args()
    lines = ["| kernel | gpuprof, us | nvbench, us | difference |", "| :--- | ---: | ---: | ---: |"]
    print("\n".join(lines), flush=True)
    worst = 0.0
    for config in options.configs:
        for row in compare(config, options.out):
            worst = max(worst, abs(row.difference))
            lines.append(f"| {row.name} | {row.gpuprof_us:.2f} | {row.nvbench_us:.2f} | {row.difference:+.2%} |")
            print(lines[-1], flush=True)
    (options.out / "nvbench_compare.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"largest difference {worst:.2%}, limit {options.limit:.0%}")
    sys.exit(int(worst > options.limit))


if __name__ == "__main__":
    main()
