"""The YAML's shape: pydantic models that check types and keys, and give the JSON Schema. Nothing is evaluated here.

What an expression means, which names exist and what fits a GPU is checked afterwards, in ``expand`` and ``limits``.
"""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from gpuprof.experiment.element_types import DTYPES

NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"


def describe(value: object) -> str:
    """A value of the YAML in a message: its kind, and itself where it is short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _must_be(expected: str, value: object) -> PydanticCustomError:
    return PydanticCustomError(
        "expected", "expected {expected}, got {got}", {"expected": expected, "got": describe(value)}
    )


def _expression(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _must_be("a number or an expression", value)
    return value


def _size(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if isinstance(item, bool) or not isinstance(item, (int, float, str)):
            raise _must_be("a number, an expression, or a list of them", item)
    whole_items = [int(item) if isinstance(item, float) and item.is_integer() else item for item in items]
    return _not_empty(whole_items if isinstance(value, list) else whole_items[0])


def _parameter(value: Any) -> Any:
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, (int, float, str)):
            raise _must_be("a number, a word, an expression, or a list of them", item)
    return _not_empty(value)


def _not_empty(value: Any) -> Any:
    if value == []:
        raise PydanticCustomError("expected", "expected at least one value, got an empty list")
    return value


def _dimensions(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    if not 1 <= len(items) <= 3:
        raise PydanticCustomError("expected", "expected one to three extents [x, y, z], got {n}", {"n": len(items)})
    return [_expression(item) for item in items]


def _shape(value: Any) -> Any:
    return _not_empty([_expression(item) for item in (value if isinstance(value, list) else [value])])


def _words(value: Any) -> Any:
    items = value if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, str) or not item:
            raise _must_be("text, or a list of texts", item)
    return items


def _columns(value: Any) -> Any:
    return [name.strip() for item in _words(value) for name in item.split(",") if name.strip()]


def _argument(value: Any) -> Any:
    if value is not None and not isinstance(value, (int, float, str)):
        raise _must_be(
            "a buffer, a size, a parameter, a number, null, a list of members, or {value: ..., dtype: ...}", value
        )
    return value


def _members(value: Any) -> Any:
    if not isinstance(value, (list, dict)) or not value:
        raise _must_be("a list of members, or a mapping of them by name", value)
    return value


def _fill(value: Any) -> Any:
    if not isinstance(value, (int, float, str)):
        raise _must_be("an expression over i, a number, random, {random: ...} or a .npy file", value)
    return value


def _arch(value: Any) -> Any:
    """``8.9`` without quotes is a number of the YAML."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise _must_be("an architecture such as sm_89, 8.9 or native", value)
    return str(value)


def _by_kind(value: Any) -> str:
    """The discriminator between a mapping, a list, and a plain value."""
    return "mapping" if isinstance(value, dict) else "list" if isinstance(value, list) else "plain"


def _dtype(value: Any) -> Any:
    usual = {
        "float": "float32",
        "double": "float64",
        "half": "float16",
        "int": "int32",
        "unsigned": "uint32",
        "bf16": "bfloat16",
        "float8_e4m3fn": "float8_e4m3",
        "fp8_e4m3": "float8_e4m3",
        "fp8_e5m2": "float8_e5m2",
    }
    if value in DTYPES:
        return value
    near = difflib.get_close_matches(str(value), DTYPES, n=1)
    hint = usual.get(value, near[0] if near else None) if isinstance(value, str) else None
    expected = f"one of {', '.join(DTYPES)}" + (f" (perhaps '{hint}')" if hint else "")
    raise _must_be(expected, value)


def _variant_name(value: Any) -> Any:
    if not isinstance(value, str):
        raise _must_be("{output: expression}, or the name of a variant", value)
    return value


_EXPRESSION_SCHEMA = {"type": ["string", "integer", "number"]}
_STRINGS_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


#: What an editor's YAML makes of ``{flop: max(M, N)}``: a key ``N)`` with nothing.
_CUT_KEY = r"\)$"


def _or_list(kinds: list[str]) -> dict[str, Any]:
    """One or a list. No most: an editor's YAML parts ``[cdiv(N, 16), 1]`` at each comma."""
    return {"anyOf": [{"type": kinds}, {"type": "array", "items": {"type": kinds}, "minItems": 1}]}


