"""The YAML: schema, expressions, expansion into variants, buffers, references and expectations.

``load`` reads a file; everything else works on the frozen values of ``experiment.model``.

A parameter reaches nvcc in one of two ways: written as ``{NAME}`` in ``kernel``, ``source`` or ``flags``, or as
``-D NAME=value`` when the source, a header beside it or a flag uses the name. One that is only in ``grid``,
``block``, ``shared``, ``args`` or a fill does not reach nvcc: its values share one build. For a macro that only the
toolkit's headers read, write a flag: ``-DNDEBUG={NDEBUG}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gpuprof.experiment.bundled import find_config, find_kernel

if TYPE_CHECKING:
    from gpuprof.experiment.expand import Expander
    from gpuprof.experiment.model import Experiment
    from gpuprof.experiment.problems import Validated
    from gpuprof.experiment.tunable import Tunable

__all__ = ["find_config", "find_kernel", "load", "load_tunable"]


def load(
    path: Path,
    *,
    overrides: Mapping[str, str] | None = None,
    arch: str | None = None,
    default_arch: str | None = None,
    values: Mapping[str, str] | None = None,
    sm_count: Callable[[], int | None] | None = None,
) -> Experiment:
    """Read, check and expand an experiment; builds nothing.

    ``overrides`` replace values of sizes and parameters (``{"M": "256", "TILE": "16,32"}``). ``arch`` is the command
    line's choice and ``default_arch`` what is built for when the YAML has none: with either, shared memory is checked
    against that architecture's limit, else against the most that any GPU allows. ``values`` are the names that
    ``expect:`` may read, with their kinds: without them its names are not checked (``results.expectations`` has both).
    ``sm_count`` asks for the GPU's SMs where the file uses that size and declares none; without a GPU it is the most
    that a product of the architecture has.

    Raises ConfigError with every mistake of the file, UsageError for an override that names nothing.
    """
    expander, validated = _expander(path, overrides or {}, arch, default_arch, values, sm_count)
    experiment = expander.expand()
    expander.collector.raise_if_any(validated.problems)
    return experiment


def load_tunable(
    path: Path,
    *,
    overrides: Mapping[str, str] | None = None,
    arch: str | None = None,
    default_arch: str | None = None,
    values: Mapping[str, str] | None = None,
    families: Sequence[str] = (),
) -> Tunable:
    """Read and check an experiment to be searched (``gpuprof tune``): no limit on its variants, none made yet.

    ``families`` are searched, all by default; the rest is as for ``load``. Raises ConfigError and UsageError.
    """
    from gpuprof.experiment.tunable import tunable

    expander, validated = _expander(path, overrides or {}, arch, default_arch, values)
    expander.collector.raise_if_any(validated.problems)
    return tunable(expander, expander.model, path, overrides or {}, families)


def _expander(
    path: Path,
    overrides: Mapping[str, str],
    arch: str | None,
    default_arch: str | None,
    values: Mapping[str, str] | None,
    sm_count: Callable[[], int | None] | None = None,
) -> tuple[Expander, Validated]:
    from gpuprof.experiment.collect import Collector
    from gpuprof.experiment.defaults import apply_defaults
    from gpuprof.experiment.document import read_document
    from gpuprof.experiment.expand import Expander
    from gpuprof.experiment.limits import SM_COUNT, usual_sm_count
    from gpuprof.experiment.problems import validate

    document = read_document(path)
    apply_defaults(document)
    validated = validate(document)
    collector = Collector(document, validated.dropped)
    if validated.model is None:
        collector.raise_if_any(validated.problems)
        raise AssertionError("a file that cannot be validated has problems")
    if SM_COUNT not in validated.model.sizes and SM_COUNT in str(document.data):
        chosen = next(
            (each for each in (arch, validated.model.arch, default_arch) if each not in (None, "native")), None
        )
        own = sm_count() if sm_count is not None else None
        validated.model.sizes[SM_COUNT] = own or usual_sm_count(chosen)
    return Expander(validated.model, path, collector, overrides, arch, default_arch, values), validated
