"""Capture: run the user's function once on traced arrays, and keep what it did."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, class_name, is_numeric, type_of
from adjoint.base.errors import AdjointError, ArgumentTypeError, DroppedDerivativeError
from adjoint.base.settings import settings
from adjoint.base.trees.containers import container_advice
from adjoint.base.trees.held import hold, holds, may_change, values_in
from adjoint.capture.clones.entering.foreign import refusal_of
from adjoint.capture.clones.entering.users import is_installed, is_users_file
from adjoint.capture.clones.rebinding import rebound, store_globals
from adjoint.capture.clones.stand_ins.shadows import forget_changed
from adjoint.capture.facts.past import Past, check_stale
from adjoint.capture.facts.remains import give_values
from adjoint.capture.recording.effects.floating_point import spoken
from adjoint.capture.recording.effects.repeated_calls import ready
from adjoint.capture.recording.effects.script import Script
from adjoint.capture.recording.effects.value_errors import ask_for_errors
from adjoint.capture.recording.exits.questions_alone import warn_of_questions_alone
from adjoint.capture.recording.memory.views import cell_of
from adjoint.capture.recording.tracing.applying import is_waited_for, note_value, settle, slot_in
from adjoint.capture.recording.tracing.building import (
    Needed,
    all_of,
    merge_constants,
    needed_by,
    program_of,
)
from adjoint.capture.recording.tracing.constants import check_plain
from adjoint.capture.recording.tracing.trace import Trace, captures, current, enter, leave
from adjoint.capture.recording.tracing.traced import (
    Traced,
    begin_births,
    end_births,
    from_slot,
    is_cell,
    kind_of,
    postpone,
    value_of,
)
from adjoint.capture.recording.values.containers import Filled
from adjoint.capture.recording.values.postponed import copied_later
from adjoint.capture.recording.values.verified import check_values
from adjoint.capture.rounds.sites import forget_loops
from adjoint.program import Program


class Captured:
    """A function's trace, with the slots of its outputs and their structure.

    cells: which outputs, by number, are arrays of no axes, where others without axes are scalars.
    """

    __slots__ = ("_needed", "cells", "outputs", "trace", "treedef")

    def __init__(
        self, trace: Trace, outputs: tuple[int, ...], treedef: Any, cells: tuple[int, ...] = ()
    ) -> None:
        self.trace = trace
        self.outputs = outputs
        self.treedef = treedef
        self.cells = cells
        self._needed: Needed | None = None

    @property
    def form(self) -> Any:
        """How results are put together: their structure, and which of them are cells."""
        return WithCells(self.treedef, self.cells) if self.cells else self.treedef

    @property
    def needed(self) -> Needed:
        """What the outputs need of the trace."""
        if self._needed is None:
            self._needed = needed_by(self.trace, self.outputs)
        return self._needed

    @property
    def key(self) -> tuple[Any, ...]:
        """The structure: equal for captures with the same program."""
        return self.needed.key

    @property
    def constants(self) -> list[Any]:
        """The values of the lifted constants.

        Which are the program's inputs after the arguments.
        """
        constants = self.trace.constants
        return [constants[place] for place in self.needed.constants]

    @property
    def ran(self) -> list[Any]:
        """What it has called of functions that it does not enter (see `repeated_calls.py`)."""
        return self.trace.ran

    @property
    def said(self) -> set[str]:
        """What NumPy has warned of in the capture."""
        return self.trace.said

    @property
    def output_types(self) -> list[ArrayType]:
        """The types of the outputs."""
        return [self.trace.types[slot] for slot in self.outputs]

    def program(self) -> Program:
        """The program of what the outputs need."""
        return program_of(self.trace, self.outputs, self.needed)

    def recorded(self) -> Program:
        """The program of all that was recorded, with all constants that were lifted."""
        return program_of(self.trace, self.outputs, all_of(self.trace, self.outputs))


class WithCells(NamedTuple):
    """A structure some of whose leaves, by number, are arrays of no axes, and not scalars."""

    treedef: Any
    cells: tuple[int, ...]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """Rebuild a tree from its leaves."""
        return pytrees.unflatten(self.treedef, with_cells(leaves, self.cells))


def with_cells(values: Iterable[Any], cells: tuple[int, ...]) -> list[Any]:
    """Values of which some, by number, are made arrays of no axes, as NumPy has them."""
    converted = list(values)
    for place in cells:
        converted[place] = cell_of(converted[place])
    return converted


def traced_type(value: Any) -> ArrayType:
    """The type of a concrete or traced value."""
    return value.type if type(value) is Traced else type_of(value)


def capture(
    function: Any,
    call: Callable[[Any, list[Traced]], Any],
    types: Sequence[ArrayType],
    values: Sequence[Any] | dict[int, Any],
    active: Sequence[bool],
    *,
    lines: bool = False,
    frozen: bool = False,
    at_once: bool = False,
    guarded: bool = False,
    script: Script | None = None,
    meaning: str | None = None,
    witness: dict[int, Any] | None = None,
    holding: bool = False,
    has_aux: bool = False,
) -> Captured:
    """Run a function on traced inputs.

    call: how to call the function, rebound, with the traced inputs. values: the inputs' values; or
    a dict of some, by number, where the others stand for many. active: which inputs a derivative is
    asked for. lines: whether to note the user's line of every operation. frozen: whether the
    program is compiled for good, so that equal numbers are to be one input. at_once: whether what
    is derived within it is likely to be all, and machine code at once. guarded: whether to note the
    values that are asked for, as the program is kept for others; and in `script` what is drawn and
    printed. meaning: what an input that has no value stands for, as an error about it says.
    holding: whether the function may return other things than numbers, which stay as they are.
    has_aux: whether it may as the second of a pair.
    """
    known = values if isinstance(values, dict) else dict(enumerate(values))
    trace = Trace(types, known, active)
    trace.meaning = meaning or trace.meaning
    trace.witness, trace.at_once = bool(witness), at_once
    if lines:
        trace.lines = []
    if guarded:
        trace.guards, trace.script = {}, script
    for value in trace.values.values():
        if type(value) is not np.ndarray and isinstance(value, np.ndarray):
            check_plain(value)
        note_value(value)
    outer = current()
    if outer is None:
        forget_changed()
    roots = (function, *_arguments(call))
    past = Past.of(roots, trace)
    births = begin_births()
    enter(trace)
    try:
        _belong(trace, outer, frozen)
        outputs, treedef, cells = _run(trace, function, call, witness or {}, holding, has_aux)
        roots += _objects_in(trace, treedef)
        check_stale(trace, outputs)
        ask_for_errors(trace, outputs)
        warn_of_questions_alone(trace, outputs)
        merge_constants(trace)
    except AdjointError as error:
        _point_at_user(error, error)
        raise
    except Exception as error:
        refusal = _refusal_behind(error, trace)
        if refusal is None:
            if _is_numpys(error):
                _point_at_user(error, error)
            raise
        _point_at_user(refusal, error)
        raise refusal from None
    finally:
        _leave([trace], outer, births, roots, past)
    return Captured(trace, outputs, treedef, cells)


def _belong(trace: Trace, outer: Trace | None, frozen: bool) -> None:
    """Let a capture know of the one around it."""
    # What is captured within a program that is kept is kept with it.
    trace.numbers = {} if frozen or (outer and outer.numbers is not None) else None
    trace.late = is_waited_for()
    if outer is not None:
        trace.said.belong_to(outer.said)
    elif trace.late:
        trace.said.note_listeners()


def _refusal_behind(error: Exception, trace: Trace) -> Exception | None:
    """The refusal of ours that an error follows from, where NumPy or a library hides it.

    NumPy does when a traced value is written into an array of its own, and a library that asks the
    other operand when it has met an error. No refusal is behind an error that was refused for the
    case that the user's code catches it, as that of one example of a batch is: it was not caught.
    """
    hidden = error.__cause__ or error.__context__
    if isinstance(hidden, DroppedDerivativeError):
        return hidden
    refusal = trace.refusal or refusal_of(error)
    if refusal is None or refusal is error:
        return None
    behind: BaseException | None = error
    while behind is not None and behind is not refusal.__cause__:
        behind = behind.__cause__ or behind.__context__
    return refusal if behind is None else None


def _leave(
    held: list[Trace],
    outer: Trace | None,
    births: object,
    roots: tuple[Any, ...],
    past: Past | None,
) -> None:
    """End a capture: what it has changed in what was there before is NumPy's.

    held: its trace, in a list, since how often a local name counts depends on the interpreter.
    births: how known arrays that were made before are told. roots: from where that is reached.
    """
    leave(held[0])
    forget_loops(held[0])
    store_globals()
    if past is not None:
        past.leave(held[0])
    survivors = end_births(births) or _references(held) > _ALONE or held[0].survivors
    trace = held[0]
    if survivors and outer is not None:
        outer.survivors = True
    elif survivors and give_values(roots, trace):
        trace.effects.append(("it keeps values that it computed, in what was there before", ""))


def _input(trace: Trace, slot: int, given: Any) -> Traced:
    """What the function is given for an input, with a value of its own."""
    later = copied_later(given) if trace.late and not trace.witness else None
    if later is None:
        return from_slot(trace, slot, own_copy(_value(given)))
    traced = from_slot(trace, slot)
    postpone(traced, later)
    return traced


def _value(given: Any) -> Any:
    """NumPy's value of an input, which may be traced by an outer capture; None without one."""
    return value_of(given) if type(given) is Traced else given


