"""What derivatives mean at the edges: strong zeros, kinks, complex numbers, warnings."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Euclidean

# --- strong zeros ---------------------------------------------------------------------------------


def masked_log(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sum(np.where(x > 0, np.log(x), 0))


def masked_sqrt(x):
    return np.sum(np.where(x > 0, np.sqrt(x), 0))


def masked_quotient(x):
    return np.sum(np.where(x != 0, np.sin(x) / x, 1))


POINTS = np.array([4.0, 0.0, -1.0])
MASKED = [
    (masked_log, [0.25, 0, 0]),
    (masked_sqrt, [0.25, 0, 0]),
    (masked_quotient, [(4 * np.cos(4) - np.sin(4)) / 16, 0, np.sin(1) - np.cos(1)]),
]


def reverse(function, x):
    return ad.grad(function)(x)


def forward(function, x):
    return np.array([ad.jvp(function, (x,), (e,))[1] for e in np.eye(x.size)])


def adjoint(function, x):
    return ad.linearize(function, x)[1].H(np.float64(1.0))


def batched(function, x):
    return np.diag(ad.vmap(ad.grad(function))(np.stack([x] * x.size)))


def jitted(function, x):
    return ad.jit(ad.grad(function))(x)


def by_rows(function, x):
    return ad.jacobian(function, mode=ad.Mode.REVERSE)(x)


WAYS = [reverse, forward, adjoint, batched, jitted, by_rows]


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")  # the user's own,
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # where the value is computed
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("function", "expected"), MASKED)
def test_branches_that_were_not_taken_do_not_disturb(function, expected, way):
    np.testing.assert_allclose(way(function, POINTS), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("way", [reverse, forward, adjoint, jitted])
@pytest.mark.parametrize(
    "norm", [np.linalg.norm, lambda x: np.sqrt(np.sum(x**2)), lambda x: np.hypot(x[0], x[1])]
)
def test_gradient_of_a_norm_at_zero(norm, way):
    assert way(norm, np.zeros(2)).tolist() == [0, 0]


def test_second_derivatives_of_branches_that_were_not_taken():
    hessian = ad.hessian(masked_sqrt)(np.array([4.0, 0.0]))
    np.testing.assert_allclose(hessian, [[-1 / 32, 0], [0, 0]])
    assert ad.grad(ad.grad(lambda x: np.where(x > 0, np.sqrt(x), 0.0)))(0.0) == 0


def test_zeros_are_strong_inside_of_rules():
    """Where a rule of the user's takes a derivative, and another rule gives the transpose."""

    def branch(x):
        return np.where(x > 0, np.sqrt(np.maximum(x, 0)), x**2)

    branched = ad.primitive(branch)
    branched.vjp(lambda x: ad.vjp(branch, x))

    @branched.jvp
    def rule(primals, tangents):
        value, pull = ad.vjp(branch, *primals)
        return value, pull(tangents[0])[0]  # its derivative is symmetric

    x = np.array([-1.0, 4.0])
    np.testing.assert_array_equal(ad.jvp(branched, (x,), (np.ones(2),))[1], [-2, 0.25])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(branched(x)))(x), [-2, 0.25])


def test_data_that_are_masked_may_be_nan():
    data = np.array([1.0, np.nan, 3.0])
    w = np.ones(3)

    def by_where(w):
        return np.sum(np.where(np.isnan(data), 0, w * data))

    def by_index(w):
        return np.sum((w * data)[~np.isnan(data)])

    for function in (by_where, by_index):
        assert ad.grad(function)(w).tolist() == [1, 0, 3]


def test_a_nan_that_is_used_is_kept():
    data = np.array([1.0, np.nan])
    gradient = ad.grad(lambda w: np.sum(w * data))(np.ones(2))
    assert gradient[0] == 1
    assert np.isnan(gradient[1])


@pytest.mark.parametrize(
    ("function", "x", "slope"), [(np.sqrt, 0.0, np.inf), (lambda x: x**0.5, 0.0, np.inf)]
)
def test_an_infinite_derivative_is_infinite(function, x, slope):
    assert ad.grad(function)(x) == slope
    assert ad.jvp(function, (x,), (1.0,))[1] == slope


def test_strong_zeros_can_be_switched_off():
    with ad.config(strong_zeros=False):
        assert np.isnan(ad.grad(masked_log)(POINTS)[1])
    assert ad.grad(masked_log)(POINTS)[1] == 0


# --- kinks ----------------------------------------------------------------------------------------

