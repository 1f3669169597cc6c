"""The pages of docs/results from the files that GPU sessions left.

    python benchmarks/results_pages.py FOLDER [FOLDER ...] [--target docs/results]

FOLDER is what ``benchmarks/gpu_session.sh`` wrote; a later one wins over an earlier. One page per config with the
command, the machine and the table as ``gpuprof show FILE.json --markdown -`` gives it, and an index with the summaries.
Every number comes out of a file.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from gpuprof.errors import GpuprofError
from gpuprof.experiment.bundled import configs
from gpuprof.report.exports import escape_markdown, run_markdown
from gpuprof.results.json import read_run
from gpuprof.results.model import Run, Status

#: Options of a recorded command that say where its output went, not what was run; True: a value follows.
OUTPUT_OPTIONS = {
    "--json": True,
    "--markdown": True,
    "--csv": True,
    "--html": True,
    "--history": True,
    "--check": False,
}
NO_HISTORY = "--no-history"


@dataclass(frozen=True)
class Section:
    """A summary of the index: ``file`` in a session's folder, shown as Markdown or as it was printed."""

    title: str
    file: str
    command: str
    text: str


SECTIONS = (
    Section(
        "Ceilings", "peaks.txt", "gpuprof peaks", "The highest rates that small kernels reach; % of peak is of these."
    ),
    Section(
        "Cold times beside nvbench's",
        "nvbench_compare.md",
        "python benchmarks/nvbench_compare.py",
        "The same cubins, timed by gpuprof and by NVIDIA's nvbench on the same GPU, one after the other.",
    ),
    Section(
        "Ten repeats of gemm_1024",
        "repeats.txt",
        "python benchmarks/repeats.py",
        "How far the ratio of the tiled to the naive kernel moves between runs of 50 samples.",
    ),
    Section(
        "Ten repeats with 200 samples",
        "repeats_200.txt",
        "python benchmarks/repeats.py",
        "The same with `--iters 200`: what moved was the noise of the naive kernel.",
    ),
    Section(
        "A sweep with nine bad variants",
        "torture_rows.txt",
        "python benchmarks/torture_rows.py torture.json",
        "200 variants of which nine misbehave, each in another way: its own row, its own reason, and the others timed.",
    ),
    Section(
        "Beside Kernel Tuner",
        "kernel_tuner.md",
        "python benchmarks/kernel_tuner.py",
        "The same GEMM space with both, verification on, from an empty cache.",
    ),
    Section(
        "Counters: the emulator beside Nsight Compute",
        "ncu/summary.md",
        "python benchmarks/ncu_session.py OUT",
        "Counters that repeat exactly must be equal; the verdict stands beside ncu's own rule.",
    ),
    Section(
        "Killed and resumed",
        "kill.txt",
        "python benchmarks/kill_resume.py",
        "kill -9 at random moments; the JSON and the history open, and `--resume` runs the rest and only the rest.",
    ),
    Section(
        "Timing while building",
        "overlap.txt",
        "python benchmarks/overlap.py",
        "The noise of the times while nvcc works on other cores, and with `--no-overlap`.",
    ),
)
COUNTERS_FILE = "ncu/gemm_1024.txt"
COUNTERS_PAGE = "gemm_1024_counters.txt"


