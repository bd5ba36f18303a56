"""Some eigenpairs of Hermitian operators and of pencils A v = l M v, differentiated by equation.

From A v = l M v and v^H M v = 1 follows, with the phase of v kept as far as that goes,

    [A - l M    M v] [dv]   [  l dM v - dA v  ]
    [(M v)^H     0 ] [-dl] = [ -(v^H dM v) / 2 ],

which is Hermitian, and regular as long as l is a simple eigenvalue. A and M are matrices, of which
the system is factorised, or operators, for which it is solved by MINRES.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import array_type, real_dtype
from adjoint.base.errors import DegenerateError, NotConvergedError
from adjoint.calculus.implicit.linear import operator_of, sparse_operator
from adjoint.calculus.implicit.linear_solvers import Automatic
from adjoint.calculus.implicit.problems import DefinedFunction, DerivativeCheck
from adjoint.calculus.implicit.recording import apply_or_run
from adjoint.calculus.implicit.systems import BoundOperator, Facts, Operator
from adjoint.capture.scipy.operators import as_operator
from adjoint.capture.scipy.sparse_matrix import entries_of, is_sparse
from adjoint.primitives.calls.custom import Marks, Pushed
from adjoint.primitives.calls.solving import IMPLICIT, LINEAR_SOLVE
from adjoint.primitives.elementwise.conversion import cast, conjugate, real
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra.sparse.eigen import rounding_of
from adjoint.primitives.structure.moving import sum_axes, zeros
from adjoint.primitives.structure.slicing import stack, take
from adjoint.program import Builder
from adjoint.scipy.sparse.bordered import CLOSE, BorderedSolver, pencil_matrix
from adjoint.transforms.jvp import push_forward, tangent_type


@dataclass(frozen=True)
class EigenvalueChoice:
    """Which eigenvalues, and how far they are iterated: the arguments of SciPy's eigsh."""

    count: int
    which: str
    sigma: float | None
    tol: float
    maxiter: int | None
    mode: str = "normal"

    def mirrored(self, values: Any) -> Any:
        """Values as far up in the order of the choice as these; NaN where there are none."""
        if self.which not in ("LM", "SM"):
            return values
        if self.sigma is not None and self.mode == "cayley":  # by |w + sigma| / |w - sigma|
            with np.errstate(divide="ignore"):
                return self.sigma**2 / values
        return 2 * (self.sigma or 0.0) - values


