"""`scipy.special`: elliptic integrals and functions, and the arithmetic-geometric mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.primitives.elementwise.accuracy.formulas import formula
from adjoint.primitives.elementwise.selection import select
from adjoint.primitives.samples import draw, sample
from adjoint.primitives.special.declaring import SPECIAL, between, call, row, several
from adjoint.primitives.special.quadrature import carlson_integral, legendre_integral
from adjoint.primitives.typing_rules import resolve

# --- Legendre's complete integrals, which are hypergeometric --------------------------------------


def _ellipk_slope(m: Any) -> Any:
    return math.pi / 8 * call("hyp2f1", 1.5, 1.5, 2.0, m)


def _near_one(p: Any) -> Any:
    """(K - E / p) / (2 (1 - p))."""
    k, e = (resolve(SPECIAL[name].ufunc) for name in ("ellipkm1", "ellipe"))
    return (k(p) - e(1 - p) / p) / (2 * (1 - p))


def _near_one_slope(p: Any, y: Any) -> Any:
    """From p (1 - p) K'' + (1 - 2 p) K' = K / 4 (DLMF 19.4.8): of one sign, for small p."""
    return (0.25 * call("ellipkm1", p) - (1 - 2 * p) * y) / p / (1 - p)


ELLIPKM1_SLOPE = formula(
    "ellipkm1_slope",
    _near_one,
    _near_one_slope,
    samples=(sample(between(0.1, 0.4)),),
    wide=True,
)


def _ellipkm1_slope(p: Any) -> Any:
    """Of K(1 - p); near p = 1, where the formula is 0 / 0, as hypergeometric function."""
    small = np.less(p, 0.5)
    near = ELLIPKM1_SLOPE(select(small, p, 0.25))
    return select(small, near, -_ellipk_slope(1 - select(small, 1.0, p)))


row("ellipk", lambda m, y: _ellipk_slope(m), on=(between(-2.0, 0.8, 4),))
row(
    "ellipkm1",
    lambda p, k: _ellipkm1_slope(p),
    on=(between(0.1, 0.4),),
    also=((between(0.6, 1.8),),),
)
row(
    "ellipe",
    lambda m, y: -math.pi / 8 * call("hyp2f1", 0.5, 1.5, 2.0, m),
    on=(between(-2.0, 0.8, 4),),
)

# --- Legendre's incomplete integrals, and Jacobi's functions --------------------------------------


def _moderate(phi: Any, m: Any) -> Any:
    """Where 1 - m sin^2 is nowhere small up to phi, so that quadrature is exact; also at m = 1."""
    short = np.less(np.square(phi), 2.25) & np.less(m * np.square(np.sin(phi)), 0.9)
    return (np.less(m, 0.9) | short) & np.greater(m, -5.0)


def _second_kind_slope(phi: Any, m: Any, e: Any) -> Any:
    """dE/dm = (E - F) / (2 m), and by quadrature where that would cancel."""
    moderate = _moderate(phi, m)
    other = select(moderate, 0.5, m)
    formula = (e - call("ellipkinc", phi, other)) / (2 * other)
    return select(
        moderate, -0.5 * legendre_integral(phi, select(moderate, m, 0.0), (1, 0)), formula
    )


def _first_kind_slope(phi: Any, m: Any, f: Any) -> Any:
    """dF/dm = (F - D - sin(phi) cos(phi) / Delta) / (2 (1 - m)), D = (F - E) / m."""
    moderate = _moderate(phi, m)
    other = select(moderate, 0.5, m)
    sine, cosine = np.sin(phi), np.cos(phi)
    root = np.sqrt(1 - other * np.square(sine))
    rest = (f - call("ellipeinc", phi, other)) / other
    formula = (f - rest - sine * cosine / root) / (2 * (1 - other))
    return select(moderate, 0.5 * legendre_integral(phi, select(moderate, m, 0.0), (1, 1)), formula)


def _delta(phi: Any, m: Any) -> Any:
    return np.sqrt(1 - m * np.square(np.sin(phi)))


_ANGLE = between(0.2, 1.4)
row(
    "ellipkinc",
    lambda phi, m, y: 1 / _delta(phi, m),
    _first_kind_slope,
    on=(_ANGLE, between(-0.6, 0.8)),
    also=((_ANGLE, between(-20.0, -9.0)),),
)
row(
    "ellipeinc",
    lambda phi, m, y: _delta(phi, m),
    _second_kind_slope,
    on=(_ANGLE, between(-0.6, 0.8)),
    also=((_ANGLE, between(-20.0, -9.0)), (between(2.0, 9.0), between(0.1, 0.6))),
)


