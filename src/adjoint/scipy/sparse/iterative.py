"""`scipy.sparse.linalg`: iterative solvers, each of which solves the adjoint's systems too.

Their solution is that of A x = b, so that its derivative solves with A, and the adjoint with A^H,
by the same method, to the same tolerance, and with the preconditioner transposed. No derivative
looks into the iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import numpy as np

from adjoint.base.errors import NotConvergedError
from adjoint.calculus.first_order.stopping import stop_gradient
from adjoint.calculus.implicit.layout import Rows
from adjoint.calculus.implicit.linear import operator_of, solve_with, sparse_operator
from adjoint.calculus.implicit.linear_solvers import Automatic, each_row
from adjoint.calculus.implicit.systems import (
    BoundOperator,
    Facts,
    LinearSolver,
    Operator,
    SolveRows,
)
from adjoint.capture.numpy.table import as_array
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.scipy.operators import TracedOperator, as_operator
from adjoint.capture.scipy.refusing import refuse_sparse
from adjoint.capture.scipy.sparse_matrix import entries_of, is_sparse
from adjoint.capture.scipy.table import ALWAYS, implements_scipy
from adjoint.program import Builder, Program

# What SciPy measures residuals by, beside b: the sizes of A and x.
_BESIDE_SOLUTION: Final = frozenset({"minres"})
_SLACK: Final = 10.0  # of the true residual, over the one that a method carries along


@dataclass(frozen=True)
class _Preconditioner:
    """An approximate inverse, some of whose fixed operands are among those of a system.

    first: the place of the first of them, behind those of the operator.
    """

    core: Operator
    first: int

    def at(self, bound: BoundOperator, count: int, dual: bool) -> Callable[[Rows], Rows]:
        """The approximate inverse at numbers, or its transpose. count: of all such operands."""
        start = len(bound.fixed) - count + self.first
        fixed = bound.fixed[start : start + self.core.fixed]
        if self.core.facts.sparse:
            return _product(fixed, bound.size, dual)
        core = self.core.transposed() if dual else self.core
        assert isinstance(core, Operator)
        return BoundOperator(core, fixed).times

    @property
    def key(self) -> Any:
        """What tells programs apart."""
        return self.core.key, self.first

    def __eq__(self, other: object) -> bool:
        return type(other) is _Preconditioner and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _product(fixed: Sequence[Any], size: int, transposed: bool) -> Callable[[Rows], Rows]:
    """The product with the sparse matrix of these entries, rows and columns, in SciPy's format."""
    entries, rows, columns = map(np.asarray, fixed[:3])
    places = (columns, rows) if transposed else (rows, columns)
    matrix = import_module("scipy.sparse").csr_array((entries, places), (size, size))
    return lambda x: matrix @ x


@dataclass(frozen=True)
class SciPyIteration(LinearSolver):
    """One of SciPy's iterative solvers.

    name: SciPy's name of it. options: its other arguments. preconditioners: by SciPy's name.
    """

    name: str
    options: tuple[tuple[str, Any], ...]
    preconditioners: tuple[tuple[str, _Preconditioner], ...] = ()

    def takes_blocks(self, operator: Operator) -> bool:
        """One after the other."""
        return False

    def prepare(self, bound: BoundOperator) -> SolveRows:
        """Ready to solve."""
        solvers = import_module("scipy.sparse.linalg")
        dual, size = bound.facts.dual, bound.size
        if bound.facts.sparse:
            times, back = (_product(bound.fixed, size, turned) for turned in (dual, not dual))
        else:
            times, back = bound.times, bound.transposed().times

        def operator(apply: Any, transposed: Any) -> Any:
            shape, dtype = (size, size), bound.solution.dtype
            return solvers.LinearOperator(shape, matvec=apply, rmatvec=transposed, dtype=dtype)

        count = sum(held.core.fixed for _, held in self.preconditioners)
        given = {
            name: operator(held.at(bound, count, dual), held.at(bound, count, not dual))
            for name, held in self.preconditioners
        }
        if self.name == "qmr" and given:  # M1^-1 A M2^-1, whose transpose is M2^-T A^T M1^-T
            same = operator(lambda x: x, lambda x: x)
            left, right = (given.get(name, same) for name in ("M1", "M2"))
            given = {"M1": right, "M2": left} if dual else {"M1": left, "M2": right}
        matrix = operator(times, back)
        options = dict(self.options)

        def solve(right: Rows) -> Rows:
            solution, info = getattr(solvers, self.name)(matrix, right, **given, **options)
            residual = float(np.linalg.norm(right - times(solution)))
            self._check(bound, right, solution, residual, info)
            return np.asarray(solution)

        return each_row(solve)

    def _check(
        self, bound: BoundOperator, right: Rows, solution: Rows, residual: float, info: int
    ) -> None:
        options = dict(self.options)
        size = float(np.linalg.norm(right))
        rtol, eps = options["rtol"], float(np.finfo(bound.solution.dtype).eps)
        goal = max(rtol * size, options.get("atol", 0.0))
        # What such an x leaves is its rounding, or what the method takes for convergence; but no
        # more than half the digits, as an inconsistent system would.
        beside = bound.scale * float(np.linalg.norm(solution))
        unit = max(rtol, eps) if self.name in _BESIDE_SOLUTION else eps
        goal = max(goal, min(unit * beside, unit**0.5 * size))
        if info == 0 and residual <= _SLACK * goal:
            return
        which = "The transposed system" if bound.facts.dual else "The system"
        raise NotConvergedError(
            f"{which} of {bound.size} unknowns was not solved by scipy.sparse.linalg.{self.name}: "
            f"info is {info}, the residual {residual:.2e}, and {goal:.2e} is allowed. Only a "
            "solution has a derivative here. Allow more iterations or a larger rtol, precondition "
            "it with M, or solve it with spsolve; where the matrix is singular, nothing helps."
        )


