"""The CUDA sources that ``record.py`` times: chains of dependent instructions, runs of FFMA, and loops of many sizes.

A source is a function of a number, so that a slope between two lengths leaves out whatever brackets the clock reads.
"""

from __future__ import annotations

_TIMED = """
extern "C" __global__ void timed(unsigned* data, long long* ticks) {{
    {setup}
    long long best = 1ll << 40;
    #pragma unroll 1
    for (int turn = 0; turn < 6; ++turn) {{
        long long before = clock64();
        {body}
        long long spent = clock64() - before;
        best = spent < best ? spent : best;
    }}
    {finish}
    if (threadIdx.x % 32 == 0) ticks[threadIdx.x / 32] = best;
}}
"""

#: name -> (set-up, one link of the chain, what keeps the result alive)
CHAINS: dict[str, tuple[str, str, str]] = {
    "FFMA": (
        "float v = data[threadIdx.x], w = data[1];",
        'asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v) : "f"(w));',
        "data[threadIdx.x] = v;",
    ),
    "FADD": (
        "float v = data[threadIdx.x], w = data[1];",
        'asm volatile("add.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(w));',
        "data[threadIdx.x] = v;",
    ),
    "FMUL": (
        "float v = data[threadIdx.x], w = data[1];",
        'asm volatile("mul.rn.f32 %0, %0, %1;" : "+f"(v) : "f"(w));',
        "data[threadIdx.x] = v;",
    ),
    "IMAD": (
        "int v = data[threadIdx.x], w = data[1];",
        'asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(v) : "r"(w));',
        "data[threadIdx.x] = v;",
    ),
    "LOP3": (
        "unsigned v = data[threadIdx.x], w = data[1], x = data[2];",
        'asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;" : "+r"(v) : "r"(w), "r"(x));',
        "data[threadIdx.x] = v;",
    ),
    "HFMA2": (
        "unsigned v = data[threadIdx.x], w = data[1];",
        'asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(v) : "r"(w));',
        "data[threadIdx.x] = v;",
    ),
    "DFMA": (
        "double v = data[threadIdx.x], w = data[1];",
        'asm volatile("fma.rn.f64 %0, %0, %1, %1;" : "+d"(v) : "d"(w));',
        "data[threadIdx.x] = (unsigned)v;",
    ),
    "DADD": (
        "double v = data[threadIdx.x], w = data[1];",
        'asm volatile("add.rn.f64 %0, %0, %1;" : "+d"(v) : "d"(w));',
        "data[threadIdx.x] = (unsigned)v;",
    ),
    "MUFU.EX2": (
        "float v = data[threadIdx.x];",
        'asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(v));',
        "data[threadIdx.x] = v;",
    ),
    "MUFU.LG2": (
        "float v = data[threadIdx.x];",
        'asm volatile("lg2.approx.ftz.f32 %0, %0;" : "+f"(v));',
        "data[threadIdx.x] = v;",
    ),
    "SHFL": (
        "unsigned v = data[threadIdx.x];",
        'asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(v));',
        "data[threadIdx.x] = v;",
    ),
    "LDS": (
        "__shared__ unsigned place[32]; place[threadIdx.x % 32] = (unsigned)__cvta_generic_to_shared(place)"
        " + threadIdx.x % 32 * 4; __syncthreads(); unsigned v = place[threadIdx.x % 32];",
        'asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(v));',
        "data[threadIdx.x] = v;",
    ),
    "LDG hit": (
        "unsigned long long* own = (unsigned long long*)data + threadIdx.x % 32;"
        " *own = (unsigned long long)own; __syncthreads(); unsigned long long v = (unsigned long long)own;",
        'asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(v));',
        "data[threadIdx.x] = (unsigned)v;",
    ),
    "HMMA.16816.F32": (
        "float a = data[0], b = data[1], c = data[2], d = data[3];"
        " unsigned p = data[4], q = data[5], r = data[6], s = data[7], t = data[8], u = data[9];",
        'asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9},'
        ' {%0,%1,%2,%3};" : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "r"(p), "r"(q), "r"(r), "r"(s), "r"(t), "r"(u));',
        "data[threadIdx.x] = (unsigned)(a + b + c + d);",
    ),
    "HMMA.1688.F32": (
        "float a = data[0], b = data[1], c = data[2], d = data[3]; unsigned p = data[4], q = data[5], t = data[8];",
        'asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6},'
        ' {%0,%1,%2,%3};" : "+f"(a), "+f"(b), "+f"(c), "+f"(d) : "r"(p), "r"(q), "r"(t));',
        "data[threadIdx.x] = (unsigned)(a + b + c + d);",
    ),
    "F2I, I2F": (
        "float v = data[threadIdx.x]; int w = 0;",
        'asm volatile("cvt.rni.s32.f32 %1, %0; cvt.rn.f32.s32 %0, %1;" : "+f"(v), "+r"(w));',
        "data[threadIdx.x] = v;",
    ),
}

#: Registers that a run of FFMA may be given: as many float variables are kept alive around it.
VALUES = 56


def chain(name: str, length: int) -> str:
    """A chain of ``length`` links, each of which needs the result of the one before."""
    setup, link, finish = CHAINS[name]
    return _TIMED.format(setup=setup, body="\n        ".join([link] * length), finish=finish)


def run_of_ffma(length: int) -> str:
    """``length`` FFMA between two clock reads; ``record.py`` writes the operands it asks about into their encodings."""
    values = range(VALUES)
    setup = f"float v[{VALUES}];\n" + "\n".join(f"    v[{n}] = data[threadIdx.x + {32 * n}];" for n in values)
    body = "\n        ".join(
        f'asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(v[{n % VALUES}]) :'
        f' "f"(v[{(n + 1) % VALUES}]), "f"(v[{(n + 2) % VALUES}]));'
        for n in range(length)
    )
    finish = "\n    ".join(f"data[threadIdx.x + {32 * n}] = v[{n}];" for n in values)
    return _TIMED.format(setup=setup, body=body, finish=finish)


def loop_of(instructions: int) -> str:
    """A loop whose body is ``instructions`` independent FFMA, timed whole after a first turn."""
    lines = "".join(f"fma.rn.f32 %{n % 16}, %{n % 16}, %16, %16;\\n" for n in range(instructions))
    outputs = ", ".join(f'"+f"(v[{n}])' for n in range(16))
    setup = "float v[16], w = data[1];\n" + "\n".join(f"    v[{n}] = data[threadIdx.x + {n}];" for n in range(16))
    finish = "data[threadIdx.x] = " + " + ".join(f"v[{n}]" for n in range(16)) + ";"
    return _TIMED.format(setup=setup, body=f'asm volatile("{lines}" : {outputs} : "f"(w));', finish=finish)