# One-sided derivatives at the kink: from the left, from the right.
KINKS = [
    (np.abs, 0.0, -1, 1),
    (abs, 0.0, -1, 1),
    (np.fabs, 0.0, -1, 1),
    (lambda x: np.maximum(x, 0.0), 0.0, 0, 1),
    (lambda x: np.minimum(x, 0.0), 0.0, 1, 0),
    (lambda x: np.clip(x, 0.0, 1.0), 0.0, 0, 1),
    (lambda x: np.clip(x, 0.0, 1.0), 1.0, 1, 0),
]


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("function", "x", "left", "right"), KINKS)
def test_kinks_take_a_convex_combination(function, x, left, right, weight):
    expected = (1 - weight) * left + weight * right
    with ad.config(kink=weight):
        assert ad.grad(function)(x) == expected
        assert ad.jvp(function, (x,), (1.0,))[1] == expected
        assert ad.linearize(function, x)[1].H(np.float64(1.0)) == expected


@pytest.mark.parametrize(("function", "x", "left", "right"), KINKS)
def test_the_default_is_the_middle(function, x, left, right):
    assert ad.grad(function)(x) == (left + right) / 2


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize(("function", "first"), [(np.maximum, 1), (np.minimum, 0)])
def test_the_two_sides_of_a_tie_add_up_to_one(function, first, weight):
    """One linear map in both arguments: the kink's weight is that of the first one's right side."""
    with ad.config(kink=weight):
        slopes = ad.grad(function, argnums=(0, 1))(0.0, 0.0)
        assert slopes == ((weight, 1 - weight) if first else (1 - weight, weight))
        assert ad.grad(lambda x: function(x, x))(0.0) == 1


def test_ties_share_equally():
    assert ad.grad(np.max)(np.array([1.0, 3.0, 3.0])).tolist() == [0, 0.5, 0.5]
    assert ad.grad(np.min)(np.array([1.0, 3.0, 1.0])).tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        ({"kink": 2}, ad.errors.ArgumentError, "between 0 and 1 .*got 2"),
        ({"kink": "left"}, ad.errors.ArgumentTypeError, "number between 0 and 1"),
        ({"kinks": 1}, ad.errors.ArgumentError, "no setting 'kinks'; it has kink"),
    ],
)
def test_wrong_settings(setting, error, message):
    with pytest.raises(error, match=message), ad.config(**setting):
        pass  # pragma: no cover


def test_settings_are_restored_whatever_happens():
    with pytest.raises(KeyError), ad.config(kink=1.0):
        raise KeyError
    assert ad.grad(np.abs)(0.0) == 0


# --- complex numbers ------------------------------------------------------------------------------

Z = np.array([1.0 + 2.0j, -0.5j])


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (lambda z: np.sum(np.abs(z) ** 2), lambda z: 2 * z),
        (lambda z: np.sum(z.real), lambda z: np.ones(2)),
        (lambda z: np.sum(np.imag(z)), lambda z: 1j * np.ones(2)),
        (lambda z: np.sum(np.abs(z)), lambda z: z / np.abs(z)),
        (lambda z: np.sum((z**3).real), lambda z: 3 * np.conj(z) ** 2),
        (lambda z: np.vdot(z, z).real, lambda z: 2 * z),
    ],
)
def test_gradient_is_the_direction_of_steepest_ascent(function, gradient):
    found = ad.grad(function)(Z)
    np.testing.assert_allclose(found, gradient(Z), rtol=1e-14)
    space, u = Euclidean(2, complex), Euclidean(2, complex).random(3)
    assert space.inner(found, u) == pytest.approx(ad.jvp(function, (Z,), (u,))[1], rel=1e-13)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (np.exp, np.exp),
        (np.sin, np.cos),
        (lambda z: z**2, lambda z: 2 * z),
        (lambda z: 1 / z, lambda z: -1 / z**2),
        (np.log, lambda z: 1 / z),
        (np.sqrt, lambda z: 0.5 / np.sqrt(z)),
        (lambda z: z**1.5, lambda z: 1.5 * z**0.5),
        (np.tanh, lambda z: 1 - np.tanh(z) ** 2),
    ],
)
def test_holomorphic_functions(function, slope):
    u = np.array([1j, 2.0 - 1.0j])
    np.testing.assert_allclose(ad.jvp(function, (Z,), (u,))[1], slope(Z) * u, rtol=1e-12)
    pulled = ad.vjp(function, Z)[1](u)[0]
    np.testing.assert_allclose(pulled, np.conj(slope(Z)) * u, rtol=1e-12)


def test_adjoint_of_a_complex_matrix_is_its_conjugate_transpose():
    a = np.array([[1.0 + 1j, 2.0], [0.5j, -1.0], [3.0, 1j]])
    derivative = ad.derivative(lambda z: a @ z, Z)
    v = np.array([1.0, 1j, -2.0])
    np.testing.assert_allclose(derivative.H(v), a.conj().T @ v)
    assert derivative.matrix().shape == (6, 4)  # over the reals


