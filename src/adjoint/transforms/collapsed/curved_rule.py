"""The first and the second derivative of one operation, as small programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adjoint.base.arrays import ArrayType, array_type
from adjoint.primitives.declaration import Joint, Together
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import broadcast_to, zeros
from adjoint.program import Atom, Builder, Equation, Operation, Program, Variable
from adjoint.transforms.by_rows.marks import is_elementwise
from adjoint.transforms.jvp import jvp, push_forward, tangent_type
from adjoint.transforms.taylor_mode.derived_rule import Marks, derived_rule
from adjoint.transforms.taylor_mode.taylor import taylor


class CurvedRule(NamedTuple):
    """The derivatives of an operation p in the operands that are marked, along tangents u.

    first: (operands, results, u) -> Dp[u]. both: -> (Dp[u], D²p[u, u]); None where there is no
    second derivative. slopes, curves: which results have them. factor: what the second derivative
    is to be multiplied by.
    """

    first: Program
    both: Program | None
    slopes: Marks
    curves: Marks
    factor: int = 1


def curved_rule(
    op: Operation, operands: Sequence[Atom], marks: Marks, origin: int | None, second: bool
) -> CurvedRule:
    """The derivatives of an operation at operands like these. second: whether both are wanted."""
    if isinstance(op.primitive.derivative, Together):
        return _by_taylor(op, operands, marks, origin, second)
    rule = derived_rule(op, operands, marks, origin)
    known = [x for x in rule.operands if isinstance(x, Variable)]
    tangents = {x: u for x, u in zip(rule.operands, rule.tangents, strict=True) if u is not None}
    inputs = [*known, *rule.results, *tangents.values()]
    slopes = tuple(
        slope is not None and result.type.inexact
        for slope, result in zip(rule.slopes, rule.results, strict=True)
    )
    moved = [slope for slope, mark in zip(rule.slopes, slopes, strict=True) if mark]
    first = Program(inputs, rule.equations, [slope for slope in moved if slope is not None])
    none = (False,) * len(slopes)
    if not second or not any(slopes):
        return CurvedRule(first, None, slopes, none)
    builder = Builder()
    point = [builder.input(variable.type) for variable in first.inputs]
    names = dict(zip(first.inputs, point, strict=True))
    builder.derived = True
    pushed = builder.inline(first, point)
    rest = iter(pushed)
    by_result = [next(rest) if mark else None for mark in slopes]
    moving = [
        *(names[tangents[x]] if x in tangents else None for x in known),
        *by_result,
        *(None for _ in tangents),
    ]
    _, bent = push_forward(builder, first, point, moving)
    kept = [curve for curve in bent if curve is not None]
    there = iter(bent)
    curves = tuple(mark and next(there) is not None for mark in slopes)
    both = builder.build([*pushed, *kept]) if kept else None
    return CurvedRule(first, both, slopes, curves)


def _by_taylor(
    op: Operation, operands: Sequence[Atom], marks: Marks, origin: int | None, second: bool
) -> CurvedRule:
    """Of what holds programs: they are derived in one with its results, by series."""
    atoms = [Variable(x.type) if isinstance(x, Variable) else x for x in operands]
    inputs = [x for x in atoms if isinstance(x, Variable)]
    results = tuple(map(Variable, op.infer(tuple(x.type for x in atoms))))
    single = Program(inputs, [Equation(op, atoms, results, origin)], results)
    moving = [mark for x, mark in zip(atoms, marks, strict=True) if isinstance(x, Variable)]
    slopes = tuple(result.type.inexact for result in results)

    def placed(whole: Program, start: int) -> Program:
        """With the results among the inputs, though they are computed again."""
        tangents = whole.inputs[len(inputs) :]
        unused = [Variable(type_) for type_ in single.output_types]
        return Program(
            [*whole.inputs[: len(inputs)], *unused, *tangents],
            whole.equations,
            whole.outputs[start:],
        )

    first = placed(jvp(single, moving), len(results))
    if not second or not any(slopes):
        return CurvedRule(first, None, slopes, (False,) * len(slopes))
    series = taylor(single, 2, [(mark, False) if mark else () for mark in moving])
    return CurvedRule(first, placed(series, len(results)), slopes, slopes, 2)


# --- entry by entry ------------------------------------------------------------------------------


class Partials(NamedTuple):
    """The partial derivatives of a function applied entry by entry.

    Their programs take, beside operands and result, a 1 for each operand that is marked: written as
    a number where they are used, it is multiplied with nothing.

    first: (operands, result, ones) -> ∂p/∂x_i for the operands marked. second: -> ∂²p/∂x_i∂x_j for
    pairs i <= j of them, but for those that are 0. pairs: these.
    """

    first: Program
    second: Program
    pairs: tuple[tuple[int, int], ...]


def has_partials(op: Operation, operands: Sequence[Atom], result: ArrayType) -> bool:
    """Whether an operation is best known by its partial derivatives: of real numbers, no sum."""
    primitive = op.primitive
    return (
        is_elementwise(op)
        and callable(primitive.derivative)
        and not isinstance(primitive.derivative, Together)
        and not isinstance(primitive.linear, Joint)
        and result.dtype.kind == "f"
        and all(atom.type.dtype.kind != "c" for atom in operands)
    )


def partials(op: Operation, operands: Sequence[Atom], marks: Marks) -> Partials:
    """The partial derivatives of an operation at operands like these."""
    atoms = [Variable(x.type) if isinstance(x, Variable) else x for x in operands]
    inputs = [x for x in atoms if isinstance(x, Variable)]
    (type_,) = op.infer(tuple(x.type for x in atoms))
    result = Variable(type_)
    places = [place for place, mark in enumerate(marks) if mark]
    ones = {n: Variable(array_type((), tangent_type(atoms[n].type).dtype)) for n in places}
    builder = Builder()
    builder.derived = True
    slopes = [_partial(builder, op, atoms, result, place, ones[place]) for place in places]
    first = Program([*inputs, result, *ones.values()], builder.equations, slopes)
    second = Builder()
    point = [second.input(variable.type) for variable in first.inputs]
    known = second.inline(first, point)
    units = dict(zip(places, point[len(inputs) + 1 :], strict=True))
    second.derived = True
    bent: list[Atom] = []
    pairs = []
    for number, place in enumerate(places):
        along = [_spread(second, units[place], x) if x is atoms[place] else None for x in inputs]
        slope = _spread(second, known[number], result)
        _, moved = push_forward(second, first, point, [*along, slope, *(None for _ in places)])
        for other, curve in zip(places[: number + 1], moved, strict=False):
            if curve is not None:
                pairs.append((other, place))
                bent.append(curve)
    return Partials(first, second.build(bent), tuple(pairs))


def _spread(builder: Builder, atom: Atom, like: Atom) -> Atom:
    return broadcast_to(Expression(builder, atom), like.type.shape).atom


def _partial(
    builder: Builder,
    op: Operation,
    atoms: Sequence[Atom],
    result: Variable,
    place: int,
    one: Variable,
) -> Atom:
    unit = broadcast_to(Expression(builder, one), atoms[place].type.shape)
    tangents = tuple(unit if number == place else None for number in range(len(atoms)))
    operands = tuple(Expression(builder, atom) for atom in atoms)
    (slope,) = op.primitive.rule("derivative")(
        tangents, operands, (Expression(builder, result),), **op.params
    )
    if slope is None:
        return zeros(builder, array_type((), tangent_type(result.type).dtype)).atom
    return slope.atom  # type: ignore[no-any-return]
