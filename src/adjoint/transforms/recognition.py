"""What is recognised before a program is differentiated, since step by step it would go wrong.

- The square of a square root has the derivatives of what is under it, also at 0; so have those of
  an absolute value and of a hypotenuse, and other even powers.
- log(b + exp(x)) and log(cosh(x)), whose slopes step by step would lose all digits.
- V diag(g(l)) V^H, with the eigenvalues and eigenvectors of a Hermitian matrix A, is the function
  g(A), whose derivatives exist where eigenvalues coincide, and are not those of V and l there. So
  are products with it, and U diag(g(s)) V^H of singular values.
- Which eigenvectors are used otherwise: `rotation` refuses those of equal eigenvalues.

Values stay the same to the last bit; only derivatives are taken by another way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import array_type
from adjoint.primitives.declaration import UFUNCS, Primitive
from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER, MULTIPLY, SQUARE, integer_power
from adjoint.primitives.elementwise.conversion import IMAG, REAL, STOP_GRADIENT, cast, conjugate
from adjoint.primitives.elementwise.kinks import ABSOLUTE
from adjoint.primitives.elementwise.smooth import ROOT_OF_SQUARES, SQRT
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.identities import same_as
from adjoint.primitives.linear_algebra.dilation import DILATED_BASIS, ZERO_WEIGHTS
from adjoint.primitives.linear_algebra.eigen import EIGH
from adjoint.primitives.linear_algebra.singular_values import SVD
from adjoint.primitives.linear_algebra.spectral import KNOWN, SPECTRAL
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
from adjoint.program import Atom, Builder, Equation, Literal, Program, Variable, operation
from adjoint.program.builder import lookup
from adjoint.program.nested import quiet
from adjoint.transforms.columns import VALUE, Reader, Scale
from adjoint.transforms.entrywise import SLOPES
from adjoint.transforms.logarithms import LogOfSum, logarithms, with_good_slopes
from adjoint.transforms.matching import Match, Operand, matches, used_vectors

PushForward = Callable[..., tuple[Sequence[Atom], Sequence[Atom | None]]]


def recognised(program: Program, push_forward: PushForward) -> Program:
    """The program with what is recognised in it, ready to be differentiated."""
    primitives = {equation.primitive for equation in program.equations}
    spectral = not primitives.isdisjoint((EIGH, SVD))
    roots = not primitives.isdisjoint(_ROOTS) and not primitives.isdisjoint(
        (MULTIPLY, SQUARE, INTEGER_POWER)
    )
    ufuncs = {primitive.ufunc for primitive in primitives}
    sums = not ufuncs.isdisjoint((np.log, np.log1p)) and not ufuncs.isdisjoint((np.exp, np.cosh))
    if not spectral and not roots and not sums:
        return program
    reader = Reader(program)
    functions = matches(reader) if spectral else {}
    squares = _squares(reader) if roots else {}
    sums_found = logarithms(reader) if sums else {}
    if not spectral and not squares and not sums_found:
        return program
    return _RecognitionRewriting(program, functions, squares, sums_found, push_forward).program()


# --- squares of roots -----------------------------------------------------------------------------


_ROOTS = (SQRT, ROOT_OF_SQUARES, ABSOLUTE, UFUNCS[np.hypot])


def _squares(reader: Reader) -> dict[Equation, Equation]:
    """For each even power of a square root, the equation that takes the root."""
    numbers = _numbered(reader.program)
    roots = {}
    for equation in reader.program.equations:
        primitive, inputs = equation.primitive, equation.inputs
        even = primitive is INTEGER_POWER and equation.params["exponent"] in range(2, 100, 2)
        once = primitive is SQUARE or even
        twice = primitive is MULTIPLY and numbers.get(inputs[0]) == numbers.get(inputs[1], -1)
        root, _ = reader.maker(inputs[0]) if once or twice else (None, 0)
        if root is not None and root.primitive in _ROOTS:
            result = root.outputs[0].type
            if result.dtype.kind == "f" and result.shape == equation.outputs[0].type.shape:
                roots[equation] = root
    return roots


def _under(primitive: Primitive, operands: list[Expression]) -> Expression:
    """What is under a root, as an expression of the root's operands."""
    if primitive in (SQRT, ROOT_OF_SQUARES):
        return operands[0]
    parts = operands
    if primitive is ABSOLUTE and operands[0].dtype.kind == "c":
        parts = [bind(REAL, operands[0]), bind(IMAG, operands[0])]
    first, *others = (np.square(part) for part in parts)
    total: Expression = sum(others, first)
    return total


def _numbered(program: Program) -> dict[Any, int]:
    """A number for each value, the same for those that are computed in the same way."""
    numbers: dict[Any, int] = {variable: n for n, variable in enumerate(program.inputs)}
    known: dict[Any, int] = {}
    for equation in program.equations:
        given = tuple(
            numbers[a] if isinstance(a, Variable) else ("literal", a.key) for a in equation.inputs
        )
        for place, variable in enumerate(equation.outputs):
            key = (equation.operation, given, place)
            numbers[variable] = known.setdefault(key, len(program.inputs) + len(known))
    return numbers


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


# --- the program that comes of it -----------------------------------------------------------------


