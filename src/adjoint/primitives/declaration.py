"""What a primitive is: everything about it in one declaration, every slot a rule or a reason.

Rules are written on `Expression`s (see `expression.py`) with NumPy's own operators and functions:

    derivative(tangents, operands, results, **params) -> the tangent of each result
    transpose(cotangents, operands, **params) -> the cotangent of each linear operand
    batch(operands, batched, size, **params) -> results with the batch as axis 0
    taylor(operands, results, k, **params) -> coefficient k >= 1 of each result, as a tuple

A tangent or cotangent that is None is structurally zero, and costs nothing. Sample inputs are what
the generic checker runs.

Taylor mode carries truncated series x(t) = sum_k x_k t^k, with plain coefficients (nothing to
divide by). The slot `taylor` holds one of

    FROM_DERIVATIVE: the rule follows from the derivative. As dy/dt = D(x, y)[dx/dt], k y_k is
        coefficient k - 1 of the derivative rule's own operations on series; what is linear acts
        on each coefficient, what is bilinear by the Cauchy product. Almost always right.
    NO_DERIVATIVE: the results do not vary; only coefficient 0 is there.
    a rule, where one is cheaper, or ends a chain of ever new functions (the derivative of a
        quotient is a quotient). Operands and results are `TruncatedSeries` (see `series.py`):
        `x[j]` is coefficient j, an `Expression`, or None where it is structurally zero. The rule
        may ask for operands up to k and results up to k - 1. For a x = b, x_k solves
        a_0 x_k = b_k - sum_{j=1..k} a_j x_{k-j}, which is written

            def taylor(operands, results, k):
                (a, b), (x,) = operands, results
                rest = difference(b[k], convolve(product, a, x, k, first=1, last=k))
                return (None if rest is None else solve(a[0], rest),)

        with hard zeros kept by products with `scale` (or `weigh`), as in derivatives.
    `Whole`: a rule that gives all coefficients at once.

In collapsed Taylor mode (`transforms/collapsed`) all follows from the derivative, too. What holds
programs says in the slot `collapsed` how it carries motions:

    collapsed(builder, operands, moving, sets, curved, **params) -> results, and how these move

What holds programs (a loop, a branch) has derivatives that are of its kind too. Its derivative is
`Together`: results and tangents come out of one equation, that stands in for the first. Its slot
`split` says how the equation is cut by what is known when:

    split(late, operands, **params) -> its `Halves`, or None if nothing is known early

where `late` marks the operands that are known late, and operands are variables or literals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import MissingRuleError, ProgramError
from adjoint.program.operation import operation


@dataclass(frozen=True)
class EmptySlot:
    """No rule, with the reason why there is none, in words that can end an error message."""

    text: str


@dataclass(frozen=True)
class Joint:
    """Linear in these operands taken together, as a sum is; all operands when None."""

    places: frozenset[int] | None = None

    def allows(self, marks: tuple[bool, ...]) -> bool:
        """Whether operands marked here may be the linear ones."""
        return self.places is None or all(
            place in self.places for place, mark in enumerate(marks) if mark
        )


@dataclass(frozen=True)
class Each:
    """Linear in each of these operands, the others held fixed, as a product is; all when None."""

    places: frozenset[int] | None = None

    def allows(self, marks: tuple[bool, ...]) -> bool:
        """Whether operands marked here may be the linear ones."""
        return sum(marks) == 1 and (self.places is None or marks.index(True) in self.places)


@dataclass(frozen=True)
class Into:
    """A cotangent that touches only a part of its array.

    Given what has been gathered so far, it adds itself, so that n reads of single entries transpose
    to O(n) work and not O(n^2).
    """

    add: Callable[[Any], Any]


@dataclass(frozen=True)
class ByBody:
    """Linear where the programs that are held are: `holds(marks, **params)`."""

    holds: Callable[..., bool]


@dataclass(frozen=True)
class Unbatched:
    """A result of a batching rule that is the same for all examples, and has no axis of them."""

    value: Any


Linearity = Joint | Each | ByBody | None
Rule = Callable[..., Any]


@dataclass(frozen=True)
class Together:
    """A derivative that computes the results along with their tangents, in place of the equation.

    rule: `(tangents, operands, **params)` -> (results, their tangents).
    """

    rule: Rule

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Apply the rule."""
        return self.rule(*args, **params)


@dataclass(frozen=True)
class Whole:
    """A Taylor rule that computes all coefficients at once, the first included.

    rule: `(operands, order, **params)` -> for each result, its coefficients 0, ..., order.
    """

    rule: Rule

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Apply the rule."""
        return self.rule(*args, **params)


@dataclass(frozen=True)
class Itself:
    """The derivative of what is linear in all that varies: the primitive itself, on tangents."""


@dataclass(frozen=True)
class FromDerivative:
    """The Taylor rule that follows from the derivative: k y_k is coefficient k - 1 of dy/dt."""


ITSELF: Final = Itself()
FROM_DERIVATIVE: Final = FromDerivative()
NO_DERIVATIVE: Final = EmptySlot(
    "its results carry no derivative (integers, booleans, or constants)"
)
NONLINEAR: Final = EmptySlot("it is not linear")

PRIMITIVES: Final[dict[str, Primitive]] = {}
UFUNCS: Final[dict[Any, Primitive]] = {}


def _running_module() -> str:
    """The name of the module whose own statements are being run; of a thread's functions none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


