"""Solving linear systems whose operator is code: differentiable in all that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import ArgumentTypeError, ShapeError
from adjoint.base.signatures.checked import checked
from adjoint.calculus.custom.function import apply_map
from adjoint.calculus.custom.linear import linear_part, whole_program
from adjoint.calculus.implicit.layout import CoordinateLayout
from adjoint.calculus.implicit.linear_solvers import as_linear_solver
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.calculus.implicit.systems import Facts, Operator
from adjoint.calculus.inputs.representation import check_space
from adjoint.capture import Captured, Traced, capture, is_known, traced_type, unwrap
from adjoint.maps import LinearMap
from adjoint.pipeline import prepare, run, watch_all
from adjoint.primitives.calls.solving import LINEAR_SOLVE
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER, GATHER_ADD
from adjoint.primitives.structure.moving import zeros
from adjoint.program import Builder, Program
from adjoint.spaces import Space
from adjoint.transforms import stage, tangent_type


@checked
def linear_solve(
    operator: Any,
    right: Any,
    *,
    solver: Any = None,
    self_adjoint: bool = False,
    positive: bool = False,
    space: Space | None = None,
    like: Any = None,
) -> Any:
    """The solution x of A x = b: linear in b, differentiable in b and in all that A depends on.

    From A x = b follows A dx = db - dA x, and the transpose of b -> x solves with the transpose of
    A. No derivative looks into the solver.

    Args:
        operator: A, as a square matrix; as a SciPy sparse matrix; as a `LinearMap`; or as a linear
            function in NumPy, which may read traced values from its closure.
        right: b, an array or a pytree of arrays.
        solver: `ad.implicit.Direct()`, `Krylov(...)`, `Iteration(...)`; or a function of A as a
            `LinearMap` and of b that returns x, which is called with the transpose of A for
            transposed systems. Chosen by structure and size if not given.
        self_adjoint: whether <A x, y> = <x, A y> in the inner product of the space. It is trusted,
            and tried on two random vectors in debug mode.
        positive: whether, besides, <A x, x> > 0.
        space: of x and of A x, in whose inner product Krylov methods run; that of the map, for a
            `LinearMap`; the plain one if not given.
        like: an array or tree with the structure and the shapes of x, if they are not those of b.

    Returns:
        x, in the structure of b, or of `like`.

    Raises:
        NotLinearError: the function is not linear.
        ShapeError: A is not square.
        SingularError: A is singular to working precision (direct solvers).
        NotConvergedError: the solver did not reach its tolerance.
        ArgumentTypeError: the operator is no matrix, map or function, or an option is not what it
            should be.
        ArgumentError: a function is given without `like`, or a space does not fit.
        ValueNeededError, DroppedDerivativeError: the operator asked for a value of its argument, or
            would lose its derivative.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def solution(a):
        ...     y = ad.implicit.linear_solve(lambda x: a * x + np.sum(x), np.ones(2))
        ...     return y[0]
        >>> float(solution(2.0)), float(ad.grad(solution)(2.0))  # 1 / (a + 2)
        (0.25, -0.0625)
    """
    if space is not None:
        check_space(space, "space")
    if _is_sparse(operator):
        facts = Facts(as_linear_solver(solver, "solver"), self_adjoint or positive, positive, space)
        return _solve_sparse(operator, right, facts)
    if isinstance(operator, LinearMap):
        like = operator.domain.zero() if like is None else like
        if space is None and operator.domain == operator.codomain:
            space = operator.domain
    model = right if like is None else like
    facts = Facts(as_linear_solver(solver, "solver"), self_adjoint or positive, positive, space)
    fixed, core = operator_of(_as_function(operator), model, facts, promoting=like is None)
    solution = solve_with(core, fixed, right)
    return pytrees.unflatten(core.facts.domain, solution)


def operator_of(
    function: Callable[[Any], Any], model: Any, facts: Facts, promoting: bool
) -> tuple[list[Any], Operator]:
    """A linear function as a system: what it depends on, computed, and the rest as a program.

    model: what has the structure and the shapes of the unknowns. promoting: whether their dtypes
    become wider, as those of the values are.
    """
    leaves, domain = pytrees.flatten(model)
    types, captured = _capture(function, leaves, domain, promoting)
    facts = replace(facts, domain=domain, codomain=captured.treedef)
    zero = tuple(map(_is_zero, captured.constants))

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        return _staged(program, len(types), zero, captured.constants, facts)

    compiled = prepare(("linear_solve", facts, zero, len(types)), captured, derive)
    kept = [value for value, mark in zip(captured.constants, zero, strict=True) if not mark]
    core: Operator = compiled.facts
    return list(run(compiled, kept)), core


def solve_with(core: Operator, fixed: Sequence[Any], right: Any) -> tuple[Any, ...]:
    """The unknowns of a system for this right-hand side: the leaves."""
    sides = _matching(right, core.facts.codomain, core.program.output_types)
    return apply_or_run(LINEAR_SOLVE, [*fixed, *sides], core.evaluate, system=core.system)


def _staged(
    program: Program, count: int, zero: Sequence[bool], constants: Sequence[Any], facts: Facts
) -> tuple[Program, tuple[int, ...], Operator]:
    """What A depends on, computed beforehand; and A itself, checked to be linear.

    program: (x, constants) -> A x.
    """
    x, held = program.inputs[:count], program.inputs[count:]
    kept = [variable for variable, mark in zip(held, zero, strict=True) if not mark]
    empty = [variable for variable, mark in zip(held, zero, strict=True) if mark]
    values = [value for value, mark in zip(constants, zero, strict=True) if mark]
    ordered = Program([*kept, *x, *empty], program.equations, program.outputs)
    types = [tangent_type(type_) for type_ in program.output_types]
    name = "The operator of a linear system"
    pushed = linear_part(ordered, len(kept), (True,) * count, values, types, name, "unknowns")
    staged = stage(whole_program(pushed, types), len(kept), 0)
    require_square(staged.late.input_types[staged.residuals :], types, name)
    core = Operator(staged.late, staged.residuals, facts)
    return staged.early, watch_all(staged.early), core


def require_square(unknowns: Sequence[ArrayType], values: Sequence[ArrayType], name: str) -> None:
    """ShapeError unless there are as many real equations as unknowns."""
    for type_ in values:
        if not type_.inexact:
            raise ArgumentTypeError(f"{name} has values of type {type_}; floats are needed.")
    rows, columns = (CoordinateLayout(types, 0).size for types in (values, unknowns))
    if rows != columns:
        raise ShapeError(
            f"{name} must have as many equations as unknowns. It has {rows} equations "
            f"({', '.join(map(str, values))}) and {columns} unknowns "
            f"({', '.join(map(str, unknowns))})."
        )


# --- what may be given for an operator ------------------------------------------------------------


def _as_function(operator: Any) -> Callable[[Any], Any]:
    if isinstance(operator, LinearMap):
        return lambda x: apply_map(operator, x)
    if isinstance(operator, (np.ndarray, Traced)):
        if operator.ndim != 2 or operator.shape[0] != operator.shape[1]:
            raise ShapeError(
                f"linear_solve needs a square matrix. Got one of shape {operator.shape}. For a "
                "batch of systems use ad.vmap."
            )
        return lambda x: operator @ x
    if callable(operator):
        return operator  # type: ignore[no-any-return]
    raise ArgumentTypeError(
        "linear_solve takes a matrix, a SciPy sparse matrix, a LinearMap or a linear function. "
        f"Got a {type(operator).__name__}."
    )


def _capture(
    function: Any, leaves: Sequence[Any], domain: Any, promoting: bool
) -> tuple[list[ArrayType], Captured]:
    """The operator captured, and the types of the unknowns.

    promoting: whether these may become wider, as the operator's values are.
    """

    def call(target: Any, traced: Sequence[Any]) -> Any:
        return target(pytrees.unflatten(domain, traced))

    types = [_unknown_type(leaf) for leaf in leaves]
    captured = capture(function, call, types, {}, (True,) * len(types))
    values = captured.output_types
    if not promoting or len(values) != len(types):
        return types, captured
    wider = [
        array_type(type_.shape, np.result_type(type_.dtype, value.dtype))
        for type_, value in zip(types, values, strict=True)
    ]
    if wider == types:
        return types, captured
    return wider, capture(function, call, wider, {}, (True,) * len(wider))


def _unknown_type(leaf: Any) -> ArrayType:
    type_ = traced_type(leaf)
    return array_type(type_.shape, type_.dtype if type_.inexact else np.dtype(float))


def _is_zero(value: Any) -> bool:
    """Whether a constant is an array of zeros, as code fills that assembles its result."""
    if not is_known(value):
        return False
    array = np.asarray(unwrap(value))
    return array.dtype.kind in "fc" and not np.any(array)


def _matching(right: Any, codomain: Any, types: Sequence[ArrayType]) -> list[Any]:
    leaves, treedef = pytrees.flatten(right)
    if not pytrees.alike(treedef, codomain):
        raise ShapeError(
            "The right-hand side of a linear system has the structure "
            f"{pytrees.structure_text(treedef)}, and the operator's values have "
            f"{pytrees.structure_text(codomain)}."
        )
    sides = []
    for leaf, type_ in zip(leaves, types, strict=True):
        given = traced_type(leaf)
        if given.shape != type_.shape:
            raise ShapeError(
                f"The right-hand side of a linear system has shape {given.shape}, and the "
                f"operator's values have {type_.shape}."
            )
        if given is not type_:
            leaf = (
                leaf.astype(type_.dtype) if type(leaf) is Traced else np.asarray(leaf, type_.dtype)
            )
        sides.append(leaf)
    return sides


# --- sparse matrices -----------------------------------------------------------------------------


def _is_sparse(operator: Any) -> bool:
    return type(operator).__module__.startswith("scipy.sparse")


def _solve_sparse(matrix: Any, right: Any, facts: Facts) -> Any:
    """With the entries as operands, so that they are read anew each time."""
    entries = matrix.tocoo()
    if entries.shape[0] != entries.shape[1]:
        raise ShapeError(f"linear_solve needs a square matrix. Got one of shape {entries.shape}.")
    given = tangent_type(traced_type(right))
    dtype = np.result_type(entries.data.dtype, given.dtype, np.float32)
    fixed = [entries.data.astype(dtype), entries.row.astype(np.int64), entries.col.astype(np.int64)]
    facts = replace(facts, sparse=dtype.kind == "f")
    core = sparse_operator(entries.shape[0], len(fixed[0]), dtype, facts)
    sides = _matching(right, None, core.program.output_types)
    (solution,) = apply_or_run(LINEAR_SOLVE, [*fixed, *sides], core.evaluate, system=core.system)
    return solution


@lru_cache(maxsize=256)
def sparse_operator(size: int, entries: int, dtype: Any, facts: Facts) -> Operator:
    """(entries, rows, columns, x) -> A x."""
    builder = Builder()
    places = array_type((entries,), np.dtype(np.int64))
    types = (array_type((entries,), dtype), places, places, array_type((size,), dtype))
    data, rows, columns, x = (Expression(builder, builder.input(type_)) for type_ in types)
    products = data * bind(GATHER, x, columns)
    image = bind(GATHER_ADD, zeros(builder, types[3]), products, rows)
    return Operator(builder.build([image.atom]), 3, facts)
