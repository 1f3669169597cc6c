"""Arguments against a parameter layout."""

from __future__ import annotations

import pytest

from gpuprof.device.jobs import BufferReference
from gpuprof.experiment.model import BufferArgument, ScalarArgument
from gpuprof.profile.arguments import ArgumentMismatchError, pack_arguments
from gpuprof.toolchain.model import Parameter

LAYOUT = (Parameter(0, 0, 4), Parameter(1, 8, 8))


def test_scalars_become_their_bytes_and_buffers_stay_names() -> None:
    packed = pack_arguments("f", (ScalarArgument(-2, "int32"), BufferArgument("C", 16)), LAYOUT)
    assert packed == (b"\xfe\xff\xff\xff", BufferReference("C", 16))


def test_the_layout_is_read_by_ordinal() -> None:
    assert pack_arguments("f", (ScalarArgument(1, "int32"), BufferArgument("C")), LAYOUT[::-1])[0] == b"\1\0\0\0"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((BufferArgument("C"),), "takes 2 arguments .4 bytes, 8 bytes., and args gives 1"),
        ((BufferArgument("C"), BufferArgument("C")), "argument 0 of f is buffer C.*takes 4 bytes"),
        ((ScalarArgument(1, "int32"), ScalarArgument(1.0, "float32")), "takes 8.*dtype: float64"),
        ((ScalarArgument(1, "int64"), BufferArgument("C")), "argument 0 of f is int64 1, 8 bytes.*int32"),
    ],
)
def test_a_mismatch_says_which_and_how_to_repair(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(ArgumentMismatchError, match=message) as caught:
        pack_arguments("f", arguments, LAYOUT)  # type: ignore[arg-type]
    assert caught.value.exit_code == 2
