"""Rolling a program: what is repeated often enough becomes a loop."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from adjoint.loops.declared import SCAN
from adjoint.optimise.rolling.blocks import (
    Before,
    RepeatedBlock,
    Uses,
    block_of,
    carried_bytes,
)
from adjoint.optimise.rolling.runs import Codes, Run, codes_with_makers, runs
from adjoint.optimise.rolling.writing import (
    LoopWriter,
    MovesMore,
    NotRolled,
    Stacks,
    as_number,
    part,
)
from adjoint.primitives.expression import Expression
from adjoint.primitives.structure.moving import RESHAPE, permute, reshape
from adjoint.primitives.structure.slicing import CONCATENATE, STACK, concatenate, take
from adjoint.program import Atom, Builder, Equation, Program, Variable

FEWEST_ROUNDS: Final = 4
# A run must have so many equations, in all rounds together, to become a loop: first the longer ones
# do, and then, in what is left, the others. Where arrays are large, a loop goes through memory once
# a round, and straight code keeps in registers what one round hands to the next: shorter runs of
# those are compiled soon enough as they are.
FEWEST_EQUATIONS: Final = (100, 24)
FEWEST_OF_LARGE: Final = 1200
LARGE: Final = 1 << 15  # bytes of an array that one round of a loop should not go through alone
_DEEPEST: Final = 3  # loops within one another
_TRIED_TWICE: Final = range(100, 5000)  # equations of programs that are soon rolled once more


def roll(program: Program) -> Program:
    """The program with loops in the place of what is repeated, or the program itself.

    Loops within loops come of rolling what is rolled. Every number is computed by the same
    operations in the same order.
    """
    if len(program) < FEWEST_EQUATIONS[-1]:
        return program
    numbers = Codes()
    findings = Findings(program, numbers)
    longer, shorter = FEWEST_EQUATIONS
    long_first = _rolled_by(findings, longer)
    rolled = _rolled_by(long_first, shorter).program
    tried_twice = long_first is not findings and len(program) in _TRIED_TWICE
    if tried_twice and _size(rolled.equations) > longer:
        # Short inner loops may have been taken for a part of the round of an outer one.
        inner_first = _rolled_by(findings, shorter).program
        rolled = min(rolled, inner_first, key=lambda attempt: _size(attempt.equations))
    return rolled


def _rolled_by(findings: Findings, fewest: int) -> Findings:
    """The program rolled with loops of so many equations, with what is known of it."""
    for _ in range(_DEEPEST):
        if len(findings.program) < fewest:
            break
        rolled = _rolled_once(findings, fewest)
        if rolled is findings.program:
            break
        findings = Findings(rolled, findings.numbers)
    return findings


def _rolled_once(findings: Findings, fewest: int) -> Program:
    """The program with loops that have none of its own within them, but for those it had.

    A block that had better be no loop may have hidden a longer one around it: that one is looked
    for with the block left out.
    """
    for _ in range(_DEEPEST):
        refused = len(findings.refused)
        rolled = _Rolled(findings, fewest).rolled()
        if len(findings.refused) == refused:
            break
    return rolled


class Findings:
    """What there is to know of a program, whatever length of loops is looked for in it.

    Each is found out when it is asked for. numbers: what gives codes to the equations. refused: the
    blocks that an attempt to write them as loops has found not to be worth it.
    """

    def __init__(self, program: Program, numbers: Codes) -> None:
        self.program = program
        self.numbers = numbers
        self.refused: set[Run] = set()

    @cached_property
    def codes(self) -> list[int]:
        """The numbers of the equations, equal for those that may be the same in two rounds."""
        return self.numbers.of(self.program.equations)

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of equations with a period."""
        return runs(self.codes)

    @cached_property
    def uses(self) -> Uses:
        """Where its variables are made and used."""
        return Uses(self.program)


def _size(equations: Sequence[Equation]) -> int:
    """How many equations there are, with those of loops."""
    loops = (equation.params["body"] for equation in equations if equation.primitive is SCAN)
    return len(equations) + sum(_size(body.equations) for body in loops)


def _most_joined(block: RepeatedBlock) -> int:
    """How many operands of a round may be rows that are written into an array for the loop to read.

    Fewer than it has operations: else memory is all that it adds to straight code, which hands over
    in registers. Long runs are loops all the same, since straight code takes long to compile.
    """
    if block.rounds * _size(block.equations) >= FEWEST_OF_LARGE:
        return sum(len(equation.inputs) for equation in block.equations)
    return _size([equation for equation in block.equations if not equation.primitive.view]) - 1


