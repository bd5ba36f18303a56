"""A custom function at one signature: its rules captured, checked, and handed over as programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, type_of
from adjoint.base.errors import (
    ArgumentTypeError,
    DroppedDerivativeError,
    MissingRuleError,
    NotLinearError,
    ShapeError,
    UnknownResultError,
    ValueNeededError,
)
from adjoint.calculus.custom.arguments import Arguments, fitting, matched, run_function
from adjoint.calculus.custom.linear import batched_call, linear_call, linear_part, whole_program
from adjoint.capture import (
    Captured,
    Traced,
    capture,
    closes_over,
    current,
    is_known,
    peek,
    sealed,
    traced_type,
    unwrap,
)
from adjoint.capture.recording.effects.repeated_calls import given
from adjoint.primitives.calls.custom import CustomCall, CustomLinear, Marks, Pushed
from adjoint.program import Builder, Program
from adjoint.transforms import tangent_type, transpose

Apply = Callable[[Any, Sequence[Any]], Any]


class Rules:
    """The derivative rules of a custom function; None where there is none.

    forward: a rule with the function that applies it, (rule, arguments, tangents, keywords) ->
        (value or None, tangent).
    backward: (*arguments, **keywords) -> (value, pullback).
    """

    __slots__ = ("backward", "forward", "push")

    def __init__(self, forward: Any = None, push: Any = None, backward: Any = None) -> None:
        self.forward = forward
        self.push = push
        self.backward = backward


class Signature:
    """A custom function for arguments of certain types.

    types, results: of the operands, and of the leaves of the result. call: what programs hold.
    values: operands of these types, if any have come by; kept until a rule has been captured.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        rules: Rules,
        arguments: Arguments,
        types: tuple[ArrayType, ...],
        results: tuple[tuple[ArrayType, ...], Any],
        values: list[Any] | None,
    ) -> None:
        self.name = name
        self.function = function
        self.rules = rules
        self.arguments = arguments
        self.types = types
        self.results, self.output_tree = results
        self.call = CustomCall(name, types, self.results, self.evaluate, self.derive, self._batch)
        self.values = values
        self.captured: dict[bool, Captured] = {}
        self._derived: dict[Marks, Pushed | CustomLinear] = {}
        self._batches: dict[Any, CustomCall] = {}
        self._lock = threading.RLock()

    # --- the function itself ---------------------------------------------------------------------

    def evaluate(self, *operands: Any) -> tuple[Any, ...]:
        """Run the function on arrays."""
        leaves, treedef = given(self, operands) or run_function(
            self.name, self.function, self.arguments, operands
        )
        if not pytrees.alike(treedef, self.output_tree):
            raise ShapeError(
                f"{self.name} returned {pytrees.structure_text(treedef)}, and "
                f"{pytrees.structure_text(self.output_tree)} before, for arguments of the same "
                "types. The structure of its result must depend on types alone."
            )
        return tuple(
            self._checked(leaf, type_) for leaf, type_ in zip(leaves, self.results, strict=True)
        )

    def _checked(self, leaf: Any, type: ArrayType) -> Any:
        if leaf.shape != type.shape or not np.can_cast(leaf.dtype, type.dtype, "same_kind"):
            raise ShapeError(
                f"{self.name} returned an array {type_of(leaf)}, and {type} was expected from its "
                "`result`, its rule, or an earlier call with arguments of the same types. Shape "
                "and dtype of a result must depend on those of the arguments alone."
            )
        return leaf.astype(type.dtype, copy=False)[()]

    # --- derivatives -----------------------------------------------------------------------------

    def derive(self, moving: Marks) -> Pushed | CustomLinear:
        """The derivative with respect to some operands."""
        derivative = self._derived.get(moving)
        if derivative is None:
            with self._lock:
                derivative = self._derived.setdefault(moving, self._derive(moving))
        return derivative

    def _derive(self, moving: Marks) -> Pushed | CustomLinear:
        if self.rules.forward is not None and self.rules.backward is None:
            return self.pushed(moving)
        types = [
            tangent_type(type_) for type_, mark in zip(self.types, moving, strict=True) if mark
        ]
        return linear_call(
            self.name,
            self.types,
            types,
            self.slopes,
            self._is_pushed(moving),
            lambda: self._applied(moving),
            lambda: self.pulled(moving),
        )

    @property
    def slopes(self) -> list[ArrayType]:
        """The types of the tangents of the results that can vary."""
        return [tangent_type(type_) for type_ in self.results if type_.inexact]

    @property
    def inexact(self) -> list[ArrayType]:
        """The types of the tangents of the operands that can vary."""
        return [tangent_type(type_) for type_ in self.types if type_.inexact]

    def pushed(self, moving: Marks) -> Pushed:
        """(operands, tangents that move) -> tangents of all results.

        From the forward rule; without one, the transpose of the pullback.
        """
        if self.rules.forward is None:
            return self._transposed(moving)
        captured = self.capture(True)
        marks = [mark for mark, type_ in zip(moving, self.types, strict=True) if type_.inexact]
        name = f"The derivative rule of {self.name}"
        pushed = self._linear_part(captured, tuple(marks), self.slopes, name, "tangents")
        # In the places of the results, of which integers have no tangent.
        varying = iter(pushed.varying)
        spread = tuple(type_.inexact and next(varying) for type_ in self.results)
        return Pushed(pushed.program, spread)

    def _transposed(self, moving: Marks) -> Pushed:
        """As `pushed`, from the VJP rule: a pullback is linear, and its transpose the JVP.

        Source: the tensor-notation document, E.1.54 and its footnote 10.
        """
        pulled = self.pulled(moving)
        try:
            turned = transpose(pulled.program, len(self.types))
        except (NotLinearError, MissingRuleError) as error:
            raise MissingRuleError(
                f"The derivative of {self.name} was asked for in forward mode, and only a VJP rule "
                f"was given, which cannot be transposed ({error}). Use reverse mode (ad.grad, "
                "ad.vjp, ad.jacobian with ad.Mode.REVERSE), or add a JVP rule with "
                f"{self.name}.jvp, which is enough for every mode."
            ) from error
        builder, count = Builder(), len(self.types)
        operands = [builder.input(variable.type) for variable in turned.inputs[:count]]
        types = [tangent_type(t) for t, mark in zip(self.types, moving, strict=True) if mark]
        tangents = [builder.input(type_) for type_ in types]
        used = [u for u, varies in zip(tangents, pulled.varying, strict=True) if varies]
        slopes = builder.inline(turned, [*operands, *used])
        return Pushed(builder.build(slopes), tuple(type_.inexact for type_ in self.results))

    def _applied(self, moving: Marks) -> Program:
        """(operands, tangents that move) -> the tangents of all results that can vary."""
        pushed = self.pushed(moving)
        marks = zip(pushed.varying, self.results, strict=True)
        varying = tuple(mark for mark, type_ in marks if type_.inexact)
        return whole_program(Pushed(pushed.program, varying), self.slopes)

    def _is_pushed(self, moving: Marks) -> bool:
        """Whether forward mode has a rule, or can make one."""
        if self.rules.forward is not None:
            return True  # which is not looked at before it is needed
        try:
            self.pushed(moving)
        except MissingRuleError:
            return False
        return True

    def pulled(self, moving: Marks) -> Pushed:
        """(operands, cotangents of all results) -> cotangents of the operands that move."""
        if self.rules.backward is None:
            raise MissingRuleError(self._no_rule())
        name = f"The VJP rule of {self.name}"
        captured = self.capture(False)
        every = (True,) * len(self.slopes)
        pulled = self._linear_part(captured, every, self.inexact, name, "cotangents")
        wanted = [mark for mark, type_ in zip(moving, self.types, strict=True) if type_.inexact]
        kept = iter(pulled.program.outputs)
        chosen, varying = [], []
        for mark, varies in zip(wanted, pulled.varying, strict=True):
            atom = next(kept) if varies else None
            if mark:
                varying.append(varies)
                chosen += [atom] if atom is not None else []
        program = Program(pulled.program.inputs, pulled.program.equations, chosen)
        return Pushed(program, tuple(varying))

    def _linear_part(
        self, captured: Captured, marks: Marks, types: list[ArrayType], name: str, over: str
    ) -> Pushed:
        constants = [self._constant(value) for value in captured.constants]
        count = len(self.types)
        return linear_part(captured.program(), count, marks, constants, types, name, over)

    def _constant(self, value: Any) -> Any:
        if not is_known(value):
            raise DroppedDerivativeError(closes_over(f"The derivative rule of {self.name}", value))
        return unwrap(value)

    def _no_rule(self) -> str:
        return (
            f"The derivative of {self.name} was asked for, and it has none: capture does not "
            f"enter a function declared with ad.primitive. Give one with {self.name}.jvp(rule), "
            "where rule(primals, tangents) returns (value, tangent); or with .derivative or .vjp; "
            "or pass ad.stop_gradient(x) if the derivative is not wanted."
        )

    # --- capturing rules -------------------------------------------------------------------------

    def capture(self, forward: bool) -> Captured:
        """The captured rule; kept."""
        captured = self.captured.get(forward)
        if captured is None:
            captured = self.captured[forward] = self.capture_anew(forward)
            self.values = None
        return captured

    def capture_anew(self, forward: bool) -> Captured:
        """The rule captured as it is now."""
        if forward:
            return self._capture(self.rules.forward, self._push, self.inexact)
        return self._capture(self.rules.backward, self._pull, self.slopes)

    def changed(self) -> bool:
        """Whether a rule that was captured before would now be another program."""
        return any(
            not same_capture(before, self.capture_anew(forward))
            for forward, before in list(self.captured.items())
        )

    def _capture(self, rule: Any, call: Apply, vectors: Sequence[ArrayType]) -> Captured:
        return capture_rule(self.name, rule, call, (*self.types, *vectors), self.values)

    def _push(self, target: Any, traced: Sequence[Any]) -> list[Any]:
        count, arguments = len(self.types), self.arguments
        primals = arguments.join(traced[:count])
        tangents = arguments.join_moving(traced[count:], self.types)
        value, tangent = self.rules.push(target, primals, tangents, arguments.keywords)
        name = f"The tangent that the rule of {self.name} returned"
        if value is not None:
            check_value(self, value, _OF_TUPLES)
        parts = matched(self.output_tree, tangent, name)
        return [
            fitting(part, tangent_type(type_), name)
            for part, type_ in zip(parts, self.results, strict=True)
            if type_.inexact
        ]

    def _pull(self, target: Any, traced: Sequence[Any]) -> list[Any]:
        count, arguments = len(self.types), self.arguments
        returned = target(*arguments.join(traced[:count]), **arguments.keywords)
        if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
            raise ArgumentTypeError(
                f"The VJP rule of {self.name} must return (value, pullback), with pullback a "
                f"function of the cotangent. It returned {type(returned).__name__}."
            )
        check_value(self, returned[0])
        waiting = iter(traced[count:])
        seeds = [next(waiting) if type_.inexact else None for type_ in self.results]
        cotangents = returned[1](pytrees.unflatten(self.output_tree, seeds))
        if arguments.arity == 1 and not (isinstance(cotangents, tuple) and len(cotangents) == 1):
            cotangents = (cotangents,)
        name = f"What the pullback of {self.name} returned"
        return arguments.split(cotangents, self.types, name)

    def _batch(self, batched: Marks, size: int) -> CustomCall:
        key = (batched, size)
        if key not in self._batches:
            self._batches[key] = batched_call(self.call, batched, size)
        return self._batches[key]


