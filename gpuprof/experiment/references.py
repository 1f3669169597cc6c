"""References and expectations of the YAML, checked against what it declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gpuprof.errors import ExpressionError
from gpuprof.experiment import expect, naming
from gpuprof.experiment.collect import Collector, Skip, filled
from gpuprof.experiment.document import Path_
from gpuprof.experiment.element_types import kind_of
from gpuprof.experiment.expressions import Expression, nearest
from gpuprof.experiment.let import WHERE, with_parts
from gpuprof.experiment.model import Buffer, Expectation, Fill, PythonFunction, Reference, Variant
from gpuprof.experiment.outside_references import function_of, is_file, is_function, missing_values
from gpuprof.experiment.points import Point
from gpuprof.experiment.reference import from_file
from gpuprof.experiment.schema import ExpectationModel, ExperimentModel, VariantModel
from gpuprof.experiment.shapes import check_shapes


def no_variant(name: str, known: Iterable[str]) -> str:
    """``there is no variant 'tild'; did you mean 'tiled'?``."""
    known = list(dict.fromkeys(known))
    near = nearest(name, known)
    hint = f"; did you mean '{near}'?" if near else ""
    listed = f"{', '.join(known[:8])}{', ...' if len(known) > 8 else ''}"
    return f"there is no variant '{name}'{hint} (variants: {listed})"


def reference(
    model: ExperimentModel,
    family: str,
    variant: VariantModel,
    point: Point,
    buffers: Mapping[str, Buffer],
    collector: Collector,
    shapes_known: bool = True,
    config: Path = Path(),
) -> Reference:
    """The reference of one variant; ``Reference.variant`` is still as the YAML names it."""
    own = variant.reference is not None
    given = variant.reference if own else model.reference
    path: Path_ = ("variants", family, "reference") if own else ("reference",)
    _check_counts(model, family, buffers, given, collector)
    if given is None:
        return Reference()
    if isinstance(given, dict) and set(given) == {"variant"} and "variant" not in buffers:
        given, path = given["variant"], (*path, "variant")
    if isinstance(given, str):
        if given.split("/")[0] not in model.variants and not naming.is_pattern(given):
            outputs = [name for name, buffer in buffers.items() if buffer.output]
            hint = f"; write an expression under its output: {{{outputs[0]}: ...}}" if outputs else ""
            collector.add(path, no_variant(given, model.variants) + hint)
        return Reference(variant=given)
    given, where = with_parts(given, path, point, buffers, collector)
    for output, text in where.items():
        with collector.at((*path, output)):
            _check_condition((*path, output, WHERE), output, text, point, buffers, collector, shapes_known)
    outside = _Outside(path, config.resolve().parent, point, buffers, collector, shapes_known)
    texts = {output: str(text) for output, text in given.items() if not outside.takes(output, str(text))}
    for output, text in texts.items():
        with collector.at((*path, output)):
            _check_expression((*path, output), output, text, point, buffers, collector)
            if shapes_known:
                _check_shapes((*path, output), output, text, point, buffers, collector)
    return Reference(expressions=texts, where=where, files=outside.files, python=outside.functions)


class _Outside:
    """References that are files or Python functions, by output; mistakes go to the collector."""

    def __init__(
        self,
        path: Path_,
        folder: Path,
        point: Point,
        buffers: Mapping[str, Buffer],
        collector: Collector,
        shapes_known: bool,
    ) -> None:
        self._path, self._folder, self._point = path, folder, point
        self._buffers, self._collector, self._shapes_known = buffers, collector, shapes_known
        self.files: dict[str, Path] = {}
        self.functions: dict[str, PythonFunction] = {}

    def takes(self, output: str, text: str) -> bool:
        """Whether the text is such a reference: it is then kept, and checked."""
        path: Path_ = (*self._path, output)
        if is_file(text):
            with self._collector.at(path):
                file = self._folder / filled(self._collector, path, text.strip(), self._point.scope)
                _check_output(path, output, self._buffers, self._collector)
                self.files[output] = file
                if self._shapes_known and output in self._buffers:
                    self._collector.once(
                        (path, str(file), self._buffers[output]), lambda: self._check_file(file, output)
                    )
            return True
        if is_function(text):
            with self._collector.at(path):
                _check_output(path, output, self._buffers, self._collector)
                function = self.functions[output] = function_of(text, self._folder)
                mistake = missing_values(function, self._known)
                if mistake is not None:
                    self._collector.add(path, mistake)
            return True
        return False

    @property
    def _known(self) -> list[str]:
        filled_ones = [name for name, buffer in self._buffers.items() if buffer.fill.kind not in ("poison", "pointers")]
        return [*filled_ones, *self._point.scope]

    def _check_file(self, file: Path, output: str) -> None:
        from_file(file, self._buffers[output])


def _check_condition(
    path: Path_,
    output: str,
    text: str,
    point: Point,
    buffers: Mapping[str, Buffer],
    collector: Collector,
    shapes_known: bool,
) -> None:
    """The condition of a part: over the flat index and what a reference reads, in the output's shape."""
    known = [name for name, buffer in buffers.items() if buffer.fill.kind not in ("poison", "pointers")]
    collector.known(path, collector.expression(path, text), [*known, *point.scope, "i"], {})
    if shapes_known and output in buffers and buffers[output].output:
        index = replace(buffers[output], name="i", dtype="int64", fill=Fill("constant"))
        check_shapes(buffers[output], text, {**buffers, "i": index}, point.scope)