Expr = Annotated[Any, BeforeValidator(_expression), WithJsonSchema(_EXPRESSION_SCHEMA)]
Size = Annotated[Any, BeforeValidator(_size), WithJsonSchema(_or_list(["number", "string"]))]
Param = Annotated[Any, BeforeValidator(_parameter), WithJsonSchema(_or_list(["number", "string", "boolean"]))]
Dimensions = Annotated[Any, BeforeValidator(_dimensions), WithJsonSchema(_or_list(["integer", "number", "string"]))]
Shape = Annotated[Any, BeforeValidator(_shape), WithJsonSchema(_or_list(["integer", "number", "string"]))]
Columns = Annotated[Any, BeforeValidator(_columns), WithJsonSchema(_STRINGS_SCHEMA)]
Words = Annotated[Any, BeforeValidator(_words), WithJsonSchema(_STRINGS_SCHEMA)]
Dtype = Annotated[Any, BeforeValidator(_dtype), WithJsonSchema({"enum": list(DTYPES)})]
MembersValue = Annotated[Any, BeforeValidator(_members), WithJsonSchema({"type": ["array", "object"]})]
Arch = Annotated[Any, BeforeValidator(_arch), WithJsonSchema({"type": ["string", "number"]})]
Name = Annotated[str, Field(pattern=NAME_PATTERN)]
Label = Annotated[str, Field(pattern=r"^[^\s/=]([^/=\n]*[^\s/=])?$")]


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class RandomFill(Model):
    """Random values; the same seed gives the same values, in another buffer too."""

    random: Literal["uniform", "normal", "integers"] = Field(description="the distribution")
    low: Expr = Field(None, description="uniform, integers: the least value (default 0)", validate_default=False)
    high: Expr = Field(None, description="uniform, integers: the bound above, excluded", validate_default=False)
    mean: Expr = Field(None, description="normal: the mean (default 0)", validate_default=False)
    std: Expr = Field(None, description="normal: the standard deviation (default 1)", validate_default=False)
    seed: Annotated[int, Field(ge=0)] | None = Field(None, description="the seed (default: the buffer's own)")


class TensorMapModel(Model):
    """What a bulk tensor copy (TMA) is told of a buffer, in the order of the buffer's shape: the last is innermost."""

    box: Shape = Field(description="elements that one copy moves, an extent per dimension of the buffer")
    swizzle: Literal[0, 32, 64, 128] = Field(0, description="bytes of a swizzled row in shared memory; 0: none")
    steps: Shape | None = Field(None, description="every how many elements one is taken (default: each)")
    outside: Literal["zero", "nan"] = Field("zero", description="what elements outside the buffer read as")


class ArgumentModel(Model):
    """An argument that says its type (`value`, `dtype`), an address inside a buffer (`buffer`, `offset`), a vector or
    struct by value (`members`; a plain list is the same), or one without content (`zeros`). `null` is a null pointer.
    """

    value: Expr = Field(None, description="a number or an expression", validate_default=False)
    dtype: Dtype = Field(None, description="the type of `value`", validate_default=False)
    buffer: str | None = Field(None, description="the buffer whose address is passed")
    offset: Expr = Field(0, description="elements to add to the address")
    tensor_map: TensorMapModel | None = Field(
        None, description="pass a CUtensorMap of `buffer` by value, for a `const __grid_constant__ CUtensorMap`"
    )
    zeros: Annotated[int, Field(ge=1, le=4096)] | None = Field(
        None, description="a struct of this number of bytes, all zero; an empty struct has 1"
    )

    members: MembersValue = Field(
        None,
        description="a struct's members: a list in their order, or a mapping by name; structs and arrays inside are "
        "lists or mappings again, pointers are buffers or null",
        validate_default=False,
    )

    @model_validator(mode="after")
    def _one_kind(self) -> ArgumentModel:
        if sum(given is not None for given in (self.value, self.buffer, self.zeros, self.members)) != 1:
            message = "expected one of `value` (with `dtype`), `buffer`, `members` and `zeros`"
            raise PydanticCustomError("expected", message)
        if self.tensor_map is not None and self.buffer is None:
            raise PydanticCustomError("expected", "expected a `buffer` beside `tensor_map`")
        if self.value is not None and self.dtype is None:
            raise PydanticCustomError("expected", "expected a `dtype` beside `value`")
        return self


