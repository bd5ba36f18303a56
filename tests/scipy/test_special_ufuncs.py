"""Every ufunc of the installed `scipy.special`: in which arguments it has a derivative.

The derivatives themselves are held to differences by the generic checker (`tests/primitives`).
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import special
from scipy.special import _ufuncs

import adjoint as ad
from adjoint.primitives.special.declaring import SPECIAL, find_special

UFUNCS = {
    name: value for name in dir(special) if isinstance(value := getattr(special, name), np.ufunc)
}

# Those without a derivative in any argument, and those without one in some, by place.
NOWHERE = [
    "bdtrik",
    "bdtrin",
    "chndtridf",
    "fdtridfd",
    "mathieu_a",
    "mathieu_b",
    "nbdtrik",
    "nbdtrin",
    "ncfdtr",
    "ncfdtri",
    "ncfdtridfd",
    "ncfdtridfn",
    "ncfdtrinc",
    "nctdtr",
    "nctdtridf",
    "nctdtrinc",
    "nctdtrit",
    "obl_cv",
    "obl_rad2",
    "obl_rad2_cv",
    "pro_cv",
    "pro_rad2_cv",
    "smirnov",
    "smirnovi",
    "zetac",
]  # a table is read more easily so
NOT_IN: dict[tuple[int, ...], str] = {
    (0,): (
        "eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_hermite eval_hermitenorm "
        "eval_laguerre eval_legendre eval_sh_chebyt eval_sh_chebyu eval_sh_legendre expn "
        "hankel1 hankel1e hankel2 hankel2e hyp0f1 iv ive jn jv jve kn kv kve modstruve pbdv "
        "pbvv pbwa pdtr pdtrc pdtri struve yn yv yve"
    ),
    (0, 1): (
        "bdtr bdtrc bdtri eval_gegenbauer eval_genlaguerre hyp1f1 hyperu log_wright_bessel "
        "lpmv mathieu_cem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 "
        "mathieu_sem nbdtr nbdtrc nbdtri wright_bessel"
    ),
    (0, 1, 2): ("eval_jacobi eval_sh_jacobi hyp2f1 obl_ang1 obl_rad1 pro_ang1 pro_rad1 pro_rad2"),
    (0, 1, 2, 3): "obl_ang1_cv obl_rad1_cv pro_ang1_cv pro_rad1_cv",
    (1,): ("chndtr chndtrinc chndtrix"),
    (1, 2): ("besselpoly"),
}


def constant_places(name: str) -> tuple[int, ...]:
    primitive = find_special(UFUNCS[name])
    assert primitive is not None, name
    (places,) = {sample.constant for sample in primitive.samples}  # type: ignore[union-attr]
    return tuple(places)


@pytest.mark.parametrize("name", UFUNCS)
def test_the_table(name: str) -> None:
    expected: tuple[int, ...] = ()
    for places, names in NOT_IN.items():
        if name in names.split():
            expected = places
    if name in NOWHERE:
        expected = tuple(range(UFUNCS[name].nin))
    assert constant_places(name) == expected


def test_the_table_names_nothing_else() -> None:
    listed = {*NOWHERE, *(name for names in NOT_IN.values() for name in names.split())}
    assert listed <= set(UFUNCS)
    others = set(SPECIAL) - {UFUNCS[name].__name__ for name in UFUNCS}
    hidden = {name for name in others if isinstance(getattr(_ufuncs, name, None), np.ufunc)}
    assert others - hidden | {"_lambertw"} == {"zeta", "_lambertw", "positive"}


REFUSED = [(name, place) for name in UFUNCS for place in constant_places(name)]


@pytest.mark.parametrize("place", range(5))
def test_a_refused_argument_is_named_with_its_reason(place: int) -> None:
    for name in (name for name, number in REFUSED if number == place):
        ufunc = UFUNCS[name]
        sample: Any = find_special(ufunc).samples[0]  # type: ignore[union-attr]
        operands = [each.array(np.random.default_rng(0)) for each in sample.operands]
        if operands[place].dtype.kind == "i":
            continue  # an integer has no derivative anyhow

        def function(x: Any, ufunc: Any = ufunc, operands: Any = operands) -> Any:
            return ufunc(*operands[:place], x, *operands[place + 1 :])

        with pytest.raises(ad.errors.MissingRuleError, match=f"argument {place}: .+stop_gradient"):
            ad.jvp(function, (operands[place],), (np.ones_like(operands[place]),))


def slope(function: Any, x: Any, order: int = 1) -> Any:
    for _ in range(order):
        function = (lambda f: lambda y: ad.jvp(f, (y,), (1.0,))[1])(function)
    return function(x)


POINTS: dict[str, tuple[Any, float, float]] = {
    "rgamma at a pole": (special.rgamma, 0.0, 1.0),
    "rgamma at another": (special.rgamma, -2.0, 2.0),
    "ellipk": (special.ellipk, 0.0, np.pi / 8),
    "ellipe": (special.ellipe, 0.0, -np.pi / 8),
    "ellipkm1": (special.ellipkm1, 1.0, -np.pi / 8),
    "ellipkinc": (lambda m: special.ellipkinc(1.0, m), 0.0, 0.25 * (1 - np.sin(1) * np.cos(1))),
    "ellipj": (lambda m: special.ellipj(1.0, m)[3], 0.0, -0.25 * (1 - np.sin(1) * np.cos(1))),
    "agm": (lambda a: special.agm(a, 2.0), 2.0, 0.5),
    "j1": (special.j1, 0.0, 0.5),
    "jv of order 0": (lambda x: special.jv(0, x), 0.0, 0.0),
    "jv of order 1": (lambda x: special.jv(1, x), 0.0, 0.5),
    "struve": (lambda x: special.struve(0, x), 0.0, 2 / np.pi),
    "beip": (special.beip, 0.0, 0.5),
    "legendre at 1": (lambda x: special.eval_legendre(4, x), 1.0, 10.0),
    "chebyshev at 1": (lambda x: special.eval_chebyt(5, x), 1.0, 25.0),
    "hermite of degree 0": (lambda x: special.eval_hermite(0, x), 0.3, 0.0),
    "lambertw": (lambda x: special.lambertw(x).real, 0.0, 1.0),
    "sici": (lambda x: special.sici(x)[0], 0.0, 1.0),
    "shichi": (lambda x: special.shichi(x)[0], 0.0, 1.0),
    "spence": (special.spence, 1.0, -1.0),
    "boxcox": (lambda p: special.boxcox(2.0, p), 0.0, np.log(2) ** 2 / 2),
    "it2struve0": (special.it2struve0, 0.0, -2 / np.pi),
    "cbrt": (special.cbrt, 8.0, 1 / 12),
    "xlogy": (lambda y: special.xlogy(0.0, y), 0.0, 0.0),
    "tklmbda outside": (lambda x: special.tklmbda(x, 1.0), 3.0, 0.0),
    "expn of order 0": (lambda x: special.expn(0, x), 1.0, -2 * np.exp(-1.0)),
    "binom where it is 0": (lambda n: special.binom(n, 4.0), 2.0, -1 / 12),
    "binom of a count": (lambda k: special.binom(2.0, k), 4.0, 1 / 12),
    "poch at 0": (lambda z: special.poch(z, 3.0), 0.0, 2.0),
    "poch, both at poles": (lambda z: special.poch(z, 2.0), -3.0, -5.0),
    "betaincinv at 1": (lambda a: special.betaincinv(a, 3.0, 1.0), 2.0, 0.0),
    "gammainccinv at 1": (lambda a: special.gammainccinv(a, 1.0), 2.0, 0.0),
    "gdtrc at 0": (lambda a: special.gdtrc(a, 0.6, 0.0), 0.7, 0.0),
    "boxcox of 0": (lambda p: special.boxcox(0.0, p), 2.0, 0.25),
    "voigt_profile without width": (
        lambda x: special.voigt_profile(x, 0.0, 1.0),
        1.0,
        -1 / (2 * np.pi),
    ),
}


SECOND: dict[str, tuple[Any, float, float]] = {
    "binom where it is 0": (lambda n: special.binom(n, 3.0), 2.0, 1.0),
    "poch at 0": (lambda z: special.poch(z, 3.0), 0.0, 6.0),
    "poch, both at poles": (lambda z: special.poch(z, 2.0), -3.0, 2.0),
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_at_poles(name: str) -> None:
    function, x, expected = SECOND[name]
    np.testing.assert_allclose(slope(function, x, 2), expected, rtol=1e-12)


def test_counts_are_cut_to_integers_as_scipy_does() -> None:
    def compare() -> None:
        for cut, whole in cases:
            assert cut(0.3) == whole(0.3)
            np.testing.assert_allclose(slope(cut, 0.3), slope(whole, 0.3), rtol=1e-13)

    cases: tuple[Any, ...] = (
        (lambda x: special.kn(4.7, x), lambda x: special.kn(4, x)),
        (lambda x: special.yn(2.9, x), lambda x: special.yn(2, x)),
        (lambda x: special.expn(1.6, x), lambda x: special.expn(1, x)),
        (lambda x: special.bdtr(1.0, 4.6, x), lambda x: special.bdtr(1, 4, x)),
        (lambda x: special.nbdtr(1.0, 4.6, x), lambda x: special.nbdtr(1, 4, x)),
    )
    with pytest.warns((RuntimeWarning, DeprecationWarning)):
        compare()


def test_principal_values_of_carlsons_integrals() -> None:
    for function, exact, at in (
        (lambda x: special.elliprc(x, -0.8), lambda x: mpmath.elliprc(x, -0.8), 4.9),
        (lambda y: special.elliprc(4.9, y), lambda y: mpmath.elliprc(4.9, y), -0.8),
    ):
        np.testing.assert_allclose(slope(function, at), float(mpmath.diff(exact, at)), rtol=1e-8)
    with pytest.raises(ad.errors.MissingRuleError, match="principal value"):
        ad.grad(lambda p: special.elliprj(1.0, 2.0, 3.0, p))(-2.0)


@pytest.mark.parametrize("order", [-2.4, -3.6, -2.5, 2.0])
def test_struve_functions_of_any_order_and_sign(order: float) -> None:
    at = -0.7 if order == 2 else 0.7
    expected = float(mpmath.diff(lambda x: mpmath.struveh(order, x), at))
    np.testing.assert_allclose(slope(lambda x: special.struve(order, x), at), expected, rtol=1e-10)
    orders = np.array([order])
    found = slope(lambda x: np.sum(special.struve(orders, x)), at)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("name", POINTS)
def test_special_points(name: str) -> None:
    function, x, expected = POINTS[name]
    np.testing.assert_allclose(slope(function, x), expected, rtol=1e-12, atol=1e-15)


PRECISE: dict[str, tuple[Any, Any, float]] = {
    "P(a, x) below": (lambda a: special.gammainc(a, 0.1), lambda a: P(a, 0.1), 20.0),
    "P(a, x) near": (lambda a: special.gammainc(a, 2.5), lambda a: P(a, 2.5), 2.4),
    "Q(a, x) above": (lambda a: special.gammaincc(a, 80.0), lambda a: -P(a, 80), 7.0),
    "P of large a": (lambda a: special.gammainc(a, 410.0), lambda a: P(a, 410), 400.0),
    "I(a) below": (lambda a: special.betainc(a, 3.0, 0.01), lambda a: I(a, 3, 0.01), 5.0),
    "I(a) above": (lambda a: special.betainc(a, 3.0, 0.9), lambda a: I(a, 3, 0.9), 2.0),
    "I(b)": (lambda b: special.betainc(2.0, b, 0.3), lambda b: I(2, b, 0.3), 4.0),
    "stdtr": (
        lambda v: special.stdtr(v, 1.3),
        lambda v: 1 - I(v / 2, 0.5, v / (v + mpmath.mpf("1.69"))) / 2,
        5.0,
    ),
    "stdtr far out": (
        lambda v: special.stdtr(v, 1e8),
        lambda v: 1 - I(v / 2, 0.5, v / (v + mpmath.mpf("1e16"))) / 2,
        0.5,
    ),
    "a narrow voigt_profile": (
        lambda s: special.voigt_profile(2.0, s, 0.5),
        lambda s: _voigt(2, s, mpmath.mpf("0.5")),
        1e-3,
    ),
    "psi": (lambda x: special.psi(x + 0.7j).imag, lambda x: mpmath.psi(0, x + 0.7j).imag, 0.4),
}


def _voigt(x: Any, sigma: Any, gamma: Any) -> Any:
    z = (x + 1j * gamma) / (sigma * mpmath.sqrt(2))
    wofz = mpmath.exp(-(z**2)) * mpmath.erfc(-1j * z)
    return mpmath.re(wofz) / (sigma * mpmath.sqrt(2 * mpmath.pi))


def P(a: Any, x: Any) -> Any:
    return mpmath.gammainc(a, 0, x, regularized=True)


def I(a: Any, b: Any, x: Any) -> Any:  # noqa: E743  # its name
    return mpmath.betainc(a, b, 0, x, regularized=True)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", PRECISE)
def test_parameters_against_many_digits(name: str, order: int) -> None:
    function, exact, x = PRECISE[name]
    with mpmath.workdps(40):
        expected = float(mpmath.diff(exact, x, order))
    np.testing.assert_allclose(slope(function, x, order), expected, rtol=2e-10)


def test_other_names_for_the_same() -> None:
    assert slope(special.digamma, 1.0) == slope(special.psi, 1.0)
    assert slope(lambda x: special.jn(2, x), 1.0) == slope(lambda x: special.jv(2, x), 1.0)


def test_scaled_functions_are_analytic_nowhere() -> None:
    z = np.array([0.3 + 0.2j])
    with pytest.raises(ad.errors.MissingRuleError, match="not analytic"):
        ad.jvp(lambda z: special.jve(1.0, z), (z,), (z,))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("pdtrik", (0.9, 0.05)), ("stdtridf", (0.1, 2.0))],
)
def test_the_end_of_the_range_where_there_is_no_solution_does_not_move(
    name: str, arguments: tuple[float, ...]
) -> None:
    inverse = getattr(special, name)
    for place in (0, len(arguments) - 1):

        def along(t: Any, place: int = place) -> Any:
            return inverse(*arguments[:place], t, *arguments[place + 1 :])

        assert ad.jvp(along, (arguments[place],), (1.0,))[1] == 0.0