@dataclass(frozen=True)
class Pencil:
    """A and M as programs (fixed operands, x) -> A x. mass: None for the identity."""

    operator: Operator
    mass: Operator | None

    @property
    def parts(self) -> tuple[Operator, ...]:
        """Those that there are."""
        return (self.operator,) if self.mass is None else (self.operator, self.mass)

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The types of the fixed operands, those of A first."""
        return tuple(t for part in self.parts for t in part.program.input_types[: part.fixed])

    @property
    def unknown(self) -> Any:
        """The type of x."""
        return self.operator.unknowns[0]

    def split(self, operands: Sequence[Any]) -> list[Sequence[Any]]:
        """What is of A, and what of M."""
        fixed = self.operator.fixed
        return [operands[:fixed], operands[fixed : len(self.inputs)]][: len(self.parts)]

    def given(self, operands: Sequence[Any]) -> list[Any]:
        """A and M at numbers, as SciPy takes them."""
        pairs = zip(self.parts, self.split(operands), strict=True)
        return [_for_scipy(part, fixed) for part, fixed in pairs]


def _for_scipy(part: Operator, fixed: Sequence[Any]) -> Any:
    (type_,) = part.unknowns
    size = type_.size
    if part.facts.sparse:
        return pencil_matrix(fixed, size)
    bound = BoundOperator(part, fixed)

    def apply(x: Any) -> Any:
        return bound.apply([np.asarray(x, type_.dtype).reshape(size)])[0]

    operator = import_module("scipy.sparse.linalg").LinearOperator
    return operator((size, size), matvec=apply, rmatvec=apply, dtype=type_.dtype)


def _by_scipy(pencil: Pencil, operands: Sequence[Any], choice: EigenvalueChoice, count: int) -> Any:
    """Values and vectors, from a start that is the same at every run, the least value first.

    SciPy gives those of complex matrices in no order.
    """
    solvers = import_module("scipy.sparse.linalg")
    matrix, *mass = pencil.given(operands)
    size = matrix.shape[0]
    start = np.random.default_rng(0).standard_normal(size).astype(pencil.unknown.dtype)
    how = {"which": choice.which, "sigma": choice.sigma, "tol": choice.tol, "mode": choice.mode}
    try:
        values, vectors = solvers.eigsh(
            matrix, count, M=mass[0] if mass else None, v0=start, maxiter=choice.maxiter, **how
        )
    except solvers.ArpackNoConvergence as error:
        raise NotConvergedError(
            f"{len(error.eigenvalues)} of {count} eigenvalues of an operator with {size} rows were "
            f"found by scipy.sparse.linalg.eigsh: {error}. Allow more with maxiter, ask for those "
            "near a value with sigma, or for more of them."
        ) from None
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _norm(pencil: Pencil, operands: Sequence[Any]) -> float:
    """The size of A in units of M, about: the root of the mean square of what it does, times n."""
    (size,) = pencil.unknown.shape
    trial = np.random.default_rng(2).standard_normal(size)
    image, *weighted = (part @ trial for part in pencil.given(operands))
    return float(np.linalg.norm(image) / np.linalg.norm((*weighted, trial)[0]) * size**0.5)


# --- the pairs ------------------------------------------------------------------------------------


class Eigenpairs(DefinedFunction):
    """(what A and M depend on) -> values, and vectors as columns."""

    def __init__(self, pencil: Pencil, choice: EigenvalueChoice) -> None:
        super().__init__()
        self.pencil, self.choice = pencil, choice
        (size,), dtype = pencil.unknown.shape, pencil.unknown.dtype
        self.inputs = pencil.inputs
        self.outputs = (
            array_type((choice.count,), real_dtype(dtype)),
            array_type((size, choice.count), dtype),
        )
        self.key = ("eigenpairs", tuple(part.key for part in pencil.parts), choice)

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """By ARPACK."""
        values, vectors = _by_scipy(self.pencil, operands, self.choice, self.choice.count)
        return tuple(
            np.ascontiguousarray(result, type_.dtype)
            for result, type_ in zip((values, vectors), self.outputs, strict=True)
        )

    def push(self, moving: Marks) -> Pushed:
        """(operands, values, vectors, tangents of those that move) -> tangents of both."""
        builder = Builder()
        operands = [builder.input(type_) for type_ in self.inputs]
        values, vectors = (Expression(builder, builder.input(type_)) for type_ in self.outputs)
        tangents = [
            builder.input(tangent_type(type_)) if mark else None
            for type_, mark in zip(self.inputs, moving, strict=True)
        ]
        function = Selection(self).function
        fixed = [Expression(builder, atom) for atom in operands]
        (one,) = bind(IMPLICIT, *fixed, values, function=function)
        height = vectors.shape[0]
        slopes = []
        for number in range(self.choice.count):
            value, vector = take(values, (number,)), take(vectors, ((0, height, 1), number))
            sides = self._sides(builder, operands, tangents, value, vector)
            system = _bordered(self.pencil, self.choice.count).system
            solved = bind(LINEAR_SOLVE, *fixed, values, value, vector, *sides, system=system)
            slopes.append((-real(solved[1]) * one, solved[0] * cast(one, solved[0].dtype)))
        of_values, of_vectors = zip(*slopes, strict=True)
        pushed = (stack(list(of_values), axis=0), stack(list(of_vectors), axis=1))
        return Pushed(builder.build([slope.atom for slope in pushed]), (True, True))

    def _sides(
        self,
        builder: Builder,
        operands: Sequence[Any],
        tangents: Sequence[Any],
        value: Expression,
        vector: Expression,
    ) -> tuple[Expression, Expression]:
        """The right-hand sides of the system in this module's text."""
        parts = zip(self.pencil.parts, *map(self.pencil.split, (operands, tangents)), strict=True)
        moved = [
            push_forward(builder, part.program, [*fixed, vector.atom], [*slopes, None])[1][0]
            for part, fixed, slopes in parts
        ]
        top = zeros(builder, vector.type)
        corner = zeros(builder, array_type((), vector.dtype))
        if moved[0] is not None:
            top = -Expression(builder, moved[0])
        if len(moved) > 1 and moved[1] is not None:
            of_mass = Expression(builder, moved[1])
            top = top + cast(value, vector.dtype) * of_mass
            corner = cast(real(sum_axes(conjugate(vector) * of_mass, (0,))) * -0.5, vector.dtype)
        return top, corner


