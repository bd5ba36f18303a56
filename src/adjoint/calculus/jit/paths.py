"""Paths: programs that hold where their guards do, and the tree in which one is looked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.calculus.jit.stages import StagedProgram, StageProgram
from adjoint.capture.recording.effects.script import Script, Unplayable, restore
from adjoint.capture.recording.tracing.guards import Guard, answer_to
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.pipeline import Compiled, compile_program
from adjoint.program import Program, Variable

_OFTEN: Final = 3  # times that a stage is asked how many of its guards hold
_MOST_NUMBERS: Final = 8  # answers to a question for all of a value, which seldom comes again


class Difference(NamedTuple):
    """The first guard of a path that does not hold, and the answer in its place."""

    place: int
    answer: Any


class Stage:
    """A stage ready to run, whatever the answers that its guards are to have.

    compiled: its results, and how many guards hold. probe: the latter alone.
    """

    def __init__(self, source: StageProgram, compiled: Compiled) -> None:
        self.source = source
        self.compiled = compiled
        self._probe: Compiled | None = None
        self._asked = 0

    def probe(self) -> Compiled:
        """What tells how many guards hold, and does nothing else."""
        if not self.source.outputs:
            return self.compiled  # which does nothing else either
        if self._probe is None:
            first = len(self.source.outputs)
            whole = self.source.program
            alone = eliminate_dead_code(
                Program(whole.inputs, whole.equations, whole.outputs[first:])
            )
            watched = tuple(n - first for n in self.source.watched if n > first)
            self._probe = compile_program(alone, watched)
        return self._probe

    def held(self, arguments: Sequence[Any], guards: Sequence[Guard]) -> int | Difference:
        """How many guards hold, told without a trace: no warning, no error."""
        probe = self.probe()
        self._asked += 1
        # The stage itself is no machine code that could tell; where nobody waits for such, the
        # probe becomes machine code when its turn comes.
        if self._asked >= _OFTEN and self.compiled.is_at_once:
            probe.compile_at_once()
        try:
            with np.errstate(all="ignore"):
                return int(probe(arguments)[0])
        except Exception:  # beyond a guard that does not hold, anything may happen
            return self.step(arguments, guards)

    def step(self, arguments: Sequence[Any], guards: Sequence[Guard]) -> int | Difference:
        """The same, one guard after another, and nothing that they do not need.

        Guards may be the first few alone.
        """
        plain = self.source.plain
        stepper = _Stepper(plain, arguments[: len(plain.inputs)])
        with np.errstate(all="ignore"):
            for place, (atom, guard) in enumerate(zip(plain.outputs, guards, strict=False)):
                try:
                    answer = answer_to(guard.kind, stepper.value(atom))
                except Exception as error:
                    answer = type(error)
                if answer != guard.answer:
                    return Difference(place, answer)
        return len(guards)


class _Stepper:
    """Values of a program, each computed when it is asked for."""

    def __init__(self, program: Program, arguments: Sequence[Any]) -> None:
        self.values: dict[Any, Any] = dict(zip(program.inputs, arguments, strict=True))
        self.makers = {x: equation for equation in program.equations for x in equation.outputs}

    def value(self, wanted: Any) -> Any:
        """The value of an atom."""
        if not isinstance(wanted, Variable):
            return wanted.value
        stack = [wanted]
        while stack:
            if stack[-1] in self.values:
                stack.pop()
                continue
            equation = self.makers[stack[-1]]
            needed = [x for x in equation.inputs if isinstance(x, Variable)]
            missing = [x for x in needed if x not in self.values]
            stack += missing
            if not missing:
                operands = [
                    self.values[x] if isinstance(x, Variable) else x.value for x in equation.inputs
                ]
                results = equation.primitive.evaluate(*operands, **equation.params)
                if not equation.primitive.multiple:
                    results = (results,)
                self.values.update(zip(equation.outputs, results, strict=True))
        return self.values[wanted]


class CompiledStages:
    """All stages of a program, whatever the answers; see `StagedProgram`."""

    def __init__(self, program: StagedProgram) -> None:
        self.program = program
        self.stages: list[Stage] = []

    @classmethod
    def of_one(cls, compiled: Compiled) -> CompiledStages:
        """A program that is compiled already, without guards."""
        program = compiled.program
        results, plain = program.outputs, Program(program.inputs, program.equations, ())
        stage = StageProgram(
            program, program.inputs, (), results, compiled.watched, plain, range(0)
        )
        staged = cls(StagedProgram([stage], program.inputs, results))
        return staged.ready(compiled)

    def ready(self, first: Compiled) -> CompiledStages:
        """Compile what is not yet."""
        if not self.stages:
            rest = [
                compile_program(source.program, source.watched)
                for source in self.program.stages[1:]
            ]
            pairs = zip(self.program.stages, [first, *rest], strict=True)
            self.stages = [Stage(source, compiled) for source, compiled in pairs]
        return self


class Played(NamedTuple):
    """The results of a path with a script, and its constants, some of which were drawn."""

    results: tuple[Any, ...]
    constants: list[Any]


class Path:
    """A captured program with its guards.

    staged: its program, or what makes it, when it is first asked for. constants: of the closure,
    after the arguments. treedef: of the results. script: what is done besides. nodes: of the tree
    that it is in. again: whether it was right more than once. quick: for the owner's use. key: of
    the capture, in debug mode.
    """

    def __init__(
        self,
        staged: CompiledStages | Callable[[], CompiledStages],
        guards: Sequence[Guard],
        constants: Sequence[Any],
        treedef: Any,
        script: Script | None = None,
    ) -> None:
        self._staged = staged
        self.guards = guards
        self.constants = list(constants)
        self.treedef = treedef
        self.script = script
        self.nodes: list[Fork] = []
        self.again = False
        self.quick: Any = None
        self.key: Any = None

    @property
    def is_ready(self) -> bool:
        """Whether its program has been made."""
        return isinstance(self._staged, CompiledStages)

    @property
    def staged(self) -> CompiledStages:
        """Its program."""
        staged = self._staged
        if not isinstance(staged, CompiledStages):
            staged = self._staged = staged()
        return staged

    def make_ready(self) -> None:
        """Make its program, if that is still to be done."""
        self._staged = self.staged

    @property
    def stages(self) -> list[Stage]:
        """The stages of its program."""
        return self.staged.stages

    @property
    def first(self) -> Compiled:
        """The program of its first stage."""
        return self.stages[0].compiled

    def compile_at_once(self) -> None:
        """Let its next run be of machine code, in all of its stages."""
        for stage in self.stages:
            stage.compiled.compile_at_once()

    def run(
        self,
        arguments: Sequence[Any],
        held: int | None = None,
        tried: bool = False,
        sure: bool = False,
        constants: Sequence[Any] | None = None,
    ) -> tuple[Any, ...] | Difference:
        """The results, if all guards hold.

        held: how many do, if a run of all has told already. tried: whether machine code has been
        given these arguments, and had no results. sure: whether the guards are known to hold.
        constants: others than its own.
        """
        whole = [*arguments, *(self.constants if constants is None else constants)]
        if len(self.stages) == 1:
            return self._stage(0, [*whole, *self._expected(0)], held, tried, sure)
        values: dict[Any, Any] = dict(zip(self.staged.program.inputs, whole, strict=True))
        for number, stage in enumerate(self.stages):
            given = [values[atom] for atom in stage.source.inputs]
            outcome = self._stage(number, [*given, *self._expected(number)], sure=sure)
            if isinstance(outcome, Difference):
                return outcome
            values.update(zip(stage.source.outputs, outcome, strict=True))
        return tuple([values[atom] for atom in self.staged.program.results])

    def play(
        self, arguments: Sequence[Any], check: Callable[[], None] | None = None
    ) -> Played | Difference:
        """The results, if all guards hold, with what its script says drawn anew, and printed.

        Where they do not, and where it raises `Unplayable`, generators are as they were before.
        check: what is to be done first, at a call for which it holds.
        """
        script = self.script
        assert script is not None
        before = script.states()
        try:
            constants = list(self.constants)
            for place, value in zip(script.places, script.drawn(), strict=True):
                constants[place] = value
            outcome = self.run(arguments, constants=constants)
        except Exception as error:  # the function is to raise it, when it comes to it
            restore(before)
            raise Unplayable from error
        if isinstance(outcome, Difference):
            restore(before)
            return outcome
        if check is not None:
            after = script.states()
            restore(before)
            check()
            restore(after)
        count = len(outcome) - len(script.slots)
        script.say(outcome[count:])
        return Played(outcome[:count], constants)

    def bound(self) -> list[Any]:
        """The last inputs of the only stage, which are the same at each run."""
        return [*self.constants, *self._expected(0)]

    def _expected(self, number: int) -> list[Any]:
        return [self.guards[place].value for place in self.stages[number].source.expected]

    def _stage(
        self,
        number: int,
        arguments: Sequence[Any],
        held: int | None = None,
        tried: bool = False,
        sure: bool = False,
    ) -> tuple[Any, ...] | Difference:
        stage = self.stages[number]
        compiled, own, count = stage.compiled, stage.source.guards, len(stage.source.outputs)
        if sure or not own:
            return compiled(arguments)[:count]
        results = None if tried or held is not None else compiled.run(arguments)
        holding: int | Difference
        if results is not None:
            holding = int(results[count])
        elif held is not None:
            holding = held
        else:
            holding = stage.held(arguments, self.guards[own.start : own.stop])
        if holding == len(own):
            if results is None:  # only now, and with the warnings and errors that belong to it
                results = compiled.fall_back(arguments)
            return results[:count]
        if not isinstance(holding, Difference):
            holding = self._difference(stage, arguments, holding)
        return Difference(own.start + holding.place, holding.answer)

    def _difference(self, stage: Stage, arguments: Sequence[Any], held: int) -> Difference:
        """The answer in the place of the first guard that does not hold."""
        guards = self.guards[stage.source.guards.start : stage.source.guards.stop]
        if guards[held].kind == "bool":
            return Difference(held, not guards[held].answer)
        difference = stage.step(arguments, guards[: held + 1])
        # Machine code may have rounded otherwise; then the function is captured once more.
        return difference if isinstance(difference, Difference) else Difference(held, None)


class Fork:
    """A question, and what comes after each answer that was met: a question, or the end of a path.

    line: the user's. most: how many answers are kept at most. latest: a path through it.
    """

    __slots__ = ("children", "latest", "line", "most", "question")

    def __init__(self, guard: Guard, path: Path) -> None:
        self.question = guard.question
        self.line = guard.line
        self.most = _MOST_NUMBERS if isinstance(guard.answer, bytes) else None
        self.children: dict[Any, Fork | Path] = {}
        self.latest = path


class Tree:
    """The paths of one signature."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()  # a signal handler may come by within
        self._root = Fork(path.guards[0], path)
        self.count = 0
        self.add(path)

    def add(self, path: Path) -> bool:
        """Add a path, the likeliest now wherever it passes; whether no question has too many."""
        with self._lock:
            node = self._root
            path.nodes = [node]
            for guard, following in pairwise(path.guards):
                child = node.children.get(guard.answer)
                if not isinstance(child, Fork) or child.question != following.question:
                    child = node.children[guard.answer] = Fork(following, path)
                path.nodes.append(child)
                node = child
            if node.children.get(path.guards[-1].answer) is None:
                self.count += 1
            node.children[path.guards[-1].answer] = path
        turn_to(path)
        return all(fork.most is None or len(fork.children) <= fork.most for fork in path.nodes)

    def varying(self) -> str:
        """The user's line whose answers differ most."""
        counts: Counter[str] = Counter()
        stack: list[Fork | Path] = [self._root]
        while stack:
            node = stack.pop()
            if isinstance(node, Fork):
                counts[node.line] += len(node.children) - 1
                stack += node.children.values()
        return counts.most_common(1)[0][0]


def following(path: Path, difference: Difference) -> Path | None:
    """The likeliest path where one has turned out wrong; None if there is none yet."""
    child = path.nodes[difference.place].children.get(difference.answer)
    return child.latest if isinstance(child, Fork) else child


def turn_to(path: Path) -> None:
    """Let a path be the likeliest: it was right."""
    for node in path.nodes:
        node.latest = path
