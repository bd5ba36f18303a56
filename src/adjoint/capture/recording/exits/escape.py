"""Where values leave capture.

Printing is always right, and a conversion that would lose a derivative is an error.
"""

from __future__ import annotations

import dis
import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.base.arrays import class_name, conversion_of
from adjoint.base.errors import DroppedDerivativeError, ValueNeededError
from adjoint.capture.recording.effects.script import script_under_way
from adjoint.capture.recording.exits.questions import formatted
from adjoint.capture.recording.tracing.applying import concrete, settle
from adjoint.capture.recording.tracing.constants import has_rules
from adjoint.capture.recording.tracing.guards import TEXT
from adjoint.capture.recording.tracing.hooks import hooks
from adjoint.capture.recording.tracing.trace import Trace, captures
from adjoint.capture.recording.tracing.traced import Traced, from_slot, is_known, unwrap
from adjoint.capture.recording.values.containers import is_container
from adjoint.capture.recording.values.valued import attempting, refuse
from adjoint.primitives import UFUNCS
from adjoint.primitives.declaration import NO_DERIVATIVE
from adjoint.program import Operation

_STEPS = frozenset(
    UFUNCS[ufunc] for ufunc in (np.sign, np.floor, np.ceil, np.trunc, np.rint, np.floor_divide)
)
_REMAINDER = 6  # the argument of BINARY_OP for %

_ADVICE = {
    "float": "To keep it, make the array that is written into inside of the function "
    "(out = np.zeros(n)), write that part in NumPy, or give its derivative with ad.primitive; "
    "where it is not wanted, pass ad.stop_gradient(x). (float() in code that is entered is "
    "understood. In other code `import adjoint.numpy as np` makes arrays of traced numbers.)",
    "as_integer_ratio": "The whole numbers that it gives have no derivative. Write that part with "
    "the number itself, give its derivative with ad.primitive, or pass ad.stop_gradient(x) if the "
    "derivative is not wanted.",
    "complex": "Write x.astype(complex) instead.",
    "tobytes": "Bytes tell values apart, as the key of a dictionary does; numbers that are read "
    "from them have no derivative. Keep the array itself, or write ad.stop_gradient(x).tobytes() "
    "if the derivative is not wanted.",
    "str": "Text shows a value; a number that is read from it has no derivative. Keep the number "
    "itself, give the derivative with ad.primitive, or write ad.stop_gradient(x) if it is not "
    "wanted.",
    "pickle": "What is pickled and loaded again has no derivative. Keep the array itself, or write "
    "ad.stop_gradient(x) if the derivative is not wanted.",
    "written": "That array, such as the default of a parameter, stays what it is, since others may "
    "have it. Make the array inside of the function: out = np.zeros(n), or out = store.copy(). If "
    "the derivative is not wanted there, write ad.stop_gradient(x) into it.",
    "masked": "Masked arrays have rules of their own, which traced arrays do not follow. Leave out "
    "with np.where what is masked: np.sum(np.where(mask, 0.0, x)), and for a mean divide by "
    "np.sum(~mask).",
    "sparse": "A sparse matrix that was made of known numbers takes no traced ones. Make it of its "
    "entries and their places: scipy.sparse.coo_array((entries, (rows, columns)), shape), which "
    "adds those at one place; lists of numbers and of places, filled in a loop, will do.",
    "np.asarray": "An array was handed to code that capture does not enter. Write that part in "
    "NumPy, give its derivative with ad.primitive (with ad.linear, if it is linear, such as the "
    "product with a sparse matrix), or pass ad.stop_gradient(x) if the derivative is not wanted. "
    "To fill an array in a loop, make it inside the function: out = np.zeros(n). In code that is "
    "not entered, `import adjoint.numpy as np` makes arrays of traced numbers: np.array([x, y]). "
    "For random draws write mean + deviation * rng.standard_normal(n).",
}


