"""How the functions of `scipy.special` are declared; SciPy is imported when one is first met.

The families stand in files of their own (`special_gamma.py`, ...). An argument in which no
derivative is known in closed form has a reason in its place, which ends the error message.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import numpy as np

from adjoint.base.errors import MissingRuleError
from adjoint.primitives.declaration import UFUNCS, EmptySlot, Primitive
from adjoint.primitives.elementwise.conversion import cast
from adjoint.primitives.elementwise.declaring import batch_aligned, elementwise, no_partial, weigh
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.samples import Draw, Fixed, Sample, draw
from adjoint.primitives.typing_rules import LateUfunc, resolve, ufunc_types
from adjoint.program import Literal

MODULE = "scipy.special"
SPECIAL: dict[str, Primitive] = {}
_SINGLE = (np.dtype(np.float32), np.dtype(np.complex64))
ALIASES = {"psi": "digamma", "jv": "jn"}  # two ufuncs under one name
_USUAL: Final = {
    **dict.fromkeys(("singular", "underflow", "overflow", "slow", "loss"), "ignore"),
    **dict.fromkeys(("no_result", "domain", "arg", "other"), "ignore"),
    "memory": "raise",
}

Partial = Callable[..., Any] | EmptySlot | None
Operands = tuple[Draw | Fixed, ...]


def find_special(ufunc: Any) -> Primitive | None:
    """The primitive of a SciPy ufunc, if there is one; from then on `UFUNCS` knows it too."""
    name = getattr(ufunc, "__name__", "")
    primitive = SPECIAL.get(name)
    modules = [sys.modules.get(module) for module in (MODULE, f"{MODULE}._ufuncs")]
    names = (name, ALIASES.get(name, name))
    homes = [getattr(module, spelling, None) for module in modules for spelling in names]
    if primitive is None or not any(home is ufunc for home in homes):
        return None
    UFUNCS[ufunc] = primitive
    return primitive


def errors_are_ignored() -> bool:
    """Whether SciPy's functions keep quiet about errors, as they do unless asked."""
    special = sys.modules.get(MODULE)
    if special is None:  # then nobody has asked for errors
        return True
    actions = special.geterr()
    return bool(
        actions == _USUAL
        or all(action == "ignore" or kind == "memory" for kind, action in actions.items())
    )


def errors_ignored() -> AbstractContextManager[Any]:
    """Let SciPy's functions keep quiet about errors."""
    special: Any = sys.modules.get(MODULE)
    return nullcontext() if errors_are_ignored() else special.errstate(**_USUAL)


def call(name: str, *operands: Any) -> Any:
    """Apply a special function within a rule.

    SciPy prefers double precision where a Python float meets an array in single, so that numbers
    are made single there.
    """
    dtypes = [x.dtype for x in operands if isinstance(x, Expression) and not x.type.weak]
    if dtypes and all(dtype in _SINGLE for dtype in dtypes):
        operands = tuple(np.float32(x) if isinstance(x, float) else x for x in operands)
    return bind(SPECIAL[name], *operands)


def row(
    name: str,
    *partials: Partial,
    on: Operands,
    also: tuple[Operands, ...] = (),
    program_name: str | None = None,
    module: str = MODULE,
    order: int = 4,
    double_only: bool = False,
) -> None:
    """Declare an elementwise function from its partial derivatives.

    on, also: the operands of its samples. program_name: where NumPy has a ufunc of that name.
    order: of the derivatives that samples try; fewer where formulas grow fast. double_only: where
    SciPy gives NaN, or never ends, in single precision.
    """
    SPECIAL[name] = elementwise(
        LateUfunc(module, name),
        *partials,
        samples=_samples(partials, on, also, double_only, order),
        name=program_name,
    )


def several(
    name: str,
    slopes: Partial,
    *partials: Partial,
    on: Operands,
    also: tuple[Operands, ...] = (),
    double_only: bool = False,
    order: int = 4,
) -> None:
    """Declare a function with several results, each partial derivative a tuple of all of them.

    slopes: (operands, results) -> the slopes in the last operand, or a reason; partials: those for
    the others. double_only, order: as in `row`.
    """
    rules = (*partials, slopes)
    ufunc = LateUfunc(MODULE, name)

    def derivative(tangents: Any, operands: Any, results: Any) -> Any:
        totals: list[Any] = [None] * len(results)
        for place, (rule, tangent) in enumerate(zip(rules, tangents, strict=True)):
            if tangent is None:
                continue
            if not callable(rule):
                raise no_partial(name, place, rule)
            for number, slope in enumerate(rule(operands, results)):
                term = weigh(slope, tangent, results[number].type)
                total = totals[number]
                totals[number] = term if total is None else total + term
        return tuple(totals)

    SPECIAL[name] = Primitive(
        name,
        infer=lambda *types: ufunc_types(resolve(ufunc), *types),
        evaluate=ufunc,
        linear=None,
        derivative=derivative,
        batch=batch_aligned(name),
        samples=_samples(rules, on, also, double_only, order),
        multiple=True,
    )


def _samples(
    partials: tuple[Partial, ...],
    on: Operands,
    also: tuple[Operands, ...],
    double_only: bool = False,
    order: int = 4,
) -> tuple[Sample, ...]:
    constant = tuple(place for place, partial in enumerate(partials) if not callable(partial))
    return tuple(
        Sample(operands, order=order, constant=constant, single=not double_only)
        for operands in (on, *also)
    )


# --- what samples and rules are written with ------------------------------------------------------

REAL = (draw(4),)
POSITIVE = (draw(4, low=0.5, high=4),)
UNIT = (draw(4, low=0.1, high=0.9),)
COMPLEX = (draw(2, low=0.4, high=1.5, dtype=complex),)
ORDER = EmptySlot("with respect to an order no closed form is known")
COUNT = EmptySlot("it counts something")
PARAMETER = EmptySlot("with respect to this parameter no closed form is known")


def between(low: float, high: float, *shape: int) -> Draw:
    """A real operand of a sample; two numbers by default."""
    return draw(*(shape or (2,)), low=low, high=high)


def constant_number(value: float) -> Fixed:
    """An operand of a sample that is one number."""
    return Fixed(np.asarray(value))


def near_zero(x: Any) -> Any:
    """|x| < 1/2 for real x."""
    return np.less(x, 0.5) & np.greater(x, -0.5)  # |x| would be a kink of its own at 0


def shifted(order: Any, by: int) -> Any:
    """An order plus an integer: a Python number stays one, and nothing wraps around."""
    if isinstance(order.atom, Literal):
        number: Any = order.atom.value
        return number + by
    if order.dtype.kind in "bu":
        order = cast(order, np.dtype(np.int64))
    return order + by


def whole_order(order: Any) -> Any:
    """An order as SciPy cuts it to an integer."""
    number: Any = order.atom.value if isinstance(order.atom, Literal) else 0.5
    return order if order.dtype.kind in "bui" or number == int(number) else np.trunc(order)


def polynomial(x: Any, coefficients: tuple[float, ...]) -> Any:
    """c_0 + c_1 x + c_2 x^2 + ... by Horner's rule."""
    total: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = coefficient + x * total
    return total


def require_real(name: str, *operands: Expression) -> None:
    """Refuse the derivative of a scaled function that is not analytic."""
    if any(operand.dtype.kind == "c" for operand in operands):
        raise MissingRuleError(
            f"{name!r} is not analytic in a complex argument (it is scaled by an absolute value), "
            "and has no derivative there. Use the function without the scale, or real arguments."
        )