class Sessions:
    """The folders, last first."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(reversed(folders))

    def find(self, file: str) -> Path | None:
        """A session's file: the latest session's that has it, and has something in it."""
        for folder in self._folders:
            path = folder / file
            if path.is_file() and path.stat().st_size:
                return path
        return None

    def runs(self, name: str) -> tuple[Run, ...]:
        """The newest run of every command with a config, those at its own sizes first."""
        newest: dict[str, Run] = {}
        for folder in self._folders:
            for path in (folder / f"{name}.json", folder / f"{name}_gpu.json"):
                if path.is_file() and (run := finished(path)) and run.environment.gpu:
                    newest.setdefault(command_line(run), run)
        return tuple(sorted(newest.values(), key=lambda run: (len(sets_of(run)), size_text(run))))

    def machine(self, path: Path) -> str:
        """Where and when the session of a file was, from the newest run in its folder."""
        folder = next(folder for folder in self._folders if path.is_relative_to(folder))
        runs = [run for found in folder.glob("*.json") if (run := finished(found)) and run.environment.gpu]
        return machine_line(max(runs, key=lambda run: run.started)) if runs else ""


def finished(path: Path) -> Run | None:
    """The run in a file; None when it is none, or was interrupted."""
    try:
        run = read_run(path)
    except GpuprofError:
        return None
    return run if run.complete else None


def sets_of(run: Run) -> list[str]:
    """The NAME=VALUE of its ``--set``."""
    words = run.environment.command
    return [value for option, value in pairwise(words) if option == "--set"]


def size_text(run: Run) -> str:
    """Every size that its rows had: ``M=256|509|512``."""
    values: dict[str, dict[int, None]] = {}
    for result in run.results:
        for name, value in result.sizes.items():
            values.setdefault(name, {})[value] = None
    return ", ".join(f"{name}={'/'.join(f'{value:,}' for value in seen)}" for name, seen in values.items())


def command_line(run: Run) -> str:
    """What was run, without where its output went."""
    kept, words = [], iter(run.environment.command)
    for word in words:
        if word in OUTPUT_OPTIONS:
            if OUTPUT_OPTIONS[word]:
                next(words, None)
        elif word != NO_HISTORY:
            kept.append(word)
    return shlex.join(kept)


def machine_line(run: Run) -> str:
    """GPU, driver, compiler and day."""
    found = run.environment
    parts = (found.gpu, f"driver {found.driver}", f"nvcc {found.nvcc}", run.started[:10])
    return ", ".join(str(part) for part in parts)


def config_page(name: str, runs: Sequence[Run]) -> str:
    """A page: each run with its command and machine."""
    lines = [f"# {name} on a GPU", ""]
    for run in runs:
        lines += [
            "```",
            f"$ {command_line(run)}",
            "```",
            "",
            f"{machine_line(run)}; {size_text(run)}.",
            "",
            run_markdown(run),
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def index_row(name: str, runs: Sequence[Run]) -> str:
    """One row for a config, with the sizes of each of its runs and how many of their rows were verified."""
    sizes = dict.fromkeys(size_text(run) for run in runs)
    verified = dict.fromkeys(
        f"{sum(row.status is Status.OK for row in run.results)} of {len(run.results)}" for run in runs
    )
    cells = (f"[{name}]({name}.md)", escape_markdown(runs[0].description), "; ".join(sizes), "; ".join(verified))
    return f"| {' | '.join(cells)} |"


def section_text(section: Section, path: Path, machine: str) -> str:
    """A summary of the index."""
    text = without_folders(path.read_text(encoding="utf-8")).strip("\n")
    body = text if path.suffix == ".md" else f"```\n{text}\n```"
    lines = [f"## {section.title}", "", f"`{section.command}`: {section.text}"]
    lines += [f"{machine}."] if machine else []
    if path.name == "nvbench_compare.md":
        body += f"\n\n{nvbench_verdict(text)}"
    if section.file == "ncu/summary.md":
        body += f"\n\nEvery counter of gemm_1024, as it was printed: [{COUNTERS_PAGE}]({COUNTERS_PAGE})."
    return "\n".join([*lines, "", body, ""])


def without_folders(text: str) -> str:
    """File names without the folder of the machine that they were on, lines without spaces at their ends."""
    return re.sub(r"(?<![\w.])/(?:tmp|root|home)/(?:[\w.-]+/)*", "", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE))


def nvbench_verdict(table: str) -> str:
    """How many rows agree, counted from the table."""
    differences = [abs(float(number)) for number in re.findall(r"\| ([+-][\d.]+)% \|", table)]
    near = sum(difference <= 2 for difference in differences)
    return (
        f"{near} of {len(differences)} kernels within 2 % of nvbench's median, the furthest {max(differences):.2f} %."
    )


class Standing:
    """The index as it stands: what these sessions did not measure again is kept from it."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        head, *sections = text.split("\n## ")
        self._rows = [line for line in head.splitlines() if line.startswith("| [")]
        self._sections = {part.split("\n", 1)[0]: f"## {part}".rstrip("\n") + "\n" for part in sections}

    def rows(self, name: str) -> list[str]:
        """The rows of a config."""
        return [row for row in self._rows if row.startswith(f"| [{name}](")]

    def section(self, title: str) -> str | None:
        """A summary, by its title."""
        return self._sections.get(title)


def index(pages: dict[str, tuple[Run, ...]], sessions: Sessions, standing: Standing) -> Iterator[str]:
    """The lines of README.md."""
    yield from (
        "# Measured on a GPU",
        "",
        "Written by `python benchmarks/results_pages.py OUT` from what `benchmarks/gpu_session.sh OUT PART...` left.",
        "Counters on a GPU need `--ncu`: without it, expectations on counters are undecided here.",
        "",
        "| config | question | sizes | verified |",
        "| :--- | :--- | :--- | ---: |",
    )
    for entry in configs():
        runs = pages.get(entry.stem)
        yield from [index_row(entry.stem, runs)] if runs else standing.rows(entry.stem)
    yield ""
    for section in SECTIONS:
        if path := sessions.find(section.file):
            yield section_text(section, path, sessions.machine(path))
        elif kept := standing.section(section.title):
            yield kept


def main() -> None:
    """Write the pages; print which."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--target", type=Path, default=Path(__file__).resolve().parent.parent / "docs" / "results")
    options = parser.parse_args()
    options.target.mkdir(parents=True, exist_ok=True)
    sessions = Sessions(options.folders)
    pages = {entry.stem: runs for entry in configs() if (runs := sessions.runs(entry.stem))}
    for name, runs in pages.items():
        (options.target / f"{name}.md").write_text(config_page(name, runs), encoding="utf-8")
    if path := sessions.find(COUNTERS_FILE):
        text = without_folders(path.read_text(encoding="utf-8"))
        (options.target / COUNTERS_PAGE).write_text(text, encoding="utf-8")
    readme = options.target / "README.md"
    lines = index(pages, sessions, Standing(readme))
    readme.write_text("\n".join(lines).rstrip("\n") + "\n", encoding="utf-8")
    print(f"{len(pages)} pages and README.md in {options.target}")


if __name__ == "__main__":
    main()