def own_copy(array: Any) -> Any:
    """A copy that lies in memory as an array does: the user's code may write into it."""
    if not isinstance(array, np.ndarray):
        return array
    copy = array.copy(order="K")
    if copy.strides != array.strides and array.size:
        low, high = np.lib.array_utils.byte_bounds(array)
        start = array.__array_interface__["data"][0] - low
        memory = np.empty(high - low, np.uint8)
        copy = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
        np.copyto(copy, array)
    copy.flags.writeable = array.flags.writeable
    return copy


def _arguments(call: Any) -> tuple[Any, ...]:
    """What a function is called with, as those keep it who call it."""
    owner = getattr(call, "__self__", None)
    return tuple(getattr(owner, name, None) for name in ("args", "kwargs", "function"))


def _run(
    trace: Trace, function: Any, call: Any, witness: dict[int, Any], holding: bool, has_aux: bool
) -> tuple[tuple[int, ...], Any, tuple[int, ...]]:
    """The slots of a function's results, their structure, and which are arrays of no axes."""
    clone = rebound(function)
    given = [trace.values.get(slot, witness.get(slot)) for slot in range(trace.input_count)]
    inputs = [_input(trace, slot, value) for slot, value in enumerate(given)]
    trace.valued = all([kind_of(traced) is not type(None) for traced in inputs])
    around = [value._trace for value in trace.values.values() if type(value) is Traced]
    trace.nested = bool(around)
    trace.witness |= any([enclosing is not None and enclosing.witness for enclosing in around])
    with spoken(trace.said):
        try:
            result = call(clone.call, inputs)
        except BaseException as error:
            _warn_before(trace, error)
            raise
    for outer in captures():
        outer.said |= trace.said
    if trace.refusal is not None:  # the user's code caught it, and went on
        raise trace.refusal
    leaves, treedef = [result], None
    if type(result) is not Traced:
        leaves, treedef = pytrees.flatten(result)
        if holding or has_aux:
            leaves, treedef = _without_held(result, leaves, treedef, holding)
    leaves = [leaf.numbers if type(leaf) is Filled else leaf for leaf in leaves]
    outputs = tuple([_output(trace, leaf) for leaf in leaves])
    if settings().debug:
        with ready(trace.ran):
            check_values(trace, leaves, outputs)
    cells = [n for n, slot in enumerate(outputs) if not trace.types[slot].shape]
    return outputs, treedef, tuple([n for n in cells if _is_cell(leaves[n])])