def _check_counts(
    model: ExperimentModel, family: str, buffers: Mapping[str, Buffer], given: object, collector: Collector
) -> None:
    """Outputs of which only the first elements count: their number is another output, which is referenced too."""
    for name, buffer in buffers.items():
        if buffer.count is None:
            continue
        own = name in model.variants[family].buffers
        path: Path_ = (*(("variants", family) if own else ()), "buffers", name, "unordered", "count")
        counter = buffers.get(buffer.count)
        if counter is None or not counter.output or kind_of(counter.dtype) not in "iu" or buffer.count == name:
            collector.add(path, f"'{buffer.count}' is not another output of integers")
        elif isinstance(given, dict) and name in given and buffer.count not in given:
            collector.add(path, f"'{buffer.count}' has no reference, which {name} needs: write one under `reference`")


def _check_expression(
    path: Path_, output: str, text: str, point: Point, buffers: Mapping[str, Buffer], collector: Collector
) -> None:
    _check_output(path, output, buffers, collector)
    expression = collector.expression(path, text)
    known = {name for name, buffer in buffers.items() if buffer.fill.kind not in ("poison", "pointers")}
    known |= set(point.scope)
    unfilled = {
        name: f"'{name}' holds nothing before the launch; give it a `fill` to use its first value"
        for name, buffer in buffers.items()
        if buffer.fill.kind == "poison"
    }
    unfilled |= {
        name: f"'{name}' holds addresses, which no reference reads"
        for name, buffer in buffers.items()
        if buffer.fill.kind == "pointers"
    }
    collector.known(path, expression, known, unfilled)


def _check_output(path: Path_, output: str, buffers: Mapping[str, Buffer], collector: Collector) -> None:
    outputs = [name for name, buffer in buffers.items() if buffer.output]
    if output not in outputs and not collector.is_dropped(("buffers", output)):
        near = nearest(output, outputs)
        hint = f"; did you mean '{near}'?" if near else f" (outputs: {', '.join(outputs) or 'none'})"
        what = "is not an output" if output in buffers else "is not a buffer"
        collector.add(path, f"'{output}' {what}{hint}; a buffer that the kernel writes says `output: true`", "output")


def _check_shapes(
    path: Path_, output: str, text: str, point: Point, buffers: Mapping[str, Buffer], collector: Collector
) -> None:
    if output in buffers and buffers[output].output:
        key = (path, buffers[output].shape, _key(collector.expression(path, text), buffers, point))
        collector.once(key, lambda: check_shapes(buffers[output], text, buffers, point.scope))


