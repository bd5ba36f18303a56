"""Roots, fixed points and minimisers, as differentiable functions of their parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentError, ShapeError, ValueNeededError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.custom.arguments import Arguments, is_operand
from adjoint.calculus.first_order.gradient import value_and_grad
from adjoint.calculus.implicit.linear import require_square
from adjoint.calculus.implicit.linear_solvers import as_linear_solver
from adjoint.calculus.implicit.problems import Implicit, SolvingOptions
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.calculus.implicit.solvers import Anderson, Newton, SciPy, as_solver
from adjoint.calculus.implicit.systems import Facts
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.inputs.representation import check_space
from adjoint.capture import Captured, Traced, capture, traced_type
from adjoint.pipeline import prepare
from adjoint.primitives.calls.solving import IMPLICIT
from adjoint.primitives.elementwise.arithmetic import SUBTRACT
from adjoint.primitives.expression import Expression, bind
from adjoint.program import Builder, Program
from adjoint.spaces import Space


@checked
def root(
    residual: Callable[..., Any],
    initial: Any,
    *args: Any,
    solver: Any = None,
    linear_solver: Any = None,
    self_adjoint: bool = False,
    positive: bool = False,
    space: Space | None = None,
    tolerance: float | None = None,
    polish: int = 0,
) -> Any:
    """The y with residual(y, *args) = 0, as a function of args (E.1.69).

    Its derivative is that of the implicit function theorem, ∂_y f ∂y + ∂_x f = 0 (E.1.72): of the
    solver nothing is recorded, so memory does not grow with its iterations. The derivative holds in
    everything the residual reads: args, and traced values of its closure. It is zero with respect
    to `initial`. It is exact where the residual is zero; elsewhere its error is of the order of the
    residual.

    Args:
        residual: plain NumPy code; it is captured, so it must not branch on the value of y.
        initial: where the solver begins: an array or a pytree, with the structure of y.
        args: the parameters x: arrays and pytrees, among them what is static.
        solver: `ad.implicit.Newton()` (if None), `Anderson()`, `Iteration()`, `SciPy(method)`; or a
            function (residual as a function of y, initial) -> y, which capture never enters (make
            it once: functions tell programs apart by identity).
        linear_solver: for the systems with ∂_y f, as `solver` of `ad.implicit.linear_solve`.
        self_adjoint: whether ∂_y f is, likewise.
        positive: whether it is positive besides, likewise.
        space: of y, in whose inner product Krylov methods run and measure their residuals.
        tolerance: of the check after the solver. It allows each equation so much of what it changes
            by where y, and what else it reads, move by their own size; so units do not matter. If
            None, eps^(1/2); or what the solver was told to reach, if it was.
        polish: how many Newton steps to take after the solver.

    Returns:
        y, in the structure of `initial`.

    Raises:
        NotConvergedError: the solver did not converge, or found no solution.
        SingularError: ∂_y f is singular there, so that there is no derivative.
        ShapeError: there are not as many equations as unknowns.
        ValueNeededError: the residual branches on the value of y.
        ArgumentError: an option has a value that makes no sense.
        ArgumentTypeError: the residual is no function, or an option is not what it should be.

    Example:
        >>> import adjoint as ad
        >>> y = lambda x: ad.implicit.root(lambda y, x: y**3 + y - x, 1.0, x)
        >>> # 2, and 1 / (3 y^2 + 1)
        >>> round(float(y(10.0)), 6), round(float(ad.grad(y)(10.0)), 6)
        (2.0, 0.076923)
    """
    check_callable(residual, "root")
    start = Start(initial)
    facts = start.facts(linear_solver, self_adjoint, positive, space)
    options = SolvingOptions(as_solver(solver, Newton()), facts, tolerance, polish)
    return solved(residual, start, args, options)


@checked
def fixed_point(
    function: Callable[..., Any],
    initial: Any,
    *args: Any,
    solver: Any = None,
    linear_solver: Any = None,
    space: Space | None = None,
    tolerance: float | None = None,
    polish: int = 0,
) -> Any:
    """The y with y = function(y, *args), as a function of args (E.1.71): a DEQ layer.

    With A = ∂_y g its derivative is (I - A)^-1 ∂_x g. `linear_solver=ad.implicit.Iteration()`
    solves the backward pass as a fixed point too, t = A* t + v (E.1.75).

    Args:
        function: g, plain NumPy code.
        initial: where the solver begins.
        args: as for `root`.
        solver: as for `root`; `ad.implicit.Anderson()` if None.
        linear_solver: as for `root`, with f = y - g.
        space: as for `root`.
        tolerance: as for `root`.
        polish: as for `root`.

    Returns:
        y, in the structure of `initial`.

    Raises:
        ShapeError: g(y) has not the structure and shapes of y.
        Others: as for `root`.
        ArgumentTypeError: the function is none, or an option is not what it should be.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> y = lambda x: ad.implicit.fixed_point(lambda y, x: np.cos(x * y), 0.5, x)
        >>> round(float(y(1.0)), 6), round(float(ad.grad(y)(1.0)), 6)
        (0.739085, -0.297474)
    """
    check_callable(function, "fixed_point")
    start = Start(initial)
    facts = start.facts(linear_solver, False, False, space)
    options = SolvingOptions(as_solver(solver, Anderson()), facts, tolerance, polish)
    return solved(function, start, args, options, _away_from)


@checked
def argmin(
    objective: Callable[..., Any],
    initial: Any,
    *args: Any,
    solver: Any = None,
    linear_solver: Any = None,
    space: Space | None = None,
    tolerance: float | None = None,
    polish: int = 0,
) -> Any:
    """The y at which objective(y, *args) is least, as a function of args.

    Its equation is stationarity, ∇_y objective = 0, with the gradient in the inner product of
    the space; ∂_y f is then the Hessian, self-adjoint there, and positive at a strict minimum.
    Solvers find a local one; where there are at most 512 unknowns, or independent ones, a saddle
    point or a maximum is refused.

    Args:
        objective: plain NumPy code, its value a real scalar.
        initial: where the solver begins.
        args: as for `root`.
        solver: as for `root`; `ad.implicit.SciPy("trust-ncg")` if None.
        linear_solver: as for `root`, with f the gradient.
        space: as for `root`; the gradient is that of its inner product.
        tolerance: as for `root`.
        polish: as for `root`.

    Returns:
        y, in the structure of `initial`.

    Raises:
        NotDifferentiableError: the objective is not a real scalar.
        NotConvergedError: as for `root`, and at a saddle point or a maximum.
        Others: as for `root`.
        ArgumentTypeError: the objective is no function, or an option is not what it should be.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> data = np.array([1.0, 2.0, 6.0])
        >>> mean = lambda w: ad.implicit.argmin(
        ...     lambda y, w: np.sum(w * (data - y) ** 2), 0.0, w
        ... )
        >>> round(float(mean(np.ones(3))), 6)
        3.0
        >>> np.round(ad.grad(mean)(np.ones(3)), 6)  # (data - mean) / 3
        array([-0.666667, -0.333333,  1.      ])
    """
    check_callable(objective, "argmin")
    start = Start(initial)
    facts = start.facts(linear_solver, True, True, space)
    options = SolvingOptions(
        as_solver(solver, SciPy("trust-ncg")), facts, tolerance, polish, objective=True
    )
    return solved(value_and_grad(objective, space=space), start, args, options)


# --- an equation captured, and solved ------------------------------------------------------------


class Start:
    """Where a solver begins: floating-point leaves, and their structure."""

    def __init__(self, initial: Any) -> None:
        leaves, self.treedef = pytrees.flatten(initial)
        self.leaves = [
            leaf if isinstance(leaf, Traced) else _floating(leaf, path)
            for leaf, path in zip(leaves, pytrees.paths(initial), strict=True)
        ]
        self.initial = initial
        self.types = [
            array_type(type_.shape, type_.dtype) for type_ in map(traced_type, self.leaves)
        ]
        if not self.leaves:
            raise ArgumentError("The initial value of an implicit function holds no arrays.")

    def facts(
        self, linear_solver: Any, self_adjoint: bool, positive: bool, space: Space | None
    ) -> Facts:
        """What is known of the derivative with respect to y."""
        if space is not None:
            check_space(space, "space")
            space.check(pytrees.unflatten(self.treedef, self.leaves), "initial")
        return Facts(
            as_linear_solver(linear_solver, "linear_solver"),
            self_adjoint or positive,
            positive,
            space,
            domain=self.treedef,
        )


def _floating(leaf: Any, path: str) -> Any:
    array = np.asarray(leaf)
    if array.dtype.kind not in "biufc":
        raise ArgumentError(f"initial{path} is a {type(leaf).__name__}; numbers are needed.")
    return array if array.dtype.kind in "fc" else array.astype(float)


Rewrite = Callable[[Program, int], Program]


def solved(
    function: Any,
    start: Start,
    args: Sequence[Any],
    options: SolvingOptions,
    rewrite: Rewrite | None = None,
) -> Any:
    """y, by the primitive that stands for the solver.

    rewrite: makes the equation's program of the captured one, given the number of unknowns.
    """
    arguments = Arguments(tuple(args), {})
    operands = [leaf for leaf in pytrees.leaves(args) if is_operand(leaf)]
    captured = capture_equation(function, start.treedef, start.types, arguments, operands)
    codomain = start.treedef if options.objective else captured.treedef
    if rewrite is not None and not pytrees.alike(codomain, start.treedef):
        raise ShapeError(
            "A fixed point y = g(y) needs a g(y) with the structure and the shapes of y. y has the "
            f"structure {pytrees.structure_text(start.treedef)}, and g(y) has "
            f"{pytrees.structure_text(codomain)}."
        )
    options = replace(options, facts=replace(options.facts, codomain=codomain))
    implicit = implicit_of(captured, len(start.types), options, rewrite)
    begin = start.leaves if options.initial else []
    whole = [*begin, *operands, *captured.constants]
    solution = apply_or_run(IMPLICIT, whole, implicit.evaluate, function=implicit.function)
    return pytrees.unflatten(start.treedef, solution)


def capture_equation(
    function: Any,
    treedef: Any,
    types: Sequence[ArrayType],
    arguments: Arguments,
    operands: Sequence[Any],
) -> Captured:
    """An equation captured at types of y, and at the arguments."""
    count = len(types)

    def call(target: Any, traced: Sequence[Any]) -> Any:
        return target(pytrees.unflatten(treedef, traced[:count]), *arguments.join(traced[count:]))

    known = {count + place: operand for place, operand in enumerate(operands)}
    whole = [*types, *map(traced_type, operands)]
    try:
        return capture(function, call, whole, known, (True,) * len(whole))
    except ValueNeededError as error:
        raised = ValueNeededError(
            "The equation of an implicit function asked for the value of an array (by `if`, "
            "`while`, int(), float() or an index) that is not known before it is solved. Choose "
            "with np.where, or make that part an ad.primitive of its own."
        )
        raise raised from error


def implicit_of(
    captured: Captured, count: int, options: SolvingOptions, rewrite: Rewrite | None = None
) -> Implicit:
    """The equation of a captured function, found again by its structure."""

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Implicit]:
        equation = program if rewrite is None else rewrite(program, count)
        implicit = Implicit(equation, count, options)
        name = "The equation of an implicit function"
        require_square(implicit.outputs, implicit.program.output_types, name)
        return equation, (), implicit

    kind = ("implicit", count, options, rewrite)
    implicit: Implicit = prepare(kind, captured, derive).facts
    return implicit


def _away_from(program: Program, count: int) -> Program:
    """y - g(y), from the program of g."""
    types = program.input_types[:count]
    values = program.output_types
    if [type_.shape for type_ in values] != [type_.shape for type_ in types]:
        raise ShapeError(
            "A fixed point y = g(y) needs a g(y) with the structure and the shapes of y. y has "
            f"{', '.join(map(str, types))}; g(y) has {', '.join(map(str, values))}."
        )
    builder = Builder()
    inputs = [builder.input(variable.type) for variable in program.inputs]
    images = builder.inline(program, inputs)
    pairs = zip(inputs[:count], images, strict=True)
    outputs = [
        bind(SUBTRACT, Expression(builder, y), Expression(builder, g)).atom for y, g in pairs
    ]
    return builder.build(outputs)
