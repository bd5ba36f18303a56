"""Python's own `while` as one operation, where its rounds are proven to be alike.

Capture has shown that each round leads from one moment to another that differs in traced values
alone (`capture/rounds`). So these are what a loop carries, and the tree of the rounds' paths is its
body. Where a round would take a path that is not known, the loop ends before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.capture import Traced, from_slot
from adjoint.capture.recording.tracing.applying import frozen, is_waited_for, slot_in
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import Trace, captures, outermost
from adjoint.capture.rounds.paths import CONSTANT, LOCAL, VARIABLE, Reference, RoundPart
from adjoint.capture.rounds.sites import FEWEST, Ended, ReadyLoop
from adjoint.executors.aside import loop_results
from adjoint.loops.declared import SWITCH, WHILE
from adjoint.primitives import UFUNCS
from adjoint.primitives.elementwise.conversion import CAST, PYTHON_NUMBER
from adjoint.primitives.structure.moving import RESHAPE
from adjoint.program import Atom, Builder, Literal, Operation, Program, operation

_BOOL: Final = array_type((), np.dtype(bool))
_INDEX: Final = np.dtype(np.int64)


def run_rounds(trace: Trace, ready: ReadyLoop) -> tuple[int, Ended | None]:
    """Record a loop, and let what it carries be what comes of it.

    Returns how many rounds it makes, and what is asked for after it: None where the loop cannot be
    recorded, or is not worth it; then nothing has changed.
    """
    program = _LoopProgram(trace, ready)
    results = _computed(program.loop, _numbers(ready, program))
    if results is None:
        return 0, None
    rounds = int(results[0])
    if rounds < FEWEST:
        return rounds, None
    _forget_questions(ready)
    return rounds, _recorded(trace, ready, program, results[1:])


hooks.run_rounds = run_rounds


# --- the program of a loop ------------------------------------------------------------------------


class _LoopProgram:
    """The body and the test of a loop.

    carried: the variables that a round changes; what is asked for is always one. fixed: what else
    the rounds refer to, the first operands. is_open: whether a round may take a path that is not
    known; then whether it did not is carried last. goes_on: the answer with which a round begins,
    if there is one alone.
    """

    def __init__(self, trace: Trace, ready: ReadyLoop) -> None:
        root = ready.tree.root
        assert root is not None
        self.ready = ready
        self.trace = trace
        types = [value.type for value in ready.begun.values]
        self.types = [*types, ready.begun.asked_type]
        self.carried = _changed(root, len(types))
        self.goes_on = next(iter(root.branches)) if len(root.branches) == 1 else None
        self.is_open = any(node.is_open() for node in root.branches.values())
        moved = {(VARIABLE, number) for number in self.carried}
        self.fixed = [x for x in root.needed() if x not in moved]
        self.strong = [_strong(self.types[number]) for number in self.carried]
        self.loop: Operation = operation(
            WHILE,
            test=self._test(root),
            body=self._body(root),
            constants=len(self.fixed),
            carried=len(self.carried) + self.is_open,
            length=None,
        )

    def slot(self, reference: Reference) -> int:
        """The slot of what is fixed, or of a variable at the beginning."""
        kind, number = reference
        ready = self.ready
        if kind == CONSTANT:
            return ready.constants.slot(number)
        if number == len(ready.values):
            return ready.begun.asked
        value = ready.begun.values[number]
        if value.trace == id(self.trace):
            return value.slot
        return slot_in(self.trace, ready.values[number])  # which has not changed since

    def _type(self, reference: Reference) -> ArrayType:
        kind, number = reference
        return self.ready.tree.constants[number][0] if kind == CONSTANT else self.types[number]

    def _inputs(self, builder: Builder) -> dict[Reference, Atom]:
        """The atoms of what there is at the beginning of a round."""
        atoms: dict[Reference, Atom] = {}
        for reference in self.fixed:
            atoms[reference] = builder.input(self._type(reference))
        for number, type_ in zip(self.carried, self.strong, strict=True):
            atoms[VARIABLE, number] = builder.input(type_)
        if self.is_open:
            builder.input(_BOOL)
        return atoms

    def _test(self, root: RoundPart) -> Program:
        builder = Builder()
        atoms = self._inputs(builder)
        builder.derived = True
        truths: list[Atom] = []
        if self.goes_on is not None:
            assert root.asked is not None
            truths.append(_truth(builder, atoms[root.asked], self.goes_on))
        if self.is_open:
            truths.append(builder.inputs[-1])
        whole = truths[0] if truths else Literal(np.True_)
        if len(truths) == 2:
            (whole,) = _emit(builder, np.logical_and, *truths)
        return builder.build([whole])

    def _body(self, root: RoundPart) -> Program:
        builder = Builder()
        atoms = self._inputs(builder)
        builder.derived = True
        for number in self.carried:  # Python's numbers are such again
            if self.types[number].weak:
                atom = atoms[VARIABLE, number]
                (atoms[VARIABLE, number],) = builder.emit(operation(PYTHON_NUMBER), [atom])
        first = root if self.goes_on is None else root.branches[self.goes_on]
        return builder.build(self._rest(builder, atoms, first))

    def _rest(self, builder: Builder, atoms: dict[Reference, Atom], node: RoundPart) -> list[Atom]:
        """The results of a round from a node on."""
        self._append(builder, atoms, node)
        builder.derived = True
        if node.results is not None:
            outputs = [self._as_carried(builder, atoms[node.results[n]]) for n in self.carried]
            return [*outputs, Literal(np.True_)] if self.is_open else outputs
        assert node.asked is not None
        truth = _truth(builder, atoms[node.asked], True)
        (index,) = builder.emit(operation(CAST, dtype=_INDEX), [truth])
        used = dict.fromkeys((VARIABLE, number) for number in self.carried)
        for branch in node.branches.values():
            used.update(branch.needed())
        needed = [reference for reference in used if reference in atoms]
        branches = []
        for answer in (False, True):
            inner = Builder()
            inner.derived = True
            names = {reference: inner.input(atoms[reference].type) for reference in needed}
            following = node.branches.get(answer)
            if following is None:  # as at the beginning of the round, which is not made
                stays = [self._as_carried(inner, names[VARIABLE, n]) for n in self.carried]
                branches.append(inner.build([*stays, Literal(np.False_)]))
            else:
                branches.append(inner.build(self._rest(inner, dict(names), following)))
        operands = [index, *[atoms[reference] for reference in needed]]
        builder.derived = False  # what a branch does, the user's code does
        return list(builder.emit(operation(SWITCH, branches=tuple(branches)), operands))

    def _append(self, builder: Builder, atoms: dict[Reference, Atom], node: RoundPart) -> None:
        """Append what a node computes."""
        place = node.first
        for step in node.steps:
            builder.derived = step.quiet
            if type(step.head) is Operation:
                results = builder.emit(step.head, [atoms[x] for x in step.operands])
            else:
                results = (step.head.literal,)
            for number, result in enumerate(results, place):
                atoms[LOCAL, number] = result
            place += step.results

    def _as_carried(self, builder: Builder, atom: Atom) -> Atom:
        """What is carried on, which is no number of Python's."""
        if not isinstance(atom, Literal) and not atom.type.weak:
            return atom
        return builder.emit(operation(CAST, dtype=atom.type.dtype), [atom])[0]


