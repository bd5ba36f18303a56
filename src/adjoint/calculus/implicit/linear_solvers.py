"""Solvers of linear systems: direct, by blocks; Krylov methods; iteration; the user's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError, NotConvergedError, SingularError
from adjoint.base.settings import settings
from adjoint.base.signatures.checked import check_function, checked_class
from adjoint.calculus.custom.arguments import fitting, matched
from adjoint.calculus.first_order.linear_transpose import linear_transpose
from adjoint.calculus.implicit.krylov import (
    conjugate_gradients,
    generalised_residuals,
    minres,
    refined,
)
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.systems import (
    DENSE_LIMIT,
    BoundOperator,
    LinearSolver,
    Operator,
    SolveRows,
)
from adjoint.capture import sealed
from adjoint.maps import LinearMap


class Method(Enum):
    """A Krylov method, by what it asks of the operator.

    Example:
        >>> import adjoint as ad
        >>> ad.implicit.Krylov(ad.implicit.Method.GMRES).method.value
        'an invertible operator'
    """

    CG = "a self-adjoint positive definite operator"
    MINRES = "a self-adjoint operator"
    GMRES = "an invertible operator"


def precision(dtype: Any, power: float) -> float:
    """A power of the rounding unit."""
    return float(float(np.finfo(dtype).eps) ** power)


def require_positive(name: str, **options: float | None) -> None:
    """ArgumentError for a tolerance, or a number of iterations, with which nothing can be found."""
    for option, value in options.items():
        if value is not None and not value > 0:
            raise ArgumentError(f"{name} needs a positive {option}. Got {value!r}.")


def as_numbers(options: Any) -> None:
    """Arrays of NumPy's without axes become numbers: options are hashed, and arrays cannot be."""
    for option, value in vars(options).items():
        if type(value) is np.ndarray and not value.ndim:
            object.__setattr__(options, option, value.item())


def each_row(solve: SolveRows) -> SolveRows:
    """A solver of one right-hand side, on rows of many."""

    def every(rows: Rows) -> Rows:
        solutions = [solve(row.ravel()).reshape(row.shape) for row in rows]
        return np.stack(solutions) if solutions else rows

    return every


# --- direct --------------------------------------------------------------------------------------