class _RecognitionRewriting:
    """Writes a program again, with what was recognised in it."""

    def __init__(
        self,
        program: Program,
        functions: dict[Equation, Match],
        squares: dict[Equation, Equation],
        sums: dict[Equation, LogOfSum],
        push_forward: PushForward,
    ) -> None:
        self.old = program
        self.functions = functions
        self.squares = squares
        self.sums = sums
        self.push_forward = push_forward
        self.builder = Builder()
        self.builder.inputs = list(program.inputs)
        self.names: dict[Variable, Atom] = {variable: variable for variable in program.inputs}

    def program(self) -> Program:
        """The new program."""
        loose = self._loose()
        for number, equation in enumerate(self.old.equations):
            self.builder.origin = number if equation.origin is None else equation.origin
            self.builder.derived = equation.derived
            op = equation.operation
            if equation.primitive is EIGH:
                used = used_vectors(self.old, loose, equation)
                op = operation(equation.primitive, **{**equation.params, "used": used})
            operands = [lookup(self.names, atom) for atom in equation.inputs]
            results = self.builder.emit(op, operands)
            self.names.update(zip(equation.outputs, results, strict=True))
            self.builder.derived = True
            if equation in self.squares:
                root = self.squares[equation]
                under = _under(root.primitive, [*map(self._expression, root.inputs)])
                half = equation.params.get("exponent", 2) // 2
                value = self._expression(equation.outputs[0])
                result = same_as(value, integer_power(under, half))
                self.names[equation.outputs[0]] = result.atom
            elif equation in self.sums:
                whole = with_good_slopes(self.sums[equation], self._expression)
                result = same_as(self._expression(equation.outputs[0]), whole)
                self.names[equation.outputs[0]] = result.atom
            elif equation in self.functions:
                result = self._function(equation, self.functions[equation])
                self.names[equation.outputs[0]] = result.atom
        self.builder.origin, self.builder.derived = None, False
        return self.builder.build([lookup(self.names, atom) for atom in self.old.outputs])

    def _expression(self, atom: Atom) -> Expression:
        return Expression(self.builder, lookup(self.names, atom))

    def _loose(self) -> list[Equation]:
        """The equations that outputs depend on, otherwise than through functions of matrices."""
        needed = {atom for atom in self.old.outputs if isinstance(atom, Variable)}
        loose = []
        for equation in reversed(self.old.equations):
            if not any(variable in needed for variable in equation.outputs):
                continue
            inputs: Sequence[Atom] = equation.inputs
            match = self.functions.get(equation)
            if match is None:
                loose.append(equation)
            else:
                others = [operand.basis.against for operand in (match.left, match.right)]
                known = [against.atom for against in others if against is not None]
                inputs = (match.source.inputs[0], *match.leaves, *known)
                needed.update(v for v in match.source.outputs)
            needed.update(atom for atom in inputs if isinstance(atom, Variable))
        return loose

    # --- functions of matrices -------------------------------------------------------------------

    def _function(self, equation: Equation, match: Match) -> Expression:
        """The result of an equation, with the derivatives of the function of a matrix."""
        value = self._expression(equation.outputs[0])
        leaves = [lookup(self.names, leaf) for leaf in match.leaves]
        fixed = [bind(STOP_GRADIENT, self._expression(output)) for output in match.source.outputs]
        values = [bind(STOP_GRADIENT, self._expression(variable)) for variable in match.values]
        g = []
        for program in _with_derivatives(match, self.push_forward):
            origin = self.builder.origin
            (h,) = self.builder.inline(program, [*(x.atom for x in values), *leaves])
            self.builder.origin, self.builder.derived = origin, True
            g.append(self._whole(match, Expression(self.builder, h), values[0].shape))
        if match.plain:
            wanted = match.stack + match.left.row + match.right.row
            order = tuple(match.result.index(letter) for letter in wanted)
            function = self._spectral(match, permute(value, order), fixed, g)
            return permute(function, inverse_permutation(order))
        matrix = self._spectral(match, _matrix(match, fixed, g[0]), fixed, g)
        function = self._contracted(match, matrix)
        return same_as(value, function)  # type: ignore[no-any-return]

    def _whole(self, match: Match, h: Expression, shape: tuple[int, ...]) -> Expression:
        """A function on some of the values, which is zero on the others."""
        picked = match.left.basis.picked
        if picked is None:
            return h
        index = (*((0, n, 1) for n in shape[:-1]), picked)
        return update(zeros(self.builder, array_type(shape, h.dtype)), h, index)

    def _spectral(
        self, match: Match, value: Expression, fixed: list[Any], g: list[Expression]
    ) -> Expression:
        a = self._expression(match.source.inputs[0])
        if match.source.primitive is SVD:
            sides = match.left.basis.side + match.right.basis.side
            return _dilated(sides, value, a, fixed, g)
        lower = match.source.params["lower"]
        values, vectors = fixed
        result: Expression = bind(SPECTRAL, value, values, vectors, a, *g, lower=lower)
        return result

    def _contracted(self, match: Match, matrix: Expression) -> Expression:
        """The products of the function of a matrix with what the vectors were multiplied with."""
        letters = match.stack + match.left.row + match.right.row
        right = match.right
        later = ["" if right.basis.against is None else right.letters + right.row, ""]
        for operand, still in zip((match.left, match.right), later, strict=True):
            if operand.basis.against is None:
                continue
            x = self._expression(operand.basis.against.atom)
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
    result = bind(SPECTRAL, whole, values, vectors, big, *extended, lower=True)
    return take(result, block)


def _first_columns(x: Expression, count: int) -> Expression:
    """The first columns."""
    if x.shape[-1] == count:
        return x
    return take(x, (*((0, n, 1) for n in x.shape[:-1]), (0, count, 1)))
