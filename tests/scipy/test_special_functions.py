"""The functions of `scipy.special` that are no ufuncs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import adjoint as ad
from tests.scipy.comparing import agrees, agrees_in_all_modes

Z = np.array([0.3, 2.5])
SPHERICAL = ("spherical_jn", "spherical_yn", "spherical_in", "spherical_kn")
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    **{
        f"{name} {n} {slope}": (
            lambda z, name=name, n=n, slope=slope: getattr(special, name)(n, z, slope),
            (Z,),
        )
        for name in SPHERICAL
        for n in (0, 2)
        for slope in (False, True)
    },
    **{
        f"{name} {n} of negative numbers": (
            lambda z, name=name, n=n: getattr(special, name)(n, z),
            (np.array([-0.4, -3.5]),),
        )
        for name in SPHERICAL[:3]
        for n in (0, 1, 2)
    },
    **{
        name: (lambda z, name=name: getattr(special, name)(1.5, z, 2), (Z,))
        for name in ("jvp", "yvp", "ivp", "kvp")
    },
    "h1vp": (lambda z: special.h1vp(1.5, z, 1).imag, (Z,)),
    "polygamma": (lambda x: special.polygamma(1, x), (Z,)),
    "polygamma 0": (lambda x: special.polygamma(0, x), (Z,)),
    "lambertw": (lambda x: special.lambertw(x).real, (Z,)),
    "zeta": (lambda x: special.zeta(2.5, x), (Z,)),
    "multigammaln": (lambda x: special.multigammaln(x, 3), (4.0,)),
    "comb": (special.comb, (5.0, 2.0)),
    "perm": (special.perm, (5.0, 2.0)),
    "factorial": (special.factorial, (3.3,)),
    "logsumexp": (lambda z: special.logsumexp(z, b=np.array([1.0, 3.0])), (Z,)),
    "logsumexp sign": (
        lambda z: special.logsumexp(z, b=np.array([1.0, -3.0]), return_sign=True)[0],
        (Z,),
    ),
    "softmax": (special.softmax, (Z,)),
    "log_softmax": (special.log_softmax, (Z,)),
    "softplus": (special.softplus, (Z,)),
    "sinc": (special.sinc, (Z,)),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    function, args = CASES[name]
    agrees(function, *args)


def test_all_modes() -> None:
    agrees_in_all_modes(lambda z: np.sum(special.spherical_jn(2, z) ** 2), Z)
    agrees_in_all_modes(lambda z: special.logsumexp(z * z), Z)


def test_orders_are_fixed() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="argument 'n'"):
        ad.grad(lambda n: special.polygamma(n, 1.0))(2.0)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match="exact"):
        ad.grad(lambda n: special.comb(n, 2, exact=True))(5.0)


def test_the_namespace_is_a_drop_in() -> None:
    """Where capture binds no names, `adjoint.scipy` has the same functions."""
    from adjoint.scipy import linalg
    from adjoint.scipy import special as ours

    np.testing.assert_array_equal(ours.softmax(Z), special.softmax(Z))
    assert ours.erf is special.erf or ours.erf(0.5) == special.erf(0.5)
    assert ours.SpecialFunctionWarning is special.SpecialFunctionWarning
    np.testing.assert_allclose(ad.grad(ours.logsumexp)(Z), special.softmax(Z))
    assert "expm" in dir(linalg)
    with pytest.raises(AttributeError):
        ours.no_such_function  # the look-up is what fails


@pytest.mark.parametrize("native", [False, True])
def test_zeta_of_one_argument_is_the_function_of_riemann(native: bool) -> None:
    odd = np.array([0.5, -1.0, -2.0, -1.5, 0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan])
    with ad.config(native=native):
        for x in (odd, np.float64(0.5), np.arange(-3, 4), odd[:3] + 0.5j, odd.astype("f4")):
            expected = special.zeta(x)
            actual = ad.jit(special.zeta)(x)
            assert type(actual) is type(expected)
            np.testing.assert_array_equal(actual, expected)
    for x in (0.5, 2.0 + 1j):
        with pytest.raises(ad.errors.MissingRuleError, match=r"argument 0: .+ exponent of zeta"):
            ad.vjp(special.zeta, x)
