"""Flags that nvcc cannot be given beside gpuprof's own, named before nvcc complains of something else."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

#: Variables whose flags nvcc adds by itself (nvcc's manual, "NVCC Environment Variables").
VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_OTHER_OUTPUT = "gpuprof builds a cubin of one architecture"
#: flag -> why not, and what to do instead.
_REFUSED = {
    **dict.fromkeys(("-gencode", "--generate-code"), f"{_OTHER_OUTPUT}: choose it with --arch, or arch: in the YAML"),
    **dict.fromkeys(("-code", "--gpu-code"), f"{_OTHER_OUTPUT}: choose it with --arch, or arch: in the YAML"),
    **dict.fromkeys(("-ptx", "--ptx"), f"{_OTHER_OUTPUT}; gpuprof ptx shows PTX"),
    **dict.fromkeys(("-fatbin", "--fatbin", "-cubin", "--cubin", "-optix-ir", "--optix-ir"), _OTHER_OUTPUT),
    **dict.fromkeys(
        ("-c", "--compile", "-dc", "--device-c", "-dlink", "--device-link", "-lib", "--lib"), _OTHER_OUTPUT
    ),
    **dict.fromkeys(("-E", "--preprocess", "-M", "-MM", "-run", "--run", "--dryrun", "-dryrun"), _OTHER_OUTPUT),
    **dict.fromkeys(("-o", "--output-file"), "gpuprof chooses where the output goes"),
}


def environment_flags(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that add flags to every build, where they are set and not empty."""
    return {name: environment[name] for name in VARIABLES if environment.get(name, "").strip()}


def refused_flag(flags: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """A sentence about the first flag that cannot be taken, with where it came from; None where there is none."""
    for place, words in _places(flags, environment):
        for word in words:
            reason = _REFUSED.get(word.split("=", 1)[0])
            if reason is not None:
                return f"{word} in {place} cannot be used: {reason}"
    return None


def _places(flags: Sequence[str], environment: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    found = [("the variant's flags", [word for flag in flags for word in flag.split()])]
    for name, text in environment_flags(environment).items():
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        found.append((f"the environment variable {name}", words))
    return found