def has_large(equations: Iterable[Equation]) -> bool:
    """Whether an array is so large that one round of a loop should not go through it alone."""
    results = (variable.type for equation in equations for variable in equation.outputs)
    return any(type_.size * type_.dtype.itemsize > LARGE for type_ in results)


class _Rolled:
    """Writes the rolled program."""

    def __init__(self, findings: Findings, fewest: int) -> None:
        self.findings = findings
        self.program = findings.program
        self.fewest = fewest  # equations of a run that is to become a loop
        self.builder = Builder()
        self.builder.inputs = list(self.program.inputs)
        self.stacks = Stacks()
        self.names: dict[Variable, Atom] = {}
        self.reshaped: dict[Variable, Equation] = {}  # rows in another shape, if they are needed

    def rolled(self) -> Program:
        """The whole program."""
        equations = self.program.equations
        repetitions = [run for run in self.findings.runs if self._pays(run)]
        if not repetitions:
            return self.program
        done = 0
        blocks = self._blocks(repetitions)
        alike = Counter(block.period for block in blocks)
        for block in blocks:
            self._copy(equations[done : block.start])
            done = block.start
            length, known = len(self.builder.equations), len(self.names)
            many = alike[block.period] >= FEWEST_ROUNDS
            most = _most_joined(block)
            try:
                loop = LoopWriter(self.builder, block, self._rename, self.stacks, most, many)
                self.names.update(loop.write())
            except NotRolled as refusal:
                if isinstance(refusal, MovesMore):
                    self.findings.refused.add(block.run)
                del self.builder.equations[length:]
                for name in list(self.names)[known:]:
                    del self.names[name]
                continue
            done = block.stop
        if not done:
            return self.program
        self._copy(equations[done:])
        outputs = [self._rename(atom) for atom in self.program.outputs]
        return Program(self.program.inputs, self.builder.equations, outputs)

    def _blocks(self, repetitions: Sequence[Run]) -> list[RepeatedBlock]:
        """Blocks that do not overlap, in order; inner loops before those around them."""
        chosen: list[RepeatedBlock] = []
        split: set[tuple[int, int]] = set()
        waiting = deque(repetitions)
        while waiting:
            run = waiting.popleft()
            if any(run.start < block.stop and block.start < run.stop for block in chosen):
                continue
            block = self._block(run)
            if block is not None and block.run not in self.findings.refused:
                chosen.append(block)
            elif run in repetitions and (run.start, run.stop) not in split:
                split.add((run.start, run.stop))
                waiting.extendleft(reversed(self._longer(run)))
        return sorted(chosen, key=lambda block: block.start)

    def _longer(self, run: Run) -> list[Run]:
        """Runs within a run, of rounds between which the dataflow repeats too."""
        makers = self.findings.uses.maker
        operands: list[list[int | None]] = []
        for equation in self.program.equations[run.start : run.stop]:
            operand_makers = [
                makers.get(x) if isinstance(x, Variable) else None for x in equation.inputs
            ]
            inside = [maker[0] - run.start if maker is not None else -1 for maker in operand_makers]
            operands.append([place if place >= 0 else None for place in inside])
        numbers = codes_with_makers(self.findings.codes[run.start : run.stop], operands)
        repetitions = [
            Run(run.start + r.start, run.start + r.stop, r.period) for r in runs(numbers)
        ]
        return [run for run in repetitions if self._pays(run)]

    def _pays(self, run: Run) -> bool:
        if run.rounds < FEWEST_ROUNDS:
            return False
        round_ = self.program.equations[run.start : run.start + run.period]
        if all(equation.primitive.view for equation in round_):
            return False  # which would only read parts, to have them in another array
        fewest = FEWEST_OF_LARGE if has_large(round_) else self.fewest
        return run.rounds * _size(round_) >= fewest

    def _block(self, run: Run) -> RepeatedBlock | None:
        """The block, without its last round if more of that is used than is carried anyway."""
        block = block_of(self.findings.uses, run, FEWEST_ROUNDS)
        if block is None or not self._pays(block.run):
            return None
        block = self._turned(block, run)
        carried = {
            (source.place, source.result)
            for sources in block.sources
            for source in sources
            if isinstance(source, Before)
        }
        last = [block.rounds - 1]
        if any(used == last and key not in carried for key, used in block.used.items()):
            shorter = Run(block.start, block.stop - block.period, block.period)
            return block_of(self.findings.uses, shorter, FEWEST_ROUNDS - 1)
        return block

    def _turned(self, block: RepeatedBlock, run: Run) -> RepeatedBlock:
        """The block with rounds that begin where the fewest bytes go from one to the next.

        Where they begin in the middle of a step, what the step has computed so far is carried
        beside the state that it comes of, and both go on the tape of a derivative.
        """
        bytes_by_start = carried_bytes(block)
        start = min(range(len(bytes_by_start)), key=bytes_by_start.__getitem__)
        if bytes_by_start[start] == bytes_by_start[0]:
            return block
        later = Run(block.start + start, run.stop, block.period)
        turned = block_of(self.findings.uses, later, FEWEST_ROUNDS)
        if turned is None or turned.rounds < block.rounds - 1 or not self._pays(turned.run):
            return block
        return turned if carried_bytes(turned)[0] < bytes_by_start[0] else block

    def _rename(self, atom: Atom) -> Atom:
        if not isinstance(atom, Variable):
            return atom
        if atom in self.names:
            return self.names[atom]
        maker = self.reshaped.get(atom)
        if maker is not None:
            source = Expression(self.builder, self._rename(maker.inputs[0]))
            self.names[atom] = reshape(source, atom.type.shape).atom
            return self.names[atom]
        row = self.stacks.rows.get(atom)
        if row is None:
            return atom
        array, place = row
        whole = tuple((0, size, 1) for size in array.type.shape[1:])
        entry = take(Expression(self.builder, array), (place, *whole)).atom
        self.names[atom] = as_number(self.builder, entry, atom.type)
        return self.names[atom]

    def _is_row(self, equation: Equation) -> bool:
        """Whether it reshapes a row that a loop has stacked, to be joined with others perhaps."""
        return equation.primitive is RESHAPE and equation.inputs[0] in self.stacks.rows

    def _join(self, equation: Equation) -> bool:
        """Join rows that a loop has stacked, if there are many: they lie in one array already."""
        axis, stacks = equation.params["axis"], equation.primitive is STACK
        atoms = equation.inputs
        stretches: dict[int, list[Atom]] = {}
        passed = 0
        while passed < len(atoms):
            rows = self._stretch(atoms, passed)
            if len(rows) > 1:
                stretches[passed] = rows
            passed += max(len(rows), 1)
        if not stretches:
            return False
        parts: list[Expression] = []
        passed = 0
        while passed < len(atoms):
            shape = atoms[passed].type.shape
            if passed in stretches:
                rows = stretches[passed]
                parts.append(self._rows_along(rows, shape, axis, stacks))
                passed += len(rows)
                continue
            x = Expression(self.builder, self._rename(atoms[passed]))
            parts.append(reshape(x, (*shape[:axis], 1, *shape[axis:])) if stacks else x)
            passed += 1
        whole = concatenate(parts, axis) if len(parts) > 1 else parts[0]
        self.names[equation.outputs[0]] = whole.atom
        return True

    def _stretch(self, atoms: Sequence[Atom], start: int) -> list[Atom]:
        """The longest stretch of these, from here on, that are rows of one array, evenly spaced."""
        rows: list[Atom] = []
        step = place = 0
        array: Variable | None = None
        for atom in islice(atoms, start, None):
            maker = self.reshaped.get(atom) if isinstance(atom, Variable) else None
            row = atom if maker is None else maker.inputs[0]
            known = self.stacks.rows.get(row) if isinstance(row, Variable) else None
            if known is None or atom.type is not atoms[start].type:
                break
            if rows and (known[0] is not array or row.type is not rows[0].type):
                break
            if rows and (known[1] == place or (len(rows) > 1 and known[1] - place != step)):
                break
            step = known[1] - place
            array, place = known
            rows.append(row)
        return rows

    def _rows_along(
        self, rows: Sequence[Atom], shape: tuple[int, ...], axis: int, stacks: bool
    ) -> Expression:
        """Rows in order, each of this shape, stacked or joined along an axis."""
        progression = self.stacks.progression(rows)
        assert progression is not None  # see `_stretch`
        x = reshape(part(self.builder, *progression), (len(rows), *shape))
        x = permute(x, (*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)))
        if stacks:
            return x
        return reshape(x, (*shape[:axis], len(rows) * shape[axis], *shape[axis + 1 :]))

    def _copy(self, equations: Sequence[Equation]) -> None:
        for equation in equations:
            self.builder.origin, self.builder.derived = equation.origin, equation.derived
            if self._is_row(equation):
                self.reshaped[equation.outputs[0]] = equation
                continue
            if equation.primitive in (CONCATENATE, STACK) and self._join(equation):
                continue
            inputs = tuple(map(self._rename, equation.inputs))
            if inputs != equation.inputs:
                equation = Equation(
                    equation.operation,
                    inputs,
                    equation.outputs,
                    equation.origin,
                    equation.derived,
                )
            self.builder.equations.append(equation)
