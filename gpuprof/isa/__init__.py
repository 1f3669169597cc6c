"""Facts of the instruction set, each written once: opcodes, memory access rules, constant bank 0, metric names.

The lowest room: it imports nothing of gpuprof but ``errors``. Figures of single architectures are in ``arch``.
"""
