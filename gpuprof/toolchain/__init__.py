"""The programs that gpuprof drives: finding them, building with nvcc, and reading what comes out.

nvcc is started in ``process`` for ``build`` and ``hostlib`` only; nvdisasm in ``disasm``; cuobjdump in ``extract``;
ncu in ``ncu``.
"""

from gpuprof.toolchain.tools import Tool, Toolchain, find_tools

__all__ = ["Tool", "Toolchain", "find_tools"]
