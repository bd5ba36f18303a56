"""Bridges: NumPy functions as those of JAX and PyTorch, and theirs within NumPy code."""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.interop.from_jax import from_jax
from adjoint.interop.from_torch import from_torch
from adjoint.interop.into_jax import jax
from adjoint.interop.into_torch import torch

__dir__ = _names_of(__name__)

__all__ = ["from_jax", "from_torch", "jax", "torch"]
