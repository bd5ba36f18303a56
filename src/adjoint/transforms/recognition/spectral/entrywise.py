"""What is computed from eigenvalues entry by entry, so that it has a derivative entry by entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adjoint.primitives.elementwise.arithmetic import INTEGER_POWER
from adjoint.primitives.elementwise.conversion import CAST, IMAG, REAL
from adjoint.primitives.elementwise.declaring import SCALE
from adjoint.primitives.elementwise.selection import SELECT
from adjoint.primitives.hardness import HARD, TAME
from adjoint.primitives.linear_algebra.spectra.rotations import CLUSTER_MEAN
from adjoint.primitives.linear_algebra.spectra.singular_values import SLOPE as SINGULAR_SLOPE
from adjoint.primitives.structure.contraction import CONTRACT
from adjoint.primitives.structure.moving import BROADCAST, RESHAPE, SUM, TRANSPOSE
from adjoint.primitives.structure.reductions import MAX, MIN
from adjoint.primitives.structure.slicing import SLICE
from adjoint.program import Atom, Equation, Variable
from adjoint.transforms.recognition.spectral.columns import (
    VALUE,
    Labels,
    Range,
    Reader,
    Scale,
    closure,
)

# What a tangent of eigenvalues goes through: their mean where they coincide, and a kink at zero.
# Functions of matrices need neither.
SLOPES: Final = frozenset({CLUSTER_MEAN, SINGULAR_SLOPE})
_ENTRYWISE: Final = frozenset({SCALE, SELECT, INTEGER_POWER, REAL, IMAG, CAST, HARD, TAME})
_STRUCTURAL: Final = frozenset({BROADCAST, RESHAPE})
_WHOLE: Final = frozenset({SUM, MAX, MIN})


class Unmatched(Exception):
    """A value has no such form."""


class ValueChain:
    """The equations between eigenvalues and factors of the columns.

    values: the variables that hold the eigenvalues. matrix: what they are the eigenvalues of.
    picked: the range of columns that is used. equations, leaves: what was found between the factors
    asked for and the eigenvalues, and what else goes into it. Sums over all eigenvalues are such
    leaves.
    """

    def __init__(
        self, reader: Reader, values: Iterable[Variable], matrix: Atom, picked: Range | None
    ) -> None:
        self.reader = reader
        self.values = set(values)
        self.matrix = matrix
        self.picked = picked
        self.dependent = closure(reader.program.equations, self.values)
        self.equations: list[Equation] = []
        self.leaves: list[Variable] = []
        self._known: dict[Variable, tuple[Labels, bool] | None] = {}
        self._kinds: dict[Variable, str | None] = {}

    def add(self, scale: Scale) -> None:
        """Find how a factor comes from the eigenvalues; Unmatched if not entry by entry."""
        form = self._find(scale.atom)
        if form is None:
            return
        labels, sliced = form
        if labels != scale.labels or (self.picked is not None and not sliced):
            raise Unmatched

    def _find(self, atom: Atom) -> tuple[Labels, bool] | None:
        if not isinstance(atom, Variable):
            return None
        if atom not in self._known:
            self._known[atom] = self._look(atom)
        return self._known[atom]

    def _look(self, atom: Variable) -> tuple[Labels, bool] | None:
        if atom in self.values:
            return (*range(atom.type.ndim - 1), VALUE), self.picked is None
        if atom not in self.dependent or atom.type.size == 1:
            if atom.type.size > 1 and atom.type.inexact and self.reader.related(atom, self.matrix):
                raise Unmatched  # eigenvalues found in another way, for all that is known
            self.leaves.append(atom)  # a sum over all eigenvalues, say, is one number
            return None
        equation, _ = self.reader.makers[atom]
        forms = [self._find(operand) for operand in equation.inputs]
        if all(form is None for form in forms):  # it depends on such sums alone
            if self._kind(atom) is None:
                raise Unmatched  # np.array([w[0], w[1]]), say, is a function of w after all
            self.leaves.append(atom)
            return None
        result = self._through(equation, forms)
        self.equations.append(equation)
        return result

    def _through(
        self, equation: Equation, forms: list[tuple[Labels, bool] | None]
    ) -> tuple[Labels, bool]:
        """The labels of an equation's result, by those of its operands."""
        primitive, shape = equation.primitive, equation.outputs[0].type.shape
        present = [
            (*form, x.type.shape) for x, form in zip(equation.inputs, forms, strict=True) if form
        ]
        labels, sliced, old = present[0]
        if _is_entrywise(equation):
            padded = [(_padded(form[0], len(shape)), form[1]) for form in present]
            if any(form != padded[0] for form in padded) or _solid(old) != _solid(shape):
                raise Unmatched
            return padded[0]
        if primitive is RESHAPE:
            return _reshaped(old, shape, labels), sliced
        if primitive is TRANSPOSE:
            return tuple(labels[n] for n in equation.params["axes"]), sliced
        if primitive is BROADCAST and _solid(old) == _solid(shape):
            return _padded(labels, len(shape)), sliced
        if primitive is SLICE:
            return self._sliced(equation, labels), True
        raise Unmatched

    def _kind(self, atom: Atom) -> str | None:
        """What becomes of a value if eigenvalues change places.

        "same": it stays. "along": it changes with them, entry by entry. "fixed": it stays, and its
        entries differ. "one": a number in all entries, such as one of the eigenvalues. None: the
        entries may become anything.
        """
        if not isinstance(atom, Variable) or atom not in self.dependent:
            return "same" if atom.type.size == 1 else "fixed"
        if atom in self.values:
            return "along"
        if atom not in self._kinds:
            kind = self._kind_of(self.reader.makers[atom][0])
            self._kinds[atom] = "one" if kind is None and atom.type.size == 1 else kind
        return self._kinds[atom]

    def _kind_of(self, equation: Equation) -> str | None:
        primitive, shape = equation.primitive, equation.outputs[0].type.shape
        kinds = {self._kind(operand) for operand in equation.inputs}
        if primitive in SLOPES:
            return self._kind(equation.inputs[1])
        if None in kinds:
            return None
        if "one" in kinds:
            uniform = kinds <= {"one", "same"}
            entrywise = primitive in _STRUCTURAL or _is_entrywise(equation)
            return "one" if uniform and entrywise else None
        if primitive in _WHOLE and not _solid(shape):
            return "same"
        if primitive is CONTRACT and not shape and equation.inputs[0] is equation.inputs[1]:
            return "same"
        if primitive not in _STRUCTURAL and not _is_entrywise(equation):
            return None
        if "along" in kinds:
            same = all(x.type.size == 1 or x.type.shape == shape for x in equation.inputs)
            return "along" if same and "fixed" not in kinds else None
        return "fixed" if "fixed" in kinds else "same"

    def _sliced(self, equation: Equation, labels: Labels) -> Labels:
        shape = equation.inputs[0].type.shape
        entries = equation.params["index"]
        for entry, label, length in zip(entries, labels, shape, strict=True):
            if entry != (0, length, 1) and (label != VALUE or entry != self.picked):
                raise Unmatched
        return labels


def _is_entrywise(equation: Equation) -> bool:
    primitive = equation.primitive
    return primitive in SLOPES or primitive.ufunc is not None or primitive in _ENTRYWISE


def _padded(labels: Labels, ndim: int) -> Labels:
    return (*(None,) * (ndim - len(labels)), *labels)


def _solid(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


def _reshaped(old: tuple[int, ...], new: tuple[int, ...], labels: Labels) -> Labels:
    """The labels after axes of length one come or go."""
    if _solid(old) != _solid(new):
        raise Unmatched
    rest = iter([label for label, n in zip(labels, old, strict=True) if n != 1])
    return tuple(next(rest) if n != 1 else None for n in new)