_PLAIN_SCHEMA = WithJsonSchema({"type": ["string", "number", "boolean"]})
_PlainArgument = Annotated[
    Any, BeforeValidator(_argument), WithJsonSchema({"type": ["string", "number", "boolean", "null"]})
]
_PlainFill = Annotated[Any, BeforeValidator(_fill), _PLAIN_SCHEMA]
_MAPPING_OR_PLAIN = Discriminator(lambda value: "mapping" if isinstance(value, dict) else "plain")
_ListedMembers = Annotated[Any, BeforeValidator(_members), WithJsonSchema({"type": "array"})]
Argument = Annotated[
    Annotated[ArgumentModel, Tag("mapping")]
    | Annotated[_ListedMembers, Tag("list")]
    | Annotated[_PlainArgument, Tag("plain")],
    Discriminator(_by_kind),
]


class PointerFill(Model):
    """The address of a buffer, in a buffer of `pointer`: as the whole fill, `offset` may read the flat index `i`."""

    buffer: str = Field(description="the buffer that is pointed to")
    offset: Expr = Field(0, description="elements to add to the address")


def _fill_item(value: Any) -> Any:
    if isinstance(value, bool) or (value is not None and not isinstance(value, (int, float, str))):
        raise _must_be("a number, an expression, or of pointers a buffer, null or {buffer: ..., offset: ...}", value)
    return value


_PlainFillItem = Annotated[
    Any, BeforeValidator(_fill_item), WithJsonSchema({"type": ["string", "integer", "number", "null"]})
]
_FillItem = Annotated[
    Annotated[PointerFill, Tag("mapping")] | Annotated[_PlainFillItem, Tag("plain")], _MAPPING_OR_PLAIN
]


def _fill_kind(value: Any) -> str:
    return "pointer" if isinstance(value, dict) and "buffer" in value else _by_kind(value)


FillValue = Annotated[
    Annotated[RandomFill, Tag("mapping")]
    | Annotated[PointerFill, Tag("pointer")]
    | Annotated[list[_FillItem], Tag("list")]
    | Annotated[_PlainFill, Tag("plain")],
    Discriminator(_fill_kind),
]


class UnorderedModel(Model):
    """An output of which only the first elements count, in any order."""

    count: Name = Field(description="the output whose first element says how many; it is checked as well")


def _unordered(value: Any) -> Any:
    if value not in (True, False, "set"):
        raise _must_be("true, set, or {count: an output}", value)
    return value


_PlainUnordered = Annotated[Any, BeforeValidator(_unordered), WithJsonSchema({"enum": [True, False, "set"]})]
UnorderedValue = Annotated[
    Annotated[UnorderedModel, Tag("mapping")] | Annotated[_PlainUnordered, Tag("plain")], _MAPPING_OR_PLAIN
]


class BufferModel(Model):
    """One array in device memory."""

    dtype: Dtype = Field(description="the element type: float32, int32, bfloat16, complex64, int4 ...")
    shape: Shape = Field(description="the extents, expressions over sizes and parameters; the last varies fastest")
    fill: FillValue | None = Field(
        None,
        description="an expression in the flat index `i`, a number, a list of every element, `random`, "
        "`{random: ...}`, a .npy file, or of a `pointer` the buffers that it points to",
        validate_default=False,
    )
    output: bool = Field(False, description="the kernel writes it, and it is checked; without `fill` it is poisoned")
    scratch: bool = Field(False, description="room for launches between one another; never checked")
    unordered: UnorderedValue = Field(
        False,
        description="an output in any order: `true` sorts both sides before comparing, `set` also ignores repeated "
        "values, `{count: n}` sorts the first n[0] elements and leaves the rest unchecked",
    )


class SymbolModel(Model):
    """What a `__constant__` or `__device__` variable of the source holds before each checked pass."""

    dtype: Dtype = Field(description="the element type: float32, int32, bfloat16, complex64, int4 ...")
    shape: Shape = Field(description="the extents, expressions over sizes and parameters; the size is the variable's")
    fill: FillValue = Field(
        description="an expression in the flat index `i`, a number, a list of every element, `random`, "
        "`{random: ...}` or a .npy file"
    )


_PlainReference = Annotated[str, BeforeValidator(_variant_name)]
_ReferenceItem = Annotated[
    Annotated[dict[Name, Expr], Tag("mapping")] | Annotated[Expr, Tag("plain")], _MAPPING_OR_PLAIN
]
ReferenceValue = Annotated[
    Annotated[dict[str, _ReferenceItem], Tag("mapping")] | Annotated[_PlainReference, Tag("plain")], _MAPPING_OR_PLAIN
]


class ToleranceModel(Model):
    """|got - want| <= atol + rtol * |want|."""

    rtol: Expr = Field(0.0, description="relative to the wanted value")
    atol: Expr = Field(0.0, description="absolute")


