"""Packed FP32 of sm_100 against the scalar instructions of sm_89, whose results hardware has confirmed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpuprof.device.base import Launch, LaunchCounters, Pointer
from gpuprof.device.emulated import EmulatedDevice
from gpuprof.emulator.options import EmulationOptions
from gpuprof.isa import ncu_metrics as m
from gpuprof.sass.def_use import roles
from gpuprof.sass.parse import parse_disassembly
from tests.sass.sass_tools import compile_cubin, disassemble

COUNT = 512
SOURCE = r"""
__device__ __forceinline__ unsigned long long pack(float a, float b) {
    unsigned long long pair;
    asm("mov.b64 %0, {%1, %2};" : "=l"(pair) : "f"(a), "f"(b));
    return pair;
}
__device__ __forceinline__ float2 unpack(unsigned long long pair) { return *(float2*)&pair; }

extern "C" __global__ void packed(const float2* a, const float* b, float2* out, float s) {
#if __CUDA_ARCH__ >= 1000
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 v = a[i];
    unsigned long long x = pack(v.x, v.y), y = pack(b[i], b[i]), swapped = pack(-v.y, -v.x), p, q, r, t, u;
    asm("fma.rn.f32x2 %0, %1, %2, %1;" : "=l"(p) : "l"(x), "l"(y));
    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(q) : "l"(p), "l"(swapped));
    asm("mul.rn.ftz.f32x2 %0, %1, %2;" : "=l"(r) : "l"(q), "l"(pack(s, s)));
    asm("fma.rz.f32x2 %0, %1, %2, %3;" : "=l"(t) : "l"(r), "l"(pack(1.5f, 1.5f)), "l"(pack(1.5f, 2.5f)));
    asm("mul.rm.f32x2 %0, %1, %2;" : "=l"(u) : "l"(t), "l"(x));
    out[3 * i] = unpack(q), out[3 * i + 1] = unpack(r), out[3 * i + 2] = unpack(u);
#endif
}
extern "C" __global__ void scalar(const float2* a, const float* b, float2* out, float s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float2 v = a[i], q, r, u;
    float y = b[i], z;
    q.x = __fadd_rn(__fmaf_rn(v.x, y, v.x), -v.y), q.y = __fadd_rn(__fmaf_rn(v.y, y, v.y), -v.x);
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(r.x) : "f"(q.x), "f"(s));
    asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(r.y) : "f"(q.y), "f"(s));
    u.x = __fmul_rd(__fmaf_rz(r.x, 1.5f, 1.5f), v.x), u.y = __fmul_rd(__fmaf_rz(r.y, 1.5f, 2.5f), v.y);
    (void)z;
    out[3 * i] = q, out[3 * i + 1] = r, out[3 * i + 2] = u;
}
"""


@pytest.fixture(scope="module")
def cubins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("packed")
    source = folder / "packed.cu"
    source.write_text(SOURCE, encoding="utf-8")
    return {arch: compile_cubin(source, arch, folder) for arch in ("sm_89", "sm_100")}


def launch(cubin: Path, symbol: str) -> tuple[np.ndarray, LaunchCounters]:
    random = np.random.default_rng(5)
    bits = random.integers(0, 2**32, (COUNT, 2), np.uint32)
    near = random.normal(size=(COUNT, 2)).astype(np.float32).view(np.uint32)
    pairs = np.where(random.integers(0, 4, (COUNT, 1)) == 0, bits, near).view(np.float32)
    device = EmulatedDevice(EmulationOptions())
    arguments: list[Pointer | bytes] = []
    for host in (pairs, random.normal(size=COUNT).astype(np.float32), np.zeros((3 * COUNT, 2), np.float32)):
        handle = device.allocate(host.nbytes)
        device.write(handle, host)
        arguments.append(Pointer(handle))
    arguments.append(np.float32(0.75).tobytes())
    counters = device.launch(Launch(cubin, symbol, (COUNT // 128, 1, 1), (128, 1, 1), 0, tuple(arguments)))
    assert counters is not None
    return device.read(handle, "uint32", (3 * COUNT, 2)), counters


def test_both_halves_are_those_of_the_scalar_instructions(cubins: dict[str, Path]) -> None:
    found, counters = launch(cubins["sm_100"], "packed")
    expected, scalar = launch(cubins["sm_89"], "scalar")
    assert np.array_equal(found, expected)
    assert len(np.unique(found)) > COUNT
    values = counters.counters
    packed = {name: values[m.thread_op(name)] for name in ("fadd2", "fmul2", "ffma2", "fadd", "fmul", "ffma")}
    assert packed == {"fadd2": COUNT, "fmul2": 2 * COUNT, "ffma2": 2 * COUNT, "fadd": 0, "fmul": 0, "ffma": 0}
    assert m.thread_op("ffma2") not in scalar.counters, "Nsight Compute has no such counter before sm_100"


def test_a_source_that_gives_both_halves_one_value_is_one_register(cubins: dict[str, Path]) -> None:
    code = parse_disassembly(disassemble(cubins["sm_100"])).functions["packed"].body
    packed = [one for one in code if one.opcode in ("FADD2", "FMUL2", "FFMA2")]
    broadcast = [one for one in packed if any("F32" in operand.suffixes for operand in one.operands)]
    assert broadcast
    for one in packed:
        pairs = sum("F32x2" in operand.suffixes for operand in one.operands)
        singles = sum("F32" in operand.suffixes for operand in one.operands)
        assert len(roles(one).writes) == 2
        assert len(roles(one).reads) <= 2 * pairs + singles
