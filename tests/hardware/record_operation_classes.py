"""Under which class Nsight Compute counts opcodes that no recorded launch holds alone.

    python tests/hardware/record_operation_classes.py FOLDER

Each kernel repeats one instruction in straight code of one warpgroup. FOLDER/operation_classes.json has for each kernel
the lanes of every class, and how often each opcode stands in its code, so that the class of the repeated one is the
difference. Needs a GPU of sm_90, nvcc, ncu and nvdisasm; takes about a minute, and a kernel that fails costs only
its own entry.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from gpuprof.errors import GpuprofError
from gpuprof.isa import ncu_metrics as m
from gpuprof.isa.opcodes import Operation
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.ncu import NcuRequest, profile

ARCH = "sm_90a"
REPEATS = 16
THREADS = 128
CLASSES = [operation.value for operation in Operation if operation is not Operation.UNKNOWN]

#: Name -> the statement that is repeated; ``a``, ``b``, ``c`` are unsigned, ``p`` a pointer to global memory.
STATEMENTS = {
    "empty": "",
    "preexit": 'asm volatile("griddepcontrol.launch_dependents;");',
    "acqbulk": 'asm volatile("griddepcontrol.wait;" ::: "memory");',
    "warpgroup": 'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");',
    "half_min_max": "a = __vimax3_s16x2(a, b, c); c += a;",
    "integer_min_max_3": "a = __vimax3_s32(a, b, c); c += a;",
    "dot_product": "a = __dp4a((int)a, (int)b, (int)c); c ^= a;",
    "absolute_difference": "a = __usad(a, b, c); c ^= a;",
    "absolute_difference_4": "a = __vabsdiffu4(a, b); b ^= a;",
    "elect": '{ unsigned q; asm volatile("{.reg .pred t; elect.sync %0|t, 0xffffffff;}" : "=r"(q)); a += q; }',
    "space_query": '{ unsigned q; asm volatile("{.reg .pred t; isspacep.shared t, %1; selp.u32 %0, 1, 0, t;}" : '
    '"=r"(q) : "l"(p + c)); c += q; }',
    "nanosleep": "__nanosleep(1);",
    "fence_system": "__threadfence_system();",
    "fence_proxy": 'asm volatile("fence.proxy.async;" ::: "memory");',
    "prefetch": 'asm volatile("prefetch.global.L2 [%0];" :: "l"(p));',
    "cluster_barrier": 'asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");',
    "pack_bytes": 'asm volatile("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %0;" : "+r"(a) : "r"(b), "r"(c));',
    "sign_extend": "a = (unsigned)((int)(a << 13) >> 13) ^ b; b += a;",
    "bit_product": 'asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, '
    '{%0,%1,%2,%3}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3) : "r"(b), "r"(c));',
    "byte_product": 'asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, '
    '{%0,%1,%2,%3}, {%4,%5}, {%0,%1,%2,%3};" : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3) : "r"(b), "r"(c));',
}


def source(statement: str) -> str:
    """A program that launches the statement's kernel once."""
    return f"""
__global__ void probe(unsigned* p) {{
    unsigned a = p[threadIdx.x], b = a * 3, c = a ^ 5;
    int d0 = a, d1 = b, d2 = c, d3 = 1;
    #pragma unroll
    for (int i = 0; i < {REPEATS}; ++i) {{ {statement} }}
    p[threadIdx.x] = a + b + c + d0 + d1 + d2 + d3;
}}
int main() {{
    unsigned* p;
    if (cudaMalloc(&p, 65536)) return 1;
    cudaMemset(p, 1, 65536);
    probe<<<1, {THREADS}>>>(p);
    return cudaDeviceSynchronize() ? 2 : 0;
}}
"""


def opcodes_of(cubin: Path) -> dict[str, int]:
    """How often each base opcode stands in the kernel, up to its last EXIT."""
    tool = find_tools().require("nvdisasm")
    text = subprocess.run([tool.path, "-c", cubin], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*)", text)
    last = max((index for index, name in enumerate(names) if name == "EXIT"), default=len(names))
    return dict(Counter(names[: last + 1]))


def record(name: str, folder: Path) -> dict[str, object]:
    """One kernel: its opcodes, and the lanes of each class."""
    path = folder / f"{name}.cu"
    path.write_text(source(STATEMENTS[name]), encoding="utf-8")
    nvcc = str(find_tools().require("nvcc").path)
    target = f"-gencode=arch=compute_{ARCH[3:]},code={ARCH}"
    subprocess.run([nvcc, "-O3", target, "-cubin", "-o", path.with_suffix(".cubin"), path], check=True, timeout=120)
    found: dict[str, object] = {"opcodes": opcodes_of(path.with_suffix(".cubin"))}
    program = path.with_suffix(".out")
    subprocess.run([nvcc, "-O3", target, "-o", program, path], check=True, timeout=120)
    metrics = (m.THREAD_INSTRUCTIONS_ON, *(m.thread_op(each) for each in CLASSES))
    (launch,) = profile(find_tools().require("ncu"), NcuRequest((str(program),), metrics, timeout=60)).launches
    return found | {"lanes": dict(launch.values)}


def main(target: Path) -> None:
    import tempfile

    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in STATEMENTS:
            try:
                found[name] = record(name, Path(scratch))
            except (GpuprofError, subprocess.SubprocessError, ValueError) as error:
                found[name] = {"failed": str(error)[:500]}
            (target / "operation_classes.json").write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
