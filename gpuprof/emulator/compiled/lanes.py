"""Symbolic registers: what a semantics reads and writes, as parameters of a C++ function of one instruction form."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.emulator.compiled.symbolic import Recorder, Symbol, as_symbol, literal
from gpuprof.emulator.semantics.base import NotCovered
from gpuprof.emulator.semantics.forms import FALSE, TRUE
from gpuprof.emulator.state.operands import bound
from gpuprof.sass.model import Operand, OperandKind

if TYPE_CHECKING:
    from gpuprof.emulator.semantics.base import Bool

U32, U64 = np.dtype(np.uint32), np.dtype(np.uint64)
BOOL = np.dtype(np.bool_)
ZERO = np.zeros((1, 1, 1), np.uint32)
ZERO64 = np.zeros((1, 1, 1), np.uint64)
_PREDICATES = (OperandKind.PREDICATE, OperandKind.UNIFORM_PREDICATE)


@dataclass
class Form:
    """The parameters of the function, with the arguments of this instruction, and its results."""

    parameters: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    stores: list[tuple[str, str, Symbol]] = field(default_factory=list)  #: (kind, parameter, value)

    def parameter(self, kind: str, argument: str) -> str:
        """The name of a parameter that takes this argument: a pointer to lanes, a word, a mask, or a result."""
        types = {"lanes": "const u32*", "word": "const u32", "mask": "const u32", "result": "u32*"}
        name = {"lanes": "a", "word": "s", "mask": "p", "result": "d"}[kind] + str(len(self.parameters))
        key = f"{kind} {argument}"
        if key not in self.known:
            self.known[key] = name
            self.parameters.append(f"{types[kind]} {name}")
            self.arguments.append(argument)
        return self.known[key]


class SymbolicLanes:
    """Implements ``semantics.base.Lanes``: readers give symbols or constants, setters note what is stored."""

    def __init__(self, code_base: int) -> None:
        self.recorder = Recorder()
        self.form = Form()
        self.code_base = code_base

    # -- reading ----------------------------------------------------------------------------------------------------
    def raw(self, operand: Operand) -> Any:
        return self._word(operand, 0)

    def u32(self, operand: Operand) -> Any:
        return self._integer(operand, self._word(operand, 0), U32)

    def s32(self, operand: Operand) -> Any:
        return self.u32(operand).view(np.int32)

    def u64(self, operand: Operand) -> Any:
        return self._integer(operand, self._pair(operand), U64)

    def s64(self, operand: Operand) -> Any:
        return self.u64(operand).view(np.int64)

    def f32(self, operand: Operand) -> Any:
        return self._floating(operand, self._word(operand, 0), 32).view(np.float32)

    def f64(self, operand: Operand) -> Any:
        return self._floating(operand, self._pair(operand), 64).view(np.float64)

    def u32_next(self, operand: Operand, step: int) -> Any:
        if operand.kind is OperandKind.CONSTANT or operand.kind in (OperandKind.REGISTER, OperandKind.UNIFORM):
            return self._word(operand, step)
        raise NotCovered(f"the next word of {operand.text}")

    def predicate(self, operand: Operand) -> Any:
        if operand.kind not in _PREDICATES:
            raise NotCovered(f"operand {operand.text}")
        if operand.is_zero:
            return FALSE if operand.negate else TRUE
        if operand.kind is OperandKind.PREDICATE:
            name = self.form.parameter("mask", f"w.P[{operand.index}]")
            text = f"(({name} >> l) & 1u) != 0"
            value = Symbol(self.recorder, BOOL, [self.recorder.name(text, BOOL, vector=True)], vector=True)
        else:
            name = self.form.parameter("word", f"w.UP[{operand.index}]")
            text = f"{name} != 0"
            value = Symbol(self.recorder, BOOL, [self.recorder.name(text, BOOL, vector=False)], vector=False)
        return ~value if operand.negate else value

    def _word(self, operand: Operand, step: int) -> Any:
        if operand.is_zero:
            return ZERO
        kind = operand.kind
        if kind is OperandKind.REGISTER:
            name = self.form.parameter("lanes", f"R + {32 * (operand.index + step)}")
            return self._symbol(f"{name}[l]", vector=True)
        if kind is OperandKind.UNIFORM:
            return self._symbol(self.form.parameter("word", f"w.U[{operand.index + step}]"), vector=False)
        if kind is OperandKind.CONSTANT:
            return self._symbol(self.form.parameter("word", constant_text(operand, 4 * step)), vector=False)
        return self._fixed(operand, np.uint32)

    def _pair(self, operand: Operand) -> Any:
        if operand.is_zero:
            return ZERO64
        if operand.kind in (OperandKind.REGISTER, OperandKind.UNIFORM, OperandKind.CONSTANT):
            low, high = self._word(operand, 0), self._word(operand, 1)
            return low | high.astype(np.uint64) << np.uint64(32)
        return self._fixed(operand, np.uint64)

    def _fixed(self, operand: Operand, dtype: Any) -> Any:
        """An immediate, or a place in the code, as its bound readers have it."""
        if operand.kind not in (OperandKind.IMMEDIATE, OperandKind.FLOAT, OperandKind.LABEL):
            raise NotCovered(f"operand {operand.text}")
        own = bound(operand)
        read: Any = own.read_raw if dtype is np.uint32 else own.read_u64
        return read(self).astype(dtype)

    def _symbol(self, text: str, *, vector: bool) -> Symbol:
        if not vector:
            return Symbol(self.recorder, U32, [text], vector=False)
        return Symbol(self.recorder, U32, [self.recorder.name(text, U32, vector=True)], vector=True)

    def _integer(self, operand: Operand, value: Any, dtype: np.dtype[Any]) -> Any:
        if operand.kind in (OperandKind.IMMEDIATE, OperandKind.FLOAT):
            return value
        if operand.negate:
            return dtype.type(0) - value
        return ~value if operand.invert else value

    def _floating(self, operand: Operand, value: Any, bits: int) -> Any:
        if operand.kind in (OperandKind.IMMEDIATE, OperandKind.FLOAT):
            return value
        kind = np.uint32 if bits == 32 else np.uint64
        if operand.absolute:
            value = value & kind((1 << bits - 1) - 1)
        return value ^ kind(1 << bits - 1) if operand.negate else value

    # -- writing ----------------------------------------------------------------------------------------------------
    def set_u32(self, operand: Operand, value: Any) -> None:
        self.set_u32_next(operand, 0, value)

    def set_f32(self, operand: Operand, value: Any) -> None:
        self.set_u32_next(operand, 0, value.astype(np.float32))

    def set_u32_next(self, operand: Operand, step: int, value: Any) -> None:
        if operand.is_zero:
            return
        same = value.dtype.itemsize == 4 and value.dtype != np.bool_
        word = value.view(np.uint32) if same else value.astype(np.uint32)
        self._store(operand, step, as_symbol(self.recorder, word, U32))

    def set_u64(self, operand: Operand, value: Any) -> None:
        if operand.is_zero:
            return
        bits = value.view(np.uint64) if value.dtype.itemsize == 8 else value.astype(np.uint64)
        self._store(operand, 0, as_symbol(self.recorder, bits.astype(np.uint32), U32))
        self._store(operand, 1, as_symbol(self.recorder, (bits >> np.uint64(32)).astype(np.uint32), U32))

    def set_f64(self, operand: Operand, value: Any) -> None:
        self.set_u64(operand, value.view(np.uint64))

    def set_predicate(self, operand: Operand, value: Any) -> None:
        if operand.is_zero:
            return
        truth = as_symbol(self.recorder, value if value.dtype == np.bool_ else value != 0, BOOL)
        uniform = operand.kind is OperandKind.UNIFORM_PREDICATE
        if uniform and truth.vector:
            raise NotCovered("a uniform predicate from lanes")
        if uniform:
            self.form.stores.append(("word", self.form.parameter("result", f"&w.UP[{operand.index}]"), truth))
        else:
            self.form.stores.append(("mask", self.form.parameter("result", f"&w.P[{operand.index}]"), truth))

    def _store(self, operand: Operand, step: int, value: Symbol) -> None:
        if value.trailing:
            raise NotCovered("a result of several parts")
        if operand.kind is OperandKind.UNIFORM:
            if value.vector:
                raise NotCovered("a uniform result from lanes")
            name = self.form.parameter("result", f"&w.U[{operand.index + step}]")
            self.form.stores.append(("word", name, value))
        elif operand.kind is OperandKind.REGISTER:
            name = self.form.parameter("result", f"R + {32 * (operand.index + step)}")
            self.form.stores.append(("lanes", name, value))
        else:
            raise NotCovered(f"result {operand.text}")

    # -- what a single lane does not have -----------------------------------------------------------------------------
    @property
    def blocks(self) -> int:
        raise NotCovered("a semantics over blocks")

    @property
    def warps(self) -> int:
        raise NotCovered("a semantics over warps")

    def active(self) -> Bool:
        raise NotCovered("a semantics across lanes")

    def full(self, value: Any) -> Any:
        raise NotCovered("a semantics across lanes")


def constant_text(operand: Operand, more: int = 0) -> str:
    """C++ for a word of a constant bank at a fixed place."""
    base = operand.base
    if operand.bank is None or operand.descriptor is not None or (base is not None and not base.is_zero):
        raise NotCovered(f"operand {operand.text}")
    offset = int(operand.value or 0) + more
    if not 0 <= offset <= 0xFFFC or operand.bank > 4:
        raise NotCovered(f"operand {operand.text}")
    return f"constant(w, {operand.bank}, {offset})"


def function_text(name: str, lanes: SymbolicLanes) -> str:
    """The C++ function of a form: all lanes without a mask, or merged under one."""
    form, recorder = lanes.form, lanes.recorder
    lines = [f"static void {name}({', '.join((*form.parameters, 'const u32 wm'))}) {{"]
    lines += [f"  {line}" for line in recorder.uniform]
    words = [f"  *{target} = (u32){value.parts[0]};" for kind, target, value in form.stores if kind == "word"]
    masks = [(target, value) for kind, target, value in form.stores if kind == "mask"]
    vectors = [(target, value) for kind, target, value in form.stores if kind == "lanes"]
    lane = [f"    {line}" for line in recorder.lane]
    found = [(target, value) for target, value in masks if value.vector]
    lines += [f"  u32 m_{target} = 0;" for target, _ in found]
    gathers = [f"    m_{target} |= (u32){value.parts[0]} << l;" for target, value in found]
    if vectors:
        plain = [f"    {target}[l] = {value.parts[0]};" for target, value in vectors]
        merged = [f"    {target}[l] = (wm >> l & 1u) ? {value.parts[0]} : {target}[l];" for target, value in vectors]
        lines += ["  if (wm == ~0u) { LANES {", *lane, *plain, *gathers, "  } } else { LANES {"]
        lines += [*lane, *merged, *gathers, "  } }"]
    elif found:
        lines += ["  LANES {", *lane, *gathers, "  }"]
    for target, value in masks:
        bits = f"m_{target}" if value.vector else f"({value.parts[0]} ? ~0u : 0u)"
        lines.append(f"  *{target} = (*{target} & ~wm) | ({bits} & wm);")
    lines += words
    return "\n".join((*lines, "}"))


__all__ = ["Form", "SymbolicLanes", "constant_text", "function_text", "literal"]
