"""What `adjoint.scipy.linalg` and the like hold: SciPy's own names, on traced arrays too."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from adjoint.capture.clones.stand_ins.shadows import shadow_of


def member(part: str, name: str) -> Any:
    """A function or class of `scipy.part`: its stand-in, or what it is in SciPy."""
    if name == "__all__":
        return members(part)
    if name.startswith("__"):
        raise AttributeError(f"module 'adjoint.scipy.{part}' has no attribute {name!r}")
    value = getattr(import_module(f"scipy.{part}"), name)
    stand_in = shadow_of(value)
    return value if stand_in is None else stand_in


def members(part: str) -> list[str]:
    """The public names of `scipy.part`, but for the modules that SciPy keeps to warn about them."""
    module = import_module(f"scipy.{part}")
    return sorted({name for name in module.__all__ if not _is_deprecated(getattr(module, name))})


def _is_deprecated(value: Any) -> bool:
    return isinstance(value, ModuleType) and "_sub_module_deprecation" in vars(value)