@checked_class
@dataclass(frozen=True)
class Direct(LinearSolver):
    """Write out the operator's matrix, and factorise it.

    The operator is applied to a basis in one run over a batch. A batch of systems, and an operator
    that does to every entry what it does to the others, give as many small matrices: a million
    independent scalar equations take a million numbers. The last inverse is kept unless it is
    large, so that a derivative that is applied again does not factorise again. Of a SciPy sparse
    matrix, the sparse LU factorisation is taken.

    Raises:
        SingularError: when solving, if the estimated condition number is beyond 1/eps.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
        >>> x = ad.implicit.linear_solve(
        ...     A, np.array([3.0, 4.0]), solver=ad.implicit.Direct()
        ... )
        >>> bool(np.allclose(x, [1.0, 1.0]))
        True
    """

    def takes_blocks(self, operator: Operator) -> bool:
        """Whether a batch is solved at once."""
        return not operator.facts.sparse

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Factorise."""
        if bound.facts.sparse:
            return each_row(_sparse(bound))
        matrices, inverses = bound.operator.kept(bound.fixed, lambda: _factorised(bound))

        def solve(rows: Rows) -> Rows:
            right = rows.transpose(1, 2, 0)  # (blocks, size, count)
            solution = inverses @ right
            # One step of refinement, so that the inverse loses nothing to a factorisation.
            solution += inverses @ (right - matrices @ solution)
            return np.asarray(solution.transpose(2, 0, 1))

        return solve


def _factorised(bound: BoundOperator) -> tuple[Rows, Rows]:
    matrices = bound.matrices()
    return matrices, _inverses(matrices)


def _inverses(matrices: Rows) -> Rows:
    """The inverses of matrices whose rows and columns are first brought to one scale."""
    if not matrices.size:
        return matrices
    if not np.all(np.isfinite(matrices)):
        raise SingularError(
            "The operator of a linear system holds NaN or infinity where it is to be inverted. "
            "Look at the point it was linearised at."
        )
    rows = np.max(np.abs(matrices), axis=2, keepdims=True)
    columns = np.max(np.abs(matrices / np.where(rows, rows, 1)), axis=1, keepdims=True)
    if not np.all(rows) or not np.all(columns):
        raise SingularError(
            f"The operator of a linear system is singular: {_which(rows, columns)} of its matrix "
            "is zero. An equation does not depend on the unknowns, or an unknown is in no equation."
        )
    scaled = matrices / rows / columns
    if matrices.shape[-1] == 1:
        return np.asarray(1 / scaled / columns / rows)
    try:
        inverses = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        inverses = np.stack([_inverse(matrix) for matrix in scaled])
    _refuse_condition(_one_norms(scaled) * _one_norms(inverses), matrices.dtype)
    return np.asarray(inverses / columns.transpose(0, 2, 1) / rows.transpose(0, 2, 1))


def _inverse(matrix: Rows) -> Rows:
    """The inverse; infinite, if there is none."""
    try:
        return np.asarray(np.linalg.inv(matrix))
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.inf)


def _which(rows: Rows, columns: Rows) -> str:
    if not np.all(rows):
        block, place, _ = np.argwhere(rows == 0)[0]
        name = f"row {place}"
    else:
        block, _, place = np.argwhere(columns == 0)[0]
        name = f"column {place}"
    return f"{name} in block {block} of {len(rows)}" if len(rows) > 1 else name


def _one_norms(matrices: Rows) -> Rows:
    return np.asarray(np.max(np.sum(np.abs(matrices), axis=1), axis=-1))


def _refuse_condition(conditions: Rows, dtype: Any) -> None:
    limit = 1 / precision(dtype, 1.0)
    refused = np.flatnonzero(~(conditions < limit))
    if len(refused):
        condition, blocks = conditions[refused[0]], len(conditions)
        among = f" in block {refused[0]} of {blocks}" if blocks > 1 else ""
        raise SingularError(
            f"The operator of a linear system is singular to working precision{among}: its "
            f"condition number is {condition:.1e}, and 1/eps is {limit:.1e}. There the implicit "
            "function theorem promises no derivative."
        )


def _sparse(bound: BoundOperator) -> SolveRows:
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import LinearOperator, onenormest, splu

    data, rows, columns = (np.asarray(array) for array in bound.fixed)
    shape = (bound.size, bound.size)
    places = (columns, rows) if bound.facts.dual else (rows, columns)
    matrix = coo_array((data, places), shape).tocsc()
    try:
        factors: Any = splu(matrix)
        inverse = LinearOperator(
            shape,
            matvec=factors.solve,
            rmatvec=lambda v: factors.solve(v, "T"),
            matmat=factors.solve,
            rmatmat=lambda v: factors.solve(v, "T"),
            dtype=data.dtype,
        )
        size = float(np.max(abs(matrix).sum(axis=0)))
        condition = size * float(onenormest(inverse))
    except RuntimeError:  # exactly singular, in SuperLU's words
        condition = np.inf
    _refuse_condition(np.array([condition]), data.dtype)

    def solve(right: Rows) -> Rows:
        return np.asarray(factors.solve(right))

    return solve


# --- Krylov methods ------------------------------------------------------------------------------


@checked_class
@dataclass(frozen=True)
class Krylov(LinearSolver):
    """Krylov methods, which apply the operator and never write it out.

    Lengths and angles are those of the space of the unknowns: in it conjugate gradients need the
    operator to be self-adjoint and positive, and in it residuals are measured. Functions tell
    programs apart by identity: make a preconditioner once, not at every call.

    Attributes:
        method: the method; None for the one that the facts told of the operator allow.
        tolerance: of the residual's norm, relative to the right-hand side's; eps^(2/3) if None.
        limit: how many times the operator is applied; ten times the unknowns, and 100, if None.
        preconditioner: an approximate inverse, as a `LinearMap` or a function of a right-hand side,
            linear and in NumPy (its transpose is derived for transposed systems).
        restart: after how many steps GMRES begins anew.

    Raises:
        NotConvergedError: when solving, if neither the tolerance is reached, nor what rounding
            allows.
        SingularError: when solving, if x is so large that the operator is singular to working
            precision.
        ArgumentError: the method is no `Method`, or the tolerance, the limit or `restart` is not
            positive.
        ArgumentTypeError: an option is no number, or the preconditioner no function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> laplacian = lambda x: 2 * x - np.roll(x, 1) - np.roll(x, -1) + x
        >>> solver = ad.implicit.Krylov(ad.implicit.Method.CG)
        >>> x = ad.implicit.linear_solve(laplacian, np.ones(1000), solver=solver)
        >>> bool(np.allclose(x, 1.0))
        True
    """

    method: Method | None = None
    tolerance: float | None = None
    limit: int | None = None
    preconditioner: LinearMap | Callable[[Any], Any] | None = None
    restart: int = 50

    def __post_init__(self) -> None:
        if self.method is not None and not isinstance(self.method, Method):
            raise ArgumentError(
                f"method must be one of ad.implicit.Method, or None. Got {self.method!r}."
            )
        if self.preconditioner is not None and not isinstance(self.preconditioner, LinearMap):
            check_function(self.preconditioner, "preconditioner")
        as_numbers(self)
        require_positive("Krylov", tolerance=self.tolerance, limit=self.limit, restart=self.restart)

    def takes_blocks(self, operator: Operator) -> bool:
        """One after the other."""
        return False

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Choose the method."""
        facts, dtype = bound.facts, bound.solution.dtype
        method = self.method or (
            Method.CG if facts.positive else Method.MINRES if facts.self_adjoint else Method.GMRES
        )
        if settings().debug and method is not Method.GMRES:
            _check_self_adjoint(bound)
        tolerance = self.tolerance or precision(dtype, 2 / 3)
        limit = self.limit or max(100, 10 * bound.size)
        precondition = self._preconditioner(bound)

        def once(right: Rows, goal: float, limit: int) -> tuple[Rows, int]:
            if method is Method.CG:
                return conjugate_gradients(bound, right, precondition, goal, limit)
            if method is Method.MINRES:
                return minres(bound, right, precondition, goal, limit)
            steps = min(self.restart, bound.size, limit)
            return generalised_residuals(bound, right, precondition, goal, steps)

        def solve(right: Rows) -> Rows:
            goal = tolerance * bound.norm(right)
            solution, steps = refined(bound, right, goal, limit, once)
            check_solution(bound, right, solution, goal, f"{method.name} in {steps} steps")
            if self.preconditioner is None:  # a good one mends what scales are to blame for
                _refuse_growth(bound, right, solution)
            return solution

        return each_row(solve)

    def _preconditioner(self, bound: BoundOperator) -> SolveRows:
        given, facts = self.preconditioner, bound.facts
        if given is None:
            return lambda r: r
        if isinstance(given, LinearMap):
            function = given._transpose if facts.dual else given._apply
            if function is None:
                raise ArgumentError(
                    "The preconditioner of a transposed system was asked for, and the LinearMap "
                    "given has no transpose. Give it one, or give a function in NumPy."
                )
        else:
            function = given
            if facts.dual:
                leaves = bound.solution.leaves(np.zeros(bound.size, bound.solution.dtype))
                pull = linear_transpose(given, pytrees.unflatten(facts.domain, leaves))

                def function(tree: Any) -> Any:
                    return pull(tree)[0]

        def apply(r: Rows) -> Rows:
            tree = pytrees.unflatten(facts.codomain, bound.right.leaves(r))
            return _coordinates(bound, function(tree), "What a preconditioner returned")

        return apply


