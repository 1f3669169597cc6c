"""Count the shared-memory wavefronts of a column of a tile, plain and padded."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gpuprof

SOURCE = """
extern "C" __global__ void column(float* out)
{
    __shared__ float tile[32][32 + PAD];
    tile[threadIdx.x][0] = threadIdx.x;
    __syncwarp();
    out[threadIdx.x] = tile[threadIdx.x][0];
}
"""
LOADS = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"

with TemporaryDirectory() as folder:
    source = Path(folder) / "column.cu"
    source.write_text(SOURCE)
    for padding in (0, 1):
        kernel = gpuprof.build(source, defines={"PAD": padding})
        result = gpuprof.emulate(kernel, 1, 32, np.zeros(32, np.float32))
        print(f"rows of {32 + padding} floats: {result.counters[LOADS]} wavefronts for one load of a column")
