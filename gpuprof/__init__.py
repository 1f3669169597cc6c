"""gpuprof compiles, checks, times and explains CUDA kernels."""

__version__ = "0.1.0"