class Primitive:
    """A primitive operation. Declaring it registers it; a second one of the same name is refused.

    name: as programs print it.
    infer: `(*types, **params) -> ArrayType` or a tuple of them; raises a typed error.
    evaluate: its meaning in NumPy, `(*values, **params) -> array` (or a tuple when `multiple`).
    linear: where it is linear.
    derivative, transpose, batch, taylor: a rule, or an `EmptySlot` with the reason; `ITSELF` for
        the derivative of a linear primitive. What is not linear needs no transpose, and a Taylor
        rule follows from the derivative (`FROM_DERIVATIVE`) where none is given.
    samples: the sample inputs of the generic checker.
    ufunc: the NumPy function that is both its meaning and its front-end name, for elementwise
        primitives.
    view: whether its result may share memory with its first operand.
    opaque: whether it calls code that is not ours, which may keep the arrays that it is given.
    split: how an equation is cut in two, for what holds programs.
    collapsed: how it carries many directions and one sum of curvatures, for what holds programs.
    companion: the name of another function of the same operand, as a rule its slope up to a sign,
        which comes of the same evaluation: an executor may compute the two at once.
    declared_in: the module that was being run when it was declared; a user's, if not of this
        package, whatever functions of this package have helped.
    """

    __slots__ = (
        "bare",
        "batch",
        "collapsed",
        "companion",
        "declared_in",
        "derivative",
        "evaluate",
        "infer_rule",
        "linear",
        "multiple",
        "name",
        "opaque",
        "samples",
        "split",
        "taylor",
        "transpose",
        "ufunc",
        "view",
    )

    def __init__(
        self,
        name: str,
        *,
        infer: Rule,
        evaluate: Rule,
        linear: Linearity,
        derivative: Rule | EmptySlot | Itself | Together,
        transpose: Rule | EmptySlot | None = None,
        batch: Rule | EmptySlot,
        taylor: Rule | EmptySlot | FromDerivative | Whole | None = None,
        samples: tuple[Any, ...] | EmptySlot,
        ufunc: Any = None,
        view: bool = False,
        multiple: bool = False,
        opaque: bool = False,
        split: Rule | None = None,
        collapsed: Rule | None = None,
        companion: str | None = None,
    ) -> None:
        if name in PRIMITIVES:
            raise ProgramError(f"A primitive called {name!r} exists already.")
        if samples == ():
            raise ProgramError(f"The primitive {name!r} has no sample inputs for the checker.")
        if transpose is None and linear is not None:
            raise ProgramError(f"The primitive {name!r} is linear, and has no transpose.")
        if taylor is None:
            taylor = NO_DERIVATIVE if derivative is NO_DERIVATIVE else FROM_DERIVATIVE
        self.name = name
        self.declared_in = _running_module()
        self.infer_rule = infer
        self.evaluate = evaluate
        self.linear = linear
        self.derivative = derivative
        self.transpose = NONLINEAR if transpose is None else transpose
        self.batch = batch
        self.taylor = taylor
        self.samples = samples
        self.ufunc = ufunc
        self.view = view
        self.multiple = multiple
        self.opaque = opaque
        self.split = split
        self.collapsed = collapsed
        self.companion = companion
        self.bare = operation(self)
        PRIMITIVES[name] = self
        if ufunc is not None:
            UFUNCS[ufunc] = self

    def infer(self, *types: ArrayType, **params: Any) -> tuple[ArrayType, ...]:
        """The types of the results."""
        result_types = self.infer_rule(*types, **params)
        return result_types if isinstance(result_types, tuple) else (result_types,)

    def is_linear(self, linear: tuple[bool, ...], params: dict[str, Any]) -> bool:
        """Whether it is linear in the operands marked."""
        if isinstance(self.linear, ByBody):
            return self.linear.holds(linear, **params)
        return self.linear is not None and self.linear.allows(linear)

    def rule(self, slot: str) -> Rule:
        """The rule in a slot, or MissingRuleError with the reason why there is none."""
        rule = getattr(self, slot)
        if isinstance(rule, EmptySlot):
            raise MissingRuleError(f"{self.name!r} has no {slot} rule: {rule.text}.")
        return rule  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"

    def __reduce__(self) -> Any:
        return primitive_called, (self.name,)


def primitive_called(name: str) -> Primitive:
    """The primitive of this name."""
    return PRIMITIVES[name]
