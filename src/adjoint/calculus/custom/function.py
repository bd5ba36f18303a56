"""Functions that capture does not enter, with derivatives of the user's own."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from adjoint.base import pytrees
from adjoint.base.arrays import ArrayType, array_type, type_of
from adjoint.base.errors import (
    AdjointError,
    ArgumentTypeError,
    NotLinearError,
    UnknownResultError,
    ValueNeededError,
)
from adjoint.base.signatures.calling import named
from adjoint.base.signatures.checked import check_function, checked
from adjoint.base.signatures.derived import Parameters, Result
from adjoint.calculus.custom.arguments import (
    Arguments,
    is_operand,
    require_closed,
    run_function,
)
from adjoint.calculus.custom.rules import Rules, Signature, capture_rule, peek_all
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.capture import Traced, apply, current, is_known, traced_type, unwrap, wrap
from adjoint.capture.clones.stand_ins.attempts import in_attempt
from adjoint.capture.facts.kinds import IDENTICAL, PARTS
from adjoint.capture.recording.effects.repeated_calls import note_ran
from adjoint.capture.recording.tracing.trace import note_effect
from adjoint.capture.recording.tracing.traced import value_of
from adjoint.capture.recording.values.valued import attempting
from adjoint.maps import LinearMap
from adjoint.primitives.calls.custom import CUSTOM_CALL
from adjoint.primitives.calls.linear import LINEAR_CALL, LinearFunction
from adjoint.program import operation
from adjoint.spaces import opaque
from adjoint.transforms import tangent_type

Results = tuple[tuple[ArrayType, ...], Any]
Rule = TypeVar("Rule", bound=Callable[..., Any])

_LIMIT: Final = 1024
_working = threading.local()


class CustomFunction(Generic[Parameters, Result]):
    """A function that capture does not enter; see `primitive`, which makes it."""

    def __init__(self, function: Callable[Parameters, Result], result: Any = None) -> None:
        check_callable(function, "primitive")
        functools.update_wrapper(self, function)
        self._name = getattr(function, "__name__", type(function).__name__)
        self._function = function
        self._result = result
        self._rules = Rules()
        self._signatures: dict[Any, Signature] = {}

    def __repr__(self) -> str:
        return f"<ad.primitive {self._name}>"

    # --- rules -----------------------------------------------------------------------------------

    def jvp(self, rule: Rule) -> Rule:
        """Give the derivative as a JVP: rule(primals, tangents) -> (value, tangent).

        Both are tuples with one entry an argument; the tangent of an argument that is static or
        holds integers is None. The rule is plain NumPy code, linear in the tangents. It is enough
        for every mode: it is captured, transposed and differentiated like any other code. Returns
        the rule, so that it can decorate one.
        """
        check_callable(rule, f"{self._name}.jvp")
        return self._give(rule, Rules(rule, _push_jvp, self._rules.backward))

    def derivative(self, rule: Rule) -> Rule:
        """Give the derivative as a linear map: rule(*primals) -> D.

        D is a function of one tangent an argument; or a `LinearMap`, on the tangent (a tuple of
        tangents, if several arguments vary). It is transposed as it is; of a map that capture
        cannot enter, the transpose that it has is used. Returns the rule.
        """
        check_callable(rule, f"{self._name}.derivative")
        return self._give(rule, Rules(rule, _push_map, self._rules.backward))

    def vjp(self, rule: Rule) -> Rule:
        """Give the derivative as a VJP: rule(*primals) -> (value, pullback).

        pullback(cotangent) returns the cotangents: a tuple with one an argument (None for what is
        static or does not matter), or the bare cotangent of a single one. Forward mode transposes
        it, unless it calls what capture does not enter; given besides a JVP rule, it takes the
        place of the transposed one. Returns the rule.
        """
        check_callable(rule, f"{self._name}.vjp")
        return self._give(rule, Rules(self._rules.forward, self._rules.push, rule))

    def _give(self, rule: Rule, rules: Rules) -> Rule:
        self._rules = rules
        self._signatures = {}
        return rule

    # --- calls -----------------------------------------------------------------------------------

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """Call the function; under capture, record the call."""
        leaves = pytrees.flatten(args)[0]
        if any(type(leaf) is Traced for leaf in pytrees.flatten(kwargs)[0]):
            raise ArgumentTypeError(
                f"{self._name} was called with an array under capture as a keyword argument. "
                "Keyword arguments are static; pass arrays by position."
            )
        if not any(type(leaf) is Traced for leaf in leaves):
            return self._function(*args, **kwargs)
        if all(map(is_known, leaves)):
            plain = pytrees.tree_map(unwrap, args)
            known: Result = pytrees.tree_map(wrap, self._function(*plain, **kwargs))
            return known
        require_closed(self._name, self._function)
        arguments = Arguments(args, kwargs)
        operands = [leaf for leaf in leaves if is_operand(leaf)]
        values = [value_of(operand) if type(operand) is Traced else operand for operand in operands]
        called = None
        if not any(value is None for value in values):  # so that its errors come here
            if in_attempt():
                note_effect(f"{self._name}, which may raise an error, is called inside of a `try`")
            called = run_function(self._name, self._function, arguments, values)
        signature = self._signature(arguments, operands, values, called)
        if called is not None:
            note_ran(signature, values, called)
        results = apply(operation(CUSTOM_CALL, call=signature.call), operands)
        if called is not None:
            for traced, array in zip(results, called[0], strict=True):
                traced._value = array if array.ndim else array[()]
        returned: Result = pytrees.unflatten(signature.output_tree, results)
        return returned

    def _signature(
        self,
        arguments: Arguments,
        operands: Sequence[Any],
        values: list[Any],
        called: tuple[list[Any], Any] | None,
    ) -> Signature:
        """What is known for arguments of these types; anew where a rule reads other data now.

        values, called: of the operands, and what the function gave for them, if they have any.
        """
        types = tuple(traced_type(operand) for operand in operands)
        key = (arguments.treedef, types, *self._static_key(arguments))
        signature = self._signatures.get(key)
        if signature is not None and not self._outdated(signature):
            return signature
        known: list[Any] | None = None
        if signature is not None:
            results: Results = (signature.results, signature.output_tree)
        elif called is not None and self._result is None:
            results, known = (tuple(map(type_of, called[0])), called[1]), values
        else:
            results, known = self._results(key, arguments, types, operands)
        signature = Signature(
            self._name, self._function, self._rules, arguments, types, results, known
        )
        if len(self._signatures) >= _LIMIT:
            self._signatures.clear()
        self._signatures[key] = signature
        return signature

    def _static_key(self, arguments: Arguments) -> tuple[Any, ...]:
        key = (
            tuple((type(leaf), leaf) for leaf in arguments.statics),
            tuple(
                (name, type(arguments.keywords[name]), arguments.keywords[name])
                for name in sorted(arguments.keywords)
            ),
        )
        try:
            hash(key)
        except TypeError:
            raise ArgumentTypeError(
                f"{self._name} was called with a static argument that cannot be hashed. Whatever "
                "is not a floating-point number or an array is static, and so are keyword "
                "arguments; pass arrays by position, and make the rest hashable."
            ) from None
        return key

    def _outdated(self, signature: Signature) -> bool:
        """Whether what the rules read besides their arguments has changed since they were captured.

        Rules may call this function again: each signature is looked at once.
        """
        seen = getattr(_working, "seen", None)
        if seen is not None:
            if signature in seen:
                return False
            seen.add(signature)
            return signature.changed()
        _working.seen = {signature}
        try:
            return signature.changed()
        finally:
            _working.seen = None

    # --- the type of the result ------------------------------------------------------------------

    def _results(
        self, key: Any, arguments: Arguments, types: Sequence[ArrayType], operands: Sequence[Any]
    ) -> tuple[Results, list[Any] | None]:
        """The types of the leaves of the result, and the values with which they were found."""
        if self._result is not None:
            return self._results_given(arguments, types), None
        try:
            values = peek_all(operands)
        except ValueNeededError:
            return self._results_of_rule(key, arguments, types), None
        arrays, treedef = run_function(self._name, self._function, arguments, values)
        return (tuple(type_of(array) for array in arrays), treedef), values

    def _results_given(self, arguments: Arguments, types: Sequence[ArrayType]) -> Results:
        result = self._result
        if callable(result):
            result = result(*arguments.join(types), **arguments.keywords)
        leaves, treedef = pytrees.flatten(result)
        for leaf in leaves:
            if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) and type(leaf) is not float:
                raise ArgumentTypeError(
                    f"The `result` of {self._name} holds a {type(leaf).__name__}. Give an array of "
                    "the right shape and dtype, or a function of the arguments that returns one; "
                    "what it is given has .shape and .dtype."
                )
        result_types = [leaf if isinstance(leaf, ArrayType) else type_of(leaf) for leaf in leaves]
        return tuple(array_type(type_.shape, type_.dtype) for type_ in result_types), treedef

    def _results_of_rule(
        self, key: Any, arguments: Arguments, types: Sequence[ArrayType]
    ) -> Results:
        """The types of the value that a rule returns, where no values are there to call with."""
        asking = _working.__dict__.setdefault("asking", set())
        question = (id(self), key)
        rules = self._rules
        if (rules.forward is None and rules.backward is None) or question in asking:
            raise UnknownResultError(
                f"{self._name} was called where only the types of its arguments are known (inside "
                "vmap, or inside a rule), so the type of its result cannot be found by calling it. "
                "Declare it: @ad.primitive(result=lambda x: x) for a result like x, or return "
                "np.empty(shape, dtype) from that function."
            )
        asking.add(question)
        tree: list[Any] = []

        def call(target: Any, traced: Sequence[Any]) -> Any:
            count = len(types)
            primals = arguments.join(traced[:count])
            if rules.backward is not None:
                value = target(*primals, **arguments.keywords)[0]
            else:
                tangents = arguments.join_moving(traced[count:], types)
                value, tangent = rules.push(target, primals, tangents, arguments.keywords)
                value = tangent if value is None else value
            tree.append(pytrees.flatten(value)[1])
            return value

        vectors = [tangent_type(type_) for type_ in types if type_.inexact]
        rule = rules.forward if rules.backward is None else rules.backward
        try:
            captured = capture_rule(self._name, rule, call, (*types, *vectors))
        finally:
            asking.discard(question)
        return tuple(tangent_type(type_) for type_ in captured.output_types), tree[0]


@overload
def primitive(
    function: Callable[Parameters, Result], *, result: Any = ...
) -> CustomFunction[Parameters, Result]: ...


@overload
def primitive(
    *, result: Any = ...
) -> Callable[[Callable[Parameters, Result]], CustomFunction[Parameters, Result]]: ...


@named
def primitive(function: Callable[..., Any] | None = None, *, result: Any = None) -> Any:
    """Declare a function that capture does not enter: C code, a solver of SciPy, anything.

    It is called with arrays, as it is, when the program runs; its derivative is given by the user:

    - `f.jvp(rule)`: rule(primals, tangents) -> (value, tangent), in plain NumPy. Enough for forward
      and reverse mode, derivatives of any order, and vmap.
    - `f.derivative(rule)`: rule(*primals) -> the derivative there, as a function of the tangents or
      a `LinearMap`; it is transposed for you.
    - `f.vjp(rule)`: rule(*primals) -> (value, pullback), which is transposed for forward mode.

    Each can be written as a decorator. A wrong rule is found by `ad.testing.check`.

    The function and its rules may read data besides their arguments, as long as it stays the same
    while they are in use; the function must have no side effects. Traced values are differentiated
    only when they are arguments: reading one from a closure raises DroppedDerivativeError.

    Arguments and results may be pytrees. Arrays and floating-point numbers among the positional
    arguments are operands; anything else, and every keyword argument, is static and must be
    hashable.

    Args:
        function: what to call. It is given copies of the arrays, and may write into them.
        result: the type of the result, needed where it cannot be found by calling the function
            (inside vmap, when there is no rule that returns the value): an array, or a function of
            the arguments that returns one, or a tree of arrays. It is given objects with `shape`
            and `dtype`, and may return one of them.

    Returns:
        The function to call in its place, with the methods `jvp`, `derivative` and `vjp`, which
        take the rules; without `function`, a decorator that makes it.

    Raises:
        MissingRuleError: a derivative is asked for that no rule gives.
        NotLinearError: a rule is not linear in its tangents, or cotangents.
        UnknownResultError: the type of the result cannot be told.
        ArgumentTypeError: what is given is no function.

    Example:
        >>> import math
        >>> import numpy as np
        >>> import adjoint as ad
        >>> @ad.primitive
        ... def lgamma(x):
        ...     return math.lgamma(x)
        >>> @lgamma.jvp
        ... def rule(primals, tangents):
        ...     (x,), (u,) = primals, tangents
        ...     return lgamma(x), (np.log(x) - 1 / (2 * x) - 1 / (12 * x**2)) * u
        >>> # digamma(20), by the first terms of its series
        >>> round(float(ad.grad(lgamma)(20.0)), 4)
        2.9705
    """
    if function is None:
        return lambda target: CustomFunction(target, result)
    return CustomFunction(function, result)


# --- how rules are applied -----------------------------------------------------------------------


def _push_jvp(rule: Any, primals: Any, tangents: Any, keywords: dict[str, Any]) -> tuple[Any, Any]:
    returned = rule(primals, tangents, **keywords)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ArgumentTypeError(
            f"A JVP rule must return (value, tangent). It returned a {type(returned).__name__}"
            f"{f' of length {len(returned)}' if isinstance(returned, tuple) else ''}."
        )
    return returned[0], returned[1]


def _push_map(rule: Any, primals: Any, tangents: Any, keywords: dict[str, Any]) -> tuple[Any, Any]:
    tangent_map = rule(*primals, **keywords)
    if isinstance(tangent_map, LinearMap):
        moving = tuple(tangent for tangent in tangents if tangent is not None)
        return None, apply_map(tangent_map, moving[0] if len(moving) == 1 else moving)
    if not callable(tangent_map):
        raise ArgumentTypeError(
            "A rule given with .derivative must return the derivative: a function of the tangents, "
            f"or a LinearMap. It returned {type(tangent_map).__name__}."
        )
    return None, tangent_map(*tangents)


def apply_map(linear_map: LinearMap, tangent: Any) -> Any:
    """A map on traced tangents: through its code if capture can enter it, else as it is."""
    linear_map.domain.check(tangent, "the tangent")
    try:
        with attempting():
            return linear_map(tangent)
    except (AdjointError, TypeError, ValueError, AttributeError):
        known = _opaque.get(linear_map)
        if known is None:
            known = _opaque[linear_map] = linear(linear_map)
        return known(tangent)


_opaque: WeakKeyDictionary[LinearMap, Callable[[Any], Any]] = WeakKeyDictionary()


# --- linear functions given once -----------------------------------------------------------------


@checked
def linear(
    function: Callable[[Any], Any] | LinearMap, transpose: Callable[[Any], Any] | None = None
) -> Callable[[Any], Any]:
    """A linear function that capture does not enter, with its transpose: given once, for all modes.

    Args:
        function: linear, of one array or pytree; or a `LinearMap`, which brings its transpose.
        transpose: cotangent of the result -> cotangent of the argument. Over complex numbers, that
            of the pairing Re sum conj(a) b: of a matrix the conjugate transpose. Without it,
            reverse mode raises MissingRuleError.

    Returns:
        The function, to be called on arrays, or in code that is differentiated, where its
        derivative is itself.

    Raises:
        NotLinearError: the function is not zero at zero, which is where it is tried for the type of
            its result.
        ArgumentTypeError: the function or the transpose is no function.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> smooth = ad.linear(lambda x: np.convolve(x, [1, 2, 1], "same"),
        ...                    lambda w: np.convolve(w, [1, 2, 1], "same"))
        >>> ad.grad(lambda x: smooth(x)[0])(np.zeros(4))
        array([2., 1., 0., 0.])
    """
    if isinstance(function, LinearMap):
        if transpose is not None:
            raise ArgumentTypeError(
                "ad.linear was given a LinearMap and a transpose. A LinearMap brings its own; give "
                "LinearMap(domain, codomain, apply, transpose) another one."
            )
        name = function.name or "linear map"
        return _Linear(function._apply, function._transpose, name)
    check_callable(function, "linear")
    if transpose is not None:
        check_function(transpose, "transpose")
    return _Linear(function, transpose, getattr(function, "__name__", "linear"))


class _Linear:
    """A linear function with its transpose, for arguments of any types."""

    def __init__(self, forward: Any, backward: Any, name: str) -> None:
        self.forward = forward
        self.backward = backward
        self.name = name
        self.known: dict[Any, tuple[LinearFunction, Any]] = {}

    def __call__(self, argument: Any) -> Any:
        leaves, treedef = pytrees.flatten(argument)
        if all(map(is_known, leaves)):
            result = self.forward(pytrees.tree_map(unwrap, argument))
            return result if current() is None else pytrees.tree_map(wrap, result)
        types = tuple(tangent_type(traced_type(leaf)) for leaf in leaves)
        at_types = self.known.get((treedef, types))
        if at_types is None:
            at_types = self.known[treedef, types] = self._at(treedef, types)
        function, output_tree = at_types
        results = apply(operation(LINEAR_CALL, function=function, transposed=False), leaves)
        return pytrees.unflatten(output_tree, results)

    def _at(self, treedef: Any, types: tuple[ArrayType, ...]) -> tuple[LinearFunction, Any]:
        zero = [np.zeros(type_.shape, type_.dtype)[()] for type_ in types]
        images, output_tree = pytrees.flatten(self.forward(pytrees.unflatten(treedef, zero)))
        arrays = [np.asarray(image) for image in images]
        if any(np.any(array) for array in arrays):
            raise NotLinearError(
                f"ad.linear was given {self.name}, which is not zero at zero. A linear function "
                "is; declare any other with ad.primitive."
            )
        outputs = [array_type(array.shape, array.dtype) for array in arrays]

        def forward(*leaves: Any) -> tuple[Any, ...]:
            return tuple(pytrees.leaves(self.forward(pytrees.unflatten(treedef, leaves))))

        def backward(*leaves: Any) -> tuple[Any, ...]:
            return tuple(pytrees.leaves(self.backward(pytrees.unflatten(output_tree, leaves))))

        back = None if self.backward is None else backward
        return LinearFunction(forward, back, types, outputs, self.name), output_tree


opaque.LINEAR = _Linear


# The function itself is called when a program runs; its rules are part of the program.
IDENTICAL[CustomFunction] = ("_rules",)
PARTS[Rules] = ("forward", "push", "backward")