def escape(value: Traced, what: str) -> Any:
    """The concrete value, for code that cannot keep a derivative.

    DroppedDerivativeError where there is one to lose.
    """
    value = settle(
        value
    )  # after its capture, a value is a plain number, or one of an outer capture
    if is_known(value):
        return unwrap(value)
    if carries_derivative(value) and not _formats():
        refusal = DroppedDerivativeError(
            f"{what}() was called on a traced {value.type}, which would silently drop its "
            f"derivative. {_explained(what)}"
        )
        refuse(refusal)
        raise refusal
    return concrete(value)


def _explained(what: str) -> str:
    """Who asked for a value, and what to do instead."""
    caller = _caller(what)
    if caller is _WRITTEN and what == "np.asarray":
        return caller + _ADVICE["written"]
    if caller.startswith(_BY_MASKED):
        return caller + _ADVICE["masked"]
    if caller.startswith(_BY_SPARSE):
        return caller + _ADVICE["sparse"]
    return caller + _ADVICE[what]


def _refuse_to_construct(self: Traced, *values: Any, **others: Any) -> None:
    """type(x)(number), in code that is not entered: as if a traced array were a kind of number."""
    refusal = DroppedDerivativeError(
        "A number was to be made of the class of a traced array, by code that capture does not "
        f"enter. {_caller()}Write that part in NumPy, or pass ad.stop_gradient(x) to it if the "
        "derivative is not wanted."
    )
    refuse(refusal)
    raise refusal


# What captures make never comes by here.
setattr(Traced, "__init__", _refuse_to_construct)  # noqa: B010


