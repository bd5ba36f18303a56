"""Programs as files in StableHLO, by way of `jax.export`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, NotExportableError
from adjoint.executors.xla import backend
from adjoint.executors.xla.lowering import XlaLowering, is_known
from adjoint.interop.captured import captured_program
from adjoint.interop.exported import Exported
from adjoint.program import Program

_PLATFORMS: Final = ("cpu", "cuda", "rocm", "tpu")
_NAMED: Final = 5  # equations in an error


def exported(function: Callable[..., Any], args: tuple[Any, ...], platforms: Any) -> Exported:
    """The program of a function; see `front.export`."""
    _check_platforms(platforms)
    module, export = backend.jax(), import_module("jax.export")
    program, constants, treedef, structure = captured_program(function, args)
    whole = _HeldProgram(program, constants)

    def call(*own: Any) -> Any:
        return pytrees.unflatten(structure, whole.results(pytrees.leaves(own)))

    with backend.in_double_precision():
        types = program.input_types[: len(program.inputs) - len(constants)]
        structs = [module.ShapeDtypeStruct(type_.shape, type_.dtype) for type_ in types]
        given = pytrees.unflatten(treedef, structs)
        module.eval_shape(lambda *own: whole.results(pytrees.leaves(own)), *given)
        whole.check()
        try:
            whole_file = export.export(module.jit(call), platforms=tuple(platforms))(*given)
        except (TypeError, ValueError, NotImplementedError) as error:
            raise NotExportableError(f"JAX cannot write this program to a file: {error}") from error
    return Exported(whole_file)


def _check_platforms(platforms: Any) -> None:
    known = isinstance(platforms, (tuple, list)) and platforms
    if not known or any(name not in _PLATFORMS for name in platforms):
        raise ArgumentError(
            f"platforms must be a tuple of {', '.join(_PLATFORMS)}, got {platforms!r}."
        )


class _HeldProgram:
    """A program with its constants, as JAX traces it."""

    def __init__(self, program: Program, constants: Sequence[Any]) -> None:
        self.program = program
        self.constants = constants
        self.lowering = XlaLowering()
        self.faulty = False

    def results(self, operands: Sequence[Any]) -> list[Any]:
        """The results; NaN where NumPy would have refused."""
        work, program = self.lowering, self.program
        count = len(operands)
        held = [
            work.np.asarray(np.asarray(value, variable.type.dtype))
            for value, variable in zip(self.constants, program.inputs[count:], strict=True)
        ]
        given = [work.cast(x, v.type.dtype) for x, v in zip(operands, program.inputs, strict=False)]
        with work.within() as faults:
            results = work.outputs(program, [*given, *held])
            self.faulty = bool(faults)
            if faults:
                fault = work.any_of(faults)
                types = program.output_types
                results = [
                    work.np.where(fault, work.np.asarray(np.nan, type_.dtype), x)
                    if type_.inexact
                    else x
                    for x, type_ in zip(results, types, strict=True)
                ]
        return results

    def check(self) -> None:
        """Refuse what a file cannot hold."""
        if not is_known(self.program):
            raise NotExportableError("The program has numbers of a dtype that XLA does not have.")
        left = list(self.lowering.left.values())
        if left:
            named = "; ".join(f"{item.equation}, since {item.reason}" for item in left[:_NAMED])
            more = f"; and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
            raise NotExportableError(
                f"A file cannot hold what runs on the host: {named}{more}. Write it in NumPy "
                "functions that XLA has (docs/devices.md), or leave it out of what is exported."
            )
        if self.faulty and not all(type_.inexact for type_ in self.program.output_types):
            raise NotExportableError(
                "The program has results that are no floating-point numbers, and operations that "
                "NumPy refuses for some arguments (an index beyond its axis, a singular matrix): "
                "such results cannot say so by NaN. Convert them with .astype(float)."
            )
