"""Indices into arrays, as affine terms over the labels of loops.

A *label* names one index that loops run over. Two axes with the same label are walked together.
A *term* is where an access stands along an axis: whole multiples of labels and an offset. An
*access* is an array with a term for each of its axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from adjoint.program import Literal, Variable

SHORT_PIECE: Final = 32  # indices of a part that is not worth vectors of its own


class Label:
    """An index that runs from 0 to its extent; labels that are found equal are joined.

    unrolled: whether the code is written out for every value, so that it is known in each instance.
    """

    __slots__ = ("_parent", "extent", "members", "number", "unrolled")

    def __init__(self, extent: int, number: int) -> None:
        self.extent = extent
        self.number = number
        self.unrolled = False
        self.members: set[Any] = set()
        self._parent: Label = self

    def find(self) -> Label:
        """The label that stands for all that were joined with this one."""
        label = self
        while label._parent is not label:
            label._parent = label._parent._parent
            label = label._parent
        return label

    def join(self, other: Label) -> bool:
        """Make two labels one, unless one array or loop nest holds both."""
        one, two = self.find(), other.find()
        if one is two:
            return True
        if one.extent != two.extent or not one.members.isdisjoint(two.members):
            return False
        if len(one.members) < len(two.members):
            one, two = two, one
        two._parent = one
        one.members |= two.members
        return True

    def __repr__(self) -> str:
        return f"<label {self.number} of {self.extent}>"


@dataclass(frozen=True, slots=True)
class Dynamic:
    """An index that is known when the program runs: the index operand of this number."""

    place: int


@dataclass(frozen=True, slots=True)
class Quotient:
    """`term // divisor % modulus`, where a modulus of 0 stands for none."""

    term: Term
    divisor: int
    modulus: int


Atom = Label | Dynamic | Quotient


class Term(NamedTuple):
    """`sum of factor * atom + offset`; no atom occurs twice, and none with the factor 0."""

    parts: tuple[tuple[Atom, int], ...] = ()
    offset: int = 0

    @property
    def constant(self) -> bool:
        """Whether it is a number."""
        return not self.parts

    def scaled(self, factor: int, offset: int = 0) -> Term:
        """`factor * self + offset`."""
        if not factor:
            return Term((), offset)
        parts = tuple((atom, factor * f) for atom, f in self.parts)
        return Term(parts, factor * self.offset + offset)

    def atoms(self) -> list[Atom]:
        """All atoms, also those within quotients."""
        atoms: list[Atom] = []
        for atom, _ in self.parts:
            atoms.append(atom)
            if isinstance(atom, Quotient):
                atoms += atom.term.atoms()
        return atoms

    def labels(self) -> list[Label]:
        """All labels, found."""
        return [atom.find() for atom in self.atoms() if isinstance(atom, Label)]

    def bounds(self, known: Mapping[Any, tuple[int, int]]) -> tuple[int, int]:
        """The least and the greatest value.

        Args:
            known: the same of atoms; for labels that are not among them, of their whole extent.
        """
        low = high = self.offset
        for atom, factor in self.parts:
            if isinstance(atom, Label):
                label = atom.find()
                least, most = known.get(label) or (0, label.extent - 1)
            elif isinstance(atom, Dynamic):
                least, most = known[atom]
            else:
                least, most = atom.term.bounds(known)
                least, most = least // atom.divisor, most // atom.divisor
                if atom.modulus and (least < 0 or most >= atom.modulus):
                    least, most = 0, atom.modulus - 1
            low += min(factor * least, factor * most)
            high += max(factor * least, factor * most)
        return low, high


ZERO = Term()


def label_term(label: Label | None) -> Term:
    """The label itself, or 0 where an axis of length one has none."""
    return ZERO if label is None else Term(((label.find(), 1),))


def total(terms: Iterable[tuple[Term, int]]) -> Term:
    """The sum of multiples of terms."""
    parts: dict[Atom, int] = {}
    offset = 0
    for term, factor in terms:
        offset += factor * term.offset
        for atom, multiple in term.parts:
            parts[atom] = parts.get(atom, 0) + factor * multiple
    return Term(tuple((atom, f) for atom, f in parts.items() if f), offset)


def quotient(term: Term, divisor: int, modulus: int = 0) -> Term:
    """`term // divisor % modulus`, simplified where it can be; a modulus of 0 stands for none."""
    if any(isinstance(atom, Dynamic) for atom in term.atoms()):
        return Term(((Quotient(term, divisor, modulus), 1),))
    if modulus:  # what is a multiple of all that is left does not count
        period = divisor * modulus
        parts = tuple((atom, f) for atom, f in term.parts if f % period)
        term = Term(parts, term.offset % period if parts != term.parts else term.offset)
        low, high = term.bounds({})
        if low >= 0 and high // divisor < modulus:
            modulus = 0
    if divisor > 1:
        rest = Term(tuple((a, f) for a, f in term.parts if f % divisor), term.offset % divisor)
        low, high = rest.bounds({})
        if low >= 0 and high < divisor:
            parts = tuple((a, f // divisor) for a, f in term.parts if not f % divisor)
            term, divisor = Term(parts, term.offset // divisor), 1
    if term.constant:
        value = term.offset // divisor
        return Term((), value % modulus if modulus else value)
    if divisor == 1 and not modulus:
        return term
    return Term(((Quotient(term, divisor, modulus), 1),))


def recombined(term: Term) -> Term:
    """The same, with digits put together again: `t // 12 * 12 + t // 4 % 3 * 4 + t % 4` is `t`.

    So memory that holds an array row by row is reached without a division, however it is shaped.
    """
    parts = list(term.parts)
    while (pair := _neighbours(parts)) is not None:
        high, low, unit = pair
        modulus = low.modulus * high.modulus  # 0 where the higher digit has none
        rest = [part for part in parts if part[0] not in (high, low)]
        joined = quotient(low.term, low.divisor, modulus).scaled(unit)
        both = total([(Term(tuple(rest)), 1), (joined, 1)])
        parts, offset = list(both.parts), both.offset
        term = Term(both.parts, term.offset + offset)
    return term


def _neighbours(parts: Sequence[tuple[Atom, int]]) -> tuple[Quotient, Quotient, int] | None:
    """Two digits of a number, the higher one first, and what a unit of the lower one counts."""
    quotients = [(atom, factor) for atom, factor in parts if isinstance(atom, Quotient)]
    for high, factor in quotients:
        for low, unit in quotients:
            if (
                low.modulus
                and high.term == low.term
                and high.divisor == low.divisor * low.modulus
                and factor == unit * low.modulus
            ):
                return high, low, unit
    return None


def substitute(term: Term, values: Mapping[Any, Term]) -> Term:
    """The term with atoms replaced by terms."""
    pieces: list[tuple[Term, int]] = [(Term((), term.offset), 1)]
    for atom, factor in term.parts:
        if isinstance(atom, Quotient):
            inner = substitute(atom.term, values)
            pieces.append((quotient(inner, atom.divisor, atom.modulus), factor))
        else:
            key = atom.find() if isinstance(atom, Label) else atom
            replacement = values.get(key)
            pieces.append((Term(((key, 1),)) if replacement is None else replacement, factor))
    return total(pieces)


class SortedTerm(NamedTuple):
    """A term, sorted: a number, multiples of unrolled and of rolled labels, and the rest."""

    offset: int
    unrolled: tuple[tuple[Label, int], ...]
    rolled: tuple[tuple[Label, int], ...]
    odd: tuple[tuple[Quotient | Dynamic, int], ...]


def sort_term(term: Term) -> SortedTerm:
    """Sort the parts of a term."""
    unrolled: list[tuple[Label, int]] = []
    rolled: list[tuple[Label, int]] = []
    odd: list[tuple[Quotient | Dynamic, int]] = []
    for atom, factor in term.parts:
        if not isinstance(atom, Label):
            odd.append((atom, factor))
            continue
        label = atom.find()
        (unrolled if label.unrolled else rolled).append((label, factor))
    return SortedTerm(term.offset, tuple(unrolled), tuple(rolled), tuple(odd))


@dataclass(frozen=True, slots=True)
class IndexGuard:
    """Holds where `low <= term < high`, and `term - low` is a multiple of `step`."""

    term: Term
    low: int
    high: int
    step: int = 1

    @property
    def interval(self) -> tuple[Label, int, int] | None:
        """The label that alone decides it, the first value and the end; None if it is no such."""
        if self.step != 1 or len(self.term.parts) != 1:
            return None
        ((atom, factor),) = self.term.parts
        if not isinstance(atom, Label) or factor != 1:
            return None
        return atom.find(), self.low - self.term.offset, self.high - self.term.offset

    @property
    def share(self) -> float:
        """The share of the indices for which it holds; 1 where that is not known."""
        interval = self.interval
        if interval is None:
            return 1.0
        label, first, end = interval
        return max(min(end, label.extent) - max(first, 0), 0) / label.extent

    def masked(self, lane: Label) -> float:
        """The share of the lanes along a label that a mask costs, if it holds for few of them."""
        interval = self.interval
        if lane not in self.term.labels() or (
            interval and interval[2] - interval[1] >= SHORT_PIECE
        ):
            return 0.0
        return min(1.0, SHORT_PIECE / lane.extent) if interval else 1.0

    def known(self, labels: Mapping[Label, tuple[int, int]]) -> bool | None:
        """Whether it holds, where that follows from the least and the greatest value of labels."""
        if any(isinstance(atom, Dynamic) for atom in self.term.atoms()):
            return None
        least, most = self.term.bounds(labels)
        if most < self.low or self.high <= least:
            return False
        if least == most:
            return not (least - self.low) % self.step
        within = self.low <= least and most < self.high
        return True if within and self.step == 1 else None


class Access(NamedTuple):
    """The number that an array has at some terms.

    source: a variable that has memory or registers of its own, or a number. terms: one for each
    axis. guards: the access counts, and memory is read, only where all of them hold.
    """

    source: Variable | Literal
    terms: tuple[Term, ...] = ()
    guards: tuple[IndexGuard, ...] = ()

    def renamed(self) -> Access:
        """With every label as the one that stands for it."""
        return self.substituted({})

    def substituted(self, values: Mapping[Any, Term]) -> Access:
        """With atoms replaced by terms."""
        if not (self.terms or self.guards):  # a number
            return self
        terms = tuple(substitute(term, values) for term in self.terms)
        guards = tuple(
            IndexGuard(substitute(g.term, values), g.low, g.high, g.step) for g in self.guards
        )
        return Access(self.source, terms, guards)

    def labels(self) -> set[Label]:
        """All labels that it depends on."""
        labels = {label for term in self.terms for label in term.labels()}
        return labels.union(*(guard.term.labels() for guard in self.guards))


def row_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a C-contiguous array, in numbers and not in bytes."""
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))