class WorkModel(Model):
    """What one timed pass does, for GFLOP/s and GB/s."""

    flop: Expr = Field(None, description="floating-point operations", validate_default=False)
    bytes: Expr = Field(None, description="bytes that must move", validate_default=False)


class StepModel(Model):
    """One step: a kernel launch (`kernel`), a host-library call (`host`), or a byte fill (`fill`)."""

    name: str | None = Field(None, description="how the step is called in messages")
    source: str | None = Field(None, description="the .cu (or .cubin) file; `{NAME}` takes a parameter's value")
    kernel: str | None = Field(None, description="a function, or a template instance such as `f<float, {TILE}>`")
    host: str | None = Field(None, description='an `extern "C"` function of `source` that enqueues on a stream')
    libraries: Words = Field(None, description="libraries that `host` links with: cublas", validate_default=False)
    fill: str | None = Field(None, description="the buffer whose bytes are set")
    byte: int | None = Field(None, description="the byte that `fill` writes (default 0)", ge=0, le=255)
    block: Dimensions = Field(None, description="threads per block [x, y, z]", validate_default=False)
    grid: Dimensions = Field(None, description="blocks [x, y, z]; may use block_x and so on", validate_default=False)
    shared: Expr = Field(None, description="dynamic shared memory in bytes", validate_default=False)
    cooperative: bool | None = Field(None, description="a cooperative launch: every block resident, `grid.sync()`")
    cluster: Dimensions = Field(None, description="blocks per cluster [x, y, z], sm_90 on", validate_default=False)
    args: list[Argument] | None = Field(None, description="the arguments, in order")
    timed: bool | None = Field(None, description="whether the time covers it (default: yes, fills and `once` no)")
    once: bool | None = Field(None, description="run before the first sample only")
    repeat: Expr = Field(None, description="number of repetitions, as a host loop; may be 0", validate_default=False)
    index: Name | None = Field(None, description="what expressions call the number of the repetition (`iteration`)")
    steps: list[StepModel] | None = Field(None, description="several steps, in place of one launch", min_length=1)


class DefaultsModel(Model):
    """What variants and steps have where they do not say otherwise; flags and include folders come before theirs."""

    source: str | None = Field(None, description="the .cu (or .cubin) file")
    block: Dimensions = Field(None, description="threads per block [x, y, z]", validate_default=False)
    grid: Dimensions = Field(None, description="blocks [x, y, z]", validate_default=False)
    shared: Expr = Field(None, description="dynamic shared memory in bytes", validate_default=False)
    args: list[Argument] | None = Field(None, description="the arguments, in order")
    flags: Words = Field([], description="nvcc flags")
    include: Words = Field([], description="include folders, relative to this file")


class VariantModel(StepModel):
    """One way to do the work; expands over the product of its lists."""

    params: dict[Name, Param] = Field({}, description="parameters; a list expands the variant over its values")
    where: str | None = Field(None, description="keep only the points for which this holds")
    sizes: dict[Name, Size] = Field({}, description="sizes that this variant replaces or adds")
    buffers: dict[Name, BufferModel] = Field({}, description="buffers that this variant replaces or adds")
    symbols: dict[Name, SymbolModel] = Field({}, description="variables of the source that this variant sets")
    reference: ReferenceValue | None = Field(None, description="in place of the experiment's")
    tolerance: ToleranceModel | None = Field(None, description="in place of the experiment's")
    work: WorkModel | None = Field(None, description="in place of the experiment's")
    iters: Annotated[int, Field(ge=1)] | None = Field(None, description="in place of the experiment's")
    flags: Words = Field([], description="nvcc flags after the experiment's; `{NAME}` takes a parameter's value")
    include: Words = Field([], description="include folders after the experiment's")


class ExpectationModel(Model):
    """An expectation of one variant."""

    variant: str = Field(description="a variant or one of its points: `tiled`, `tiled/TILE=16`")
    that: Words = Field(description="what must hold")


def _expectation(value: Any) -> Any:
    if not isinstance(value, str):
        raise _must_be("an expression, or {variant: ..., that: ...}", value)
    return value


