"""Factorisations of square matrices, and what is made of them, inside machine code."""

from __future__ import annotations

from adjoint.executors.native.systems.emission import EmittedSystem, emit_system
from adjoint.executors.native.systems.plan import LARGEST, SquareSystem

__all__ = ["LARGEST", "EmittedSystem", "SquareSystem", "emit_system"]