@lru_cache(maxsize=256)
def _bordered(pencil: Pencil, count: int) -> Operator:
    """(operands, all values, one value, its vector, x, s) -> the rows of the system."""
    builder = Builder()
    operands = [builder.input(type_) for type_ in pencil.inputs]
    wide = pencil.unknown
    scalar = array_type((), real_dtype(wide.dtype))
    corner = array_type((), wide.dtype)
    builder.input(array_type((count,), scalar.dtype))
    value, vector, x, s = (
        Expression(builder, builder.input(type_)) for type_ in (scalar, wide, wide, corner)
    )

    def applied(number: int, to: Expression) -> Expression:
        if number == len(pencil.parts):
            return to
        fixed = pencil.split(operands)[number]
        (image,) = builder.inline(pencil.parts[number].program, [*fixed, to.atom])
        return Expression(builder, image)

    weighted = applied(1, vector)
    top = applied(0, x) - cast(value, wide.dtype) * applied(1, x) + s * weighted
    bottom = sum_axes(conjugate(weighted) * x, (0,))
    solver = BorderedSolver(
        tuple(part.fixed for part in pencil.parts),
        all(part.facts.sparse for part in pencil.parts),
    )
    program = builder.build([top.atom, bottom.atom])
    return Operator(program, len(operands) + 3, Facts(solver, self_adjoint=True))


class Selection(DerivativeCheck):
    """One; an error where the pairs asked for have no derivatives.

    Where two of them coincide, or where one of them and one that was not chosen do, or are as far
    up in the order of the choice.
    """

    def __init__(self, pairs: Eigenpairs) -> None:
        super().__init__()
        self.pairs = pairs
        self.inputs = (*pairs.inputs, pairs.outputs[0])
        self.outputs = (array_type((), pairs.outputs[0].dtype),)
        self.key = ("selection", pairs.key)

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Look at some more of them."""
        *given, values = operands
        choice = self.pairs.choice
        more = choice.count + (2 if choice.which == "BE" else 1)
        complex_ = self.pairs.pencil.unknown.dtype.kind == "c"
        others = np.empty(0)  # else the systems of derivatives see all that is near
        if more < self.pairs.pencil.unknown.size - complex_:
            others, _ = _by_scipy(self.pairs.pencil, given, choice, more)
            for value in values:
                others = np.delete(others, np.argmin(np.abs(others - value)))
        alike = np.concatenate([values, choice.mirrored(np.asarray(values))])
        edges = np.abs(others[:, None] - alike)
        gaps = np.diff(np.sort(values))
        least = min(np.min(gaps, initial=np.inf), np.min(edges, initial=np.inf))
        rounding = rounding_of(_norm(self.pairs.pencil, given))
        if least <= max(CLOSE * np.max(np.abs(values), initial=0.0), rounding):
            raise DegenerateError(
                "A derivative of eigenvalues of an operator was asked for where two of them "
                f"coincide, or are equally far up in the order asked for: within {least:.1e}. "
                "There single eigenvalues and their vectors have none."
            )
        return (np.ones((), self.outputs[0].dtype),)


# --- from matrices and operators ------------------------------------------------------------------


def _part(value: Any, model: Any) -> tuple[list[Any], Operator]:
    """What A or M depends on, and the rest as a program, whose unknowns are at least as wide."""
    if is_sparse(value):
        entries, rows, columns = entries_of(value)
        dtype = np.result_type(entries.dtype, model.dtype)
        fixed = [entries.astype(dtype), *(x.astype(np.int64) for x in (rows, columns))]
        facts = Facts(Automatic(), sparse=True)
        return fixed, sparse_operator(value.shape[0], len(rows), dtype, facts)
    return operator_of(as_operator(value).matvec, model, Facts(Automatic()), True)


def eigenpairs(operator: Any, mass: Any, choice: EigenvalueChoice) -> tuple[Any, Any]:
    """Values, and vectors as columns, of A v = l M v. mass: None for the identity."""
    (size, width) = operator.shape
    if size != width:
        raise ValueError(f"expected square matrix (shape={operator.shape})")
    if not 0 < choice.count < size:
        raise ValueError(f"k must be between 1 and the number of rows less one, got {choice.count}")
    given = [operator] if mass is None else [operator, mass]
    if any(tuple(part.shape) != (size, size) for part in given):
        raise ValueError(f"wrong M dimensions {mass.shape}, should be {operator.shape}")
    model = np.zeros(size)
    parts = [_part(value, model) for value in given]
    wide = np.result_type(*(core.unknowns[0].dtype for _, core in parts))
    if any(core.unknowns[0].dtype != wide for _, core in parts):
        parts = [_part(value, model.astype(wide)) for value in given]
    pencil = Pencil(parts[0][1], parts[1][1] if mass is not None else None)
    pairs = Eigenpairs(pencil, choice)
    operands = [x for fixed, _ in parts for x in fixed]
    values, vectors = apply_or_run(IMPLICIT, operands, pairs.evaluate, function=pairs.function)
    return values, vectors
