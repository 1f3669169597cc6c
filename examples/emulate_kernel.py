"""Launch a kernel of your own over numpy arrays, without a GPU, and look at what it did."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gpuprof

SOURCE = """
extern "C" __global__ void scale(const float* x, float* y, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = factor * x[i];
}
"""

with TemporaryDirectory() as folder:
    source = Path(folder) / "scale.cu"
    source.write_text(SOURCE)
    kernel = gpuprof.build(source)
    x = np.arange(1000, dtype=np.float32)
    result = gpuprof.emulate(kernel, 4, 256, x, np.zeros_like(x), np.float32(1.5), 1000)

unchanged, y = result.outputs
assert np.array_equal(y, 1.5 * x)
print(f"{kernel.demangled}: {kernel.resources.registers} registers")
COUNTERS = (
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
)
for name in COUNTERS:
    print(f"{name:<50} {result.counters[name]:>8,}")