def _strong(type: ArrayType) -> ArrayType:
    return array_type(type.shape, type.dtype)


def _changed(root: RoundPart, asked: int) -> list[int]:
    """The variables that a round changes on some path; first what is asked for."""
    changed = {
        number
        for results in root.results_of_all()
        for number, result in enumerate(results)
        if result != (VARIABLE, number)
    }
    return [asked, *sorted(changed - {asked})]


def _emit(builder: Builder, function: Any, *operands: Atom) -> tuple[Atom, ...]:
    return builder.emit(operation(UFUNCS[function]), operands)


def _truth(builder: Builder, atom: Atom, answer: bool) -> Atom:
    """Whether the truth of a number, which may be the only one of an array, is this."""
    if atom.type.shape:
        (atom,) = builder.emit(operation(RESHAPE, shape=()), [atom])
    if atom.type.dtype.kind != "b":
        (atom,) = _emit(builder, np.not_equal, atom, Literal(0))
    return atom if answer else _emit(builder, np.logical_not, atom)[0]


# --- its values -----------------------------------------------------------------------------------


def _numbers(ready: ReadyLoop, program: _LoopProgram) -> list[Any]:
    """NumPy's values of the operands, as they are now."""
    known = [value._value for value in ready.values] + [ready.asked]

    def number(reference: Reference) -> Any:
        kind, place = reference
        return ready.tree.constants[place][1] if kind == CONSTANT else known[place]

    values = [number(reference) for reference in program.fixed]
    for place, type_ in zip(program.carried, program.strong, strict=True):
        values.append(np.asarray(known[place], type_.dtype)[()])
    return [*values, np.True_] if program.is_open else values


