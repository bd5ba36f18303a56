"""Recipes: what a function of NumPy's records for arguments of some types, written down once.

How `np.var(x, axis=0)` is made of operations depends on types alone, as a rule. So the first time
it is recorded in a trace of its own, whose inputs have no values: if that goes without a question,
what was recorded is a recipe, and from then on its records are copied, and ours does not run. A
function that asks for a value there, notes an effect or gives a view has no recipe, and goes the
general way (`valued.beside`).

Numbers among the arguments are a part of what a recipe is found by, since they may decide on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from adjoint.base.arrays import ArrayType, type_of
from adjoint.capture.recording.tracing.places import user_line
from adjoint.capture.recording.tracing.trace import Trace, alone
from adjoint.capture.recording.tracing.traced import Traced, from_slot, synchronise
from adjoint.program import Operation


class Recipe(NamedTuple):
    """What is recorded.

    constants: numbers and arrays that are lifted first: with the place of each among the plain
    arguments, or -1. records: operations with what picks their operands, among inputs, constants
    and results in turn. types: of all results. result: the numbers of
    those that are returned. kind: what makes one of several; None where it is one alone. said: the
    warnings that are NumPy's to give, which runs beside. alone: the operation, where it is one, of
    the operands as they come, with one result.
    """

    constants: tuple[tuple[int, Any], ...]
    records: tuple[tuple[Operation, Callable[[list[int]], Sequence[int]]], ...]
    types: tuple[ArrayType, ...]
    result: tuple[int, ...]
    kind: Any
    said: frozenset[str] = frozenset()
    alone: Operation | None = None


RECIPES: Final[dict[Any, dict[Any, Recipe | None]]] = {}  # by function of ours, and by arguments
_MOST: Final = 256  # for one function
_LONGEST: Final = 16  # of lists among arguments
_LARGEST: Final = 1 << 12  # bytes of an array that a recipe holds
_NAMES: Final = frozenset({int, bool, str, type(None), type, np.dtype})


def has_recipes(ours: Callable[..., Any]) -> Callable[..., Any]:
    """Declare that what a function of ours records may be kept by the types of its arguments."""
    RECIPES.setdefault(ours, {})
    return ours


class Asked(NamedTuple):
    """A call of a function that may have a recipe.

    key: what the recipe is found by. slots: the operands, those of the trace by slot. plain: the
    numbers and names. values, named: the arguments as NumPy takes them.
    """

    key: Any
    slots: list[Any]
    plain: list[Any]
    values: list[Any]
    named: dict[str, Any]


def asked_of(trace: Trace, args: Sequence[Any], kwargs: dict[str, Any]) -> Asked | None:
    """A call as recipes see it; None if it can have none, or some argument has no value."""
    slots: list[Any] = []
    plain: list[Any] = []
    values: list[Any] = []
    key = _key(args, trace, slots, plain, values)
    if key is None or not kwargs:
        return None if key is None else _new_asked(Asked, (key, slots, plain, values, kwargs))
    given: list[Any] = []
    named = _key(kwargs.values(), trace, slots, plain, given)
    if named is None:
        return None
    key = (key, *kwargs, named)
    return Asked(key, slots, plain, values, dict(zip(kwargs, given, strict=True)))


_new_asked: Final = tuple.__new__


def followed(
    ours: Callable[..., Any], trace: Trace, asked: Asked, args: Sequence[Any], kwargs: Any
) -> Any:
    """What a function of ours gives, without its value; None where there is no recipe for that."""
    key, slots, plain, _, _ = asked
    kept = RECIPES[ours]
    recipe = kept.get(key, _ABSENT)
    if recipe is _ABSENT:
        if len(kept) >= _MOST:
            return None
        types = [trace.types[x] if type(x) is int else type_of(x) for x in slots]
        recipe = kept[key] = _written(ours, types, args, kwargs, plain)
    if recipe is None:
        return None
    return _copied(recipe, trace, slots, plain)  # type: ignore[arg-type]


_ABSENT: Final = object()


def _key(
    given: Any, trace: Trace, slots: list[Any], plain: list[Any], values: list[Any]
) -> tuple[Any, ...] | None:
    """What a recipe is found by; None where there is none. The rest is as in `Asked`, so far."""
    key: list[Any] = []
    for argument in given:
        kind = type(argument)
        if kind is Traced:
            state = argument._state
            if state is not None and state.base is not None:
                synchronise(argument)
            value = argument._value
            if argument._trace is trace:
                type_ = trace.types[argument._slot]
                if value is None or (not type_.shape and type(value) is np.ndarray):
                    return None
                slots.append(argument._slot)
            else:
                known = argument._trace is None and type(value) is np.ndarray
                if not known or value.dtype.kind != "f":
                    return None
                type_ = type_of(value)
                slots.append(value)
            values.append(value)
            key.append(type_)
            continue
        if kind is np.ndarray and argument.dtype.kind == "f":
            slots.append(argument)
            key.append(type_of(argument))
        elif kind in _NAMES or (kind is float and argument * 0 == 0):
            plain.append(argument)
            is_zero = kind is float and not argument
            key += (kind, str(argument) if is_zero else argument)  # 0.0 is not -0.0
        elif (kind is list or kind is tuple) and len(argument) <= _LONGEST:
            parts: list[Any] = []
            inner = _key(argument, trace, slots, plain, parts)
            if inner is None:
                return None
            key += (kind, inner)
            argument = parts if kind is list else tuple(parts)
        else:
            return None
        values.append(argument)
    return tuple(key)


def _copied(recipe: Recipe, trace: Trace, slots: list[Any], plain: list[Any]) -> Any:
    """Write the records of a recipe into a trace."""
    constants, copies, new_types, result, make, said, alone = recipe
    numbers = [x if type(x) is int else trace.lift(x) for x in slots]
    if alone is not None and trace.lines is None:
        trace.types.append(new_types[0])
        trace.records.append((alone, *numbers))
        return from_slot(trace, len(trace.types) - 1)
    for constant in constants:
        known = trace.arrays.get(id(constant))  # of ours: one input for all calls in a trace
        if known is None:
            place, value = constant
            known = (constant, trace.lift(plain[place] if place >= 0 else value))
            if place < 0:
                trace.arrays[id(constant)] = known
        numbers.append(known[1])
    if said:
        trace.said |= said
    types, records = trace.types, trace.records
    start = len(types)
    types += new_types
    numbers += range(start, len(types))
    for op, operands in copies:
        records.append((op, *operands(numbers)))
    if trace.lines is not None:
        trace.lines.extend([user_line()] * len(copies))
    if make is None:
        return from_slot(trace, numbers[result[0]])
    return make([from_slot(trace, numbers[number]) for number in result])


def _picking(places: tuple[int, ...]) -> Callable[[list[int]], Sequence[int]]:
    """What takes the numbers at some places out of a list."""
    if len(places) > 1:
        return operator.itemgetter(*places)
    first = places[0] if places else 0
    return operator.itemgetter(slice(first, first + len(places)))


def _written(
    ours: Callable[..., Any],
    types: list[ArrayType],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    plain: list[Any],
) -> Recipe | None:
    """The recipe of a function for arguments; None if it has none."""
    trace = Trace(types, {}, [False] * len(types))
    trace.inside = trace.valued = True  # NumPy runs beside whatever follows a recipe
    twins = [from_slot(trace, slot) for slot in range(len(types))]
    waiting = iter(twins)
    with alone(trace):
        try:
            given = _twins(args, waiting)
            named = dict(zip(kwargs, _twins(kwargs.values(), waiting), strict=True))
            result = ours(*given, **named)
        except Exception:  # it asks for values, say: the general way tells, at the user's line
            return None
    noted = trace.asked or trace.questions or trace.effects or trace.quiet or trace.failed
    if noted or trace.refusal or not all(map(_is_untouched, twins, range(len(types)))):
        return None
    kind = type(result)
    parts = [result] if kind is Traced else result
    make = None if kind is Traced else getattr(kind, "_make", kind)
    if kind is not Traced and not isinstance(result, (list, tuple)):
        return None
    if not all(_is_new(part, trace) for part in parts):
        return None
    return _recipe(trace, tuple([part._slot for part in parts]), make, plain)


def _twins(values: Any, waiting: Any) -> list[Any]:
    """Arguments with arrays of the recipe's trace for those that the records are about."""
    twins: list[Any] = []
    for argument in values:
        kind = type(argument)
        if kind is Traced or kind is np.ndarray:
            twins.append(next(waiting))
        else:
            holds = kind is list or kind is tuple
            twins.append(kind(_twins(argument, waiting)) if holds else argument)
    return twins