def _ellipj_in_u(operands: Any, results: Any) -> tuple[Any, ...]:
    (_, m), (sn, cn, dn, _) = operands, results
    return cn * dn, -sn * dn, -m * sn * cn, dn


def _ellipj_in_m(operands: Any, results: Any) -> tuple[Any, ...]:
    """From u = F(phi, m) with u held: dphi/dm = -dn dF/dm."""
    (u, m), (sn, cn, dn, phi) = operands, results
    angle = -dn * _first_kind_slope(phi, m, u)
    return (
        cn * angle,
        -sn * angle,
        -sn * (0.5 * sn + m * cn * angle) / dn,
        angle,
    )


several(
    "ellipj",
    _ellipj_in_m,
    _ellipj_in_u,
    on=(between(0.2, 1.2), between(0.2, 0.7)),
    order=2,  # formulas grow fast
)

# --- Carlson's symmetric integrals ----------------------------------------------------------------


def _carlson_row(name: str, factor: float, powers: tuple[float, ...], weight: int = 0) -> None:
    """The slopes are factor * int t^weight prod_i (t + z_i)^(-b_i) dt, b = powers + 1 at one."""

    def slope(place: int) -> Any:
        raised = tuple(power + (n == place) for n, power in enumerate(powers))
        part = factor if weight else -factor * powers[place]
        return lambda *z: part * carlson_integral(z[:-1], raised, weight)

    row(
        name,
        *(slope(place) for place in range(len(powers))),
        on=tuple(draw(2, low=0.5, high=2) for _ in powers),
        also=(tuple(draw(1, low=0.5, high=2, dtype=complex) for _ in powers),),
    )


def _principal_slopes(place: int, x: Any, y: Any, value: Any) -> Any:
    """The slopes of R_C for negative y, a principal value: of R_C = arctan(s) / sqrt(y - x)."""
    root = np.sqrt(x)
    end = 1 / root if place == 0 else root / y
    return (value - end if place == 0 else end - value) / (2 * (y - x))


def _degenerate_slope(place: int) -> Any:
    powers = (1.5, 1.0) if place == 0 else (0.5, 2.0)
    factor = -0.25 if place == 0 else -0.5

    def slope(x: Any, y: Any, value: Any) -> Any:
        if y.dtype.kind == "c":
            return factor * carlson_integral((x, y), powers)
        through = np.less(y, 0)
        direct = factor * carlson_integral((x, select(through, 1.0, y)), powers)
        return select(through, _principal_slopes(place, x, select(through, y, -1.0), value), direct)

    return slope


row(
    "elliprc",
    _degenerate_slope(0),
    _degenerate_slope(1),
    on=tuple(draw(2, low=0.5, high=2) for _ in range(2)),
    also=(
        (between(0.5, 2.0), between(-2.0, -0.5)),
        tuple(draw(1, low=0.5, high=2, dtype=complex) for _ in range(2)),
    ),
)
_carlson_row("elliprf", 0.5, (0.5, 0.5, 0.5))
_carlson_row("elliprd", 1.5, (0.5, 0.5, 1.5))
_carlson_row("elliprj", 1.5, (0.5, 0.5, 0.5, 1.0))
_carlson_row("elliprg", 0.125, (0.5, 0.5, 0.5), weight=1)

# --- the arithmetic-geometric mean pi (a + b) / (4 K(1 - p)), p = 4 a b / (a + b)^2 ---------------


def _agm_slope(a: Any, b: Any, mean: Any) -> Any:
    """With respect to a.

    Where either is 0, so is the mean: it leaves 0 with an infinite slope, and stays where the other
    one moves. Where both are 0 it has none.
    """
    flat = np.equal(mean, 0)
    x, y = (select(flat, 1.0, operand) for operand in (a, b))
    total = x + y
    p = 4 * (x / total) * (y / total)
    turn = 4 * (y / total) * ((y - x) / total) / total  # the slope of p
    inner = mean * (1 / total - _ellipkm1_slope(p) / call("ellipkm1", p) * turn)
    zero = np.equal(a, 0)
    edge = select(zero, (b / a) / b, mean / select(zero, 1.0, a))
    return select(flat, edge, inner)


row(
    "agm",
    _agm_slope,
    lambda a, b, mean: _agm_slope(b, a, mean),
    on=(between(0.5, 2.0), between(0.5, 2.0)),
)
