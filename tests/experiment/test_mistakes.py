"""Wrong YAML files: each gives the line, the key and the sentence that repairs it, and only that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Mistakes = Callable[..., list[str]]

#: what is replaced in GOOD, by what, and the beginning of the one problem that follows
ONE_MISTAKE = {
    "misspelt key": ("iters: 5", "itres: 5", "4: itres: unknown key; did you mean 'iters'? (valid: name, "),
    "misspelt key of a variant": (
        "    kernel: naive",
        "    kernal: naive",
        "16: variants.naive.kernal: unknown key; did you mean 'kernel'?",
    ),
    "misspelt key of a buffer": (
        "output: true",
        "ouput: true",
        "8: buffers.C.ouput: unknown key; did you mean 'output'",
    ),
    "wrong type": ("iters: 5", "iters: many", "4: iters: expected an integer, got 'many'"),
    "truth for a number": ("iters: 5", "iters: true", "4: iters: expected an integer, got true"),
    "zero iterations": ("iters: 5", "iters: 0", "4: iters: expected at least 1, got 0"),
    "no dtype": (
        "{dtype: float32, shape: [M, K], fill",
        "{shape: [M, K], fill",
        "6: buffers.A: `dtype` is missing: the element type",
    ),
    "C's dtype": ("dtype: float32", "dtype: float", "6: buffers.A.dtype: expected one of float16, float32, float64"),
    "unknown buffer in args": (
        "args: [M, N, K, A, B, C]",
        "args: [M, N, K, A, BB, C]",
        "19: variants.naive.args[4]: 'BB' is not a buffer, size or parameter; did you mean 'B'?",
    ),
    "unknown size": (
        "[cdiv(N, 16)",
        "[cdiv(NN, 16)",
        "18: variants.naive.grid[0]: `cdiv(NN, 16)`: 'NN' is not declared",
    ),
    "a buffer as a size": (
        "[cdiv(N, 16)",
        "[cdiv(A, 16)",
        "18: variants.naive.grid[0]: `cdiv(A, 16)`: 'A' is a buffer, not a number",
    ),
    "an infinite size": ("M: 64", "M: .inf", "3: sizes.M: is inf; a size is a finite number"),
    "a size beyond 64 bits": ("M: 64", "M: 1 << 63", "3: sizes.M: is 9223372036854775808; a size is below 2^63"),
    "no values": ("M: 64", "M: []", "3: sizes.M: expected at least one value, got an empty list"),
    "circular sizes": ("M: 64, N: 32", "M: 2*N, N: M // 2", "3: sizes.M: circular definition: M -> N -> M"),
    "negative block": (
        "block: [16, 16]",
        "block: [16, -1]",
        "17: variants.naive.block: block y is -1; an extent is at",
    ),
    "block over 1024": (
        "block: [16, 16]",
        "block: [64, 32]",
        "17: variants.naive.block: 64x32 is 2048 threads; a block",
    ),
    "block z over 64": (
        "block: [16, 16]",
        "block: [1, 1, 65]",
        "17: variants.naive.block: block z is 65, over the limit",
    ),
    "four extents": (
        "block: [16, 16]",
        "block: [1, 1, 1, 1]",
        "17: variants.naive.block: expected one to three extents",
    ),
    "grid y over the limit": (
        "cdiv(M, 16)]",
        "65536]",
        "18: variants.naive.grid: grid y is 65536, over the limit of 65535",
    ),
    "grid x over the limit": (
        "[cdiv(N, 16)",
        "[2**31",
        "18: variants.naive.grid: grid x is 2147483648, over the limit",
    ),
    "a fraction of a block": (
        "[cdiv(N, 16)",
        "[N / 64",
        "18: variants.naive.grid[0]: expected an integer, and `N / 64` is",
    ),
    "shared memory over any GPU's": (
        "block: [16, 16]",
        "block: [16, 16]\n    shared: 228 * 1024",
        "18: variants.naive.shared: is 233472 bytes of shared memory; any GPU allows a block at most 232448",
    ),
    "huge shape": (
        "shape: [M, K]",
        "shape: [2**20, 2**20]",
        "6: buffers.A.shape: [1048576, 1048576] of float32 are 4,398,",
    ),
    "zero extent": (
        "shape: [M, K]",
        "shape: [M - 64, K]",
        "6: buffers.A.shape[0]: `M - 64` is 0; an extent is at least 1",
    ),
    "fill that raises": ('fill: "i % 13 - 6"', 'fill: "1 // i"', "6: buffers.A.fill: `1 // i`: `//` divides by zero"),
    "fill with an unknown name": (
        'fill: "i % 13 - 6"',
        'fill: "j % 13"',
        "6: buffers.A.fill: `j % 13`: 'j' is not declared",
    ),
    "fill that does not fit": (
        'float32, shape: [M, K], fill: "i % 13 - 6"',
        'int8, shape: [M, K], fill: "i"',
        "6: buffers.A.fill: `i`: gives 1023, outside int8's -128 to 127",
    ),
    "fill by a reduction": (
        'fill: "i % 13 - 6"',
        'fill: "cumsum(i)"',
        "6: buffers.A.fill: `cumsum(i)`: there is no func",
    ),
    "no such file": ('fill: "i % 13 - 6"', "fill: a.npy", "6: buffers.A.fill: "),
    "an input without fill": (', fill: "i % 13 - 6"', "", "6: buffers.A: `fill` is missing: an input holds something"),
    "unknown distribution": (
        'fill: "i % 13 - 6"',
        "fill: {random: gauss}",
        "6: buffers.A.fill.random: expected 'uniform', 'normal' or 'integers', got 'gauss'",
    ),
    "empty range": (
        'fill: "i % 13 - 6"',
        "fill: {random: uniform, low: 1, high: 1}",
        "6: buffers.A.fill: low is 1 and high 1; low must be below high",
    ),
    "reaching Python": (
        'fill: "i % 13 - 6"',
        "fill: \"__import__('os').system('true')\"",
        "6: buffers.A.fill: `__import__('os').system('true')`: only functions may be called, by their names",
    ),
    "an attribute": (
        "reference: {C: A @ B}",
        "reference: {C: A.ctypes}",
        "9: reference.C: `A.ctypes`: attribute access (.ctypes) is not allowed in an expression",
    ),
    "indexing": ("reference: {C: A @ B}", 'reference: {C: "A[0]"}', "9: reference.C: `A[0]`: indexing is not allowed"),
    "unknown reference variant": (
        "reference: {C: A @ B}",
        "reference: naiv",
        "9: reference: there is no variant 'naiv'; did you mean 'naive'? (variants: naive, tiled)",
    ),
    "reference of an input": (
        "{C: A @ B}",
        "{B: A}",
        "9: reference.B: 'B' is not an output (outputs: C); a buffer that",
    ),
    "reference to what is not there before": (
        "{C: A @ B}",
        "{C: A @ B + C}",
        "9: reference.C: `A @ B + C`: 'C' holds nothing before the launch",
    ),
    "unknown baseline": (
        "baseline: naive",
        "baseline: nave",
        "12: baseline: there is no variant 'nave'; did you mean 'naive'",
    ),
    "inner extents of a reference": (
        "{C: A @ B}",
        "{C: A @ T(B)}",
        "9: reference.C: `A @ T(B)`: `@` of shapes [64, 16] and [32, 16]: the inner extents differ",
    ),
    "shape of a reference": (
        "{C: A @ B}",
        "{C: B}",
        "9: reference.C: `B`: the result has the shape [16, 32], and C [64",
    ),
    "axis of a reference": (
        "{C: A @ B}",
        "{C: sum(A @ B, axis=2)}",
        "9: reference.C: `sum(A @ B, axis=2)`: axis 2 is out",
    ),
    "negative tolerance": ("rtol: 1.0e-5", "rtol: -1", "10: tolerance.rtol: is -1.0; a tolerance must be finite"),
    "no source": (
        "    source: k.cu\n    kernel: naive",
        "    kernel: naive",
        "14: variants.naive: `source` is missing: the .cu",
    ),
    "a source that is not there": (
        "source: k.cu",
        "source: kk.cu",
        "15: variants.naive.source: no file 'kk.cu'; did you mean",
    ),
    "neither kernel nor host": (
        "    kernel: naive<float>\n",
        "",
        "14: variants.naive: expected one of `kernel`, `host`, `fill`; got none",
    ),
    "kernel and host": (
        "    kernel: naive<float>\n",
        "    kernel: naive<float>\n    host: f\n",
        "14: variants.naive: expected one of `kernel`, `host`, `fill`; got kernel and host",
    ),
    "unknown parameter in braces": (
        "tiled<float, {TILE}>",
        "tiled<float, {TIL}>",
        "22: variants.tiled.kernel: `TIL`: 'TIL' is not declared; did you mean 'TILE'?",
    ),
    "a parameter that is a size": (
        "{TILE: [8, 16]}",
        "{TILE: [8, 16], M: 4}",
        "23: variants.tiled.params.M: name already used for a size",
    ),
    "the same value twice": ("[8, 16]", "[8, 8]", "20: variants.tiled: 'tiled/TILE=8': duplicate label"),
    "arch that is none": ("baseline: naive", "arch: volta", "12: arch: arch 'volta' is not an architecture"),
    "int that does not fit": (
        "[M, N, K, A, B, C]",
        "[2**31, N, K, A, B, C]",
        "19: variants.naive.args[0]: 2147483648 is out",
    ),
    "value without dtype": (
        "[M, N, K, A, B, C]",
        "[{value: M}, N, K, A, B, C]",
        "19: variants.naive.args[0]: expected a `dtype` beside `value`",
    ),
    "no variants": (None, "name: x\n", "1: : `variants` is missing: what is compared, by name"),
    "variants of none": (None, "variants: {}\n", "1: variants: expected at least one entry, got none"),
    "too many points": (
        "[8, 16]",
        f"{list(range(1, 401))}, OTHER: {list(range(1, 401))}",
        "20: variants.tiled: the lists mul",
    ),
    "where drops all": (
        None,
        "variants: {v: {source: k.cu, kernel: f, block: 1, grid: 1, params: {P: [1, 2]}, where: P > 2}}",
        "1: variants: `where` dropped all 2 points; nothing is left to run",
    ),
    "a misspelt name in where": (
        "params: {TILE: [8, 16]}",
        "params: {TILE: [8, 16]}\n    where: TIEL <= 16",
        "24: variants.tiled.where: `TIEL <= 16`: 'TIEL' is not declared; did you mean 'TILE'?",
    ),
    "expectation of an unknown value": (
        'verdict == "ok"',
        'verdct == "ok"',
        "28: expect[0]: `verdct == \"ok\"`: 'verdct' is not declared; did you mean 'verdict'?",
    ),
    "expectation of an unknown variant": (
        'verdict == "ok"',
        "time.tild < time.naive",
        "28: expect[0]: `time.tild < time.naive`: there is no variant 'tild'; did you mean 'tiled'?",
    ),
    "include folder that is not there": (
        "iters: 5",
        "include: headers",
        "4: include[0]: no folder 'headers' (searched: ",
    ),
    "a quotation mark not closed": (
        "iters: 5",
        """flags: ["-DA='x"]""",
        "4: flags: `-DA='x`: a quotation mark is not closed",
    ),
    "a fraction as it stands": (
        "block: [16, 16]",
        "block: 1.5",
        "17: variants.naive.block: expected an integer, got 1.5",
    ),
    "text for a condition": (
        "params: {TILE: [8, 16]}",
        "params: {TILE: [8, 16]}\n    where: \"'yes'\"",
        "24: variants.tiled.where: 'yes' is text, neither true nor false",
    ),
    "a lone step that is not timed": (
        "    kernel: naive<float>\n",
        "    kernel: naive<float>\n    timed: false\n",
        "17: variants.naive.timed: a single-step variant must be timed",
    ),
    "a lone step that runs once": (
        "    kernel: naive<float>\n",
        "    kernel: naive<float>\n    once: true\n",
        "17: variants.naive.once: a single-step variant must be timed",
    ),
    "a list for a reference": (
        "reference: {C: A @ B}",
        "reference: [C]",
        "9: reference: expected {output: expression}, or the name of a variant, got a list",
    ),
    "a dtype that is none beside a value": (
        "args: [M, N, K, A, B, C]",
        "args: [{value: M, dtype: int}, N, K, A, B, C]",
        "19: variants.naive.args[0].dtype: expected one of float16",
    ),
    "random integers between two integers": (
        'float32, shape: [M, K], fill: "i % 13 - 6"',
        "int32, shape: [M, K], fill: {random: integers, low: 0.5, high: 0.7}",
        "6: buffers.A.fill.low: expected an integer, got 0.5",
    ),
    "random integers beyond the dtype": (
        'float32, shape: [M, K], fill: "i % 13 - 6"',
        "int8, shape: [M, K], fill: {random: integers, low: 0, high: 129}",
        "6: buffers.A.fill: gives 128, outside int8's -128 to 127",
    ),
    "random integers beyond 64 bits": (
        'float32, shape: [M, K], fill: "i % 13 - 6"',
        "uint64, shape: [M, K], fill: {random: integers, low: 0, high: 2**64}",
        "6: buffers.A.fill: 18446744073709551615 is outside the -2^63 to 2^63 of random integers",
    ),
    "random values beyond the dtype": (
        'float32, shape: [M, K], fill: "i % 13 - 6"',
        "float16, shape: [M, K], fill: {random: uniform, high: 1.0e+6}",
        "6: buffers.A.fill: gives 1000000.0, which float16 cannot hold",
    ),
    "an endless random range": (
        'fill: "i % 13 - 6"',
        "fill: {random: uniform, high: .inf}",
        "6: buffers.A.fill.high: is inf; expected a finite number",
    ),
    "a range for a normal distribution": (
        'fill: "i % 13 - 6"',
        "fill: {random: normal, low: 1}",
        "6: buffers.A.fill.low: does not go with `random: normal`",
    ),
    "a control character": ("A, B, C]", 'A, B, "\\e[31m"]', "19: variants.naive.args[5]: `\\x1b[31m`: not an"),
    "no variant with a name": (None, "variants: {a/b: {}}", "1: variants.a/b: 'a/b' is not a valid name:"),
    "steps beside a launch": (
        "    kernel: naive<float>\n",
        "    steps: [{kernel: f, block: 1, grid: 1}]\n",
        "17: variants.naive.block: conflicts with `steps`; move it into a step",
    ),
}


@pytest.mark.parametrize("case", ONE_MISTAKE.values(), ids=ONE_MISTAKE.keys())
def test_one_mistake(case: tuple[str | None, str, str], mistakes: Mistakes) -> None:
    old, new, expected = case
    found = mistakes((old, new)) if old is not None else mistakes(text=new)
    assert found[0].startswith(expected), found
    others = {message.split(": ")[1].split("[")[0] for message in found[1:]}
    siblings = {"variants.naive.grid", "variants.naive.args"}  # keys that the same mistake makes wrong too
    assert others <= siblings, found


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("0", "`M` is 0; an extent is at least 1"),
        ("-4", "`M` is -4; an extent is at least 1"),
        ("6.5", "expected an integer, and `M` is 6.5; use cdiv(a, b) or //"),
    ],
)
def test_a_size_that_is_no_extent_is_reported_where_it_stands_as_one(
    size: str, expected: str, mistakes: Mistakes
) -> None:
    assert mistakes(("M: 64", f"M: {size}"))[0] == f"6: buffers.A.shape[0]: {expected}"


def test_all_mistakes_of_a_file_come_at_once_in_the_order_of_lines(mistakes: Mistakes) -> None:
    found = mistakes(
        ("iters: 5", "itres: five\ndescription: again"),
        ("dtype: float32, shape: [M, K]", "dtype: float, shape: [M, K]"),
        ("block: [16, 16]", "block: [64, 32]"),
        ("{TILE: [8, 16]}", "{TILE: [8, 64]}"),
        ("baseline: naive", "baseline: nave"),
    )
    assert [message.split(":")[0] for message in found] == ["4", "4", "5", "7", "13", "18", "25"]
    assert found[2] == "5: description: duplicate key; first on line 2"
    assert found[6] == ("25: variants.tiled.block: 64x64 is 4096 threads; a block has at most 1024 (at tiled/TILE=64)")


def test_mistakes_of_different_kinds_come_at_once(mistakes: Mistakes) -> None:
    """A wrong size, a missing key or a block that is too large hides nothing that does not depend on it."""
    found = mistakes(
        ("K: 16}", "K: 16, W: -1 << 70}"),
        ("iters: 5", "iters: many"),
        ("{C: A @ B}", "{C: A @ Q}"),
        ("work: {flop: 2*M*N*K", "work: {flop: P"),
        ("    block: [16, 16]\n", "    block: [2000]\n    flags: -DX={X}\n"),
        ("cdiv(M, 16)", "0"),
        ("A, B, C]", "A, BB, W]"),
        ("    block: [TILE, TILE]\n", "    shared: 1 << 30\n"),
        ("    params: {TILE: [8, 16]}\n", "    params: {TILE: [8, 16]}\n    source: kk.cu\n"),
    )
    assert [message.split(": ")[:2] for message in found] == [
        ["3", "sizes.W"],
        ["4", "iters"],
        ["9", "reference.C"],
        ["11", "work.flop"],
        ["17", "variants.naive.block"],
        ["18", "variants.naive.flags[0]"],
        ["19", "variants.naive.grid"],
        ["20", "variants.naive.args[4]"],
        ["21", "variants.tiled"],
        ["25", "variants.tiled.source"],
        ["26", "variants.tiled.shared"],
    ], found


def test_what_reads_the_threads_of_a_wrong_block_is_not_told(mistakes: Mistakes) -> None:
    found = mistakes(
        ("block: [16, 16]", "block: [64, 64]\n    shared: 4 * threads"), ("cdiv(M, 16)", "cdiv(M, block_y)")
    )
    assert [message.split(": ")[:2] for message in found] == [["17", "variants.naive.block"]]


def test_a_key_that_stands_twice_is_named_with_its_place(mistakes: Mistakes) -> None:
    found = mistakes(("    block: [16, 16]\n", "    block: [16, 16]\n    block: 16\n"))
    assert found == ["18: variants.naive.block: duplicate key; first on line 17"]


def test_a_label_of_a_variant_with_a_mistake_is_known_to_the_baseline(mistakes: Mistakes) -> None:
    found = mistakes(("baseline: naive", "baseline: tiled/TILE=8"), ("[TILE, TILE]", "[TILE, 999]"))
    assert [message.split(": ")[1] for message in found] == ["variants.tiled.block"]


def test_what_follows_from_a_mistake_is_not_told(mistakes: Mistakes) -> None:
    """A buffer with a wrong dtype is still known to args and reference; a misspelt `kernel` is not missing too."""
    found = mistakes(
        ("dtype: float32, shape: [M, K]", "dtype: flot32, shape: [M, K]"), ("kernel: naive", "kernal: naive")
    )
    assert len(found) == 2


def test_a_mistake_of_many_points_is_told_once(mistakes: Mistakes) -> None:
    found = mistakes(("[8, 16]", "[64, 65, 66]"))
    assert len(found) == 1
    assert found[0].endswith("(at tiled/TILE=64 and 2 more)")