def _warn_before(trace: Trace, error: BaseException) -> None:
    """Warn of what was postponed when an error ends a capture, as no program will run.

    Not when there is no memory for that, or somebody has pressed Ctrl-C and waits.
    """
    if not trace.said.around and not isinstance(error, (MemoryError, KeyboardInterrupt)):
        trace.said.hear()


def _without_held(
    result: Any, leaves: list[Any], treedef: Any, whole: bool
) -> tuple[list[Any], Any]:
    """The leaves that a program computes, and the structure with the others in their places.

    whole: whether that is about the whole result, and not about the second of a pair alone.
    """
    first = 0
    if not whole:
        pair = type(result) is tuple and len(result) == 2
        first = len(pytrees.leaves(result[0])) if pair else len(leaves)
    moves = [number < first or _is_computed(leaf) for number, leaf in enumerate(leaves)]
    return (leaves, treedef) if all(moves) else hold(leaves, treedef, moves)


def _is_computed(leaf: Any) -> bool:
    """Whether a result is one of the program's; counts and truth values of Python's are not."""
    kind = type(leaf)
    return kind is Traced or kind is Filled or (kind not in (bool, int) and is_numeric(leaf))


def _objects_in(trace: Trace, treedef: Any) -> tuple[Any, ...]:
    """The objects that a function returns besides its numbers, which are others at every call."""
    if treedef is None or not holds(treedef):
        return ()
    objects = may_change(values_in(treedef))
    trace.effects += [
        (f"it returns an object of the class {class_name(type(value))}", "") for value in objects
    ]
    return tuple(objects)


