"""Reading a program: which values are eigenvectors, with their columns scaled, and by what.

`Reader.basis` finds V diag(h), up to transposition, conjugation, a range of columns, and a product
with something else over the rows; `Reader.pair` finds entrywise products of two of them; and
`column` what is computed entry by entry from the eigenvalues. Axes are labelled: `ROW` and `VALUE`
for those of V, numbers for the axes of a stack, `Out` for those of what V was multiplied with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from adjoint.primitives.elementwise.arithmetic import (
    ADD,
    DIVIDE,
    INTEGER_POWER,
    MULTIPLY,
    NEGATIVE,
    SQUARE,
)
from adjoint.primitives.elementwise.conversion import CAST, CONJUGATE, IMAG, REAL
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.kinks import ABSOLUTE
from adjoint.primitives.linear_algebra.spectra.eigen import EIGH
from adjoint.primitives.linear_algebra.spectra.rotations import CLUSTER_MEAN
from adjoint.primitives.linear_algebra.spectra.singular_values import SLOPE as SINGULAR_SLOPE
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD
from adjoint.primitives.structure.contraction import CONTRACT, split_spec
from adjoint.primitives.structure.diagonals import DIAGONAL_MATRIX
from adjoint.primitives.structure.moving import BROADCAST, SUM, TRANSPOSE
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Atom, Equation, Literal, Program, Variable
from adjoint.transforms.recognition.rewriting import Makers

ROW: Final = "row"
VALUE: Final = "value"
Range = tuple[int, int, int]


@dataclass(frozen=True)
class Out:
    """An axis of what vectors were multiplied with."""

    number: int


Label = str | int | Out | None
Labels = tuple[Label, ...]


@dataclass(frozen=True)
class Scale:
    """A factor along the columns: an atom whose axes have these labels."""

    atom: Atom
    labels: Labels
    conjugated: bool = False
    inverted: bool = False


@dataclass(frozen=True)
class Against:
    """What vectors were multiplied with, over their rows."""

    atom: Atom
    labels: Labels
    conjugated: bool = False


@dataclass(frozen=True)
class SpectralBasis:
    """The vectors of a decomposition: those of `eigh`, or on the left (u) or right (v) of `svd`.

    picked: the range of columns that is left. against: what they were multiplied with.
    """

    source: Equation
    side: str
    labels: Labels
    conjugated: bool = False
    picked: Range | None = None
    scales: tuple[Scale, ...] = ()
    against: Against | None = None


@dataclass(frozen=True)
class Pair:
    """The entrywise product of two of them: for each axis its label in one and in the other.

    summed: the axes that were summed over. scales: further factors along the columns.
    """

    one: SpectralBasis
    two: SpectralBasis
    axes: tuple[tuple[Label, Label], ...]
    summed: tuple[tuple[Label, Label], ...] = ()
    scales: tuple[Scale, ...] = ()

    @property
    def labels(self) -> Labels:
        """The labels of its axes in the first."""
        return tuple(VALUE if VALUE in axis else axis[0] for axis in self.axes)


class Reader(Makers):
    """What a program's values are, by the equations that made them."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._bases: dict[Variable, SpectralBasis | None] = {}
        self._pairs: dict[Variable, Pair | None] = {}

    def related(self, one: Atom, other: Atom) -> bool:
        """Whether two values depend on a common input."""
        return bool(self._inputs.get(one, 0) & self._inputs.get(other, 0))

    @cached_property
    def _inputs(self) -> dict[Atom, int]:
        """For each value the inputs that it depends on, as the bits of a number."""
        dependencies: dict[Atom, int] = {x: 1 << n for n, x in enumerate(self.program.inputs)}
        for equation in self.program.equations:
            bits = 0
            for atom in equation.inputs:
                bits |= dependencies.get(atom, 0)
            dependencies.update(dict.fromkeys(equation.outputs, bits))
        return dependencies

    def basis(self, atom: Atom) -> SpectralBasis | None:
        """The value as vectors, if it is that."""
        if not isinstance(atom, Variable):
            return None
        if atom not in self._bases:
            self._bases[atom] = self._basis(atom)
        return self._bases[atom]

    def _basis(self, atom: Variable) -> SpectralBasis | None:
        equation, place = self.maker(atom)
        if equation is None:
            return None
        primitive = equation.primitive
        if primitive in (EIGH, SVD):
            return _given(equation, place)
        if primitive in (MULTIPLY, SCALE, DIVIDE):
            return self._scaled(equation)
        if primitive is CONTRACT:
            return self._contracted(equation)
        if primitive is SLICE:
            whole = self._of_full_svd(equation)
            if whole is not None:
                return whole
        if primitive not in (TRANSPOSE, CONJUGATE, CAST, NEGATIVE, SLICE):
            return None
        inner = self.basis(equation.inputs[0])
        if inner is None:
            return None
        if primitive is TRANSPOSE:
            return replace(inner, labels=tuple(inner.labels[n] for n in equation.params["axes"]))
        if primitive is CONJUGATE:
            return _conjugated(inner)
        if primitive is NEGATIVE:
            return replace(inner, scales=(*inner.scales, Scale(Literal(-1.0), ())))
        if primitive is CAST:
            return inner if _keeps(equation) else None
        return _sliced(inner, equation)

    def _of_full_svd(self, equation: Equation) -> SpectralBasis | None:
        """The columns U[:, :k] of a square U, or rows of V^H, that belong to singular values."""
        source, place = self.maker(equation.inputs[0])
        if source is None or source.primitive is not SVD:
            return None
        basis = _given(source, place, whole=True)
        count = source.outputs[1].type.shape[-1]
        if basis is None or equation.inputs[0].type.shape[basis.labels.index(VALUE)] == count:
            return None
        columns = _sliced(basis, equation)
        if columns is None or columns.picked != (0, count, 1):
            return None
        return replace(columns, picked=None)

    def _scaled(self, equation: Equation) -> SpectralBasis | None:
        """Vectors times something that varies along the columns alone."""
        left, right = equation.inputs
        inverted = equation.primitive is DIVIDE
        for whole, factor in ((left, right), (right, left)):
            inner = self.basis(whole)
            if inner is None or (inverted and whole is right) or self.basis(factor) is not None:
                continue
            if whole.type.shape != equation.outputs[0].type.shape:
                return None
            scale = self.scale(factor, inner.labels, inverted)
            return None if scale is None else replace(inner, scales=(*inner.scales, scale))
        return None

    def scale(self, factor: Atom, labels: Labels, inverted: bool = False) -> Scale | None:
        """A factor of something with these labels, if it varies along columns and stacks alone."""
        maker, _ = self.maker(factor)
        if maker is not None and maker.primitive is BROADCAST:
            factor = maker.inputs[0]
        shape = factor.type.shape
        own = labels[len(labels) - len(shape) :]
        kept = [label == VALUE or isinstance(label, int) for label in own]
        if any(n != 1 and not keep for n, keep in zip(shape, kept, strict=True)):
            return None
        thin = tuple(
            label if n != 1 or label == VALUE else None for label, n in zip(own, shape, strict=True)
        )
        return Scale(factor, thin, inverted=inverted)

    def _contracted(self, equation: Equation) -> SpectralBasis | None:
        """Vectors times a diagonal matrix, numbers along the columns, or anything over the rows."""
        left, right, result = split_spec(equation.params["spec"])
        one, two = equation.inputs
        for whole, letters, factor, others in ((one, left, two, right), (two, right, one, left)):
            inner = self.basis(whole)
            if inner is None or self.basis(factor) is not None:
                continue
            named: dict[str, Label] = dict(zip(letters, inner.labels, strict=True))
            diagonal, _ = self.maker(factor)
            if diagonal is not None and diagonal.primitive is DIAGONAL_MATRIX:
                product = _times_diagonal(inner, named, others, result, diagonal.inputs[0])
                if product is not None:
                    return product
            if set(others) <= set(letters) and set(result) == set(letters):
                scale = self.scale(factor, tuple(named[letter] for letter in others))
                if scale is None:
                    return None
                labels = tuple(named[letter] for letter in result)
                return replace(inner, labels=labels, scales=(*inner.scales, scale))
            return _against(inner, named, factor, others, result)
        return None

    # --- products of two -------------------------------------------------------------------------

    def pair(self, atom: Atom) -> Pair | None:
        """The value as an entrywise product of two, if it is that."""
        if not isinstance(atom, Variable):
            return None
        if atom not in self._pairs:
            self._pairs[atom] = self._pair(atom)
        return self._pairs[atom]

    def _pair(self, atom: Variable) -> Pair | None:
        equation, _ = self.maker(atom)
        if equation is None:
            return None
        primitive, inputs = equation.primitive, equation.inputs
        if primitive is MULTIPLY:
            one, two = self.basis(inputs[0]), self.basis(inputs[1])
            if one is not None and two is not None:
                return _paired(one, two) if inputs[0].type.shape == inputs[1].type.shape else None
        if primitive is SQUARE or (primitive is INTEGER_POWER and equation.params["exponent"] == 2):
            return self._squared(inputs[0])
        if primitive in (MULTIPLY, SCALE, DIVIDE):
            return self._scaled_pair(equation)
        if primitive is ADD:
            return self._size(equation)
        if primitive is SUM:
            return self._summed(equation)
        if primitive in (REAL, CAST):
            return self.pair(inputs[0])
        return self.pair(inputs[1]) if primitive in (CLUSTER_MEAN, SINGULAR_SLOPE) else None

    def _squared(self, atom: Atom) -> Pair | None:
        size, _ = self.maker(atom)
        if size is not None and size.primitive is ABSOLUTE:
            one = self.basis(size.inputs[0])
            return None if one is None else _paired(one, _conjugated(one))
        one = self.basis(atom)
        return None if one is None or atom.type.dtype.kind == "c" else _paired(one, one)

    def _size(self, equation: Equation) -> Pair | None:
        """|z|^2 as the sum of the squares of both parts."""
        parts = [self.maker(atom)[0] for atom in equation.inputs]
        if any(square is None or square.primitive is not SQUARE for square in parts):
            return None
        inner = [self.maker(square.inputs[0])[0] for square in parts if square is not None]
        if [part.primitive if part else None for part in inner] != [REAL, IMAG]:
            return None
        wholes = {part.inputs[0] for part in inner if part is not None}
        one = self.basis(wholes.pop()) if len(wholes) == 1 else None
        return None if one is None else _paired(one, _conjugated(one))

    def _scaled_pair(self, equation: Equation) -> Pair | None:
        left, right = equation.inputs
        inverted = equation.primitive is DIVIDE
        for whole, factor in ((left, right), (right, left)):
            inner = self.pair(whole)
            if inner is None or (inverted and whole is right):
                continue
            if whole.type.shape != equation.outputs[0].type.shape:
                return None
            scale = self.scale(factor, inner.labels, inverted)
            return None if scale is None else replace(inner, scales=(*inner.scales, scale))
        return None

    def _summed(self, equation: Equation) -> Pair | None:
        inner = self.pair(equation.inputs[0])
        if inner is None:
            return None
        gone = equation.params["axes"]
        if any(VALUE in inner.axes[n] or isinstance(inner.axes[n][0], int) for n in gone):
            return None
        kept = tuple(axis for n, axis in enumerate(inner.axes) if n not in gone)
        return replace(inner, axes=kept, summed=(*inner.summed, *(inner.axes[n] for n in gone)))


