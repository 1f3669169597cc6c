"""Loops, FFMA stream and findings of a kernel's machine code."""

from rich import print

import gpuprof

analysis = gpuprof.sass("micro_gemm_4x4")
print(analysis)

hot = analysis.hot_loop
assert hot is not None
print(f"{analysis.instructions} instructions, {len(analysis.loops)} loops, {analysis.mix['FFMA']} FFMA")
