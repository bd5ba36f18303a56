"""Where the primitives are not differentiable: a row for each, the distance from its kinks.

What the derivative is there stands with the primitives; here is only where "there" is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy as np


class KinkKind(Enum):
    """What is wrong at a point where a function is not differentiable.

    Example:
        >>> import adjoint as ad
        >>> ad.kinks(abs, 0.0)[0].kind
        <KinkKind.CORNER: 'the one-sided derivatives differ'>
    """

    CORNER = "the one-sided derivatives differ"
    JUMP = "the value jumps"
    STEEP = "a one-sided derivative is infinite"
    BRANCH = "a comparison is between equals"
    QUESTION = "the result depends on the argument through questions alone"


@dataclass(frozen=True)
class KinkRule:
    """Where an elementwise primitive has kinks.

    distance: the operands -> how far each entry is from the nearest kink, 0 at one.
    sides: the operands -> for each of them the derivatives from the left and from the right, where
        they are not the limits of the derivative on both sides. NaN where there is none.
    difference: whether its kinks are where its two operands are equal.
    """

    kind: KinkKind
    distance: Callable[..., Any]
    sides: Callable[..., list[tuple[Any, Any]]] | None = None
    difference: bool = False


def _apart(x: Any, y: Any) -> Any:
    return np.where(np.equal(x, y), 0.0, np.abs(x - y))  # equal infinities too


def _from_integers(x: Any) -> Any:
    return np.abs(x - np.rint(x))


def _from_integers_but_zero(x: Any) -> Any:
    return np.where(np.abs(x) < 0.5, 1 - np.abs(x), _from_integers(x))


def _steep_right(*operands: Any) -> list[tuple[Any, Any]]:
    """Infinitely steep to the right, and undefined to the left."""
    return [(np.nan, np.inf), *[(np.nan, np.nan)] * (len(operands) - 1)]


def _steep_inside(sign: float) -> Callable[..., list[tuple[Any, Any]]]:
    """Infinitely steep on the inner side of the ends of [-1, 1]."""
    return lambda x: [
        (np.where(x > 0, sign * np.inf, np.nan), np.where(x > 0, np.nan, sign * np.inf))
    ]


_ORIGIN: Final = KinkRule(KinkKind.CORNER, np.abs)
_CHOICE: Final = KinkRule(KinkKind.CORNER, _apart, difference=True)
_COMPARISON: Final = KinkRule(KinkKind.BRANCH, _apart, difference=True)
_STEPS: Final = KinkRule(KinkKind.JUMP, _from_integers)

KINKS: Final[dict[str, KinkRule]] = {
    "absolute": _ORIGIN,
    "fabs": _ORIGIN,
    "hypot": KinkRule(KinkKind.CORNER, np.hypot),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _CHOICE),
    **dict.fromkeys(
        ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), _COMPARISON
    ),
    "signbit": KinkRule(KinkKind.BRANCH, np.abs),
    "sign": KinkRule(KinkKind.JUMP, np.abs),
    "heaviside": KinkRule(KinkKind.JUMP, lambda x, y: np.abs(x) + 0 * y),
    "copysign": KinkRule(KinkKind.JUMP, lambda x, y: np.minimum(np.abs(x), np.abs(y))),
    "floor": _STEPS,
    "ceil": _STEPS,
    "trunc": KinkRule(KinkKind.JUMP, _from_integers_but_zero),
    "rint": KinkRule(KinkKind.JUMP, lambda x: np.abs(x - np.floor(x) - 0.5)),
    **dict.fromkeys(
        ("remainder", "floor_divide"),
        KinkRule(KinkKind.JUMP, lambda x, y: _from_integers(x / y) * np.abs(y)),
    ),
    "fmod": KinkRule(KinkKind.JUMP, lambda x, y: _from_integers_but_zero(x / y) * np.abs(y)),
    # The angle jumps by a turn across the negative axis.
    "arctan2": KinkRule(KinkKind.JUMP, lambda y, x: np.where(x <= 0, np.abs(y), np.hypot(x, y))),
    "sqrt": KinkRule(KinkKind.STEEP, np.abs, _steep_right),
    "cbrt": KinkRule(KinkKind.STEEP, np.abs, lambda x: [(np.inf, np.inf)]),
    "power": KinkRule(
        KinkKind.STEEP,
        lambda x, y: np.where((np.real(y) > 0) & (np.real(y) < 1), np.abs(x), np.inf),
        _steep_right,
    ),
    "arcsin": KinkRule(KinkKind.STEEP, lambda x: np.abs(1 - np.abs(x)), _steep_inside(1.0)),
    "arccos": KinkRule(KinkKind.STEEP, lambda x: np.abs(1 - np.abs(x)), _steep_inside(-1.0)),
    "arccosh": KinkRule(KinkKind.STEEP, lambda x: np.abs(x - 1), _steep_right),
    # x log x, up to its sign.
    "entr": KinkRule(KinkKind.STEEP, np.abs, _steep_right),
    **dict.fromkeys(
        ("rel_entr", "kl_div"),
        KinkRule(
            KinkKind.STEEP,
            lambda x, y: np.abs(x) + 0 * y,
            lambda x, y: [(np.nan, -np.inf), (np.nan, np.nan)],
        ),
    ),
}

# Reductions that choose an entry, with the derivatives of the choice in an entry that ties, from
# the left and from the right; and those that return its place.
CHOOSING: Final[dict[str, tuple[float, float]]] = {"max": (0.0, 1.0), "min": (1.0, 0.0)}
SEARCHING: Final[dict[str, str]] = {"argmax": "max", "argmin": "min"}
