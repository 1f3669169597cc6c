"""Ask a GPU the questions of questions.cu and store its answers.

    python tests/hardware/questions/record.py OUT [--no-sweep] [--more]

Needs nvcc on PATH, pycuda and pyelftools. Writes OUT/questions.npz (one array per kernel; device, driver and
nvcc), OUT/questions.cubin, and OUT/mufu_sweep.npz: every mantissa of MUFU's RCP, RSQ, EX2, LG2 as the distance
in units of the last place from the correctly rounded result (some megabytes, for analysis rather than for keeping).
--more adds OUT/mufu_more.npz: the results of SQRT, LG2, SIN and TANH over as many arguments, for fit_mufu.py (four
megabytes, not for keeping), and OUT/mufu_more_crc.npz, their checksums, for the tests.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from question_inputs import MATRIX_KERNELS, MATRIX_WARPS, SETS, double_matrix_inputs, matrix_inputs  # noqa: E402

BLOCK = 128


def kernel_sets() -> dict[str, tuple[str, type]]:
    """Kernel -> (its set of inputs, type of its result), read off the source: the macros say types and arity."""
    found: dict[str, tuple[str, type]] = {}
    for line in (HERE / "questions.cu").read_text().splitlines():
        match = re.match(r"([A-Z0-9]+)\((\w+), (.*)", line)
        if match and match[1] in ARITY:
            found[match[2]] = _classify(match[1], match[2], match[3].rstrip(")"))
    for name in ("viaddmin", "viaddmax_u32", "viaddmax_relu", "vimin3", "viaddmax_s16x2"):
        found[name] = ("u32.3", np.uint32)
    found["vimin_relu_s16x2"] = ("u32.2", np.uint32)
    found["fchk"], found["divide"] = ("fchk", np.uint32), ("f32.2", np.uint32)
    return dict(sorted(found.items()))


ARITY = {"UNARY": 1, "BINARY": 2, "TERNARY": 3, "FLOAT2": 2, "FLOAT3": 3, "DOUBLE2": 2, "DOUBLE3": 3, "PAIR": 2}
ARITY |= {"PAIR8": 2, "UNPACK8": 1, "F2I": 1, "F2SMALL": 1, "D2I": 1, "H2I": 1, "D2F": 1, "F2H": 1, "FRND": 1, "I2F": 1}


def _classify(macro: str, name: str, rest: str) -> tuple[str, type]:
    arity = ARITY[macro]
    if name.startswith("mufu_"):
        wide = name.endswith("64h")
        return ("mufu64" if wide else "h2.1" if name.endswith("f16") else "mufu"), np.uint64 if wide else np.uint32
    types = [word.strip() for word in rest.split(",")]
    result = np.uint64 if "u64" in (types[0], types[-1]) or macro.startswith("DOUBLE") else np.uint32
    takes_u64 = macro in ("DOUBLE2", "DOUBLE3", "D2I", "D2F") or (macro == "UNARY" and types[1] == "u64")
    if macro == "I2F":
        return ("u64.1" if "u64" in rest else "u32.1"), np.uint32
    if takes_u64:
        return ("u64.1" if name.startswith("i2") else f"f64.{arity}"), result if macro != "D2F" else np.uint32
    if macro in ("FLOAT2", "FLOAT3", "PAIR", "PAIR8", "F2I", "F2SMALL", "F2H", "FRND") or name in ("f2d", "f2tf32_rna"):
        return f"f32.{arity}", result
    if macro in ("H2I", "UNPACK8") or name.startswith(("h", "frnd_f16")):
        return f"h2.{arity}", result
    return f"u32.{arity}", result


def build(arch: str, out: Path) -> bytes:
    """questions.cubin with the FSETP of ``fchk`` replaced."""
    target = out / "questions.cubin"
    command = ["nvcc", "-cubin", f"-arch={arch}", "-std=c++17", "-o", str(target), str(HERE / "questions.cu")]
    subprocess.run(command, check=True)
    patched = with_fchk(target.read_bytes())
    target.write_bytes(patched)
    return patched


def with_fchk(image: bytes) -> bytes:
    """FSETP P0, PT, Ra, Rb (opcode 0x20b) becomes FCHK P0, Ra, Rb (0x302), with scoreboard 1 for its reader.

    Control word (bits 121:105): stall at 0, yield at 4, write barrier at 5, read barrier at 8, wait mask at 11.
    """
    from elftools.elf.elffile import ELFFile

    section = ELFFile(io.BytesIO(image)).get_section_by_name(".text.fchk")
    code = np.frombuffer(section.data(), np.uint64).copy().reshape(-1, 2)
    (place,) = np.nonzero((code[:, 0] & np.uint64(0xFFF)) == 0x20B)[0]
    wait = int(code[place, 1]) >> 41 >> 11 & 63
    code[place, 0] = (int(code[place, 0]) & ~0xFFF) | 0x302
    code[place, 1] = (2 | 1 << 4 | 1 << 5 | 7 << 8 | wait << 11) << 41
    code[place + 1, 1] = int(code[place + 1, 1]) | (1 << 1) << 11 << 41
    start = section["sh_offset"]
    return image[:start] + code.tobytes() + image[start + section["sh_size"] :]


class Gpu:
    """A context on device 0 with the module loaded."""

    def __init__(self) -> None:
        import pycuda.driver as cuda

        self.cuda = cuda
        cuda.init()
        self.device = cuda.Device(0)
        self.context = self.device.retain_primary_context()
        self.context.push()
        self.arch = "sm_{}{}".format(*self.device.compute_capability())

    def load(self, image: bytes) -> None:
        self.module = self.cuda.module_from_buffer(image)

    def run(
        self, kernel: str, output: np.ndarray, inputs: tuple[np.ndarray, ...], count: int, threads: int
    ) -> np.ndarray:
        buffers = [self.cuda.to_device(np.ascontiguousarray(array)) for array in inputs]
        result = self.cuda.to_device(output)
        function = self.module.get_function(kernel)
        function(result, *buffers, np.int32(count), block=(BLOCK, 1, 1), grid=(-(-threads // BLOCK), 1))
        self.context.synchronize()
        self.cuda.memcpy_dtoh(output, result)
        for buffer in (*buffers, result):
            buffer.free()
        return output

    def close(self) -> None:
        self.context.pop()
        self.context.detach()


def answers(gpu: Gpu) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, (kind, result) in kernel_sets().items():
        inputs = SETS[kind]()
        count = inputs[0].size
        found[name] = gpu.run(name, np.zeros(count, result), inputs, count, count)
    for name, (_, _, _, words, _) in MATRIX_KERNELS.items():
        output = np.zeros((MATRIX_WARPS, 32, words), np.uint32)
        found[name] = gpu.run(name, output, matrix_inputs(name), MATRIX_WARPS, MATRIX_WARPS * 32)
    a, b, c = double_matrix_inputs()
    found["mma_f64"] = gpu.run("mma_f64", np.zeros_like(c), (a, b, c), len(a), len(a) * 32)
    lanes = np.arange(128, dtype=np.uint32) + np.uint32(1000)
    found["shfl_inactive"] = gpu.run("shfl_inactive", np.zeros(128, np.uint32), (lanes,), 128, 128)
    return found


def sweep_inputs(name: str) -> np.ndarray:
    """All 2^23 mantissas (RSQ: of two binades), EX2 on [0, 1) in steps of 2^-23."""
    steps = np.arange(1 << 23, dtype=np.uint32)
    if name == "mufu_ex2":
        return (steps.astype(np.float64) * 2.0**-23).astype(np.float32)
    one = (steps | np.uint32(0x3F800000)).view(np.float32)
    return np.concatenate([one, one * np.float32(2)]) if name == "mufu_rsq" else one


def sweep(gpu: Gpu) -> dict[str, np.ndarray]:
    exact = {"mufu_rcp": np.reciprocal, "mufu_rsq": lambda x: 1 / np.sqrt(x), "mufu_ex2": np.exp2, "mufu_lg2": np.log2}
    found = {}
    for name, function in exact.items():
        x = sweep_inputs(name)
        got = gpu.run(name, np.zeros(x.size, np.uint32), (x.view(np.uint32),), x.size, x.size).view(np.int32)
        if name == "mufu_lg2":  # absolute, in units of 2^-24: near 1 the result has far more places than it is good for
            difference = np.rint((got.view(np.float32).astype(np.float64) - np.log2(x.astype(np.float64))) * 2.0**24)
        else:
            difference = got.astype(np.int64) - function(x.astype(np.float64)).astype(np.float32).view(np.int32)
        found[name] = np.clip(difference, -127, 127).astype(np.int8)
    return found


def more_inputs(name: str) -> np.ndarray:
    """SQRT: two binades; LG2: one; SIN: a quarter turn, in radians; TANH: 2^-6 to 16, evenly in its bits."""
    steps = np.arange(1 << 23, dtype=np.uint32)
    one = (steps | np.uint32(0x3F800000)).view(np.float32)
    if name == "mufu_sqrt":
        return np.concatenate([one, one * np.float32(2)])
    if name == "mufu_sin":
        return ((steps + 0.5) * 2.0**-25 * 2 * np.pi).astype(np.float32)
    if name == "mufu_tanh":
        return (np.uint32(0x3C800000) + steps * np.uint32(10)).view(np.float32)
    return one


MORE = {"mufu_sqrt": np.sqrt, "mufu_lg2": np.log2, "mufu_sin": np.sin, "mufu_tanh": np.tanh}
CHUNK = 1 << 16


def more(gpu: Gpu) -> dict[str, np.ndarray]:
    """The bits of each result."""
    inputs = {name: more_inputs(name) for name in MORE}
    return {
        name: gpu.run(name, np.zeros(x.size, np.uint32), (x.view(np.uint32),), x.size, x.size)
        for name, x in inputs.items()
    }


def distances(found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The distance of each result's bits from those of the double result, rounded: what compresses."""
    return {name: (bits - _near(name)).view(np.int32) for name, bits in found.items()}


