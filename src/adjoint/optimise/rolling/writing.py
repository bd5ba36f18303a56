"""Writes the loop for a block that is repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.loops.declared import SCAN
from adjoint.optimise.rolling.blocks import (
    Before,
    Invariant,
    Numbers,
    RepeatedBlock,
    Source,
    Varying,
    Within,
)
from adjoint.optimise.rolling.chains import Recurrence, chains_of
from adjoint.optimise.rolling.indices import affine, read, rows, write
from adjoint.primitives.calls.custom import CONSTANT, Constant
from adjoint.primitives.elementwise.conversion import PYTHON_NUMBER, cast
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.structure.gathering import GATHER
from adjoint.primitives.structure.slicing import INCREMENT, SLICE, UPDATE, stack, take
from adjoint.primitives.typing_rules import promoted
from adjoint.program import SILENT, Atom, Builder, Equation, Literal, Program, Variable, operation

MOST_BYTES: Final = 1 << 20  # of rows that are stacked though few of them are wanted, or copied
_WRITES: Final = frozenset({UPDATE, INCREMENT})


class NotRolled(Exception):
    """The block cannot be rolled, or had better not."""


class MovesMore(NotRolled):
    """A loop would move more rows of arrays to and fro than it computes."""


class Stacks:
    """Rows of arrays that loops have stacked, as the variables that they replace."""

    def __init__(self) -> None:
        self.rows: dict[Variable, tuple[Variable, int]] = {}

    def progression(self, atoms: Sequence[Atom]) -> tuple[Variable, tuple[int, int, int]] | None:
        """The array, and which rows of it these are, in order."""
        stacked_rows = [self.rows.get(atom) for atom in atoms if isinstance(atom, Variable)]
        if len(stacked_rows) != len(atoms) or None in stacked_rows:
            return None
        places = [place for _, place in stacked_rows]  # type: ignore[misc]
        array = stacked_rows[0][0]  # type: ignore[index]
        step = affine(places)
        if not step or any(other is not array for other, _ in stacked_rows):  # type: ignore[misc]
            return None
        return array, rows(places, step)


class LoopWriter:
    """One loop under construction.

    outer: of the program that the loop is part of. rename: what an atom is called there.
    most_joined: operands that may be rows which are written into an array for the loop. open:
    whether the numbers of indices are operands of the loop, so that it may be one of many in an
    outer loop.
    """

    def __init__(
        self,
        outer: Builder,
        block: RepeatedBlock,
        rename: Callable[[Atom], Atom],
        stacks: Stacks,
        most_joined: int,
        open: bool,
    ) -> None:
        self.open = open
        self.left_to_join = most_joined
        self.hoisted: dict[int, tuple[Variable, ...]] = {}
        self.outer = outer
        self.block = block
        self.rename = rename
        self.stacks = stacks
        self.body = Builder()
        self.constants: dict[Atom, Variable] = {}
        self.scanned: list[tuple[Atom, Variable]] = []
        self.tables: dict[Any, Expression] = {}
        self.varying: dict[Varying, Variable] = {}
        self.values: list[tuple[Variable, ...]] = []
        self.counter: Variable | None = None
        self.numbers: dict[Atom, Atom] = {}  # Python's own, by what is carried for them
        self.chains, self.chain_of = chains_of(block)
        for chain in self.chains:
            chain.inputs = [Variable(_strong(atom.type)) for atom in chain.begin]

    def write(self) -> dict[Variable, Atom]:
        """Append the loop; returns what its results replace."""
        self._hoist()
        for place, equation in enumerate(self.block.equations):
            if place in self.hoisted:
                self.values.append(())
                continue
            self.body.origin, self.body.derived = equation.origin, equation.derived
            self.values.append(self._equation(place, equation))
        stacked = self._stacked()
        carried = [x for chain in self.chains for x in chain.inputs]
        following = [
            self._following(chain, n) for chain in self.chains for n in range(len(chain.inputs))
        ]
        begin = [
            _plain(self.outer, self.rename(atom)) for chain in self.chains for atom in chain.begin
        ]
        if not carried and not stacked:  # no more is wanted than what is the same in all rounds
            return self._replaced((), (), 0)
        if self.counter is not None:
            self.body.origin, self.body.derived = None, True
            carried.append(self.counter)
            begin.append(Literal(np.int64(0)))
            following.append((Expression(self.body, self.counter) + 1).atom)
        rounds = self.block.rounds
        inputs = [*self.constants.values(), *carried, *(row for _, row in self.scanned)]
        stacked_atoms = [_plain(self.body, self.values[place][result]) for place, result in stacked]
        body = Program(inputs, self.body.equations, [*following, *stacked_atoms])
        op = operation(
            SCAN,
            body=body,
            constants=len(self.constants),
            carried=len(carried),
            length=rounds if stacked or self.scanned else None,
            reverse=False,
        )
        self.outer.origin = self.block.equations[0].origin
        marks = {equation.derived for equation in self.block.equations}
        self.outer.derived = marks.pop() if len(marks) == 1 else all(marks) and SILENT
        operands = [Literal(np.int64(rounds)), *self.constants, *begin]
        results = self.outer.emit(op, [*operands, *(array for array, _ in self.scanned)])
        return self._replaced(results, stacked, len(carried))

    def _hoist(self) -> None:
        """Compute once, before the loop, what is the same in all rounds."""
        carried = {chain.place for chain in self.chains}
        for place, equation in enumerate(self.block.equations):
            sources = self.block.sources[place]
            if place in carried or place in self.block.indices:
                continue
            operands = [
                self.rename(source.atom)
                if isinstance(source, Invariant)
                else self.hoisted[source.place][source.result]
                for source in sources
                if isinstance(source, Invariant)
                or (isinstance(source, Within) and source.place in self.hoisted)
            ]
            if len(operands) == len(sources):
                self.outer.origin, self.outer.derived = equation.origin, equation.derived
                self.hoisted[place] = self.outer.emit(equation.operation, operands)

    # --- results ---------------------------------------------------------------------------------

    def _following(self, chain: Recurrence, number: int) -> Atom:
        if number:
            return chain.inputs[number - 1]
        return _plain(self.body, self.values[chain.place][chain.result])

    def _stacked(self) -> list[tuple[int, int]]:
        """The results of which all rounds are kept, as some but the last are used."""
        stacked = []
        rounds = self.block.rounds
        for (place, result), used in self.block.used.items():
            deep = max(
                (len(c.inputs) for c in self.chains if (c.place, c.result) == (place, result)),
                default=0,
            )
            if used[0] >= rounds - deep or place in self.hoisted:
                continue
            type_ = self.block.equations[place].outputs[result].type
            _strong(type_)
            if 2 * len(used) < rounds and _bytes(type_) * rounds > MOST_BYTES:
                raise NotRolled
            stacked.append((place, result))
        return stacked

    def _replaced(
        self, results: Sequence[Variable], stacked: Sequence[tuple[int, int]], carried: int
    ) -> dict[Variable, Atom]:
        replacements: dict[Variable, Atom] = {}
        passed = 0
        finals: dict[tuple[int, int, int], Atom] = {}
        for chain in self.chains:
            for number in range(len(chain.inputs)):
                round_ = self.block.rounds - 1 - number
                finals.setdefault((chain.place, chain.result, round_), results[passed])
                passed += 1
        arrays = dict(zip(stacked, results[carried:], strict=True))
        for (place, result), used in self.block.used.items():
            for k in used:
                variable = self.block.output(k, place, result)
                final = finals.get((place, result, k))
                if place in self.hoisted:
                    final = self.hoisted[place][result]
                if final is not None:
                    replacements[variable] = as_number(self.outer, final, variable.type)
                if (place, result) in arrays:
                    self.stacks.rows[variable] = (arrays[place, result], k)
        return replacements

    # --- equations -------------------------------------------------------------------------------

    def _equation(self, place: int, equation: Equation) -> tuple[Variable, ...]:
        sources = self.block.sources[place]
        moving = self.block.indices.get(place)
        results: tuple[Variable, ...]
        if moving is not None:
            results = (self._indexed(equation, sources, moving),)
        else:
            operands = [
                self._operand(source, equation, number) for number, source in enumerate(sources)
            ]
            results = self.body.emit(equation.operation, operands)
        if any(a.type is not b.type for a, b in zip(results, equation.outputs, strict=True)):
            raise NotRolled
        return results

    def _operand(self, source: Source, equation: Equation, number: int) -> Atom:
        if isinstance(source, Within):
            if source.place in self.hoisted:
                return self._constant(self.hoisted[source.place][source.result])
            return self.values[source.place][source.result]
        if isinstance(source, Numbers):
            return self._number(source.values).atom
        if isinstance(source, Before):
            chain = self.chain_of[source]
            return self._as_written(chain.inputs[source.lag - 1], chain.begin[source.lag - 1].type)
        if isinstance(source, Invariant):
            return self._constant(source.atom)
        row = self._row(source)
        weak = source.atoms[0].type
        if not weak.weak:
            return row
        if equation.primitive.ufunc is None and equation.primitive not in _WRITES:
            return self._as_written(row, _floating(weak))
        # A Python number takes the type of what it is combined with.
        types = [atom.type for place, atom in enumerate(equation.inputs) if place != number]
        dtype = promoted(*types, weak)
        if dtype.kind in "iu" and dtype != row.type.dtype:
            raise NotRolled  # where NumPy would refuse a number that is too large
        return cast(Expression(self.body, row), dtype).atom

    def _as_written(self, atom: Atom, type_: ArrayType) -> Atom:
        """Python's own number, where an operand of the user's was one."""
        if not type_.weak:
            return atom
        if atom not in self.numbers:
            self.numbers[atom] = as_number(self.body, atom, type_)
        return self.numbers[atom]

    def _constant(self, atom: Atom) -> Atom:
        if isinstance(atom, Literal):
            return atom
        named = self.rename(atom)
        if isinstance(named, Literal):
            return named
        if named not in self.constants:
            self.constants[named] = Variable(named.type)
        return self.constants[named]

    # --- rows ------------------------------------------------------------------------------------

    def _scan(self, array: Expression | Atom) -> Variable:
        atom = array.atom if isinstance(array, Expression) else array
        for known, row in self.scanned:
            if known is atom:
                return row
        row = Variable(array_type(atom.type.shape[1:], atom.type.dtype))
        self.scanned.append((atom, row))
        return row

    def _row(self, source: Varying) -> Variable:
        if source not in self.varying:
            self.varying[source] = self._scan(self._joined(source.atoms))
        return self.varying[source]

    def _joined(self, atoms: Sequence[Variable]) -> Expression:
        """One array of what differs from round to round."""
        known = self.stacks.progression(atoms)
        if known is not None:
            array, entry = known
            return part(self.outer, array, entry)
        sliced = self._sliced(atoms)
        if sliced is not None:
            return sliced
        if _bytes(atoms[0].type) * len(atoms) > MOST_BYTES:
            raise NotRolled
        self.left_to_join -= 1
        if self.left_to_join < 0:
            raise MovesMore
        return joined(self.outer, [self.rename(atom) for atom in atoms])

    def _sliced(self, atoms: Sequence[Variable]) -> Expression | None:
        """Entries of one array that were read before the loop, as its rows."""
        makers = [self.block.uses.maker.get(atom) for atom in atoms]
        equations = [self.block.uses.equations[maker[0]] for maker in makers if maker is not None]
        if len(equations) < len(atoms) or any(e.primitive is not SLICE for e in equations):
            return None
        first = equations[0]
        indices = [equation.params["index"] for equation in equations]
        if not indices[0] or any(
            equation.inputs[0] is not first.inputs[0]
            or not isinstance(index[0], int)
            or index[1:] != indices[0][1:]
            for equation, index in zip(equations, indices, strict=True)
        ):
            return None
        return self._rows(first.inputs[0], indices[0], tuple(index[0] for index in indices))

    # --- indices ---------------------------------------------------------------------------------

    def _indexed(
        self, equation: Equation, sources: Sequence[Source], moving: dict[int, tuple[int, ...]]
    ) -> Variable:
        index = equation.params["index"]
        if equation.primitive is SLICE:
            source = sources[0]
            if isinstance(source, Invariant) and list(moving) == [0] and isinstance(index[0], int):
                return self._scan(self._rows(source.atom, index, moving[0]))
            x = Expression(self.body, self._operand(source, equation, 0))
            expression = read(x, index, lambda axis: self._entry(index[axis], moving.get(axis)))
        else:
            x, value = (
                Expression(self.body, self._operand(source, equation, number))
                for number, source in enumerate(sources)
            )
            expression = write(
                equation.primitive,
                x,
                value,
                index,
                lambda axis: self._entry(index[axis], moving.get(axis)),
            )
        atom = expression.atom
        assert isinstance(atom, Variable)
        return atom

    def _rows(self, atom: Atom, index: Any, numbers: tuple[int, ...]) -> Expression:
        """The rows of an array that does not change, in the order of the rounds."""
        x = Expression(self.outer, self.rename(atom))
        step = affine(numbers)
        if step:
            return take(x, (rows(numbers, step), *index[1:]))
        gathered: Expression = bind(GATHER, x, self._table(numbers))
        return take(gathered, ((0, len(numbers), 1), *index[1:])) if _parts(index, x) else gathered

    def _entry(self, entry: Any, numbers: tuple[int, ...] | None) -> Expression | None:
        """The number of an entry of an index, where it is not written into the program."""
        if numbers is not None:
            return self._number(numbers)
        return self._given(entry) if self.open and isinstance(entry, int) else None

    def _given(self, number: int) -> Expression:
        """A number that is an operand of the loop; equal ones are so by chance."""
        literal = Literal(np.int64(number))
        self.constants[literal] = Variable(literal.type)
        return Expression(self.body, self.constants[literal])

    def _number(self, numbers: tuple[int, ...]) -> Expression:
        """The number in this round."""
        base, step = numbers[0], affine(numbers)
        key = step or tuple([number - base for number in numbers])
        if key not in self.tables:
            if step:
                if self.counter is None:
                    self.counter = Variable(array_type((), np.dtype(np.int64)))
                counter = Expression(self.body, self.counter)
                self.tables[key] = counter if step == 1 else counter * step
            else:
                row = self._scan(self._table([number - base for number in numbers]))
                self.tables[key] = Expression(self.body, row)
        if not base and not self.open:
            return self.tables[key]
        number: Expression = self.tables[key] + (self._given(base) if self.open else base)
        return number

    def _table(self, numbers: Sequence[int]) -> Expression:
        table = Constant(np.array(numbers, np.int64))
        array: Expression = bind(CONSTANT, builder=self.outer, array=table)
        return array


def part(builder: Builder, array: Atom, entry: tuple[int, int, int]) -> Expression:
    """Some rows of an array."""
    whole = tuple((0, size, 1) for size in array.type.shape)
    x = Expression(builder, array)
    return x if entry == whole[0] else take(x, (entry, *whole[1:]))


def joined(builder: Builder, atoms: Sequence[Atom]) -> Expression:
    """Arrays of one type as the rows of one."""
    return stack([Expression(builder, atom) for atom in atoms], 0)


def _parts(index: Any, x: Expression) -> bool:
    return any(e != (0, n, 1) for e, n in zip(index[1:], x.shape[1:], strict=True))


def _floating(type_: ArrayType) -> ArrayType:
    """The type, unless it is that of Python's integers, which have any number of digits."""
    if type_.weak and type_.dtype.kind not in "fc":
        raise NotRolled
    return type_


def _strong(type_: ArrayType) -> ArrayType:
    """The type that a loop carries or stacks: no loop has Python's own numbers for that."""
    return array_type((), type_.dtype) if _floating(type_).weak else type_


def _plain(builder: Builder, atom: Atom) -> Atom:
    """What a loop carries or stacks for an atom."""
    return cast(Expression(builder, atom), atom.type.dtype).atom if atom.type.weak else atom


def as_number(builder: Builder, atom: Atom, type_: ArrayType) -> Atom:
    """Python's own number for what a loop has carried or stacked, where the type is of one."""
    if not type_.weak or atom.type.weak:
        return atom
    number: Expression = bind(PYTHON_NUMBER, Expression(builder, atom))
    return number.atom


def _bytes(type_: ArrayType) -> int:
    return type_.size * type_.dtype.itemsize