def test_real_functions_through_complex_numbers():
    value, gradient = ad.value_and_grad(lambda x: np.abs(np.exp(1j * x) * x) ** 2)(2.0)
    assert value == pytest.approx(4.0)
    assert gradient == pytest.approx(4.0)
    assert gradient.dtype == np.float64


def test_complex_hessian_vector_product():
    """Of |z|⁴: ∇ = 4|z|²z, whose derivative along u is 8 Re(z̄u) z + 4|z|² u."""
    z, u = 1.0 + 2.0j, 1j
    expected = 8 * (np.conj(z) * u).real * z + 4 * abs(z) ** 2 * u
    assert ad.hvp(lambda z: np.abs(z) ** 4, z, u) == pytest.approx(expected, rel=1e-13)


# --- warnings -------------------------------------------------------------------------------------


def warned(take):
    """The messages of the warnings that a call gives, in order."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        take()
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    "take",
    [
        lambda: ad.grad(np.sqrt)(0.0),
        lambda: ad.jvp(np.sqrt, (0.0,), (1.0,)),
        lambda: ad.value_and_grad(np.sqrt)(0.0),
        lambda: ad.hessian(lambda x: np.sum(x**1.5))(np.array([1.0, 0.0])),
        lambda: ad.jacobian(np.sqrt)(np.zeros(2)),
        lambda: ad.vmap(ad.grad(np.sqrt))(np.zeros(2)),
        lambda: ad.jit(ad.grad(np.sqrt))(0.0),
        lambda: ad.jit(ad.vmap(ad.grad(ad.grad(np.sqrt))))(np.zeros(2)),
        lambda: ad.linearize(np.cbrt, np.zeros(2))[1].H(np.ones(2)),
    ],
)
def test_the_derivative_warns_of_nothing_that_the_user_did_not_write(take):
    assert warned(take) == []


@pytest.mark.parametrize(
    ("function", "x", "message"),
    [
        (lambda x: np.sum(1 / x), np.array([0.0, 1.0]), "divide by zero encountered in divide"),
        (np.exp, 1000.0, "overflow encountered in exp"),
        (np.sqrt, -1.0, "invalid value encountered in sqrt"),
        (np.log, 0.0, "divide by zero encountered in log"),
        (lambda x: x * np.log(x), 0.0, "divide by zero encountered in log"),
    ],
)
@pytest.mark.parametrize("transform", [ad.value_and_grad, lambda f: ad.jit(ad.value_and_grad(f))])
def test_the_users_own_warnings_appear_as_numpys_and_once(function, x, message, transform):
    plain = warned(lambda: function(x))
    assert plain[0] == message
    assert warned(lambda: transform(function)(x)) in ([message], plain)


def test_warnings_that_the_user_silenced_stay_silent():
    def function(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            y = np.where(x > 0, np.log(x), 0)
        return np.sum(y)

    assert warned(lambda: function(POINTS)) == []
    assert warned(lambda: ad.value_and_grad(function)(POINTS)) == []
    assert warned(lambda: ad.jit(function)(POINTS)) == []


def test_silence_ends_with_the_block():
    def function(x):
        with np.errstate(all="ignore"):
            y = np.log(x)
        return y + 1 / x

    with pytest.raises(ZeroDivisionError):  # of Python's own numbers
        ad.value_and_grad(function)(0.0)
    # As in NumPy: the quotient and the sum of infinities warn, the silenced logarithm does not.
    found = warned(lambda: ad.value_and_grad(function)(np.float64(0.0)))
    assert [message.split(" encountered")[0] for message in found] == [
        "divide by zero",
        "invalid value",
    ]


def test_errors_that_the_caller_asked_for():
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError, match="overflow"):
            ad.value_and_grad(np.exp)(1000.0)
        assert ad.grad(np.sqrt)(0.0) == math.inf  # the division is not the user's


# --- integers -------------------------------------------------------------------------------------


def test_integers_and_booleans_pass_through():
    def function(x):
        index = np.argsort(x)
        return np.sum(x[index] * np.arange(3)) + np.sum(x > 0)

    assert ad.grad(function)(np.array([3.0, 1.0, 2.0])).tolist() == [2, 0, 1]


@pytest.mark.parametrize("step", [np.floor, np.ceil, np.trunc, np.rint, np.sign, lambda x: x // 1])
def test_steps_are_flat(step):
    assert ad.grad(lambda x: np.sum(step(x) + x))(np.array([0.5, -1.5])).tolist() == [1, 1]