def unpacking(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that reads numbers from bytes, which may be those of a traced array."""

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            read_back(value)
        return function(*args, **kwargs)

    return read


def read_back(value: Any) -> None:
    """DroppedDerivativeError if a number is to be read from the bytes or the text of a value."""
    if type(value) not in (bytes, str):
        return
    for trace in captures():
        known, slot = trace.arrays.get(id(value), (None, -1))
        if known is value:
            escape(from_slot(trace, slot), "tobytes" if type(value) is bytes else "str")


def _caller(what: str = "") -> str:
    """A sentence that says who asked, if it is code that is not entered."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        home = frame.f_globals.get("__name__") or ""
        if home.partition(".")[0] != "adjoint":
            if not hooks.is_users_file(frame.f_code.co_filename):
                return f"The caller is {home}.{frame.f_code.co_qualname}. {_beside_it(frame)}"
            converts = what in ("float", "np.asarray")
            doing = converts and dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if doing in _STORES:
                return _WRITTEN
            if doing in _CALLS:
                return "The caller is compiled code, which is called at the line below. "
            return ""
        frame = frame.f_back
    return ""


def _beside_it(frame: Any) -> str:
    """A sentence that says which container met a traced array in code that is not entered."""
    while frame is not None and not hooks.is_users_file(frame.f_code.co_filename):
        for value in frame.f_locals.values():
            if is_container(value) or has_rules(value):
                return (
                    f"{class_name(type(value))} was combined with it: use {conversion_of(value)}. "
                )
        frame = frame.f_back
    return ""


_WRITTEN = "It was written into an array that was made elsewhere. "
_BY_MASKED = "The caller is numpy.ma."
_BY_SPARSE = "The caller is scipy.sparse._"
_STORES = frozenset({"STORE_SUBSCR", "STORE_SLICE"})
_CALLS = frozenset({"CALL", "CALL_FUNCTION_EX", "CALL_KW", "PRECALL"})


def _formats() -> bool:
    """Whether the conversion is for '%f' % x, which only shows the value."""
    frame: Any = sys._getframe(3)
    code, place = frame.f_code.co_code, frame.f_lasti
    return bool(dis.opname[code[place]] == "BINARY_OP" and code[place + 1] == _REMAINDER)


def carries_derivative(value: Any) -> bool:
    """Whether a value depends differentiably on an input that a derivative was asked for."""
    if type(value) is not Traced or is_known(value) or not value.type.inexact:
        return False
    trace = value._trace
    assert trace is not None
    return any(
        (trace.owners[slot] < 0 and trace.active[slot])
        or carries_derivative(trace.values.get(slot))
        for slot in origins(trace, value._slot)
    )


def origins(trace: Trace, slot: int) -> Iterator[int]:
    """The slots of inputs and constants that the value of a slot depends on differentiably."""
    trace.find_owners()
    stack, seen = [slot], set()
    while stack:
        place = stack.pop()
        if place in seen:
            continue
        seen.add(place)
        owner = trace.owners[place]
        head, *operands = trace.records[owner] if owner >= 0 else (None,)
        if not isinstance(head, Operation):
            yield place
        elif passes_on(trace, head, operands):
            stack.extend(operands)


def passes_on(trace: Trace, op: Operation, operands: Sequence[int]) -> bool:
    """Whether results of a recorded operation depend differentiably on its operands."""
    if op.primitive in _STEPS:  # the sign of a complex number is its direction, which turns
        return any(trace.types[slot].dtype.kind == "c" for slot in operands)
    return op.primitive.derivative is not NO_DERIVATIVE


def show(value: Traced, form: Callable[[Any], str]) -> str:
    """A value as text: what NumPy would show.

    Where it stands for many values, `print` shows its type, as do a debugger and a log; text that
    the user's code goes on with would be wrong for most of them.
    """
    if is_known(value):
        return form(unwrap(value))
    script = script_under_way()
    if script is not None and script.rehearses:
        return hooks.unseen()
    shown = getattr(_printing, "now", False)
    try:
        with attempting():
            text = form(concrete(value, TEXT))
        if form in _ALL_DIGITS and value._trace is not None:
            value._trace.arrays[id(text)] = (text, value._slot)
        return text
    except ValueNeededError as error:
        frame: Any = sys._getframe(2)
        while frame.f_code.co_filename.startswith(_CLONES):  # which asks for the user's code
            frame = frame.f_back
        if shown or not hooks.is_users_file(frame.f_code.co_filename):
            return f"<traced {value.type}>"
        refusal = ValueNeededError(f"{error} print(x) shows its type.")
        refuse(refusal)
        raise refusal from None


def printed(*args: Any, **kwargs: Any) -> None:
    """`print`, which shows the type of what stands for many values."""
    before = getattr(_printing, "now", False)
    _printing.now = True
    try:
        print(*args, **kwargs)
    finally:
        _printing.now = before


_ALL_DIGITS = (str, repr, formatted)
_printing = threading.local()
_CLONES = __file__.rpartition("recording")[0] + "clones"


# --- rules of custom primitives -------------------------------------------------------------------

_sealed = threading.local()


@contextmanager
def sealed(what: str) -> Iterator[None]:
    """While a rule is captured, after the function it belongs to: values of that function are over.

    what: the rule, as an error names it. Reading such a value would turn it into a constant, and
    drop its derivative.
    """
    outer = getattr(_sealed, "current", None)
    _sealed.current = (what, len(captures()) + 1)
    try:
        yield
    finally:
        _sealed.current = outer


def settled(value: Traced) -> None:
    """Raise if a value of a finished capture comes into a rule.

    Whatever it depends on: the program that comes of the rule is kept for other values too.
    """
    current = getattr(_sealed, "current", None)
    if current is not None and value._trace is not None and value._trace.level <= current[1]:
        raise DroppedDerivativeError(closes_over(current[0], value))


def closes_over(what: str, value: Traced) -> str:
    """What to say of a rule, or a function not to be entered, that reads traced values."""
    return (
        f"{what} reads a traced {value.type} that is not among its arguments, so the derivative "
        "with respect to it would be lost. Pass it as an argument."
    )
