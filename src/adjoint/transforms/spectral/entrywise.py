"""What is computed from eigenvalues entry by entry, so that it has a derivative entry by entry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adjoint.program import Atom, Equation, Variable
from adjoint.transforms.spectral.columns import VALUE, Labels, Range, Reader, Scale, closure

# What a tangent of eigenvalues goes through: their mean where they coincide, and a kink at zero.
# Functions of matrices need neither.
SLOPES: Final = frozenset({"cluster_mean", "singular_slope"})
_ENTRYWISE: Final = frozenset(
    {"scale", "select", "integer_power", "real", "imag", "cast", "hard", "tame"}
)
_STRUCTURAL: Final = frozenset({"broadcast", "reshape"})
_WHOLE: Final = frozenset({"sum", "max", "min"})


class Unmatched(Exception):
    """A value has no such form."""


class Chain:
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
        found = self._find(scale.atom)
        if found is None:
            return
        labels, sliced = found
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
        found = [self._find(each) for each in equation.inputs]
        if all(each is None for each in found):  # it depends on such sums alone
            if self._kind(atom) is None:
                raise Unmatched  # np.array([w[0], w[1]]), say, is a function of w after all
            self.leaves.append(atom)
            return None
        result = self._through(equation, found)
        self.equations.append(equation)
        return result

    def _through(
        self, equation: Equation, found: list[tuple[Labels, bool] | None]
    ) -> tuple[Labels, bool]:
        """The labels of an equation's result, by those of its operands."""
        name, shape = equation.primitive.name, equation.outputs[0].type.shape
        present = [
            (*each, x.type.shape) for x, each in zip(equation.inputs, found, strict=True) if each
        ]
        labels, sliced, old = present[0]
        if _is_entrywise(equation):
            padded = [(_padded(each[0], len(shape)), each[1]) for each in present]
            if any(each != padded[0] for each in padded) or _solid(old) != _solid(shape):
                raise Unmatched
            return padded[0]
        if name == "reshape":
            return _reshaped(old, shape, labels), sliced
        if name == "transpose":
            return tuple(labels[n] for n in equation.params["axes"]), sliced
        if name == "broadcast" and _solid(old) == _solid(shape):
            return _padded(labels, len(shape)), sliced
        if name == "slice":
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
            found = self._kind_of(self.reader.makers[atom][0])
            self._kinds[atom] = "one" if found is None and atom.type.size == 1 else found
        return self._kinds[atom]

    def _kind_of(self, equation: Equation) -> str | None:
        name, shape = equation.primitive.name, equation.outputs[0].type.shape
        kinds = {self._kind(each) for each in equation.inputs}
        if name in SLOPES:
            return self._kind(equation.inputs[1])
        if None in kinds:
            return None
        if "one" in kinds:
            uniform = kinds <= {"one", "same"}
            return "one" if uniform and (name in _STRUCTURAL or _is_entrywise(equation)) else None
        if name in _WHOLE and not _solid(shape):
            return "same"
        if name == "contract" and not shape and equation.inputs[0] is equation.inputs[1]:
            return "same"
        if name not in _STRUCTURAL and not _is_entrywise(equation):
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
    name = equation.primitive.name
    return name in SLOPES or equation.primitive.ufunc is not None or name in _ENTRYWISE


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