def _computed(loop: Operation, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """What a loop gives. None where NumPy would warn, or fail: it is the user's line that does."""
    raising: Any = {
        kind: "raise" if what != "ignore" else what for kind, what in np.geterr().items()
    }
    try:
        with np.errstate(**raising):
            return _results(loop, values)
    except Exception:
        return None


def _results(loop: Operation, values: Sequence[Any]) -> tuple[Any, ...]:
    outer = outermost()
    assert outer is not None
    results: tuple[Any, ...]
    if is_waited_for():
        results = loop_results(loop, values, outer.longest)
    else:
        results = loop.primitive.evaluate(*values, **loop.params)
    outer.longest = max(outer.longest, int(results[0]))
    return results


# --- recording ------------------------------------------------------------------------------------


def _forget_questions(ready: ReadyLoop) -> None:
    """Let go of what was asked in the rounds that are part of the loop now."""
    begun = ready.begun
    for capture, asked, guarded in zip(captures(), begun.inquiries, begun.guards, strict=True):
        del capture.inquiries[asked + ready.asks :]
        guards = capture.guards
        while guards is not None and len(guards) > guarded + ready.asks:
            guards.popitem()


def _recorded(
    trace: Trace, ready: ReadyLoop, program: _LoopProgram, results: Sequence[Any]
) -> Ended:
    """Record the loop from its beginning, and let what is carried be what comes of it."""
    operands = [program.slot(reference) for reference in program.fixed]
    for number, type_ in zip(program.carried, program.strong, strict=True):
        slot = program.slot((VARIABLE, number))
        cast = operation(CAST, dtype=type_.dtype)
        operands.append(trace.record(cast, (slot,)) if trace.types[slot].weak else slot)
    if program.is_open:
        operands.append(trace.constant(np.True_, _BOOL))
    first = trace.record(program.loop, tuple(operands)) + 1
    after: dict[int, tuple[int, Any]] = {}
    for place, number in enumerate(program.carried):
        slot, result = first + place, results[place]
        if not trace.nested:  # else it follows from what an outer capture traces
            trace.values[slot] = frozen(result)
        if program.types[number].weak:
            slot, result = trace.record(operation(PYTHON_NUMBER), (slot,)), result.item()
        after[number] = slot, result
    for number, value in enumerate(ready.values):
        if number in after:
            _replace(value, *after[number], number not in ready.tree.rebound)
    slot, result = after[len(ready.values)]
    last = from_slot(trace, slot, _like(ready.asked, result))
    ends = not program.is_open and program.goes_on is not None
    return Ended(last, not program.goes_on if ends else None)


def _replace(value: Traced, slot: int, result: Any, is_written: bool) -> None:
    """Let a traced value be another. is_written: whether its own memory was written into."""
    new = _like(value._value, result)
    if is_written and type(value._value) is np.ndarray:
        np.copyto(value._value, new)
        new = value._value
    value._slot, value._value = slot, new
    if value._state is not None:
        value._state.version += 1


def _like(before: Any, result: Any) -> Any:
    """A result in the form that NumPy's value had: an array of that layout, or a number."""
    if type(before) is not np.ndarray:
        return result
    array = np.empty_like(before)
    np.copyto(array, result)
    return array
