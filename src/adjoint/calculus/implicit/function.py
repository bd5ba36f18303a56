"""Solvers of the user's own as differentiable functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import MethodType
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import ArgumentTypeError, UnknownResultError, ValueNeededError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.custom.arguments import (
    Arguments,
    is_operand,
    require_closed,
    run_function,
)
from adjoint.calculus.custom.rules import peek_all
from adjoint.calculus.implicit.equations import capture_equation, implicit_of
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.linear_solvers import as_linear_solver
from adjoint.calculus.implicit.problems import Problem, Solver, SolvingOptions
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.calculus.implicit.systems import Facts
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inputs.representation import check_space
from adjoint.capture import Traced, traced_type
from adjoint.primitives.calls.solving import IMPLICIT
from adjoint.spaces import Space

_LIMIT = 1024


@checked
def function(
    residual: Callable[..., Any],
    *,
    result: Any = None,
    linear_solver: Any = None,
    self_adjoint: bool = False,
    positive: bool = False,
    space: Space | None = None,
    tolerance: float | None = None,
    polish: int = 0,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a solver of residual(y, *args) = 0 that capture never enters (E.1.69).

    The solver may be anything: SciPy, C, a loop until convergence. It is called with arrays when
    the program runs, and once before that, for the type of y, where `result` does not tell. The
    derivative is that of the implicit function theorem (E.1.72), in every mode and of any order.
    What the solver returns is checked: a point at which the equation does not hold is an error, and
    no quiet wrong derivative.

    Args:
        residual: f(y, *args), plain NumPy code; it may read traced values from its closure, the
            solver may not.
        result: the type of y, where it cannot be found by calling the solver (inside vmap): an
            array or tree of arrays, or a function of the arguments that returns one.
        linear_solver: as for `ad.implicit.root`.
        self_adjoint: as for `ad.implicit.root`.
        positive: as for `ad.implicit.root`.
        space: as for `ad.implicit.root`.
        tolerance: as for `ad.implicit.root`.
        polish: as for `ad.implicit.root`.

    Returns:
        A decorator. The decorated solver takes arrays, numbers and pytrees by position; keyword
        arguments are passed to the solver alone, and are static.

    Raises:
        NotConvergedError: when called, if the equation does not hold at what the solver returned.
        SingularError: when differentiated, if ∂_y f is singular.
        UnknownResultError: the type of y cannot be told.
        ArgumentError: an option has a value that makes no sense.
        ArgumentTypeError: the residual is no function, or an option is not what it should be.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> @ad.implicit.function(lambda y, x: y**3 + y - x)
        ... def solve(x):
        ...     roots = np.roots([1.0, 0.0, 1.0, -x])
        ...     return roots[np.argmin(np.abs(roots.imag))].real
        >>> round(float(ad.grad(solve)(10.0)), 6)  # 1 / (3 y^2 + 1) at y = 2
        0.076923
    """
    check_callable(residual, "implicit.function")
    if space is not None:
        check_space(space, "space")
    facts = Facts(
        as_linear_solver(linear_solver, "linear_solver"), self_adjoint or positive, positive, space
    )

    def decorate(solver: Callable[..., Any]) -> Callable[..., Any]:
        check_callable(solver, "implicit.function")
        decorated = _Function(residual, solver, result, facts, tolerance, polish)
        return functools.wraps(solver)(decorated)

    return decorate


