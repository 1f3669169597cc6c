"""The type of one kernel parameter in C++'s words, and the numpy name of its values."""

from __future__ import annotations

from dataclasses import dataclass

#: Scalar types as the demangler prints them -> the numpy name of their values.
SCALARS = {
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned int": "uint32",
    "long": "int64",
    "unsigned long": "uint64",
    "long long": "int64",
    "unsigned long long": "uint64",
    "float": "float32",
    "double": "float64",
    "__half": "float16",
    "__nv_bfloat16": "bfloat16",
    "__nv_fp8_e4m3": "float8_e4m3",
    "__nv_fp8_e5m2": "float8_e5m2",
}


@dataclass(frozen=True)
class ParameterType:
    """``name`` without qualifiers, ``float*`` for a pointer."""

    name: str

    @property
    def is_pointer(self) -> bool:
        return self.name.endswith("*")

    @property
    def scalar(self) -> str | None:
        """The numpy name of a value, or of what a pointer points to; None for structs, vectors and what is unknown."""
        return SCALARS.get(self.name.removesuffix("*"))