def closure(equations: Iterable[Equation], start: set[Variable]) -> set[Variable]:
    """All values that depend on some of these."""
    dependent = set(start)
    for equation in equations:
        if any(atom in dependent for atom in equation.inputs):
            dependent.update(equation.outputs)
    return dependent


def _given(source: Equation, place: int, whole: bool = False) -> SpectralBasis | None:
    """The vectors as a decomposition gives them."""
    stack = range(source.outputs[0].type.ndim - (1 if source.primitive is EIGH else 2))
    if source.primitive is EIGH:
        return SpectralBasis(source, "v", (*stack, ROW, VALUE)) if place == 1 else None
    if place not in (0, 2):
        return None
    u, s, vh, _ = (variable.type.shape for variable in source.outputs)
    if not whole and (u[-1] if place == 0 else vh[-2]) != s[-1]:
        return None
    if place == 0:
        return SpectralBasis(source, "u", (*stack, ROW, VALUE))
    return SpectralBasis(source, "v", (*stack, VALUE, ROW), conjugated=True)


def _conjugated(inner: SpectralBasis) -> SpectralBasis:
    scales = tuple(replace(scale, conjugated=not scale.conjugated) for scale in inner.scales)
    against = inner.against
    if against is not None:
        against = replace(against, conjugated=not against.conjugated)
    return replace(inner, conjugated=not inner.conjugated, scales=scales, against=against)