_PlainExpectation = Annotated[Any, BeforeValidator(_expectation), WithJsonSchema({"type": "string"})]
_ExpectItem = Annotated[
    Annotated[ExpectationModel, Tag("mapping")] | Annotated[_PlainExpectation, Tag("plain")], _MAPPING_OR_PLAIN
]
Expect = Annotated[
    Annotated[dict[str, Words], Tag("mapping")]
    | Annotated[list[_ExpectItem], Tag("list")]
    | Annotated[_PlainExpectation, Tag("plain")],
    Discriminator(_by_kind),
]


class SuppressionModel(Model):
    """A finding of `gpuprof sanitize` that is known and not to be reported."""

    lines: list[int] = Field(description="its source lines: [12, 15], or [12]", min_length=1, max_length=2)
    kernel: str | None = Field(None, description="only in this kernel")
    why: str = Field("", description="why it may stay")


class SearchModel(Model):
    """What `gpuprof tune` does where its flags do not say otherwise."""

    strategy: str | None = Field(None, description="how points are chosen: `forest`, `random`, `exhaustive` ...")
    trials: Annotated[int, Field(ge=1)] | None = Field(None, description="points to try at most")
    minutes: Annotated[float, Field(gt=0, strict=False)] | None = Field(None, description="minutes to search at most")
    objective: str | None = Field(
        None, description="what is minimised: `time`, `-gflops`, `energy`, a counted value, or an expression of values"
    )
    seed: Annotated[int, Field(ge=0)] = Field(0, description="of the strategy's random choices")


class ExperimentModel(Model):
    """An experiment of gpuprof: buffers, sizes, a reference and variants."""

    name: str | None = Field(None, description="the experiment's name (default: the file's)", min_length=1)
    description: str = Field("", description="one line, shown by `gpuprof configs`")
    sizes: dict[Name, Size] = Field({}, description="problem sizes, any numbers; a list expands every variant")
    iters: Annotated[int, Field(ge=1)] | None = Field(None, description="timed launches; without it, noise decides")
    defaults: DefaultsModel | None = Field(None, description="source, block, flags and the like for all that give none")
    buffers: dict[Name, BufferModel] = Field({}, description="arrays in device memory, by name")
    symbols: dict[Name, SymbolModel] = Field(
        {}, description="`__constant__` and `__device__` variables that are set before the launch, by name"
    )
    reference: ReferenceValue | None = Field(
        None,
        description="per output an expression over buffers and sizes, `let: {name: expression}` for parts that several "
        "use, `{value: expression, where: condition}` to compare the elements `i` for which it holds; "
        "or the name of a variant",
    )
    tolerance: ToleranceModel | None = Field(None, description="how far an output may be from the reference")
    work: WorkModel | None = Field(None, description="what a pass does, for GFLOP/s and GB/s")
    baseline: str | None = Field(None, description="the variant that the others are compared with")
    arch: Arch | None = Field(None, description="sm_89, 8.9 or native; `--arch` wins")
    flags: Words = Field([], description="nvcc flags for every variant")
    include: Words = Field([], description="include folders, relative to this file")
    variants: dict[Label, VariantModel] = Field(description="what is compared, by name", min_length=1)
    expect: Expect = Field([], description="what must hold of the results; `race: [12, 15]` is a race that is known")
    values: dict[Name, Expr] = Field({}, description="own values: an expression as in `expect`, one number per variant")
    columns: Columns = Field(
        [], description="columns of the table: names of values; `+NAME` and `-NAME` change the usual ones"
    )
    known_races: list[list[int]] = Field([], description="as `race` of `expect`: pairs of lines", exclude=True)
    search: SearchModel | None = Field(None, description="defaults of `gpuprof tune`")
    suppress: list[SuppressionModel] = Field([], description="findings of `gpuprof sanitize` that are known")

    @model_validator(mode="before")
    @classmethod
    def _take_races(cls, data: Any) -> Any:
        """``expect: {race: [12, 15]}`` or ``{race: [[12, 15], [20, 31]]}`` is not an expectation of a variant."""
        expect = data.get("expect") if isinstance(data, dict) else None
        if not isinstance(expect, dict) or "race" not in expect or "race" in (data.get("variants") or {}):
            return data
        races = expect["race"]
        if not isinstance(races, list) or not races:
            return data
        pairs = races if all(isinstance(race, list) for race in races) else [races]
        rest = {key: value for key, value in expect.items() if key != "race"}
        return {**data, "expect": rest or [], "known_races": pairs}


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the YAML, for editors."""
    root = ExperimentModel.model_json_schema()
    for model in (root, *root["$defs"].values()):
        model["patternProperties"] = {_CUT_KEY: {"type": "null"}}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "title": "gpuprof"}
