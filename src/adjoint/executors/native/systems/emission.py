"""A routine on matrices becomes a function of a module."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.executors.native.machine.llvm import machine
from adjoint.executors.native.machine.module import Module
from adjoint.executors.native.systems.lapack import emit_calls
from adjoint.executors.native.systems.plan import LARGEST, WRITTEN_OUT, SquareSystem
from adjoint.executors.native.systems.rolled import emit_rolled
from adjoint.executors.native.systems.written_out import emit_written_out


@dataclass(frozen=True)
class EmittedSystem:
    """A function `i1 @name(ptr results ..., ptr operands ..., ptr scratch)` of a module.

    It says whether NumPy has to compute instead. scratch_bytes: what the last argument must have,
    64-byte aligned.
    """

    name: str
    scratch_bytes: int


def emit_system(module: Module, system: SquareSystem, lanes: int | None = None) -> EmittedSystem:
    """Add the function of a routine to the module. lanes: of the vector unit, if not this one's."""
    if lanes is None:
        lanes = machine().native_lanes(system.dtype)
    name = module.fresh("system")
    emit = emit_calls
    if system.size <= LARGEST:
        emit = emit_written_out if system.size <= WRITTEN_OUT else emit_rolled
    return EmittedSystem(name, emit(module, name, system, lanes))