class _Static:
    """Arguments without their arrays, compared by what they are."""

    def __init__(self, name: str, arguments: Arguments) -> None:
        self.arguments = arguments
        keywords = arguments.keywords
        self.key = (
            arguments.treedef,
            tuple((type(leaf), leaf) for leaf in arguments.statics),
            tuple((key, type(keywords[key]), keywords[key]) for key in sorted(keywords)),
        )
        try:
            hash(self.key)
        except TypeError:
            raise ArgumentTypeError(
                f"{name} was called with a static argument that cannot be hashed. Arrays and "
                "floating-point numbers by position are operands; the rest must be hashable."
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class _UserSolver(Solver):
    """A solver of the user's, called with the arguments."""

    name: str
    function: Callable[..., Any]
    count: int
    statics: _Static

    def find(self, problem: Problem) -> Rows:
        """Called as the user would."""
        arguments = self.statics.arguments
        operands = problem.operands[: self.count]
        leaves, treedef = run_function(self.name, self.function, arguments, operands)
        return problem.coordinates(pytrees.unflatten(treedef, leaves))


class _Function:
    """A solver, and the equation that it solves."""

    def __init__(
        self,
        residual: Callable[..., Any],
        solver: Callable[..., Any],
        result: Any,
        facts: Facts,
        tolerance: float | None,
        polish: int,
    ) -> None:
        self.residual = residual
        self.solver = solver
        self.result = result
        self.facts = facts
        self.tolerance = tolerance
        self.polish = polish
        self.name = getattr(solver, "__name__", type(solver).__name__)
        self.known: dict[Any, tuple[list[ArrayType], Any]] = {}

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the object is the first argument of the solver, and static."""
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = pytrees.leaves(args)
        if any(type(leaf) is Traced for leaf in pytrees.leaves(kwargs)):
            raise ArgumentTypeError(
                f"{self.name} was called with an array under capture as a keyword argument. "
                "Keyword arguments are static; pass arrays by position."
            )
        require_closed(self.name, self.solver)
        arguments = Arguments(args, kwargs)
        static = _Static(self.name, arguments)
        operands = [leaf for leaf in leaves if is_operand(leaf)]
        types, treedef = self._unknowns(static, operands)
        bare = Arguments(args, {})
        captured = capture_equation(self.residual, treedef, types, bare, operands)
        facts = replace(self.facts, domain=treedef, codomain=captured.treedef)
        whole = _UserSolver(self.name, self.solver, len(operands), static)
        options = SolvingOptions(whole, facts, self.tolerance, self.polish, initial=False)
        implicit = implicit_of(captured, len(types), options)
        given = [*operands, *captured.constants]
        solution = apply_or_run(IMPLICIT, given, implicit.evaluate, function=implicit.function)
        return pytrees.unflatten(treedef, solution)

    def _unknowns(self, static: _Static, operands: Sequence[Any]) -> tuple[list[ArrayType], Any]:
        """The types and the structure of y."""
        key = (static, tuple(map(traced_type, operands)))
        unknowns = self.known.get(key)
        if unknowns is None:
            leaves, treedef = pytrees.flatten(self._example(static.arguments, operands))
            types = [leaf if isinstance(leaf, ArrayType) else type_of(leaf) for leaf in leaves]
            if not types:
                raise ArgumentTypeError(
                    f"{self.name} returned {pytrees.structure_text(treedef)}, which holds no "
                    "arrays. It must return y."
                )
            for type_ in types:
                if not type_.inexact:
                    raise ArgumentTypeError(
                        f"{self.name} has a result of type {type_}. An implicit function has "
                        "floating-point values."
                    )
            unknowns = [array_type(type_.shape, type_.dtype) for type_ in types], treedef
            if len(self.known) >= _LIMIT:
                self.known.clear()
            self.known[key] = unknowns
        return unknowns

    def _example(self, arguments: Arguments, operands: Sequence[Any]) -> Any:
        if self.result is not None:
            if not callable(self.result):
                return self.result
            return self.result(*arguments.join([traced_type(operand) for operand in operands]))
        try:
            values = peek_all(operands)
        except ValueNeededError as error:
            raise UnknownResultError(
                f"{self.name} was called where only the types of its arguments are known (inside "
                "vmap), so the type of its result cannot be found by calling it. Declare it: "
                "@ad.implicit.function(residual, result=lambda x: x) for a result like x, or "
                "return np.empty(shape) from that function."
            ) from error
        leaves, treedef = run_function(self.name, self.solver, arguments, values)
        return pytrees.unflatten(treedef, [np.asarray(leaf) for leaf in leaves])
