"""A reference in Python: takes whatever there is, since ``in`` cannot be a parameter's name."""

from typing import Any


def turn(**values: Any) -> Any:
    return values["in"].T
