"""From lists to variants: products, labels, substitution, steps, arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuprof.errors import ConfigError, UsageError
from gpuprof.experiment import load
from gpuprof.experiment.model import (
    BufferArgument,
    Experiment,
    FillStep,
    HostStep,
    KernelStep,
    Reference,
    ScalarArgument,
)
from gpuprof.experiment.overrides import override_values, parse_overrides

Loaded = Callable[..., Experiment]


def labels(experiment: Experiment) -> list[str]:
    return [variant.label for variant in experiment.variants]


def step(experiment: Experiment, position: int = 0) -> KernelStep:
    first = experiment.variants[position].steps[0]
    assert isinstance(first, KernelStep)
    return first


def test_the_example(loaded: Loaded, tmp_path: Path) -> None:
    experiment = loaded()
    assert labels(experiment) == ["naive", "tiled/TILE=8", "tiled/TILE=16"]
    naive, tiled = step(experiment), step(experiment, 1)
    assert naive.source == tmp_path / "k.cu"
    assert (naive.kernel, naive.grid, naive.block, naive.shared_bytes) == ("naive<float>", (2, 4, 1), (16, 16, 1), 0)
    assert naive.args[:3] == (ScalarArgument(64, "int32"), ScalarArgument(32, "int32"), ScalarArgument(16, "int32"))
    assert naive.args[3:] == (BufferArgument("A"), BufferArgument("B"), BufferArgument("C"))
    assert (tiled.kernel, tiled.grid, tiled.block) == ("tiled<float, 8>", (4, 8, 1), (8, 8, 1))
    assert experiment.variants[0].work.flop == 2 * 64 * 32 * 16
    assert experiment.variants[0].tolerance is not None
    assert experiment.variants[0].tolerance.rtol == 1e-5
    assert (experiment.iters, experiment.baseline, experiment.dropped) == (5, "naive", 0)


def test_sizes_and_parameters_multiply_and_where_drops(loaded: Loaded) -> None:
    experiment = loaded(
        ("M: 64", "M: [64, 100]"),
        ("{TILE: [8, 16]}", "{TILE: [8, 16], PAD: [0, 1]}\n    where: PAD == 0 or M % TILE == 0"),
    )
    assert labels(experiment) == [
        "naive/M=64",
        "naive/M=100",
        "tiled/TILE=8/PAD=0/M=64",
        "tiled/TILE=8/PAD=1/M=64",
        "tiled/TILE=16/PAD=0/M=64",
        "tiled/TILE=16/PAD=1/M=64",
        "tiled/TILE=8/PAD=0/M=100",
        "tiled/TILE=16/PAD=0/M=100",
    ]
    assert experiment.dropped == 2
    assert experiment.variants[1].buffers["A"].shape == (100, 16)


def test_sizes_of_other_sizes(loaded: Loaded) -> None:
    experiment = loaded(("{M: 64, N: 32, K: 16}", "{M: 2 * N, N: [32, 64], K: cdiv(M, 3)}"))
    assert dict(experiment.variants[0].sizes) == {"M": 64, "N": 32, "K": 22}
    assert "naive/N=64" in labels(experiment)


def test_parameters_reach_the_kernel_as_defines_or_as_template_arguments(loaded: Loaded, tmp_path: Path) -> None:
    """A template argument is no macro too: ``-D TILE=8`` would break ``template <int TILE>`` in the source."""
    (tmp_path / "k.cu").write_text("TILE UNROLL T FAST TWICE X")
    experiment = loaded(("{TILE: [8, 16]}", "{TILE: [8], UNROLL: 4, T: half, FAST: true, TWICE: 2 * TILE, X: 0.5}"))
    defines = {"UNROLL": "4", "T": "half", "FAST": "1", "TWICE": "16", "X": "0.5"}
    assert dict(step(experiment, 1).defines) == defines
    assert experiment.variants[1].label == "tiled/TILE=8"
    assert step(loaded(("tiled<float, {TILE}>", "tiled")), 1).defines == {"TILE": "8"}


NEEDED = {
    "a word of the source": ("int x = OTHER;", {"OTHER"}),
    "half a word": ("int xOTHER = OTHER2;", set()),
    "a comment": ('// OTHER\nint x; /* OTHER */ const char* s = "//"; int y;', set()),
    "code behind a string that looks like a comment": ('const char* s = "http://"; int y = OTHER;', {"OTHER"}),
    "a header of a header": ('#include "a/first.h"', {"OTHER"}),
    "a header in angle brackets beside it": ("#include <second.h>", {"OTHER"}),
    "a header of the toolkit": ("#include <cuda_fp16.h>", set()),
    "a header that is not there": ('#include "elsewhere.h"', {"OTHER", "THIRD"}),
    "a header that a macro names": ("#include HEADER", {"OTHER", "THIRD"}),
    "the value of a parameter that is used": ("THIRD", {"OTHER", "THIRD"}),
}


@pytest.mark.parametrize("case", NEEDED)
def test_parameters_that_the_source_does_not_use_are_no_defines(loaded: Loaded, tmp_path: Path, case: str) -> None:
    """Each value of a define costs a build, and N or T as a define would break many a header."""
    text, wanted = NEEDED[case]
    (tmp_path / "k.cu").write_text(text)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "first.h").write_text('#include "../second.h"\n')
    (tmp_path / "second.h").write_text("#pragma once\n#define WIDTH (2 * OTHER)\n")
    experiment = loaded(("{TILE: [8, 16]}", "{TILE: 8, OTHER: 4, THIRD: array<OTHER>}"))
    assert set(step(experiment, 1).defines) == wanted


@pytest.mark.parametrize("flag", ["-DWIDTH=OTHER", "-include=second.h", "-include second.h"])
def test_parameters_that_a_flag_uses_are_defines(loaded: Loaded, tmp_path: Path, flag: str) -> None:
    (tmp_path / "second.h").write_text("OTHER")
    experiment = loaded(("{TILE: [8, 16]}", f"{{TILE: 8, OTHER: 4}}\n    flags: {flag}"))
    assert dict(step(experiment, 1).defines) == {"OTHER": "4"}


def test_braces_take_expressions_in_kernel_source_and_flags(loaded: Loaded, tmp_path: Path) -> None:
    (tmp_path / "k8.cu").touch()
    experiment = loaded(
        (
            "    source: k.cu\n    kernel: tiled<float, {TILE}>",
            '    source: "k{TILE}.cu"\n    kernel: "f<{T}, {TILE * 2}>"',
        ),
        ("{TILE: [8, 16]}", "{TILE: 8, T: [float, double]}\n    flags: -maxrregcount={TILE * 4} -lineinfo"),
    )
    assert [step(experiment, n).kernel for n in (1, 2)] == ["f<float, 16>", "f<double, 16>"]
    assert step(experiment, 1).source.name == "k8.cu"
    assert experiment.variants[1].flags == ("-maxrregcount=32", "-lineinfo")


def test_include_flags_count_from_the_yamls_folder(loaded: Loaded, tmp_path: Path) -> None:
    (tmp_path / "my headers").mkdir()
    replaced = ("iters: 5", "include: my headers\nflags: [-O2, '-I', sub, -Iother, --include-path=/abs]")
    variant = loaded(replaced).variants[0]
    assert variant.include == (tmp_path / "my headers",)
    assert variant.flags == ("-O2", "-I", f"{tmp_path}/sub", f"-I{tmp_path}/other", "--include-path=/abs")


def test_grid_uses_block_and_shared_uses_both(loaded: Loaded) -> None:
    experiment = loaded(
        ("block: [16, 16]", "block: [2 * K, 4]\n    shared: threads * 4 + grid_y"),
        ("[cdiv(N, 16), cdiv(M, 16)]", "[cdiv(N, block_x), cdiv(M, block_y)]"),
    )
    first = step(experiment)
    assert (first.block, first.grid, first.shared_bytes) == ((32, 4, 1), (1, 16, 1), 32 * 4 * 4 + 16)


def test_arguments(loaded: Loaded) -> None:
    given = "[1, 1.0, 2*M, K / 4, {value: M, dtype: int64}, {value: 1, dtype: float16}, {buffer: A, offset: K}, true]"
    assert step(loaded(("[M, N, K, A, B, C]", given))).args == (
        ScalarArgument(1, "int32"),
        ScalarArgument(1.0, "float32"),
        ScalarArgument(128, "int32"),
        ScalarArgument(4.0, "float32"),
        ScalarArgument(64, "int64"),
        ScalarArgument(1, "float16"),
        BufferArgument("A", 64),
        ScalarArgument(True, "bool"),
    )


PIPELINE = """\
    source: k.cu
    buffers:
      H: {dtype: float16, shape: [M, K], scratch: true}
    steps:
      - {kernel: to_half, block: 256, grid: "cdiv(M * K, 256)", args: [A, H], once: true}
      - {fill: C, byte: 0}
      - {name: main, kernel: gemm, block: 256, grid: 1, args: [H, B, C]}
      - {host: finish, source: h.cu, libraries: [cublas], args: [C], timed: false}
