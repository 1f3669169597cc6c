"""What a translator of the semantics has to know: values that it records, and functions that it takes as a whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])


class Symbolic:
    """A value that a translator records instead of computing it (``emulator.compiled``)."""

    def apply(self, name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The translation of a ``primitive`` on these arguments."""
        raise NotImplementedError

    def contiguous(self) -> Any:
        """The value itself: only arrays have a layout."""
        raise NotImplementedError


def primitive(name: str) -> Callable[[Function], Function]:
    """Mark a function of arrays that a translator replaces as a whole, since its steps depend on the data."""

    def mark(function: Function) -> Function:
        @wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            for argument in arguments:
                if isinstance(argument, Symbolic):
                    return argument.apply(name, arguments, options)
            return function(*arguments, **options)

        return cast("Function", call)

    return mark


def contiguous(value: NDArray[Any]) -> NDArray[Any]:
    """An array whose bytes follow each other, for views of another width."""
    if isinstance(value, Symbolic):
        return cast("NDArray[Any]", value.contiguous())
    return np.ascontiguousarray(value)
