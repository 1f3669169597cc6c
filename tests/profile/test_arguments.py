"""From a built variant to its calls, and what is refused before anything is built or launched."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuprof.device.jobs import BufferReference, KernelCall
from gpuprof.errors import ArgumentMismatchError, UsageError
from gpuprof.experiment.model import Argument, BufferArgument, KernelStep, Reference, ScalarArgument, Variant, Work
from gpuprof.isa.constant_bank import Parameter
from gpuprof.profile.built_variant import BuiltVariant
from gpuprof.profile.setup import check_launches
from gpuprof.toolchain.model import Build, BuildRequest, Resources

LAYOUT = (Parameter(1, 8, 8), Parameter(0, 0, 4))  # ptxas lists the last first


def variant(args: tuple[Argument, ...] = (), shared_bytes: int = 0, label: str = "f") -> Variant:
    step = KernelStep("f", Path("f.cu"), "f", {}, (1, 1, 1), (32, 1, 1), shared_bytes, args)
    return Variant(label, "f", {}, {}, {}, (step,), Reference(), None, Work(), None, None, (), ())


def built(*args: Argument) -> BuiltVariant:
    resources = Resources(8, 0, 0, 0, LAYOUT, 0x210, 16)
    request = BuildRequest(Path("f.cu"), "f", "sm_89")
    build = Build(request, Path("f.cubin"), "f", "f", resources, (), 0.0, False, "", "", "", "")
    return BuiltVariant(variant(args), {"f": build}, {})


def test_scalars_become_their_bytes_and_buffers_stay_names() -> None:
    (call,) = built(ScalarArgument(-2, "int32"), BufferArgument("C", 16)).calls()
    assert isinstance(call, KernelCall)
    assert call.arguments == (b"\xfe\xff\xff\xff", BufferReference("C", 16))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((BufferArgument("C"),), r"takes 2 parameters \(bytes: 4, 8\), and args gives 1"),
        ((BufferArgument("C"), BufferArgument("C")), r"argument 0 is C.*has 4 bytes"),
        ((ScalarArgument(1, "int32"), ScalarArgument(1.0, "float32")), "has 8 bytes.*dtype: float64"),
    ],
)
def test_a_mismatch_says_which_and_how_to_repair(args: tuple[Argument, ...], message: str) -> None:
    with pytest.raises(ArgumentMismatchError, match=message) as caught:
        built(*args).calls()
    assert caught.value.exit_code == 2


def test_shared_memory_is_held_against_each_variants_architecture() -> None:
    # CUDA C++ Programming Guide, technical specifications: 99 KiB a block on 8.9, 227 KiB on 9.0
    large = variant(shared_bytes=100 * 1024, label="tile=64")
    check_launches([(large, "sm_90"), (variant(shared_bytes=99 * 1024), "sm_89")])
    with pytest.raises(UsageError, match=r"tile=64: f: shared is 102400 bytes.*sm_89 allows a block at most 101376"):
        check_launches([(large, "sm_89")])


def test_of_many_wrong_variants_some_are_named() -> None:
    many = [(variant(shared_bytes=1 << 20, label=f"v{n}"), "sm_89") for n in range(30)]
    with pytest.raises(UsageError, match=r"v7: [^\n]*\n... and 22 more\n.*where:"):
        check_launches(many)
