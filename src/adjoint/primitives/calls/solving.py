"""Linear systems, and functions that an equation defines: what stands for a solver in a program.

How they are solved is known on higher floors. Here stand the primitives, which hold descriptions
that are compared by structure, so that programs which hold equal ones are equal. See
`adjoint.calculus.implicit`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, Shape, type_of
from adjoint.base.errors import NotLinearError
from adjoint.primitives.calls.custom import Marks, Pushed, append
from adjoint.primitives.declaration import Joint, Primitive
from adjoint.primitives.elementwise.conversion import CAST
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.series import difference
from adjoint.primitives.structure.moving import with_batch, zeros
from adjoint.program import Builder, Program

# --- descriptions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class System:
    """A linear system A x = b, in which A depends on the first operands, and b is the rest.

    key: the structure; equal for systems that are solved alike. fixed: how many operands A depends
    on. right, solution: the types of b and of x. evaluate: arrays of all operands -> x. transpose:
    hands over the system of the transposed A. derive: the derivative of A x with respect to the
    fixed operands marked, as a program (fixed operands, x, tangents of those that move) -> tangents
    of A x. batch: the system over a batch, from which fixed operands are batched. program: (fixed
    operands, x) -> A x.
    """

    key: Hashable
    name: str = field(compare=False)
    fixed: int = field(compare=False)
    right: tuple[ArrayType, ...] = field(compare=False)
    solution: tuple[ArrayType, ...] = field(compare=False)
    evaluate: Callable[..., tuple[Any, ...]] = field(compare=False)
    transpose: Callable[[], System] = field(compare=False)
    derive: Callable[[Marks], Pushed] = field(compare=False)
    batch: Callable[[Marks, int], System] = field(compare=False)
    program: Program = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ImplicitFunction:
    """A function y of its operands x that an equation f(x, y) = 0 defines (E.1.69).

    key: the structure; equal for functions that are computed alike. inputs, outputs: types of the
    operands and of y. evaluate: arrays of the operands -> y. derive: the derivative with respect to
    the operands marked, as a program (operands, y, tangents of those that move) -> tangents of y,
    with the marks of those that are not zero. batch: the function over a batch.
    """

    key: Hashable
    name: str = field(compare=False)
    inputs: tuple[ArrayType, ...] = field(compare=False)
    outputs: tuple[ArrayType, ...] = field(compare=False)
    evaluate: Callable[..., tuple[Any, ...]] = field(compare=False)
    derive: Callable[[Marks], Pushed] = field(compare=False)
    batch: Callable[[Marks, int], ImplicitFunction] = field(compare=False)

    def __str__(self) -> str:
        return self.name


def _present(tangents: Sequence[Expression | None]) -> tuple[Marks, list[Expression]]:
    present = [tangent for tangent in tangents if tangent is not None]
    return tuple(tangent is not None for tangent in tangents), present


def _pushed(derivative: Pushed, operands: Sequence[Expression]) -> Iterator[Expression | None]:
    """The results of a derivative in their places; None where there is none."""
    builder = operands[0].builder
    atoms = iter(append(builder, derivative.program, [operand.atom for operand in operands]))
    return (Expression(builder, next(atoms)) if mark else None for mark in derivative.varying)


def _filled(
    vectors: Sequence[Any], types: Sequence[ArrayType], builder: Builder
) -> list[Expression]:
    return [
        vector if vector is not None else zeros(builder, type_)
        for vector, type_ in zip(vectors, types, strict=True)
    ]


# --- linear systems ------------------------------------------------------------------------------


def _solve_derivative(tangents: Any, operands: Any, results: Any, system: System) -> Any:
    """From A x = b: A dx = db - dA x."""
    count = system.fixed
    right = list(tangents[count:])
    marks, moving = _present(tangents[:count])
    if moving:
        slopes = _pushed(system.derive(marks), [*operands[:count], *results, *moving])
        right = [
            db if slope is None else -slope if db is None else db - slope
            for db, slope in zip(right, slopes, strict=True)
        ]
    if all(vector is None for vector in right):
        return (None,) * len(results)
    filled = _filled(right, system.right, operands[0].builder)
    return bind(LINEAR_SOLVE, *operands[:count], *filled, system=system)


def _solve_transpose(cotangents: Any, operands: Any, system: System) -> Any:
    fixed = operands[: system.fixed]
    if not all(isinstance(operand, Expression) for operand in fixed):
        raise NotLinearError(
            "The solution of a linear system is linear in its right-hand side, not in what the "
            "operator depends on. Differentiate with ad.vjp instead of ad.linear_transpose."
        )
    builder = next(cotangent.builder for cotangent in cotangents if cotangent is not None)
    whole = _filled(cotangents, system.solution, builder)
    pulled = bind(LINEAR_SOLVE, *fixed, *whole, system=system.transpose())
    return (*(None for _ in fixed), *pulled)


def _solve_batch(operands: Any, batched: Marks, size: int, system: System) -> Any:
    count = system.fixed
    over = system.batch(tuple(batched[:count]), size)
    pairs = zip(operands[count:], batched[count:], strict=True)
    right = [with_batch(b, mark, size) for b, mark in pairs]
    return bind(LINEAR_SOLVE, *operands[:count], *right, system=over)


def _solve_taylor(operands: Any, results: Any, k: int, system: System) -> Any:
    """From A x = b: A_0 x_k = b_k - sum_{j<k} A_{k-j} x_j, with A_{k-j} x_j that of A(t) x_j."""
    fixed, right = operands[: system.fixed], operands[system.fixed :]
    rest = [b[k] for b in right]
    moving = not all(series.constant for series in fixed)
    for j in range(k if moving else 0):
        x = [series[j] for series in results]
        if any(coefficient is not None for coefficient in x):
            whole = _filled(x, system.solution, results[0][0].builder)
            images = results[0].run(system.program, [*fixed, *whole], k - j)
            rest = list(map(difference, rest, images))
    if all(coefficient is None for coefficient in rest):
        return (None,) * len(results)
    filled = _filled(rest, system.right, results[0][0].builder)
    return bind(LINEAR_SOLVE, *(series[0] for series in fixed), *filled, system=system)


def _upper(transposed: bool = False, lead: Shape = ()) -> System:
    """The sample: two equations with an upper triangular matrix."""
    matrix = np.array([[2.0, 1.0], [0.0, -3.0]])
    type_ = type_of(np.zeros((*lead, 2)))

    def evaluate(right: Any) -> tuple[Any, ...]:
        whole = matrix.T if transposed else matrix
        return (np.linalg.solve(whole, np.asarray(right, type_.dtype)[..., None])[..., 0],)

    def derive(moving: Marks) -> Pushed:
        return Pushed(Builder().build([]), ())

    return System(
        ("upper", transposed, lead),
        "upper",
        0,
        (type_,),
        (type_,),
        evaluate,
        lambda: _upper(not transposed, lead),
        derive,
        lambda batched, size: _upper(transposed, (size, *lead)),
        Builder().build([]),
    )


LINEAR_SOLVE = Primitive(
    "linear_solve",
    infer=lambda *types, system: system.solution,
    evaluate=lambda *arrays, system: system.evaluate(*arrays),
    linear=Joint(),  # in the right-hand side; the transpose refuses the rest
    derivative=_solve_derivative,
    transpose=_solve_transpose,
    batch=_solve_batch,
    taylor=_solve_taylor,
    samples=(sample(draw(2), system=_upper()),),
    multiple=True,
    opaque=True,
)


# --- functions that an equation defines ----------------------------------------------------------


def _implicit_derivative(
    tangents: Any, operands: Any, results: Any, function: ImplicitFunction
) -> Any:
    marks, moving = _present(tangents)
    return tuple(_pushed(function.derive(marks), [*operands, *results, *moving]))


def _implicit_batch(operands: Any, batched: Marks, size: int, function: ImplicitFunction) -> Any:
    return bind(IMPLICIT, *operands, function=function.batch(tuple(batched), size))


def _cubic(shape: Shape = (3,)) -> ImplicitFunction:
    """The sample: y^3 + y = x for each entry, with dy = dx / (3 y^2 + 1)."""
    type_ = type_of(np.zeros(shape))

    def evaluate(x: Any) -> tuple[Any, ...]:
        right = np.asarray(x, type_.dtype)
        # Its one real root: y = 2 sinh(t) / sqrt(3), with sinh(3 t) = 3 sqrt(3) x / 2.
        angle = np.arcsinh(1.5 * np.sqrt(3.0) * right) / 3
        return (2 / np.sqrt(3.0) * np.sinh(angle),)

    def derive(moving: Marks) -> Pushed:
        builder = Builder()
        inputs = [Expression(builder, builder.input(type_)) for _ in range(3)]
        _, y, u = (bind(CAST, operand, dtype=type_.dtype) for operand in inputs)
        return Pushed(builder.build([(u / (3 * y * y + 1)).atom]), (True,))

    def batch(batched: Marks, size: int) -> ImplicitFunction:
        return _cubic((size, *shape))

    return ImplicitFunction(("cubic", shape), "cubic", (type_,), (type_,), evaluate, derive, batch)


IMPLICIT = Primitive(
    "implicit",
    infer=lambda *types, function: function.outputs,
    evaluate=lambda *arrays, function: function.evaluate(*arrays),
    linear=None,
    derivative=_implicit_derivative,
    batch=_implicit_batch,
    samples=(sample(draw(3), function=_cubic()),),
    multiple=True,
    opaque=True,
)