@lru_cache(maxsize=256)
def _system(core: Operator, solver: SciPyIteration) -> Operator:
    """The operator with the operands of its preconditioners after its own."""
    builder = Builder()
    held = [
        builder.input(type_)
        for _, preconditioner in solver.preconditioners
        for type_ in preconditioner.core.program.input_types[: preconditioner.core.fixed]
    ]
    program, fixed = core.program, core.fixed
    inputs = [*program.inputs[:fixed], *held, *program.inputs[fixed:]]
    whole = Program(inputs, program.equations, program.outputs)
    return Operator(whole, fixed + len(held), replace(core.facts, solver=solver))


def _as_system(A: Any, model: Any, promoting: bool) -> tuple[list[Any], Operator]:
    """A matrix or an operator as a system: its operands, and the rest as a program."""
    facts = Facts(Automatic())
    if is_sparse(A):
        entries, rows, columns = entries_of(A)
        dtype = np.result_type(entries.dtype, model.dtype)
        if dtype.kind == "f":
            fixed = [entries.astype(dtype), *(x.astype(np.int64) for x in (rows, columns))]
            core = sparse_operator(A.shape[0], len(rows), dtype, replace(facts, sparse=True))
            return fixed, core
    return operator_of(as_operator(A).matvec, model, facts, promoting)


def _solved(name: str, A: Any, b: Any, x0: Any, inverses: dict[str, Any], options: Any) -> Any:
    b = np.reshape(as_array(b), (-1,)) * 1.0
    operator = as_operator(A)
    if operator.shape[0] != operator.shape[1] or operator.shape[0] != b.shape[0]:
        raise ValueError(f"shapes of A {operator.shape} and b {b.shape} are incompatible")
    fixed, core = _as_system(A, b, promoting=True)
    model = np.zeros(core.unknowns[0].shape, core.unknowns[0].dtype)
    held: list[Any] = []
    preconditioners = []
    for argument, inverse in inverses.items():
        if inverse is None:
            continue
        given, inner = _as_system(inverse, model, promoting=False)
        preconditioners.append((argument, _Preconditioner(inner, len(held))))
        held.extend(map(stop_gradient, given))
    solver = SciPyIteration(name, tuple(sorted(options.items())), tuple(preconditioners))
    system = _system(core, solver)
    if x0 is None:
        (solution,) = solve_with(system, [*fixed, *held], b)
        return solution
    start = stop_gradient(np.reshape(as_array(x0), (-1,)))
    (step,) = solve_with(system, [*fixed, *held], b - operator.matvec(start))
    return start + step


def _declare(name: str, *inverses: str) -> None:
    def function(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        if options.pop("callback", None) is not None:
            raise refuse_sparse(
                f"scipy.sparse.linalg.{name} of traced values takes no callback: it runs again for "
                "each derivative."
            )
        if options.get("shift"):
            raise refuse_sparse(
                "scipy.sparse.linalg.minres of traced values takes no shift: give it A - shift I."
            )
        given = {inverse: options.pop(inverse, None) for inverse in inverses}
        known = {key: concrete(value) for key, value in options.items() if value is not None}
        known.setdefault("rtol", 1e-5)
        return _solved(name, A, b, x0, given, known), 0

    function.__name__ = name
    implements_scipy("sparse.linalg", name)(function)
    ALWAYS["sparse.linalg", name] = lambda given: any(hasattr(x, "matvec") for x in given)


for _name in ("cg", "gmres", "bicgstab", "minres", "bicg", "cgs", "lgmres", "tfqmr", "gcrotmk"):
    _declare(_name, "M")
_declare("qmr", "M1", "M2")


@implements_scipy("sparse.linalg", "LinearOperator")
def _linear_operator(
    shape: Any,
    matvec: Any,
    rmatvec: Any = None,
    matmat: Any = None,
    dtype: Any = None,
    rmatmat: Any = None,
) -> TracedOperator:
    return TracedOperator(shape, matvec, rmatvec, dtype)


@implements_scipy("sparse.linalg")
def aslinearoperator(A: Any) -> TracedOperator:
    """A matrix as an operator."""
    return as_operator(A)


# Numbers of which they know nothing may come to them later.
for _name in ("LinearOperator", "aslinearoperator"):
    ALWAYS["sparse.linalg", _name] = lambda given: True
