"""Functions of matrices in a program: sums over columns of V h V^H, or of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any, Final

from adjoint.primitives.linear_algebra.spectra.eigen import EIGH, EIGVALSH
from adjoint.primitives.linear_algebra.spectra.rotations import COMPUTED
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD, SVDVALS
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.moving import SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Equation, Program, Variable
from adjoint.transforms.recognition.spectral.columns import (
    ROW,
    VALUE,
    Label,
    Pair,
    Reader,
    Scale,
    SpectralBasis,
)
from adjoint.transforms.recognition.spectral.entrywise import Unmatched, ValueChain

_VALUES: Final = {EIGH: (0,), SVD: (1, 3)}  # the places of the values among the results
_VALUES_ALONE: Final = {EIGH: EIGVALSH, SVD: SVDVALS}
_WIDEST: Final = 4  # a matrix longer than this times its breadth costs too much as a dilation


@dataclass(frozen=True)
class Operand:
    """Vectors in a sum over columns, and the letters of the axes that they bring into it.

    row: the letter of the matrix's own axis. letters: those of what they were multiplied with.
    """

    basis: SpectralBasis
    row: str
    letters: str


@dataclass(frozen=True)
class Match:
    """An equation whose result is sum_k V_pk h_k conj(V_qk), or products with that matrix.

    left, right: V and its conjugate. stack: letters of the axes of a stack. result: those of the
    result. scales, chain, leaves: how h comes from the values, see `entrywise.py`.
    """

    left: Operand
    right: Operand
    stack: str
    result: str
    scales: tuple[Scale, ...]
    values: tuple[Variable, ...]
    chain: tuple[Equation, ...]
    leaves: tuple[Variable, ...]

    @property
    def source(self) -> Equation:
        """The decomposition."""
        return self.left.basis.source

    @property
    def plain(self) -> bool:
        """Whether the result is the function of the matrix itself."""
        return self.left.basis.against is None and self.right.basis.against is None


def matches(reader: Reader) -> dict[Equation, Match]:
    """All functions of matrices in a program, by the equation whose result they are."""
    functions = {}
    for equation in reader.program.equations:
        primitive = equation.primitive
        match = None
        if primitive is CONTRACT:
            match = _product(reader, equation) or _weighted(reader, equation)
        elif primitive is SUM:
            match = _sum(reader, equation)
        if match is not None:
            functions[equation] = match
    return functions


def value_variables(program: Program, source: Equation) -> tuple[Variable, ...]:
    """All variables that hold the values of a decomposition, also if it was taken twice."""
    primitive = source.primitive
    values: list[Variable] = []
    for equation in program.equations:
        same = equation.inputs == source.inputs
        if not same or equation.params.get("lower") != source.params.get("lower"):
            continue
        if equation.primitive is _VALUES_ALONE[primitive]:
            values.append(equation.outputs[0])
        elif equation.primitive is primitive:
            values += [equation.outputs[place] for place in _VALUES[primitive]]
    own = source.outputs[_VALUES[primitive][0]]
    return (own, *(variable for variable in values if variable is not own))


# --- the three forms ------------------------------------------------------------------------------


def _product(reader: Reader, equation: Equation) -> Match | None:
    """A product of two, summed over the columns."""
    one, two = (reader.basis(atom) for atom in equation.inputs)
    if one is None or two is None or one.source is not two.source or one.picked != two.picked:
        return None
    left, right, result = split_spec(equation.params["spec"])
    first = dict(zip(one.labels, left, strict=True))
    second = dict(zip(two.labels, right, strict=True))
    if first[VALUE] != second[VALUE] or first[VALUE] in result:
        return None
    stack = [label for label in first if isinstance(label, int)]
    if any(first[label] != second.get(label) for label in stack):
        return None
    letters = "".join(first[label] for label in sorted(stack))
    return _match(reader, (one, first), (two, second), letters, result, ())


def _sum(reader: Reader, equation: Equation) -> Match | None:
    """The sum over columns of an entrywise product of two."""
    pair = reader.pair(equation.inputs[0])
    if pair is None:
        return None
    gone = equation.params["axes"]
    values = [n for n, axis in enumerate(pair.axes) if VALUE in axis]
    if values[0] not in gone or any(isinstance(pair.axes[n][0], int) for n in gone):
        return None
    letters = ascii_letters[: len(pair.axes)]
    result = "".join(letter for n, letter in enumerate(letters) if n not in gone)
    return _of_pair(reader, pair, letters, result, ())


def _weighted(reader: Reader, equation: Equation) -> Match | None:
    """An entrywise product of two, multiplied with weights and summed over the columns."""
    left, right, result = split_spec(equation.params["spec"])
    one, two = equation.inputs
    for whole, letters, factor, others in ((one, left, two, right), (two, right, one, left)):
        pair = reader.pair(whole)
        if pair is None or reader.pair(factor) is not None:
            continue
        named = dict(zip(letters, pair.labels, strict=True))
        value = next(letter for letter, label in named.items() if label == VALUE)
        if value not in others or value in result or not set(others) <= set(letters):
            return None
        scale = reader.scale(factor, tuple(named[letter] for letter in others))
        return None if scale is None else _of_pair(reader, pair, letters, result, (scale,))
    return None


def _of_pair(
    reader: Reader, pair: Pair, letters: str, result: str, scales: tuple[Scale, ...]
) -> Match | None:
    spare = iter([c for c in ascii_letters if c not in letters])
    named = list(zip(letters, pair.axes, strict=True))
    named += [(next(spare), axis) for axis in pair.summed]
    first: dict[Label, str] = {axis[0]: letter for letter, axis in named}
    second: dict[Label, str] = {axis[1]: letter for letter, axis in named}
    stack = sorted(label for label in first if isinstance(label, int))
    letters = "".join(first[label] for label in stack)
    rest = (*pair.scales, *scales)
    return _match(reader, (pair.one, first), (pair.two, second), letters, result, rest)


def _match(
    reader: Reader, one: Any, two: Any, stack: str, result: str, scales: tuple[Scale, ...]
) -> Match | None:
    """The match of two bases with the letters of their labels, where it is one."""
    if one[0].conjugated and not two[0].conjugated:
        one, two = two, one
    source = one[0].source
    is_complex = any(variable.type.dtype.kind == "c" for variable in source.outputs)
    if is_complex and one[0].conjugated == two[0].conjugated:
        return None
    if source.primitive is SVD:
        rows, columns = source.inputs[0].type.shape[-2:]
        if max(rows, columns) > _WIDEST * min(rows, columns):
            return None
    spare = iter([c for c in ascii_letters if c not in {*one[1].values(), *two[1].values()}])
    left = _operand(one[0], one[1], next(spare))
    right = _operand(two[0], two[1], next(spare))
    if left.row == right.row or not set(result) <= {*stack, *left.letters, *right.letters}:
        return None
    values = value_variables(reader.program, source)
    scales = (*one[0].scales, *two[0].scales, *scales)
    chain = ValueChain(reader, values, source.inputs[0], one[0].picked)
    try:
        for scale in scales:
            chain.add(scale)
    except Unmatched:
        return None
    ordered = tuple(dict.fromkeys(chain.equations))
    # A decomposition that is taken again later has values that are not there yet, and no matter.
    read = (atom for equation in ordered for atom in equation.inputs)
    used = {*(scale.atom for scale in scales), *read}
    values = (values[0], *(variable for variable in values[1:] if variable in used))
    return Match(left, right, stack, result, scales, values, ordered, tuple(chain.leaves))


def _operand(basis: SpectralBasis, named: dict[Label, str], spare: str) -> Operand:
    if basis.against is None:
        return Operand(basis, named[ROW], named[ROW])
    letters = "".join(spare if label == ROW else named[label] for label in basis.against.labels)
    return Operand(basis, spare, letters)


def used_vectors(
    program: Program, equations: Sequence[Equation], source: Equation
) -> tuple[bool, ...] | str | None:
    """Which eigenvectors these equations use, where all of them say so; None for all.

    COMPUTED where they are picked by numbers that are computed: `V[:, np.argsort(-w)]`.
    """
    vectors = source.outputs[1]
    count = vectors.type.shape[-1]
    marks, computed = [False] * count, False
    waiting = [(vectors, vectors.type.ndim - 1)]
    while waiting:
        atom, axis = waiting.pop()
        if atom in program.outputs:
            return None
        for equation in equations:
            if atom not in equation.inputs:
                continue
            primitive, inputs = equation.primitive, equation.inputs
            if primitive is TRANSPOSE:
                waiting.append((equation.outputs[0], equation.params["axes"].index(axis)))
            elif primitive is SLICE:
                entry = equation.params["index"][axis]
                for place in (entry,) if isinstance(entry, int) else range(*entry):
                    marks[place] = True
            elif primitive is GATHER and inputs[0] is atom and axis < len(inputs) - 1:
                computed = True
            else:
                return None
    return COMPUTED if computed else tuple(marks)
