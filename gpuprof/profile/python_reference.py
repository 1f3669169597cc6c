"""A reference from a Python function of the user's, called in a process of its own.

``python -m gpuprof.profile.python_reference SPEC.json`` is that process: it imports the file, calls the function with
the arrays and numbers that it asks for, and saves what it returns.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpuprof.errors import ExpressionError
from gpuprof.experiment.model import PythonFunction
from gpuprof.experiment.outside_references import signature_of
from gpuprof.system.cleanup import temporary_folder
from gpuprof.system.processes import run_limited

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: A function that takes longer is called endless.
LIMIT_SECONDS = 600.0
FLAG = "--allow-python"


def refusal(function: PythonFunction, output: str) -> str:
    """Why a function is not called without the flag."""
    return f"reference.{output}: {function} is Python code, which runs only with {FLAG}"


def call_function(
    function: PythonFunction, output: str, arrays: Mapping[str, NDArray[Any]], numbers: Mapping[str, float | int | str]
) -> NDArray[Any]:
    """What the function returns for an output; raises ExpressionError with what went wrong in it."""
    wanted = signature_of(function)
    names = (*wanted.needed, *wanted.optional)
    given = {name: value for name, value in arrays.items() if wanted.open or name in names}
    spec: dict[str, Any] = {
        "file": str(function.file),
        "function": function.name,
        "output": output,
        "numbers": {name: value for name, value in numbers.items() if wanted.open or name in names},
    }
    with temporary_folder("gpuprof-reference-") as folder:
        for name, value in given.items():
            np.save(folder / f"{name}.npy", value)
        spec |= {"arrays": {name: str(folder / f"{name}.npy") for name in given}, "result": str(folder / "result.npy")}
        (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        command = (sys.executable, "-m", "gpuprof.profile.python_reference", str(folder / "spec.json"))
        done = run_limited(command, seconds=LIMIT_SECONDS, folder=function.file.parent)
        if done.timed_out:
            raise ExpressionError(f"{function} ran longer than {LIMIT_SECONDS:.0f} s")
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise ExpressionError(f"{function}: {lines[-1] if lines else f'ended with exit code {done.returncode}'}")
        result: NDArray[Any] = np.load(folder / "result.npy", allow_pickle=False)
        return result


def main() -> None:
    """The process's entry."""
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    file = Path(spec["file"])
    sys.path.insert(0, str(file.parent))
    try:
        module_spec = importlib.util.spec_from_file_location(file.stem, file)
        assert module_spec is not None
        assert module_spec.loader is not None
        module = importlib.util.module_from_spec(module_spec)
        sys.modules[file.stem] = module
        module_spec.loader.exec_module(module)
        arrays = {name: np.load(path) for name, path in spec["arrays"].items()}
        returned = getattr(module, spec["function"])(**arrays, **spec["numbers"])
        if isinstance(returned, Mapping):
            returned = returned[spec["output"]]
        result = np.asarray(returned)
        if result.dtype.kind not in "fiubc":
            sys.exit(f"returned {type(returned).__name__}, not an array of numbers")
        np.save(spec["result"], result)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename) == file]
        place = f" ({file.name}:{own[-1].lineno})" if own else ""
        sys.exit(f"{type(error).__name__}: {' '.join(str(error).split())}{place}")


if __name__ == "__main__":
    main()