def _is_cell(leaf: Any) -> bool:
    return is_cell(leaf) if type(leaf) is Traced else type(leaf) is np.ndarray


def _output(trace: Trace, leaf: Any) -> int:
    if type(leaf) is Traced:
        return slot_in(trace, settle(leaf))
    if type(leaf) is int and leaf.bit_length() > _BITS:
        raise ArgumentTypeError(
            f"The function returned the integer {leaf}, which is too large for an int64. Return "
            "float() of it."
        )
    try:
        return trace.lift(leaf)
    except DroppedDerivativeError:
        raise
    except AdjointError:
        raise ArgumentTypeError(
            f"The function returned a {type(leaf).__name__}; a derivative needs arrays or "
            f"numbers, in containers or alone.{container_advice(leaf)}"
        ) from None


def _is_numpys(error: BaseException) -> bool:
    """Whether an error was raised by a function that we called, and not by the user's code."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    return last is not None and not is_users_file(last.tb_frame.f_code.co_filename)


def _point_at_user(error: BaseException, raised: BaseException) -> None:
    """Add the user's own line to an error, unless it has one."""
    if getattr(error, "__notes__", None):
        return
    frames = [
        frame
        for frame in reversed(traceback.extract_tb(raised.__traceback__))
        if is_users_file(frame.filename) and not frame.filename.startswith(_PACKAGE)
    ]
    own = [frame for frame in frames if not is_installed(frame.filename)]
    if isinstance(error, AdjointError) and own and own[0] is not frames[0]:
        error.add_note(
            f"At {_written(frames[0])}\nThat is code of an installed package, which was called at "
            f"{_written(own[0])}\nGive the derivative of what you call there with ad.primitive."
        )
    elif frames:
        error.add_note(f"At {_written(frames[0])}")


def _written(frame: traceback.FrameSummary) -> str:
    line = frame.line or linecache.getline(frame.filename, frame.lineno or 0).strip()
    return f"{frame.filename}:{frame.lineno}: {line}"


_PACKAGE = __file__.rpartition("/capture/")[0]
_BITS = 63  # of an int64, without its sign


def _references(held: list[Any]) -> int:
    return sys.getrefcount(held[0])


def _alone() -> int:
    """What `_leave` sees of a trace that its caller alone refers to."""
    value = object()
    return _references([value])


_ALONE = _alone()
