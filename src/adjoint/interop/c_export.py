"""Programs as functions of C, by the native executor."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from adjoint.base.errors import ArgumentError
from adjoint.executors.native.lowering.c_function import c_function
from adjoint.executors.native.preparation.expansions import with_finite_products
from adjoint.interop.captured import captured_program
from adjoint.interop.exported import ExportedC


def exported_c(function: Callable[..., Any], args: tuple[Any, ...], name: Any) -> ExportedC:
    """The function of C of a function; see `front.export`."""
    if not isinstance(name, str) or not re.fullmatch("[a-zA-Z][a-zA-Z0-9_]*", name):
        raise ArgumentError(f"name must be one that C takes for a function, got {name!r}.")
    captured = captured_program(function, args)
    program = with_finite_products(captured.program)
    return ExportedC(name, *c_function(program, captured.constants, name))
