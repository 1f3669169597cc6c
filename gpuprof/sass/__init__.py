"""Machine code as facts: instructions, control codes, basic blocks, loops, data flow, streams, findings.

The room has the name of a public function: ``gpuprof.sass(...)`` calls ``gpuprof.api.sass``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    """Importing a submodule binds the room's name in the package, so that the room itself answers the call."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return import_module("gpuprof.api").sass(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