def _key(expression: Expression, buffers: Mapping[str, Buffer], point: Point) -> str:
    """What a reference's shapes depend on, so that a sweep checks them once."""
    read = sorted(expression.names)
    return str([buffers[name].shape if name in buffers else point.scope[name] for name in read])


def resolve(variants: Sequence[Variant], collector: Collector) -> list[Variant]:
    """References to variants, each made the label of the partner at the same sizes; the partner itself has none."""
    return [_resolved(variant, variants, collector) for variant in variants]


def _resolved(variant: Variant, variants: Sequence[Variant], collector: Collector) -> Variant:
    name = variant.reference.variant
    if name is None or naming.matches(name, variant.family, variant.label):
        return variant if name is None else replace(variant, reference=Reference())
    partner = naming.counterpart(variants, name, variant)
    if partner is not None:
        return replace(variant, reference=Reference(variant=partner.label))
    if not naming.select(variants, name):
        if collector.is_clean:
            collector.add(("reference",), no_variant(name, (other.label for other in variants)))
    else:
        sizes = ", ".join(f"{size} = {value}" for size, value in variant.sizes.items())
        collector.add(("reference",), f"the reference '{name}' has no point at {sizes}, which {variant.label} needs")
    return variant


def expectations(
    model: ExperimentModel, collector: Collector, variants: Sequence[Variant], values: expect.ValueKinds | None
) -> tuple[Expectation, ...]:
    """``expect:`` in either of its forms, as a list; names and variants are checked."""
    known = {variant.label for variant in variants}
    declared = {*model.sizes, *(name for v in model.variants.values() for name in (*v.sizes, *v.params))}
    values = None if values is None else {**values, **dict.fromkeys(model.values, "counted")}
    found: list[Expectation] = []
    for path, name, text in _written(model):
        if name is not None and name.split("/")[0] not in model.variants and not naming.select(variants, name):
            collector.add(path, no_variant(name, [*model.variants, *sorted(known)]), "variant")
        with collector.at(path):
            try:
                parsed = expect.parse_expectation(text, values)
                expect.check(parsed, list(model.variants), declared, values)
            except ExpressionError as error:
                collector.add(path, str(error))
                raise Skip from None
            line = collector.document.line(path)
            found.append(Expectation(text, name, line))
    return tuple(found)


def own_values(
    model: ExperimentModel, collector: Collector, variants: Sequence[Variant], values: expect.ValueKinds | None
) -> dict[str, str]:
    """``values:`` of the YAML; a name that is taken already and an expression that reads what is not are errors."""
    declared = {*model.sizes, *(name for v in model.variants.values() for name in (*v.sizes, *v.params))}
    found: dict[str, str] = {}
    for name, given in model.values.items():
        with collector.at(("values", name)):
            if name in declared or name in (values or {}):
                collector.add(("values", name), f"'{name}' is the name of a value already; choose another")
                raise Skip
            try:
                parsed = expect.parse_expectation(str(given), values)
                expect.check(parsed, list(model.variants), declared, values)
            except ExpressionError as error:
                collector.add(("values", name), str(error))
                raise Skip from None
            found[name] = str(given)
    return found


def _written(model: ExperimentModel) -> list[tuple[Path_, str | None, str]]:
    """Every expectation with its place and the variant that it is for."""
    given = model.expect
    if isinstance(given, str):
        return [(("expect",), None, given)]
    if isinstance(given, dict):
        return [(("expect", name), name, text) for name, texts in given.items() for text in texts]
    result: list[tuple[Path_, str | None, str]] = []
    for position, item in enumerate(given):
        path: Path_ = ("expect", position)
        if isinstance(item, ExpectationModel):
            result.extend((path, item.variant, text) for text in item.that)
        else:
            result.append((path, None, item))
    return result