def _refuse_growth(bound: BoundOperator, right: Rows, solution: Rows) -> None:
    """SingularError where A x is small of an x so large that b is but the rounding of A x."""
    if np.any(right):
        condition = bound.scale * bound.norm(solution) / bound.norm(right)
        _refuse_condition(np.array([condition]), bound.solution.dtype)


def _check_self_adjoint(bound: BoundOperator) -> None:
    """In debug mode: what was told of the operator, tried on two random vectors."""
    generator = np.random.default_rng(0)
    x, y = (generator.standard_normal(bound.size) for _ in range(2))
    left, right = bound.inner(bound.times(x), y), bound.inner(x, bound.times(y))
    scale = bound.norm(bound.times(x)) * bound.norm(y) + bound.norm(x) * bound.norm(bound.times(y))
    if abs(left - right) > precision(bound.solution.dtype, 0.5) * scale:
        raise ArgumentError(
            "The operator of a linear system was said to be self-adjoint, and is not: <A x, y> is "
            f"{left:.6g} and <x, A y> is {right:.6g} for two random vectors."
        )


def check_solution(
    bound: BoundOperator, right: Rows, solution: Rows, goal: float, how: str
) -> None:
    """NotConvergedError unless the residual is below the goal, or nothing but rounding."""
    residual = bound.norm(right - bound.times(solution))
    if not residual <= bound.allowed(solution, right, goal):
        raise NotConvergedError(
            f"A linear system of {bound.size} unknowns was not solved: {how} left a residual of "
            f"{residual:.2e}, and {goal:.2e} is allowed. Allow more, precondition it, or use "
            "ad.implicit.Direct(); where the operator is singular, nothing helps."
        )


