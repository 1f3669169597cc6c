"""Kernels and configs by name: this folder's win over the bundled ones.

Bundled files are at the top level of a checkout, and in ``gpuprof/bundled/`` of an installed package.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

from gpuprof.errors import UsageError
from gpuprof.system.files import MAX_TEXT_BYTES, check_regular, exists, expand_user, is_dir, is_file

PACKAGE = Path(__file__).resolve().parent.parent
KERNEL_SUFFIXES = (".cu", ".cubin")
CONFIG_SUFFIXES = (".yaml", ".yml")


def bundled_folder(kind: str) -> Path:
    """The bundled ``kernels`` or ``configs`` folder."""
    installed = PACKAGE / "bundled" / kind
    return installed if is_dir(installed) else PACKAGE.parent / kind


def is_bundled(path: Path) -> bool:
    """Whether ``path`` is one of the bundled files."""
    folders = (bundled_folder("kernels"), bundled_folder("configs"))
    return any(folder == path.resolve().parent for folder in folders)


def _folders(kind: str) -> list[Path]:
    """Where names are looked up, nearest first, each folder once."""
    return _unique([Path(), Path(kind), bundled_folder(kind)])


def _unique(folders: list[Path]) -> list[Path]:
    seen: dict[Path, Path] = {}
    for folder in folders:
        seen.setdefault(folder.resolve(), folder)
    return [folder for folder in seen.values() if is_dir(folder)]


def _list(kind: str, suffixes: tuple[str, ...]) -> list[Path]:
    found: dict[str, Path] = {}
    for folder in _folders(kind):
        for path in sorted(folder.iterdir()):
            if path.suffix in suffixes and is_file(path):
                found.setdefault(path.name, path)
    return [found[name] for name in sorted(found)]


def kernels() -> list[Path]:
    """Every kernel source that can be named here, by file name."""
    return _list("kernels", (".cu",))


def configs() -> list[Path]:
    """Every experiment that can be named here, by file name."""
    return _list("configs", CONFIG_SUFFIXES)


def find_config(name: str) -> Path:
    """The YAML of that path or name, with or without suffix and ``configs/``; raises UsageError with near names, or
    UnreadableFileError for what is not a regular file.
    """
    return _find(name, "configs", CONFIG_SUFFIXES, configs())


def find_kernel(name: str) -> Path:
    """The source or cubin of that path or name, with or without suffix; raises UsageError with near names, or
    UnreadableFileError for what is not a regular file.
    """
    return _find(name, "kernels", KERNEL_SUFFIXES, kernels())


def _find(name: str, kind: str, suffixes: tuple[str, ...], known: list[Path]) -> Path:
    given = expand_user(Path(name))
    names = [given, *(given.with_name(given.name + suffix) for suffix in suffixes)] if given.name else []
    if given.is_absolute():
        candidates = names
    else:
        short = [path.relative_to(kind) for path in names if path.parts[0] == kind and len(path.parts) > 1]
        candidates = [folder / path for folder in _folders(kind) for path in (*names, *short)]
    for candidate in candidates:
        if is_file(candidate):
            return candidate
    _refuse_special(candidates)
    raise UsageError(_not_found(name, kind, known))


def _not_found(name: str, kind: str, known: list[Path]) -> str:
    stems = [path.stem for path in known]
    near = difflib.get_close_matches(Path(name).stem, stems, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"`gpuprof {kind}` lists what there is"
    what = "experiment" if kind == "configs" else "kernel"
    return f"no {what} '{name}' here, in ./{kind} or among the bundled ones; {hint}"


def _refuse_special(candidates: Sequence[Path]) -> None:
    """Raise UnreadableFileError for a name that exists and is not a regular file."""
    for candidate in candidates:
        if exists(candidate):
            check_regular(candidate)


def source_folders(config: Path) -> list[Path]:
    """Where the sources of ``config``'s variants are looked for, in order: beside a user's YAML first."""
    here = [Path.cwd(), Path.cwd() / "kernels"]
    beside = [config.resolve().parent, config.resolve().parent.parent / "kernels"]
    order = here + beside if is_bundled(config) else beside + here
    return _unique([*order, bundled_folder("kernels")])


def find_source(name: str, config: Path) -> Path:
    """A variant's source, absolute; raises UsageError with the folders searched and near names, or
    UnreadableFileError for a file that is special or too large.
    """
    given = expand_user(Path(name))
    folders = source_folders(config)
    candidates = [given] if given.is_absolute() else [folder / given for folder in folders]
    for candidate in candidates:
        if is_file(candidate):
            check_regular(candidate, MAX_TEXT_BYTES)
            return candidate.absolute()
    _refuse_special(candidates)
    present = {path.name for folder in folders for path in folder.iterdir() if path.suffix in KERNEL_SUFFIXES}
    near = difflib.get_close_matches(given.name, sorted(present), n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise UsageError(f"no file '{name}'{hint} (searched: {', '.join(str(folder) for folder in folders)})")
