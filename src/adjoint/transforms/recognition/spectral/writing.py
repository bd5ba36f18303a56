"""Functions of a matrix in a program: their values stay, their derivatives become those of g(A).

The result of a match becomes that of `SPECTRAL`, which takes the value as it was, the matrix
itself, and g with its first derivatives at the eigenvalues. These come from forward mode, on the
equations that compute g from the eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from adjoint.base.arrays import array_type
from adjoint.primitives.elementwise.conversion import STOP_GRADIENT, cast, conjugate
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.identities import same_as
from adjoint.primitives.linear_algebra.spectra.dilation import DILATED_BASIS, ZERO_WEIGHTS
from adjoint.primitives.linear_algebra.spectra.eigen import EIGH
from adjoint.primitives.linear_algebra.spectra.spectral import KNOWN, SPECTRAL
from adjoint.primitives.linear_algebra.systems import adjoint, multiply
from adjoint.primitives.structure.contraction import contract
from adjoint.primitives.structure.moving import (
    FILL,
    broadcast_to,
    inverse_permutation,
    permute,
    reshape,
    sum_axes,
    zeros,
)
from adjoint.primitives.structure.slicing import concatenate, take, update
from adjoint.program import (
    Atom,
    Builder,
    Equation,
    Literal,
    Operation,
    Program,
    Variable,
    operation,
)
from adjoint.program.builder import lookup
from adjoint.program.nested import quiet
from adjoint.transforms.recognition.rewriting import Replacement, Rewriting
from adjoint.transforms.recognition.spectral.columns import VALUE, Reader, Scale
from adjoint.transforms.recognition.spectral.entrywise import SLOPES
from adjoint.transforms.recognition.spectral.matching import Match, Operand, matches, used_vectors

PushForward = Callable[..., tuple[Sequence[Atom], Sequence[Atom | None]]]


def functions_of_matrices(
    program: Program, push_forward: PushForward
) -> tuple[dict[Equation, Replacement], dict[Equation, Operation]]:
    """What functions of matrices are replaced by, and decompositions with marks of used vectors."""
    functions = matches(Reader(program))
    replacements: dict[Equation, Replacement] = {
        equation: partial(_function, equation, match, push_forward)
        for equation, match in functions.items()
    }
    others = _other_equations(program, functions)
    operations: dict[Equation, Operation] = {}
    for equation in program.equations:
        if equation.primitive is EIGH:
            used = used_vectors(program, others, equation)
            operations[equation] = operation(EIGH, **{**equation.params, "used": used})
    return replacements, operations


def _other_equations(program: Program, functions: dict[Equation, Match]) -> list[Equation]:
    """The equations that outputs depend on, otherwise than through functions of matrices."""
    needed = {atom for atom in program.outputs if isinstance(atom, Variable)}
    others = []
    for equation in reversed(program.equations):
        if not any(variable in needed for variable in equation.outputs):
            continue
        inputs: Sequence[Atom] = equation.inputs
        match = functions.get(equation)
        if match is None:
            others.append(equation)
        else:
            factors = [operand.basis.against for operand in (match.left, match.right)]
            known = [factor.atom for factor in factors if factor is not None]
            inputs = (match.source.inputs[0], *match.leaves, *known)
            needed.update(match.source.outputs)
        needed.update(atom for atom in inputs if isinstance(atom, Variable))
    return others


def _function(
    equation: Equation, match: Match, push_forward: PushForward, rewriting: Rewriting
) -> Expression:
    """The result of an equation, with the derivatives of the function of a matrix."""
    return _FunctionWriter(match, rewriting).function(equation, push_forward)


# --- the function of the values -------------------------------------------------------------------


def _function_of_values(match: Match) -> Program:
    """(values, leaves) -> h, the product of all scales: stacks of columns.

    The values come as often as the program has them: to the last bit they may differ, and a
    comparison with their maximum may not see it.
    """
    builder = Builder()
    kind = match.values[0].type
    names: dict[Variable, Atom] = {}
    for variable in match.values:
        names[variable] = builder.input(variable.type)
    for leaf in match.leaves:
        names[leaf] = builder.input(leaf.type)
    for equation in match.chain:
        if equation.primitive in SLOPES:
            names[equation.outputs[0]] = lookup(names, equation.inputs[1])
        else:
            builder.copy_equations((equation,), names)
    picked = match.left.basis.picked
    count = kind.shape[-1] if picked is None else len(range(*picked))
    shape = (*kind.shape[:-1], count)
    h: Any = bind(FILL, builder=builder, shape=shape, dtype=kind.dtype, value=1)
    for scale in match.scales:
        atom = lookup(names, scale.atom)
        if isinstance(atom, Literal):
            h = h * atom.value
            continue
        factor = _as_column(Expression(builder, atom), scale, len(shape))
        h = h / factor if scale.inverted else h * factor
    return quiet(builder.build([broadcast_to(h, shape).atom]))


def _as_column(x: Expression, scale: Scale, ndim: int) -> Expression:
    """A factor with its axes in the order of a stack of columns."""
    places = {label: n for n, label in enumerate(scale.labels) if label is not None}
    wanted = [*range(ndim - 1), VALUE]
    there = [places[label] for label in wanted if label in places]
    rest = [n for n in range(len(scale.labels)) if n not in there]
    shape = tuple(x.shape[places[label]] if label in places else 1 for label in wanted)
    moved = reshape(permute(x, (*rest, *there)), shape)
    return conjugate(moved) if scale.conjugated else moved


def _with_derivatives(match: Match, push_forward: PushForward) -> list[Program]:
    """The function of the values, and its derivatives in them, entry by entry."""
    program = _function_of_values(match)
    programs = [program]
    result = program.outputs[0].type
    for _ in range(KNOWN - 1):
        builder = Builder()
        inputs = [builder.input(variable.type) for variable in program.inputs]
        kind = inputs[0].type
        ones = bind(FILL, builder=builder, shape=kind.shape, dtype=kind.dtype, value=1)
        tangents = [ones.atom if n < len(match.values) else None for n in range(len(inputs))]
        _, (slope,) = push_forward(builder, programs[-1], inputs, tangents)
        last = zeros(builder, result) if slope is None else Expression(builder, slope)
        programs.append(quiet(builder.build([cast(last, result.dtype).atom])))
    return programs


# --- its result in a program ----------------------------------------------------------------------


class _FunctionWriter:
    """Writes one function of a matrix into a program."""

    def __init__(self, match: Match, rewriting: Rewriting) -> None:
        self.match = match
        self.builder = rewriting.builder
        self.expression = rewriting.expression

    def function(self, equation: Equation, push_forward: PushForward) -> Expression:
        """The result of an equation, with the derivatives of the function of a matrix."""
        match = self.match
        value = self.expression(equation.outputs[0])
        leaves = [self.expression(leaf).atom for leaf in match.leaves]
        decomposed = [
            bind(STOP_GRADIENT, self.expression(output)) for output in match.source.outputs
        ]
        spectra = [bind(STOP_GRADIENT, self.expression(values)) for values in match.values]
        g = []
        for program in _with_derivatives(match, push_forward):
            origin = self.builder.origin
            (h,) = self.builder.inline(program, [*(values.atom for values in spectra), *leaves])
            self.builder.origin, self.builder.derived = origin, True
            g.append(self._on_all_values(Expression(self.builder, h), spectra[0].shape))
        if match.plain:
            rows_last = match.stack + match.left.row + match.right.row
            order = tuple(match.result.index(letter) for letter in rows_last)
            matrix = self._spectral(permute(value, order), decomposed, g)
            return permute(matrix, inverse_permutation(order))
        matrix = self._spectral(_matrix(match, decomposed, g[0]), decomposed, g)
        return same_as(value, self._contracted(matrix))  # type: ignore[no-any-return]

    def _on_all_values(self, h: Expression, shape: tuple[int, ...]) -> Expression:
        """A function on some of the values, which is zero on the others."""
        picked = self.match.left.basis.picked
        if picked is None:
            return h
        index = (*((0, n, 1) for n in shape[:-1]), picked)
        return update(zeros(self.builder, array_type(shape, h.dtype)), h, index)

    def _spectral(
        self, value: Expression, decomposed: list[Any], g: list[Expression]
    ) -> Expression:
        """The value of g(A), with the derivatives of that."""
        match = self.match
        a = self.expression(match.source.inputs[0])
        if match.source.primitive is not EIGH:
            sides = match.left.basis.side + match.right.basis.side
            return _dilated(sides, value, a, decomposed, g)
        values, vectors = decomposed
        lower = match.source.params["lower"]
        function: Expression = bind(SPECTRAL, value, values, vectors, a, *g, lower=lower)
        return function

    def _contracted(self, matrix: Expression) -> Expression:
        """The products of the function of a matrix with what the vectors were multiplied with."""
        match = self.match
        letters = match.stack + match.left.row + match.right.row
        right = match.right
        later = ["" if right.basis.against is None else right.letters + right.row, ""]
        for operand, still in zip((match.left, match.right), later, strict=True):
            if operand.basis.against is None:
                continue
            x = self.expression(operand.basis.against.atom)
            x = conjugate(x) if operand.basis.against.conjugated else x
            kept = set(match.result) | set(still)
            result = "".join(c for c in dict.fromkeys(letters + operand.letters) if c in kept)
            matrix = contract(matrix, x, f"{letters},{operand.letters}->{result}")
            letters = result
        return permute(matrix, tuple(letters.index(letter) for letter in match.result))


def _vectors(operand: Operand, fixed: list[Any]) -> Expression:
    """The vectors of an operand as columns, not conjugated."""
    if operand.basis.source.primitive is EIGH:
        return fixed[1]  # type: ignore[no-any-return]
    u, s, vh, _ = fixed
    return _first_columns(u if operand.basis.side == "u" else adjoint(vh), s.shape[-1])


def _matrix(match: Match, fixed: list[Any], h: Any) -> Expression:
    """V diag(h) V^H."""
    left, right = _vectors(match.left, fixed), _vectors(match.right, fixed)
    row = reshape(h, (*h.shape[:-1], 1, h.shape[-1]))
    return multiply(left * row, adjoint(right))


def _dilated(
    sides: str, value: Expression, a: Expression, fixed: list[Any], g: list[Expression]
) -> Expression:
    """A function of singular values, as a block of a function of a Hermitian matrix."""
    u, s, vh, _ = fixed
    (*lead, rows, columns), count = a.shape, s.shape[-1]
    size, rest = rows + columns, rows + columns - 2 * count
    ranges = {"u": (0, rows, 1), "v": (rows, size, 1)}
    stack = tuple((0, n, 1) for n in lead)
    block = (*stack, ranges[sides[0]], ranges[sides[1]])
    square = array_type((*lead, size, size), value.dtype)
    whole = update(zeros(a.builder, square), value, block)
    given = array_type(square.shape, u.dtype)
    lower = (*stack, ranges["v"], ranges["u"])
    big = update(zeros(a.builder, given), adjoint(cast(a, u.dtype)), lower)
    none = zeros(a.builder, array_type((*lead, rest), s.dtype))
    values = concatenate([s, -s, none] if rest else [s, -s], s.ndim - 1)
    first = _first_columns(u, count), adjoint(_first_columns(adjoint(vh), count))
    vectors = bind(DILATED_BASIS, *first)
    # Vectors that complete the basis lie on the longer side.
    filled = sides != ("uu" if rows > columns else "vv")
    sign = 1 if sides[0] == sides[1] else -1
    extended = []
    for number, h in enumerate(g):
        parts = [h, h if sign > 0 else -h]
        if rest:
            at_zero: Any = sum_axes(bind(ZERO_WEIGHTS, s) * h, (h.ndim - 1,))
            if sign < 0 or (number == 0 and not filled):
                at_zero = at_zero * 0.0
            parts.append(broadcast_to(reshape(at_zero, (*lead, 1)), (*lead, rest)))
        extended.append(concatenate(parts, h.ndim - 1))
        sign = -sign
    extended_function = bind(SPECTRAL, whole, values, vectors, big, *extended, lower=True)
    return take(extended_function, block)


def _first_columns(x: Expression, count: int) -> Expression:
    """The first columns."""
    if x.shape[-1] == count:
        return x
    return take(x, (*((0, n, 1) for n in x.shape[:-1]), (0, count, 1)))