"""


def test_steps(loaded: Loaded, tmp_path: Path) -> None:
    (tmp_path / "h.cu").touch()
    old = "    source: k.cu\n    kernel: naive<float>\n    block: [16, 16]\n"
    old += "    grid: [cdiv(N, 16), cdiv(M, 16)]\n    args: [M, N, K, A, B, C]\n"
    variant = loaded((old, PIPELINE)).variants[0]
    once, fill, main, host = variant.steps
    assert isinstance(once, KernelStep)
    assert (once.once, once.timed, once.grid, once.source.name) == (True, False, (4, 1, 1), "k.cu")
    assert fill == FillStep("fill C", "C", 0, timed=False, once=False)
    assert isinstance(main, KernelStep)
    assert (main.name, main.timed, main.once) == ("main", True, False)
    assert isinstance(host, HostStep)
    assert (host.function, host.libraries, host.timed) == ("finish", ("cublas",), False)
    assert variant.buffers["H"].scratch
    assert variant.buffers["H"].fill.kind == "poison"
    assert variant.main_step == main
    assert variant.host_only


def test_a_host_function_is_a_library_baseline(loaded: Loaded) -> None:
    launch = "    block: [16, 16]\n    grid: [cdiv(N, 16), cdiv(M, 16)]\n"
    variant = loaded(("    kernel: naive<float>\n" + launch, "    host: sgemm\n    libraries: cublas\n")).variants[0]
    assert variant.host_only
    assert isinstance(variant.steps[0], HostStep)
    assert variant.steps[0].libraries == ("cublas",)


def test_a_reference_variant_is_its_partner_at_the_same_sizes(loaded: Loaded) -> None:
    for form in ("naive", "{variant: naive}"):
        experiment = loaded(("{C: A @ B}", form), ("M: 64", "M: [64, 128]"))
        assert [v.reference.variant for v in experiment.variants if v.family == "tiled"] == [
            *("naive/M=64", "naive/M=64", "naive/M=128", "naive/M=128"),
        ]
        assert experiment.variants[0].reference == Reference()


def test_a_variant_may_replace_what_is_common(loaded: Loaded) -> None:
    own = "    sizes: {N: 8}\n    reference: {C: 2 * A @ B}\n    tolerance: {atol: 1}\n"
    own += "    work: {flop: N}\n    iters: 3\n"
    experiment = loaded(("  naive:\n", "  naive:\n" + own))
    naive, tiled = experiment.variants[:2]
    assert naive.buffers["C"].shape == (64, 8)
    assert naive.reference.expressions == {"C": "2 * A @ B"}
    assert (naive.tolerance.atol, naive.work.flop, naive.work.bytes, naive.iters) == (1.0, 8.0, None, 3)  # type: ignore[union-attr]
    assert tiled.buffers["C"].shape == (64, 32)
    assert tiled.iters == 5


def test_a_source_is_found_beside_in_kernels_and_here(loaded: Loaded, tmp_path: Path) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "own.cu").touch()
    experiment = loaded(("source: k.cu", "source: own.cu"))
    assert step(experiment).source == tmp_path / "kernels" / "own.cu"
    assert step(loaded(("source: k.cu", "source: gemm_naive.cu"))).source.parent.name == "kernels"


def test_overrides_replace_values(loaded: Loaded) -> None:
    experiment = loaded(overrides={"M": "32,48", "TILE": "16"})
    assert labels(experiment) == ["naive/M=32", "naive/M=48", "tiled/TILE=16/M=32", "tiled/TILE=16/M=48"]
    assert labels(loaded(overrides={"N": "M"})) == labels(loaded())
    with pytest.raises(UsageError, match=r"TIEL=4: size or parameter 'TIEL' is not declared; did you mean 'TILE'"):
        loaded(overrides={"TIEL": "4"})
    with pytest.raises(ConfigError, match=r"`M` is 0; an extent is at least 1"):
        loaded(overrides={"M": "0"})


def test_override_texts() -> None:
    assert parse_overrides(["M=256", "TILE = 16,32"]) == {"M": "256", "TILE": "16,32"}
    assert override_values("M", "16, 32") == [16, 32]
    assert override_values("T", "float,f<a, b>,max(M, 2)") == ["float", "f<a, b>", "max(M, 2)"]
    assert override_values("X", "0.5") == [0.5]
    for wrong in ("M", "=4", "M="):
        with pytest.raises(UsageError, match=r"expected NAME=VALUE"):
            parse_overrides([wrong])
    with pytest.raises(UsageError, match=r"expected a value"):
        override_values("M", "16,,32")


def test_shared_memory_is_held_against_the_arch(loaded: Loaded) -> None:
    """99 KiB a block on 8.9, 163 on 8.0, 227 on 9.0 (CUDA C++ Programming Guide, compute capabilities)."""
    replaced = ("block: [16, 16]", "block: [16, 16]\n    shared: 100 * 1024")
    loaded(replaced)
    loaded(replaced, arch="sm_80", default_arch="sm_89")
    with pytest.raises(ConfigError, match=r"is 102400 bytes of shared memory; sm_89 allows a block at most 101376"):
        loaded(replaced, default_arch="sm_89")
    loaded(replaced, ("iters: 5", "arch: 9.0"), default_arch="sm_89")
    with pytest.raises(ConfigError, match=r"sm_86 allows"):
        loaded(replaced, ("iters: 5", "arch: sm_86"))


def test_an_arch_is_normalised(loaded: Loaded) -> None:
    assert loaded(("iters: 5", "arch: '8.9'")).arch == "sm_89"
    assert loaded(("iters: 5", "arch: 8.9")).arch == "sm_89"


def test_a_byte_order_mark_and_crlf_are_read(tmp_path: Path) -> None:
    (tmp_path / "k.cu").touch()
    path = tmp_path / "x.yaml"
    path.write_bytes("variants:\r\n  v: {source: k.cu, kernel: f, block: 1, grid: 1}\r\n".encode("utf-8-sig"))
    experiment = load(path)
    assert (experiment.name, labels(experiment)) == ("x", ["v"])


def test_sizes_are_any_numbers_where_an_argument_or_a_fill_is(loaded: Loaded) -> None:
    changed = ("sizes: {", "sizes: {ALPHA: [0, 0.5, -2.0], HALF: ALPHA / 2, ")
    filled = ('fill: "i % 13 - 6"', "fill: i * HALF")
    experiment = loaded(changed, filled, ("args: [M, N, K, A, B, C]", "args: [ALPHA, HALF, K, A, B, C]"))
    naive = [variant for variant in experiment.variants if variant.family == "naive"]
    assert [variant.label for variant in naive] == ["naive/ALPHA=0", "naive/ALPHA=0.5", "naive/ALPHA=-2"]
    given = [variant.steps[0].args[:2] for variant in naive if isinstance(variant.steps[0], KernelStep)]
    assert given == [
        (ScalarArgument(0, "int32"), ScalarArgument(0, "int32")),
        (ScalarArgument(0.5, "float32"), ScalarArgument(0.25, "float32")),
        (ScalarArgument(-2, "int32"), ScalarArgument(-1, "int32")),
    ]
