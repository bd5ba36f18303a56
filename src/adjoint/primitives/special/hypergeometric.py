"""`scipy.special`: hypergeometric functions, and functions that a differential equation defines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.declaration import EmptySlot
from adjoint.primitives.elementwise.accuracy.slopes import OMEGA_SLOPE, is_complex
from adjoint.primitives.samples import python_float
from adjoint.primitives.special.declaring import (
    COMPLEX,
    COUNT,
    MODULE,
    ORDER,
    PARAMETER,
    between,
    call,
    constant_number,
    row,
    several,
    shifted,
)

_TWO = between(1.2, 2.5)

# --- hypergeometric -------------------------------------------------------------------------------

row(
    "hyp0f1",
    PARAMETER,
    lambda v, z, y: call("hyp0f1", shifted(v, 1), z) / v,
    on=(_TWO, between(-2.0, 2.0)),
    also=((_TWO, COMPLEX[0]),),
)
row(
    "hyp1f1",
    PARAMETER,
    PARAMETER,
    lambda a, b, z, y: a / b * call("hyp1f1", shifted(a, 1), shifted(b, 1), z),
    on=(_TWO, _TWO, between(-2.0, 2.0)),
    also=((_TWO, _TWO, COMPLEX[0]),),
)
row(
    "hyp2f1",
    PARAMETER,
    PARAMETER,
    PARAMETER,
    lambda a, b, c, z, y: (
        a * b / c * call("hyp2f1", shifted(a, 1), shifted(b, 1), shifted(c, 1), z)
    ),
    on=(between(1.2, 2.5, 1), between(1.2, 2.5, 1), between(1.2, 2.5, 1), between(-0.7, 0.7)),
    also=((constant_number(0.5), constant_number(1.0), constant_number(1.5), COMPLEX[0]),),
)
row(
    "hyperu",
    PARAMETER,
    PARAMETER,
    lambda a, b, x, y: -a * call("hyperu", shifted(a, 1), shifted(b, 1), x),
    on=(_TWO, between(0.3, 0.8), between(0.8, 2.0)),
)
row(
    "wright_bessel",
    PARAMETER,
    PARAMETER,
    lambda a, b, x, y: call("wright_bessel", a, a + b, x),
    on=(_TWO, _TWO, between(0.5, 2.0)),
)
row(
    "log_wright_bessel",
    PARAMETER,
    PARAMETER,
    lambda a, b, x, y: np.exp(call("log_wright_bessel", a, a + b, x) - y),
    on=(_TWO, _TWO, between(0.5, 2.0)),
)


def _omega_slope(z: Any, w: Any) -> Any:
    return w / (1 + w) if is_complex(z) else OMEGA_SLOPE(z, w)


# --- solutions of w + log(w) = z and w exp(w) = z -------------------------------------------------

row("wrightomega", lambda z, w: _omega_slope(z, w), on=(between(-1.0, 3.0),), also=(COMPLEX,))


row(
    "_lambertw",  # in SciPy, `lambertw` is a function around it
    lambda z, k, tolerance, w: 1 / (z + np.exp(w)),  # finite at 0 on the main branch
    EmptySlot("it numbers the branches"),
    EmptySlot("it is the tolerance"),
    on=(COMPLEX[0], constant_number(0), python_float(1e-8, 1e-8)),
    also=((between(0.3, 2.0), constant_number(-1), python_float(1e-8, 1e-8)),),
    program_name="lambertw",
    module=f"{MODULE}._ufuncs",
)

# --- Mathieu functions: y'' = -(a - 2 q cos(2 x)) y -----------------------------------------------

_M, _Q = constant_number(2.0), constant_number(1.3)
row("mathieu_a", COUNT, PARAMETER, on=(_M, _Q))
row("mathieu_b", COUNT, PARAMETER, on=(_M, _Q))


def _angular_mathieu(value: str) -> Any:
    """With x in degrees, and the derivative that is returned in radians."""

    def slopes(operands: Any, results: Any) -> tuple[Any, ...]:
        (m, q, x), (y, y_slope), degree = operands, results, math.pi / 180
        pull = call(value, m, q) - 2 * q * np.cos(2 * degree * x)
        return degree * y_slope, -degree * pull * y

    return slopes


def _radial_mathieu(value: str) -> Any:
    def slopes(operands: Any, results: Any) -> tuple[Any, ...]:
        (m, q, x), (y, y_slope) = operands, results
        return y_slope, (call(value, m, q) - 2 * q * np.cosh(2 * x)) * y

    return slopes


for _name, _value in (("cem", "a"), ("sem", "b")):
    several(
        f"mathieu_{_name}",
        _angular_mathieu(f"mathieu_{_value}"),
        COUNT,
        PARAMETER,
        on=(_M, _Q, between(20.0, 70.0)),
        double_only=True,
    )
for _name, _value in (("cem", "a"), ("sem", "b")):
    for _kind in "12":
        several(
            f"mathieu_mod{_name}{_kind}",
            _radial_mathieu(f"mathieu_{_value}"),
            COUNT,
            PARAMETER,
            on=(_M, _Q, between(0.3, 1.0)),
            double_only=True,
        )

# --- spheroidal wave functions --------------------------------------------------------------------
# (1 - x^2) y'' - 2 x y' + (cv - c^2 x^2 - m^2 / (1 - x^2)) y = 0, prolate; for the oblate ones c is
# imaginary, and x is, too, in the radial ones.

_WAVE = (constant_number(1.0), constant_number(2.0), constant_number(1.4))
for _name in ("pro_cv", "obl_cv"):
    row(_name, COUNT, COUNT, PARAMETER, on=_WAVE, double_only=True)


def _spheroidal(value: str | None, oblate: int, imaginary: bool) -> Any:
    """value: the function that gives cv, if it is no operand; oblate: the sign of -c^2."""
    sign = -1 if imaginary else 1

    def slopes(operands: Any, results: Any) -> tuple[Any, ...]:
        m, c, x = operands[0], operands[2], operands[-1]
        separation = operands[3] if value is None else call(value, *operands[:3])
        y, y_slope = results
        rest = 1 - sign * np.square(x)
        term = separation + oblate * sign * np.square(c * x) - m * m / rest
        return y_slope, sign * (2 * x * y_slope - term * y) / rest

    return slopes


_INEXACT = EmptySlot("SciPy has too few digits of it, and its slope is not that of its value")
for _shape, _oblate, _eigenvalue in (("pro", -1, 6.825183428110456), ("obl", 1, 5.144966656242779)):
    for _kind, _range in (
        ("ang1", between(0.2, 0.7)),
        ("rad1", between(1.5, 2.5)),
        ("rad2", between(1.5, 2.5)),
    ):
        _imaginary = _shape == "obl" and _kind != "ang1"
        _slope: Any = _spheroidal(f"{_shape}_cv", _oblate, _imaginary)
        _slope_cv: Any = _spheroidal(None, _oblate, _imaginary)
        if _kind == "rad2":
            _slope, _slope_cv = (_slope if _shape == "pro" else _INEXACT), _INEXACT
        several(
            f"{_shape}_{_kind}",
            _slope,
            COUNT,
            COUNT,
            PARAMETER,
            on=(*_WAVE, _range),
            double_only=True,
        )
        several(
            f"{_shape}_{_kind}_cv",
            _slope_cv,
            COUNT,
            COUNT,
            PARAMETER,
            PARAMETER,
            on=(*_WAVE, constant_number(_eigenvalue), _range),
            double_only=True,
        )

# --- parabolic cylinder functions -----------------------------------------------------------------


def _cylinder(operands: Any, results: Any) -> tuple[Any, ...]:
    """y'' = (x^2 / 4 - v - 1 / 2) y."""
    (v, x), (y, y_slope) = operands, results
    return y_slope, (0.25 * np.square(x) - v - 0.5) * y


def _second_cylinder(operands: Any, results: Any) -> tuple[Any, ...]:
    """y'' = (a - x^2 / 4) y."""
    (a, x), (y, y_slope) = operands, results
    return y_slope, (a - 0.25 * np.square(x)) * y


several("pbdv", _cylinder, ORDER, on=(constant_number(1.5), between(0.4, 2.0)))
several("pbvv", _cylinder, ORDER, on=(constant_number(1.5), between(0.4, 2.0)))
several("pbwa", _second_cylinder, ORDER, on=(constant_number(0.7), between(0.4, 2.0)))