def _keeps(equation: Equation) -> bool:
    """Whether a cast keeps the precision, and what is complex complex."""
    old, new = equation.inputs[0].type.dtype, equation.outputs[0].type.dtype
    return old.char + new.char in ("ff", "dd", "FF", "DD", "fF", "dD")


def _times_diagonal(
    inner: SpectralBasis, named: dict[str, Label], others: str, result: str, numbers: Atom
) -> SpectralBasis | None:
    gone = [letter for letter in others if letter in named]
    kept = [letter for letter in others if letter not in named]
    if len(gone) != 1 or len(kept) != 1 or named[gone[0]] != VALUE or gone[0] in result:
        return None
    labels = tuple(VALUE if letter == kept[0] else named[letter] for letter in result)
    return replace(inner, labels=labels, scales=(*inner.scales, Scale(numbers, (VALUE,))))


def _against(
    inner: SpectralBasis, named: dict[str, Label], factor: Atom, others: str, result: str
) -> SpectralBasis | None:
    """Vectors multiplied over their rows, and over nothing else."""
    gone = [letter for letter in named if letter in others and letter not in result]
    if inner.against is not None or [named[letter] for letter in gone] != [ROW]:
        return None
    if any(named.get(letter) == VALUE for letter in others):
        return None
    new: dict[str, Label] = {**named}
    for letter in others:
        if letter not in new:
            new[letter] = Out(len(new))
    against = Against(factor, tuple(new[letter] for letter in others))
    return replace(inner, labels=tuple(new[letter] for letter in result), against=against)


def _paired(one: SpectralBasis, two: SpectralBasis) -> Pair | None:
    """Axis by axis; the axes of values and of stacks must meet their own kind."""
    if one.source is not two.source or one.picked != two.picked:
        return None
    axes = tuple(zip(one.labels, two.labels, strict=True))
    for first, second in axes:
        special = any(label == VALUE or isinstance(label, int) for label in (first, second))
        if special and first != second:
            return None
    return Pair(one, two, axes)


def _sliced(inner: SpectralBasis, equation: Equation) -> SpectralBasis | None:
    picked = None
    shape = equation.inputs[0].type.shape
    for entry, label, length in zip(equation.params["index"], inner.labels, shape, strict=True):
        if entry == (0, length, 1):
            continue
        if label != VALUE or isinstance(entry, int) or inner.picked or inner.scales:
            return None
        picked = entry
    return replace(inner, picked=picked) if picked else inner
