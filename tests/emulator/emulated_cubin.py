"""Runs kernels of a cubin on the emulator: arrays in, arrays out."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from gpuprof.emulator.engine import emulate
from gpuprof.emulator.loader import Module, pack_parameters
from gpuprof.emulator.memory.arena import Arena
from gpuprof.emulator.options import EmulationOptions
from gpuprof.sass.parse import parse_disassembly
from gpuprof.toolchain import find_tools
from gpuprof.toolchain.disasm import disassemble_text
from gpuprof.toolchain.elf import read_cubin


@functools.cache
def disassembled(path: Path) -> tuple[object, object]:
    """The cubin's facts and its parsed code."""
    return read_cubin(path), parse_disassembly(disassemble_text(find_tools(), path))


class EmulatedCubin:
    """A cubin loaded into an arena of its own."""

    def __init__(self, path: Path) -> None:
        facts, code = disassembled(path)
        self.arena = Arena(64 << 20)
        self.module = Module(facts, code, self.arena)  # type: ignore[arg-type]

    def kernel(self, name: str) -> str:
        """The mangled symbol that holds ``name``."""
        return next(symbol for symbol in self.module._facts.kernels if name in symbol)

    def run(
        self,
        kernel: str,
        output: np.ndarray,
        inputs: tuple[np.ndarray, ...],
        *scalars: np.generic,
        threads: int | None = None,
        block: int = 128,
        poison: int = 0xFFFFFFFF,
        engine: str = "numpy",
    ) -> np.ndarray:
        """kernel(output, *inputs, *scalars) over ``threads`` threads; what it left in ``output``."""
        arrays = (output, *(np.ascontiguousarray(array) for array in inputs))
        addresses = [self.arena.allocate(max(array.nbytes, 1)) for array in arrays]
        for address, array in zip(addresses, arrays, strict=True):
            self.arena.view(address, array.nbytes)[:] = array.reshape(-1).view(np.uint8)
        image = self.module.image(kernel)
        values = [np.uint64(address).tobytes() for address in addresses] + [scalar.tobytes() for scalar in scalars]
        count = output.size if threads is None else threads
        grid = (-(-count // block), 1, 1)
        options = EmulationOptions(poison=poison, engine=engine)
        emulate(image, self.arena, grid, (block, 1, 1), pack_parameters(image, values), options=options)
        result = self.arena.view(addresses[0], output.nbytes).copy().view(output.dtype).reshape(output.shape)
        for address in addresses:
            self.arena.free(address)
        return result