def _is_untouched(twin: Traced, slot: int) -> bool:
    """Whether an argument was read alone."""
    return twin._slot == slot and (twin._state is None or not twin._state.version)


def _is_new(value: Any, trace: Trace) -> bool:
    """Whether a result is one of the trace that is neither an argument nor a view."""
    own = type(value) is Traced and value._trace is trace and value._state is None
    return own and value._slot >= trace.input_count


def _recipe(trace: Trace, result: tuple[int, ...], kind: Any, plain: list[Any]) -> Recipe | None:
    """What a trace has recorded, with its constants before all else."""
    constants: list[tuple[int, Any]] = []
    places: dict[int, int] = {slot: slot for slot in range(trace.input_count)}
    slot = trace.input_count
    operations: list[tuple[Operation, tuple[int, ...]]] = []
    for head, *operands in trace.records:
        count = 1
        if isinstance(head, Operation):
            count = len(head.infer(tuple([trace.types[operand] for operand in operands])))
            operations.append((head, tuple(operands)))
        elif isinstance(head, ArrayType):
            value = trace.values[slot]
            if getattr(value, "nbytes", 0) > _LARGEST:
                return None
            place = next((n for n, argument in enumerate(plain) if argument is value), -1)
            places[slot] = trace.input_count + len(constants)
            constants.append((place, value))
        else:
            return None  # a literal of a rule
        slot += count
    number = trace.input_count + len(constants)
    types: list[ArrayType] = []
    for place in range(trace.input_count, slot):
        if place not in places:
            places[place] = number + len(types)
            types.append(trace.types[place])
    records = [(op, _picking(tuple([places[n] for n in slots]))) for op, slots in operations]
    result_places = tuple([places[n] for n in result])
    said = frozenset(trace.said)
    straight = len(types) == len(operations) == 1 and not (constants or said or kind)
    straight = straight and operations[0][1] == (*range(trace.input_count),)
    alone = operations[0][0] if straight else None
    return Recipe(tuple(constants), tuple(records), tuple(types), result_places, kind, said, alone)
