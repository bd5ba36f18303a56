"""The transpose of a function that is linear, from the function alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import NotLinearError
from adjoint.base.signatures.calling import named
from adjoint.calculus.first_order.linearisation import all_of, zero_of
from adjoint.calculus.inputs.arguments import Chosen, check_callable
from adjoint.calculus.inputs.leaves import matching_leaves
from adjoint.calculus.jit.captures import captured_at
from adjoint.capture import Captured, Traced
from adjoint.pipeline import prepare, run
from adjoint.program import Program
from adjoint.transforms import transpose as transpose_program


@named
def linear_transpose(function: Callable[..., Any], *primals: Any) -> Callable[[Any], Any]:
    """The transpose of a function that is linear already, from the function alone.

    Args:
        function: plain NumPy code, linear in its arguments.
        primals: arguments of the right shapes and dtypes; their values do not matter.

    Returns:
        A function of the cotangent of the result, which returns a tuple of cotangents of the
        arguments.

    Raises:
        NotLinearError: the function is not linear.
        ArgumentTypeError: what is given is no function.
        NotDifferentiableError: the arguments hold integers or booleans.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> A = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> ad.linear_transpose(lambda x: A @ x, np.zeros(2))(np.array([1.0, 0.0]))
        (array([1., 2.]),)
    """
    check_callable(function, "linear_transpose")
    chosen = all_of(primals)
    captured = captured_at(function, chosen)
    count, constants = len(chosen.leaves), len(captured.constants)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        linear = Program(
            (*program.inputs[count:], *program.inputs[:count]), program.equations, program.outputs
        )
        whole = transpose_program(linear, constants)
        return whole, tuple(range(len(whole.outputs))), None

    compiled = prepare(("transpose", count), captured, derive, chosen.recapture, function)
    _check_zero_atzero_of(captured, chosen)
    shapes = pytrees.unflatten(
        captured.treedef, [zero_of(type_, None) for type_ in captured.output_types]
    )

    def transposed(cotangent: Any) -> tuple[Any, ...]:
        leaves = matching_leaves(shapes, cotangent, "the cotangent")
        result = chosen.unflatten(run(compiled, [*captured.constants, *leaves]))
        return (result,) if chosen.single else result

    return transposed


def _check_zero_atzero_of(captured: Captured, chosen: Chosen) -> None:
    """What the rules of the primitives let pass, but is not linear: x + 1."""
    if any(type(value) is Traced for value in captured.constants):
        return
    compiled = prepare("value", captured, lambda program, _: (program, (), None))
    zeros = [zero_of(type_, None) for type_ in chosen.types]
    with np.errstate(all="ignore"):
        results = run(compiled, [*zeros, *captured.constants])
    if any(np.any(np.abs(result) > 0) for result in results):  # a NaN is no zero, nor a constant
        raise NotLinearError(
            "The function is not linear: it is not zero at zero. linear_transpose needs a linear "
            "function, without constants added; vjp differentiates any."
        )
