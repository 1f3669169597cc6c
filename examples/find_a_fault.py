"""A store past the end of a buffer is an error with line, block and thread."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gpuprof

SOURCE = """
extern "C" __global__ void fill(float* y)
{
    y[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}
"""

with TemporaryDirectory() as folder:
    source = Path(folder) / "fill.cu"
    source.write_text(SOURCE)
    kernel = gpuprof.build(source)
    try:
        gpuprof.emulate(kernel, 5, 256, np.zeros(1000, np.float32))
    except gpuprof.errors.MemoryFaultError as error:
        print(error)