# --- capturing -----------------------------------------------------------------------------------


def capture_rule(
    name: str,
    rule: Any,
    call: Apply,
    types: Sequence[ArrayType],
    values: Sequence[Any] | None = None,
) -> Captured:
    """Capture a rule on types alone: it runs once for all values.

    values: operands of these types. The rule does not see them, but functions that it calls and
    that capture does not enter are tried on them, to find the types of their results.
    """
    outer = getattr(_lent, "values", None)
    _lent.values = values
    try:
        with sealed(f"The derivative rule of {name}"):
            return capture(rule, call, types, {}, (True,) * len(types), frozen=True)
    except UnknownResultError:
        raise
    except ValueNeededError as error:
        raised = ValueNeededError(
            f"The derivative rule of {name} asked for the value of an array (by `if`, `while`, "
            "int(), float() or an index). A rule is captured once for all values: choose with "
            "np.where, or make that part an ad.primitive of its own."
        )
        raise raised from error
    finally:
        _lent.values = outer


_lent = threading.local()


def peek_all(operands: Sequence[Any]) -> list[Any]:
    """The values of operands, without the program coming to depend on them; ValueNeededError."""
    lent, trace = getattr(_lent, "values", None), current()
    if lent is None or trace is None:
        return [peek(operand) for operand in operands]
    before = set(trace.values)
    try:
        for slot, type_ in enumerate(trace.types[: trace.input_count]):
            # Tangents follow the operands; any will do.
            value = lent[slot] if slot < len(lent) else np.zeros(type_.shape, type_.dtype)[()]
            trace.values.setdefault(slot, value)
        return [peek(operand) for operand in operands]
    finally:
        for slot in set(trace.values) - before:
            del trace.values[slot]


def same_capture(one: Captured, other: Captured) -> bool:
    """Whether two captures of a rule are the same program with the same constants."""
    return one.key == other.key and all(
        _same(a, b) for a, b in zip(one.constants, other.constants, strict=True)
    )


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other) or isinstance(one, Traced):
        return one is other
    if isinstance(one, np.ndarray):
        return bool(one.tobytes() == other.tobytes())
    return repr(one) == repr(other)


# --- results of rules ----------------------------------------------------------------------------


_OF_TUPLES: Final = (
    " A forward rule is given two tuples, of all arguments and of their tangents: of one argument, "
    "(x,), (u,) = primals, tangents."
)


def check_value(signature: Signature, value: Any, hint: str = "") -> None:
    """A rule's value must have the structure and shapes of the function's own."""
    name = f"The value that the rule of {signature.name} returned"
    parts = matched(signature.output_tree, value, name)
    for part, type_ in zip(parts, signature.results, strict=True):
        given = traced_type(part)
        if given.shape != type_.shape:
            raise ShapeError(
                f"{name} has shape {given.shape}; the function's has {type_.shape}.{hint}"
            )
