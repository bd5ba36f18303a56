"""Values within a capture that becomes machine code: NumPy's, but for the loops that take long.

What is captured grows while one looks: a loop is recorded again with each path that turns up, and
what it holds stays the same. So the loops innermost are compiled, each once, and what is around
them is interpreted; until a loop around them has taken as long as compiling all of it would.
Whether that pays is told by counts of rounds and equations alone: so the same run of a script gives
the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType, type_of
from adjoint.base.errors import AdjointError
from adjoint.executors.effort import compiling_seconds, seconds_of_run
from adjoint.executors.tiered import Tiered
from adjoint.loops.declared import CHECKPOINT, LOOPS, SCAN, SWITCH, WHILE
from adjoint.optimise import simplify
from adjoint.program import Builder, Equation, Literal, Operation, Program, Variable, all_equations
from adjoint.program.nested import held_programs

_FEWEST: Final = 2  # rounds that NumPy makes in any case
# Compiling takes so many times as long as the rounds that NumPy makes before. A loop around others
# is likely to be recorded once more, with more paths, and its code would be of no use.
_SHARE: Final = 8
_SHARE_AROUND: Final = 0.5
_EQUATION: Final = 1.5e-6  # seconds that interpreting an equation takes, about
_CODE: Final = 1e-4  # seconds that the machine code of a loop takes, about
_SMALL: Final = 1000  # numbers of an array up to which it is kept until all is computed
_LONG: Final = 1e-3  # seconds of NumPy's from which a loop is looked after by itself


class _LoopAside:
    """A loop for operands of some types.

    code: what it is compiled to, when it is to be. spent: the seconds that NumPy has taken for
    rounds of it, as is estimated.
    """

    def __init__(self, op: Operation, types: tuple[ArrayType, ...]) -> None:
        builder = Builder()
        inputs = [builder.input(type_) for type_ in types]
        self.program = builder.build(builder.emit(op, inputs))
        self.compiling = compiling_seconds(self.program)
        self.spent = 0.0
        self.code: Tiered | None = None

    def left(self, share: float = _SHARE) -> float:
        """The seconds that NumPy may take for it before it is compiled."""
        return self.compiling / share - self.spent

    def compiled(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """What machine code gives."""
        if self.code is None:
            self.code = Tiered(simplify(self.program), ())
            self.code.compile_at_once()
        return self.code(values)


_loop: Final = lru_cache(maxsize=64)(_LoopAside)


def loop_results(op: Operation, values: Sequence[Any], longest: int) -> tuple[Any, ...]:
    """How many rounds a `while` makes, and what it carries then, by whichever means is faster.

    longest: the most rounds that a loop within it is likely to make.
    """
    if op.params["length"] is not None:
        return _with_rows(op, values, longest)
    loop = _loop(op, tuple(map(type_of, values)))
    if loop.code is not None:
        rounds, state = 0, list(values)
    else:
        few, of_round = _few(loop, op.params["body"], longest)
        rounds, state = _begun(op, values, few, longest)
        loop.spent += rounds * of_round
        if rounds < few:
            return (np.int64(rounds), *state[op.params["constants"] :])
    more, *carried = loop.compiled(state)
    if _has_nan(carried):  # a hard zero may win over what is not finite
        results: tuple[Any, ...] = op.primitive.evaluate(*values, **op.params)
        return results
    return (rounds + more, *carried)


def _few(loop: _LoopAside, body: Program, longest: int) -> tuple[int, float]:
    """How many rounds are made before it is compiled, and the seconds of one."""
    of_round = _seconds_aside(body, longest)
    if holds_long_loops(body, longest):
        return max(int(loop.left(_SHARE_AROUND) / of_round), _FEWEST), of_round
    of_round = max(of_round, seconds_of_run(body, longest))
    return max(int(loop.left() / of_round), _FEWEST), of_round


def _begun(op: Operation, values: Sequence[Any], most: int, longest: int) -> tuple[int, list[Any]]:
    """So many rounds of a loop at most: how many there were, and its operands after them."""
    constants, test, body = op.params["constants"], op.params["test"], op.params["body"]
    fixed, state = list(values[:constants]), list(values[constants:])
    rounds, compiled = 0, _has_large(body) and not holds_long_loops(body, longest)
    while rounds < most and _interpreted(test, [*fixed, *state], longest)[0]:
        if compiled:
            state = list(CHECKPOINT.evaluate(*fixed, *state, body=body, schedule=None))
        else:
            state = list(_interpreted(body, [*fixed, *state], longest))
        rounds += 1
    return rounds, [*fixed, *state]


@lru_cache(maxsize=256)
def _has_large(body: Program) -> bool:
    """Whether a body, or one within it, is worth a function that uses memory again.

    New memory for each large result takes as long as computing it.
    """
    types = (variable.type for equation in all_equations(body) for variable in equation.outputs)
    return any(type_.size > _SMALL for type_ in types)


def _with_rows(op: Operation, values: Sequence[Any], longest: int) -> tuple[Any, ...]:
    """What a loop gives that scans or stacks rows."""
    try:
        loop = _loop(op, tuple(map(type_of, values)))
    except AdjointError:  # a tape that NumPy has made longer
        return _plainly(op, values)
    if loop.code is None:
        rounds = int(values[0]) if op.primitive is SCAN else longest
        seconds = max(rounds, 1) * seconds_of_run(op.params["body"], longest)
        if seconds < loop.left():
            results = _plainly(op, values)
            loop.spent += seconds
            return results
    results = loop.compiled(values)
    rounds = int(values[0]) if op.primitive is SCAN else int(results[0])
    carried = op.params["carried"] + (op.primitive is WHILE)
    # Nothing reads the rows of a tape beyond these, and they may be anything.
    reached = [*results[:carried], *[rows[:rounds] for rows in results[carried:]]]
    return _plainly(op, values) if _has_nan(reached) else results


def _plainly(op: Operation, values: Sequence[Any]) -> tuple[Any, ...]:
    results: tuple[Any, ...] = op.primitive.evaluate(*values, **op.params)
    return results


def _has_nan(results: Sequence[Any]) -> bool:
    """Whether a number among the results differs from itself."""
    return any([(x != x).any() if isinstance(x, np.ndarray) else x != x for x in results])


# --- programs that hold loops ---------------------------------------------------------------------


def results_aside(program: Program, values: Sequence[Any], longest: int) -> tuple[Any, ...] | None:
    """What a program gives, with the loops in it that take long as machine code.

    None where it holds none, and where a hard zero may be lost. longest: the most rounds that a
    loop is likely to make.
    """
    if not holds_long_loops(program, longest):
        return None
    results = _interpreted(program, values, longest)
    if _has_nan(results):
        return None
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    return tuple(
        [x.copy() if any(np.may_share_memory(x, array) for array in arrays) else x for x in results]
    )


@lru_cache(maxsize=256)
def holds_long_loops(program: Program, longest: int) -> bool:
    """Whether there are loops in a program, outside of other loops, that take NumPy long."""
    for equation in program.equations:
        if equation.primitive in LOOPS:
            if _seconds_of_loop(equation, longest) > _LONG:
                return True
        elif any(holds_long_loops(body, longest) for body in held_programs(equation.operation)):
            return True
    return False


def _seconds_of_loop(equation: Equation, longest: int) -> float:
    return seconds_of_run(Program((), (equation,), ()), longest)


def _seconds_aside(program: Program, longest: int) -> float:
    """How long interpreting a program takes, about, where loops that take long are compiled."""
    seconds = 0.0
    for equation in program.equations:
        seconds += _EQUATION
        if equation.primitive in LOOPS:
            seconds += min(_seconds_of_loop(equation, longest), _CODE)
        else:
            bodies = held_programs(equation.operation)
            seconds += sum(_seconds_aside(body, longest) for body in bodies)
    return seconds


class _PreparedOperation(NamedTuple):
    """One operation of a program that is interpreted.

    run: gives its result for the operands. operands: where they stand among the values.
    several: whether there are several results, in a tuple. ended: where large arrays stand that
    nothing reads after it.
    """

    run: Callable[..., Any]
    operands: tuple[int, ...]
    several: bool
    ended: tuple[int, ...]


class _PreparedProgram(NamedTuple):
    """A program that is interpreted: its values in the order in which they come up.

    First come the arguments, then the literals, then the results of one operation after another.
    steps: with each run of operations, whether NumPy's warnings are silent in it. outputs: where
    they stand.
    """

    literals: tuple[Any, ...]
    steps: tuple[tuple[bool, tuple[_PreparedOperation, ...]], ...]
    outputs: tuple[int, ...]


@lru_cache(maxsize=256)
def _steps(program: Program, longest: int) -> _PreparedProgram:
    """The steps of a program. longest: the most rounds that a loop in it is likely to make."""
    places: dict[Any, int] = {}
    for variable in program.inputs:
        places[variable] = len(places)
    atoms = [*program.outputs, *(x for equation in program.equations for x in equation.inputs)]
    literals = tuple([atom for atom in atoms if type(atom) is Literal])
    first = len(places)
    count = first + len(literals)
    at = {id(literal): first + number for number, literal in enumerate(literals)}
    groups = _in_groups(program)
    equations = [equation for _, group in groups for equation in group]
    ended = _last_read(equations, program.outputs)
    for equation in equations:
        for variable in equation.outputs:
            places[variable] = count
            count += 1

    def place(atom: Any) -> int:
        return at[id(atom)] if type(atom) is Literal else places[atom]

    def prepared(equation: Equation) -> _PreparedOperation:
        operands = tuple(map(place, equation.inputs))
        run, several = _run_of(equation, longest), equation.primitive.multiple
        return _PreparedOperation(run, operands, several, tuple(map(place, ended[equation])))

    steps = [(silent, tuple(map(prepared, group))) for silent, group in groups]
    values = tuple([literal.value for literal in literals])
    return _PreparedProgram(values, tuple(steps), tuple(map(place, program.outputs)))


def _last_read(
    equations: Sequence[Equation], outputs: Sequence[Variable | Literal]
) -> dict[Equation, list[Variable]]:
    """For each equation the large arrays, computed here, that nothing needs after it.

    Of a thousand steps on large arrays, what all of them compute would take gigabytes.
    """
    ended: dict[Equation, list[Variable]] = {equation: [] for equation in equations}
    needed: set[Any] = set(outputs)
    computed = {variable for equation in equations for variable in equation.outputs}
    large = {variable for variable in computed if variable.type.size > _SMALL}
    for equation in reversed(equations):
        atoms = dict.fromkeys((*equation.outputs, *equation.inputs))
        ended[equation] = [atom for atom in atoms if atom in large and atom not in needed]
        needed.update(ended[equation])
    return ended


def _in_groups(program: Program) -> list[tuple[bool, list[Equation]]]:
    """The equations in groups in which NumPy's warnings are silent, or not; as few as may be.

    What may warn stays in its order.
    """
    groups: list[tuple[bool, list[Equation]]] = []
    waiting, silent = list(program.equations), False
    while waiting:
        group, rest, stopped = [], [], False
        later: set[Any] = set()
        for equation in waiting:
            alike = bool(equation.derived) is silent
            if alike and not stopped and later.isdisjoint(equation.inputs):
                group.append(equation)
            else:
                stopped = stopped or (alike and not silent)
                rest.append(equation)
                later.update(equation.outputs)
        if group:
            groups.append((silent, group))
        waiting, silent = rest, not silent
    return groups


def _run_of(equation: Equation, longest: int) -> Callable[..., Any]:
    """What gives the results of an equation for its operands."""
    op, params = equation.operation, equation.params
    if op.primitive is SCAN:
        return lambda *values: _with_rows(op, values, longest)
    if op.primitive is WHILE:
        return lambda *values: loop_results(op, values, longest)
    if op.primitive is SWITCH:
        return _branching(params["branches"], longest)
    if op.primitive is CHECKPOINT:
        return lambda *values: _interpreted(params["body"], values, longest)
    return partial(op.primitive.evaluate, **params) if params else op.primitive.evaluate


def _branching(branches: Sequence[Program], longest: int) -> Callable[..., tuple[Any, ...]]:
    """What gives the results of a branch, each of which is prepared when it is taken first."""
    prepared: dict[int, _PreparedProgram] = {}
    last = len(branches) - 1

    def run(index: Any, *arguments: Any) -> tuple[Any, ...]:
        place = int(index)
        if not 0 <= place <= last:
            place = 0 if place < 0 else last
        branch = prepared.get(place)
        if branch is None:
            branch = prepared[place] = _steps(branches[place], longest)
        return _results_of(branch, arguments)

    return run


def _interpreted(program: Program, arguments: Sequence[Any], longest: int) -> tuple[Any, ...]:
    """The results of a program, one equation after another."""
    return _results_of(_steps(program, longest), arguments)


def _results_of(prepared: _PreparedProgram, arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a program that has been prepared."""
    literals, groups, outputs = prepared
    values = [*arguments, *literals]
    for silent, steps in groups:
        if silent:
            with np.errstate(all="ignore"):
                _follow(steps, values)
        else:
            _follow(steps, values)
    return tuple([values[place] for place in outputs])


def _follow(steps: Sequence[_PreparedOperation], values: list[Any]) -> None:
    """Add the results of some operations to the values, and let go of what is read no more."""
    value_at = values.__getitem__
    for run, operands, several, ended in steps:
        results = run(*map(value_at, operands))
        if several:
            values += results
        else:
            values.append(results)
        for place in ended:
            values[place] = None


def forget_aside() -> None:
    """Let go of the loops that came up, and of their machine code."""
    _loop.cache_clear()
    _steps.cache_clear()
    holds_long_loops.cache_clear()
    _has_large.cache_clear()
