"""From a NaN among the results of a program back to the equations that made it.

The program is run equation by equation, and its values are kept. An entry that is NaN is followed
against the equations: to the operand without whose NaN it would be a number, until there is none.
If the last equation had infinities to blame (0 * inf, inf - inf), one of those is followed the same
way. The rounds of loops are run and followed as if they were written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from adjoint.loops import CHECKPOINT, SCAN, SWITCH, WHILE
from adjoint.program import Atom, Equation, Literal, Program, Variable

Index = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Outbreak:
    """An entry that an equation made NaN, or infinite, of others that were not.

    equation, operands, place, index: the equation, what it was given, and the entry of which
    result. outer: the equation of the program itself in whose loop or branch it stands, or the
    same. round: the number of that of the innermost loop; or None.
    """

    equation: Equation
    operands: list[Any]
    place: int
    index: Index
    outer: Equation
    round: int | None


@dataclass(frozen=True, eq=False)
class Inherited:
    """An entry that was NaN or infinite from the beginning.

    number: of the program's input, None for a number in its text. value: the entry. user: the
    equation of the program that took it; None where a result is the input itself.
    """

    number: int | None
    index: Index
    value: Any
    user: Equation | None


class ProgramRun:
    """A program with the values of all its variables."""

    def __init__(self, program: Program, inputs: Sequence[Any]) -> None:
        self.program = program
        self.values: dict[Variable, Any] = dict(zip(program.inputs, inputs, strict=True))
        self.makers: dict[Variable, tuple[Equation, int]] = {}
        for equation in program.equations:
            results = evaluated(equation, self.operands(equation))
            self.values.update(zip(equation.outputs, results, strict=True))
            for place, variable in enumerate(equation.outputs):
                self.makers[variable] = (equation, place)

    def at(self, atom: Atom) -> Any:
        """The value of a variable or literal."""
        return atom.value if isinstance(atom, Literal) else self.values[atom]

    def operands(self, equation: Equation) -> list[Any]:
        """The values that an equation takes."""
        return [self.at(atom) for atom in equation.inputs]


def evaluated(equation: Equation, operands: Sequence[Any]) -> tuple[Any, ...]:
    """The results of an equation, by the primitive itself."""
    with np.errstate(all="ignore"):
        results = equation.primitive.evaluate(*operands, **equation.params)
    return tuple(results) if equation.primitive.multiple else (results,)


_Back = tuple[int, Index] | None  # the operand to go on with, and its entry


class Walk:
    """The way back from one entry.

    outbreaks: the equations that made the NaN, and then the infinity. given: where the way ended
    with what came in, that. loops: the loops and branches that it is in, with the round of each.
    """

    def __init__(self, run: ProgramRun, atom: Atom, index: Index) -> None:
        self.is_bad: Callable[[Any], Any] = np.isnan
        self.outbreaks: list[Outbreak] = []
        self.loops: list[tuple[Equation, int | None]] = []
        self.given: Inherited | None = None
        inherited = self._back(run, atom, index)
        if inherited is not None:
            self.given = inherited

    def _back(self, run: ProgramRun, atom: Atom, index: Index) -> Inherited | None:
        """To an input of the program, or a number in its text; None where the way has ended."""
        user: Equation | None = None
        while True:
            if isinstance(atom, Literal) or atom not in run.makers:
                number = None if isinstance(atom, Literal) else run.program.inputs.index(atom)
                return Inherited(number, index, np.asarray(run.at(atom))[index], user)
            user, place = run.makers[atom]
            enter = _ENTERED.get(user.primitive, Walk._through)
            back = enter(self, user, run.operands(user), place, index)
            if back is None:
                return None
            atom, index = user.inputs[back[0]], back[1]

    def _through(self, equation: Equation, operands: list[Any], place: int, index: Index) -> _Back:
        """Through an equation to the operand that is to blame."""
        back = to_blame(equation, operands, place, index, self.is_bad, self.is_bad)
        if back is not None:
            return back
        outer, turn = (self.loops[0][0], self.loops[-1][1]) if self.loops else (equation, None)
        self.outbreaks.append(Outbreak(equation, operands, place, index, outer, turn))
        if self.is_bad is np.isinf:
            return None
        back = to_blame(equation, operands, place, index, np.isnan, np.isinf)
        if back is not None:
            self.is_bad = np.isinf
        return back

    # --- loops and branches ---

    def _inside(
        self, equation: Equation, turn: int | None, run: ProgramRun, output: int, index: Index
    ) -> _Back:
        """Back through one run of a body, to one of its inputs."""
        self.loops.append((equation, turn))
        inherited = self._back(run, run.program.outputs[output], index)
        self.loops.pop()
        if inherited is None:
            return None
        if inherited.number is None:
            outer = self.loops[0][0] if self.loops else equation
            self.given = replace(inherited, user=outer)
            return None
        return inherited.number, inherited.index

    def _scan(self, equation: Equation, operands: list[Any], place: int, index: Index) -> _Back:
        params = equation.params
        count = int(operands[0])
        order = list(reversed(range(count)) if params["reverse"] else range(count))
        rounds = _LoopRounds(params["body"], operands[1:], params["constants"], params["carried"])
        for row in order:
            rounds.step(row)
        back = self._rounds(equation, rounds, place, index)
        return None if back is None else (1 + back[0], back[1])

    def _while(self, equation: Equation, operands: list[Any], place: int, index: Index) -> _Back:
        params = equation.params
        rounds = _LoopRounds(params["body"], operands, params["constants"], params["carried"])
        test = params["test"]
        while ProgramRun(test, [*rounds.fixed, *rounds.state]).at(test.outputs[0]):
            rounds.step(len(rounds.rows))
        return self._rounds(equation, rounds, place - 1, index)  # the first counts rounds

    def _rounds(self, equation: Equation, rounds: _LoopRounds, output: int, index: Index) -> _Back:
        """Back through the rounds of a loop, to one of its operands."""
        fixed, turn = len(rounds.fixed), len(rounds.rows) - 1
        if output >= rounds.carried:
            turn, index = rounds.rows.index(index[0]), index[1:]
        while turn >= 0:
            back = self._inside(equation, rounds.rows[turn], rounds.run(turn), output, index)
            if back is None or back[0] < fixed:
                return back
            output, index = back[0] - fixed, back[1]
            if output >= rounds.carried:
                return back[0], (rounds.rows[turn], *index)
            turn -= 1
        return fixed + output, index

    def _switch(self, equation: Equation, operands: list[Any], place: int, index: Index) -> _Back:
        branches = equation.params["branches"]
        chosen = branches[min(max(int(operands[0]), 0), len(branches) - 1)]
        back = self._inside(equation, None, ProgramRun(chosen, operands[1:]), place, index)
        return None if back is None else (1 + back[0], back[1])

    def _checkpoint(
        self, equation: Equation, operands: list[Any], place: int, index: Index
    ) -> _Back:
        return self._inside(
            equation, None, ProgramRun(equation.params["body"], operands), place, index
        )


_ENTERED: Final = {
    SCAN: Walk._scan,
    WHILE: Walk._while,
    SWITCH: Walk._switch,
    CHECKPOINT: Walk._checkpoint,
}


class _LoopRounds:
    """The rounds of a loop, in the order in which they ran.

    rows: of what is scanned, for each. states: what each was given to carry. state: the last.
    """

    def __init__(self, body: Program, operands: list[Any], fixed: int, carried: int) -> None:
        self.body, self.fixed, self.carried = body, operands[:fixed], carried
        self.state = operands[fixed : fixed + carried]
        self.scanned = operands[fixed + carried :]
        self.rows: list[int] = []
        self.states: list[list[Any]] = []

    def step(self, row: int) -> None:
        """Run one more."""
        self.rows.append(row)
        self.states.append(self.state)
        run = self.run(-1)
        self.state = [run.at(atom) for atom in self.body.outputs[: self.carried]]

    def run(self, turn: int) -> ProgramRun:
        """One of them, with all its values."""
        row = self.rows[turn]
        scanned = [array[row] for array in self.scanned]
        return ProgramRun(self.body, [*self.fixed, *self.states[turn], *scanned])


# --- one equation ---------------------------------------------------------------------------------


def to_blame(
    equation: Equation,
    operands: Sequence[Any],
    place: int,
    index: Index,
    is_bad: Callable[[Any], Any],
    is_cause: Callable[[Any], Any],
) -> _Back:
    """The operand, and its entry of the kind `is_cause`, without which a bad entry would be good.

    None where no entries of that kind are to blame.
    """
    tried = list(operands)

    def stays() -> bool:
        return bool(is_bad(np.asarray(evaluated(equation, tried)[place])[index]))

    for number, operand in enumerate(operands):
        array = np.asarray(operand)
        causes = np.argwhere(is_cause(array)) if array.dtype.kind in "fc" else ()
        if not len(causes):
            continue
        clean = tried[number] = _with_entries(operand, causes, 1)
        if not stays():

            def keeps(
                part: Any, number: int = number, array: Any = array, clean: Any = clean
            ) -> bool:
                """Whether these causes alone, of all, leave the result bad."""
                tried[number] = _with_entries(clean, part, array[tuple(part.T)])
                return stays()

            return number, _one_of(causes, keeps)
    return None


def _one_of(causes: Any, keeps: Callable[[Any], bool]) -> Index:
    """One entry that alone keeps the result bad, by halving; the first where none does alone."""
    while len(causes) > 1:
        middle = len(causes) // 2
        kept = [part for part in (causes[:middle], causes[middle:]) if keeps(part)]
        if not kept:
            break
        causes = kept[0]
    return tuple(int(n) for n in causes[0])


def _with_entries(operand: Any, entries: Any, values: Any) -> Any:
    """An operand with other values at some entries."""
    array = np.array(operand)
    array[tuple(entries.T)] = values
    return array if array.ndim else array[()]
