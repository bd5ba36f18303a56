"""Bridges: NumPy functions as those of JAX and PyTorch, and theirs within NumPy code."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.interop.exported import Exported, ExportedC
from adjoint.interop.front import from_jax, from_torch, jax, torch

__dir__ = _names_of(__name__)

__all__ = ["Exported", "ExportedC", "from_jax", "from_torch", "jax", "torch"]