def more_results(path: Path, name: str) -> np.ndarray:
    """The bits again, from the distances."""
    with np.load(path) as recorded:
        return _near(name) + recorded[name].view(np.uint32)


def _near(name: str) -> np.ndarray:
    return MORE[name](more_inputs(name).astype(np.float64)).astype(np.float32).view(np.uint32)


def checksums(bits: np.ndarray) -> np.ndarray:
    """CRC-32 of every 2^16 results."""
    return np.array([zlib.crc32(part.astype("<u4").tobytes()) for part in bits.reshape(-1, CHUNK)], np.uint32)


def turns(radians: np.ndarray) -> np.ndarray:
    """FMUL.RZ by 1 / 2 pi, which precedes MUFU.SIN: the product cut to single."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = radians.astype(np.float64) * float(np.float32(0.15915494))
    return (product.view(np.int64) & ~np.int64(0x1FFFFFFF)).view(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--no-sweep", action="store_true")
    parser.add_argument("--more", action="store_true")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    gpu = Gpu()
    gpu.load(build(gpu.arch, arguments.out))
    found = answers(gpu)
    version = subprocess.run(["nvcc", "--version"], check=True, capture_output=True, text=True).stdout.split(
        "release "
    )[-1]
    about = f"{gpu.device.name()}, {gpu.arch}, driver API {gpu.cuda.get_driver_version()}, nvcc {version.split()[0]}"
    np.savez_compressed(arguments.out / "questions.npz", about=np.array(about), **found)
    if not arguments.no_sweep:
        np.savez_compressed(arguments.out / "mufu_sweep.npz", **sweep(gpu))
    if arguments.more:
        further = more(gpu)
        np.savez_compressed(arguments.out / "mufu_more.npz", **distances(further))
        crc = {name: checksums(bits) for name, bits in further.items()}
        np.savez_compressed(arguments.out / "mufu_more_crc.npz", **crc)
    gpu.close()
    print(f"{len(found)} kernels on {about}")


if __name__ == "__main__":
    main()