def _coordinates(bound: BoundOperator, tree: Any, name: str) -> Rows:
    """The coordinates of an x that the user's code returned."""
    parts = matched(bound.facts.domain, tree, name)
    pairs = zip(parts, bound.solution.types, strict=True)
    return bound.solution.vector([fitting(part, type_, name) for part, type_ in pairs])


# --- the user's own ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given(LinearSolver):
    """A solver of the user's: (LinearMap, right-hand side) -> solution."""

    function: Callable[[LinearMap, Any], Any]

    def takes_blocks(self, operator: Operator) -> bool:
        """One after the other."""
        return False

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Called with the operator as a map."""
        linear_map = bound.as_map()
        facts = bound.facts

        def solve(right: Rows) -> Rows:
            given = pytrees.unflatten(facts.codomain, bound.right.leaves(right))
            with sealed("The solver of a linear system"):
                tree = self.function(linear_map, given)
            solution = _coordinates(bound, tree, "What the solver of a linear system returned")
            goal = precision(bound.solution.dtype, 0.5) * bound.norm(right)
            check_solution(bound, right, solution, goal, "the solver given")
            return solution

        return each_row(solve)


# --- the choice ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Automatic(LinearSolver):
    """Direct for sparse matrices, small blocks and entrywise operators; else Krylov."""

    def _chosen(self, operator: Operator) -> Direct | Krylov:
        small = operator.facts.sparse or operator.size <= DENSE_LIMIT
        return Direct() if small else Krylov()

    def takes_blocks(self, operator: Operator) -> bool:
        """As the solver chosen."""
        return self._chosen(operator).takes_blocks(operator)

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """As the solver chosen."""
        return self._chosen(bound.operator).prepare(bound)


def as_linear_solver(solver: Any, name: str) -> LinearSolver:
    """A solver of linear systems from what a user may give for one."""
    if solver is None:
        return Automatic()
    if isinstance(solver, LinearSolver):
        return solver
    if callable(solver) and not isinstance(solver, type):
        return Given(solver)
    raise ArgumentError(
        f"{name} must be ad.implicit.Direct(), Krylov() or Iteration(), or a function of a "
        f"LinearMap and a right-hand side. Got {solver!r}."
    )
