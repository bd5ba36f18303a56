"""NumPy's polynomials under capture: the same values as NumPy, and derivatives."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, Legendre, Polynomial

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    DroppedDerivativeError,
    UnsupportedFunctionError,
)
from adjoint.capture.numpy.polynomials.series import PolynomialSeries, lifted

KINDS = [Polynomial, Legendre, Chebyshev]
DOMAIN = (0.5, 2.0)
GENERATOR = np.random.default_rng(0)
POINTS = np.linspace(0.0, 2.0, 5)
FACTORS = {kind: kind(GENERATOR.standard_normal(3), domain=DOMAIN) for kind in KINDS}
ROW = np.array([1.0, -2.0])

# What to do with a polynomial p and another, q, of the same class; the result is a polynomial.
OPERATIONS = {
    "neg": lambda p, q: -p,
    "pos": lambda p, q: +p,
    "add": lambda p, q: p + q,
    "radd": lambda p, q: q + p,
    "sub": lambda p, q: p - q,
    "rsub": lambda p, q: q - p,
    "mul": lambda p, q: p * q,
    "rmul": lambda p, q: q * p,
    "square": lambda p, q: p * p,
    "pow": lambda p, q: p**3,
    "pow 0": lambda p, q: p**0,
    "scalars": lambda p, q: 2 * p * 3.0 + 1 - 2.5,
    "reflected scalars": lambda p, q: 1.5 - np.float64(2.0) * p,
    "coefficients": lambda p, q: [1.0, 2.0] + p * (3.0, 1.0),
    "a row of coefficients": lambda p, q: ROW - (ROW * p + ROW),
    "division": lambda p, q: p / 2.0,
    "deriv": lambda p, q: p.deriv(),
    "deriv 2": lambda p, q: p.deriv(2),
    "deriv 5": lambda p, q: p.deriv(5),
    "deriv 0": lambda p, q: p.deriv(0),
    "integ": lambda p, q: p.integ(),
    "integ 2": lambda p, q: p.integ(2, k=[1.0, 2.0]),
    "integ 1 of 2 constants": lambda p, q: p.integ(2, k=[1.0], lbnd=0.3),
    "integ from": lambda p, q: p.integ(k=3.0, lbnd=0.3),
    "integ 0": lambda p, q: p.integ(0),
    "composition": lambda p, q: p(q),
    "composed": lambda p, q: q(p),
    "composed with itself": lambda p, q: p(p),
    "to monomials": lambda p, q: p.convert(kind=Polynomial),
    "to Legendre": lambda p, q: p.convert(domain=(0, 3), kind=Legendre),
    "to Chebyshev": lambda p, q: p.convert(kind=Chebyshev, window=(0, 1)),
    "to another domain": lambda p, q: p.convert(domain=(-2, 1)),
    "cast": lambda p, q: Chebyshev.cast(p),
    "truncate": lambda p, q: p.truncate(2),
    "cutdeg": lambda p, q: p.cutdeg(1),
    "copy": lambda p, q: p.copy(),
}


def padded(found, count):
    return np.concatenate([found.coef, np.zeros(count - len(found.coef))])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_give_what_numpy_gives(kind, name):
    operation = OPERATIONS[name]
    p = kind(np.array([1.0, -0.5, 2.0, 0.25]), domain=DOMAIN)
    q = FACTORS[kind]
    expected = operation(p, q)
    kinds_seen = []

    def traced(p):
        found = operation(p, q)
        kinds_seen.append(type(found))
        return found

    found = ad.jit(traced)(p)
    assert type(found) is type(expected)
    assert issubclass(kinds_seen[0], PolynomialSeries)
    np.testing.assert_array_equal(found.domain, expected.domain)
    np.testing.assert_array_equal(found.window, expected.window)
    assert found.symbol == expected.symbol
    count = max(len(found.coef), len(expected.coef))
    np.testing.assert_allclose(
        padded(found, count), padded(expected, count), rtol=1e-11, atol=1e-11
    )
    # The derivative, against a difference of NumPy's own values.
    u = kind(np.array([0.3, 0.1, -0.2, 0.4]), domain=DOMAIN)
    _, slope = ad.jvp(lambda p: operation(p, q)(POINTS), (p,), (u,))
    step = 1e-5
    difference = operation(p + step * u, q)(POINTS) - operation(p - step * u, q)(POINTS)
    scale = 1 + np.max(np.abs(slope))
    np.testing.assert_allclose(slope, difference / (2 * step), atol=1e-7 * scale)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_values_at_all_kinds_of_points(kind):
    p = kind(np.array([1.0, -0.5, 2.0, 0.25]), domain=DOMAIN)
    for points in (0.3, 2, np.float64(0.3), POINTS, POINTS.reshape(5, 1), [0.1, 0.2], POINTS[:0]):
        found = ad.jit(lambda p, points=points: p(points))(p)
        np.testing.assert_allclose(found, p(points), rtol=1e-13)
        assert np.shape(found) == np.shape(p(points))
    found = ad.jit(lambda p, x: p(x))(p, POINTS)  # traced points, too
    np.testing.assert_allclose(found, p(POINTS), rtol=1e-12)
    np.testing.assert_allclose(
        ad.grad(lambda x, p: ad.jit(lambda p, x: p(x))(p, x))(0.3, p), p.deriv()(0.3)
    )
    points, values = ad.jit(lambda p: p.linspace(7))(p)
    np.testing.assert_allclose(values, p(points), atol=1e-14)
    constant = kind([3.0], domain=DOMAIN)
    np.testing.assert_allclose(ad.jit(lambda p, x: p(x))(constant, POINTS), np.full(5, 3.0))
    np.testing.assert_allclose(ad.jit(lambda p: p(POINTS))(constant), np.full(5, 3.0))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_traced_scalars_bounds_and_constants(kind):
    p = kind(np.array([1.0, -0.5, 2.0]), domain=DOMAIN)

    def f(p, a):
        return (a * p / (1 + a) - a).integ(k=a, lbnd=a)(1.0)

    def by_numpy(a):
        return (a * p * (1 / (1 + a)) - a).integ(k=a, lbnd=a)(1.0)

    value, slope = ad.value_and_grad(f, argnums=1)(p, 0.7)
    np.testing.assert_allclose(value, by_numpy(0.7))
    np.testing.assert_allclose(
        slope, (by_numpy(0.7 + 1e-6) - by_numpy(0.7 - 1e-6)) / 2e-6, rtol=1e-7
    )


def test_single_precision_stays_single():
    p = Legendre(np.array([1.0, 2.0, 3.0], np.float32))
    assert ad.jit(lambda p: p.deriv())(p).coef.dtype == np.float32
    assert ad.jit(lambda p: p + ROW)(p).coef.dtype == np.float64


def test_attributes_and_comparisons():
    p = Legendre([1.0, 2.0, 3.0], symbol="t")

    def f(p):
        assert isinstance(p, Legendre)
        assert p.degree() == 2
        assert len(p) == 3
        assert p.symbol == "t"
        assert p.has_samedomain(p)
        assert p.has_sametype(Legendre([1.0]))
        assert not p.has_sametype(Chebyshev([1.0]))
        assert p == Legendre([1.0, 2.0, 3.0], symbol="t")
        assert Legendre([1.0, 2.0, 3.0], symbol="t") == p
        assert p != Legendre([1.0, 2.0, 4.0], symbol="t")
        assert p != Legendre([1.0, 2.0, 3.0], symbol="t", domain=[0, 1])
        assert p != 3.0
        assert str(p) == repr(p) == f"{p}"
        assert "Legendre" in repr(p)
        return sum(p)

    np.testing.assert_allclose(ad.grad(f)(p).coef, np.ones(3))
    with pytest.raises(TypeError, match="unhashable"):
        hash(lifted(p))


@pytest.mark.parametrize(
    "operation",
    [
        lambda p: p.roots()[0],
        lambda p: p.trim()(0.3),
        lambda p: divmod(p, p)[0](0.3),
        lambda p: (p // p)(0.3),
        lambda p: (p % p)(0.3),
        lambda p: divmod(Legendre([1.0, 2.0]), p)[0](0.3),
        lambda p: (Legendre([1.0, 2.0]) // p)(0.3),
    ],
)
def test_what_is_not_supported_says_so(operation):
    with pytest.raises(UnsupportedFunctionError, match="is not supported on a polynomial"):
        ad.grad(operation)(Legendre([1.0, 2.0, 3.0]))


def test_polynomials_of_the_closure_take_traced_points_and_numbers():
    p = Legendre([1.0, 2.0, 3.0])
    np.testing.assert_allclose(ad.grad(p)(0.3), p.deriv()(0.3))
    np.testing.assert_allclose(ad.grad(lambda x: p(x) * p.degree())(0.3), 2 * p.deriv()(0.3))
    np.testing.assert_allclose(ad.vmap(ad.grad(p))(POINTS), p.deriv()(POINTS))
    for f in (lambda a: (a * p - a)(0.3), lambda a: (p * a - a)(0.3), lambda a: -(a - a * p)(0.3)):
        np.testing.assert_allclose(ad.grad(f)(2.0), p(0.3) - 1)
    assert ad.grad(lambda a: a * (a * p == p))(1.0) == 1.0  # compared by value
    assert ad.grad(lambda a: a * (a * p != p))(1.0) == 0.0
    with pytest.raises(TypeError):
        ad.grad(lambda a: (a < p) * a)(1.0)
    # What NumPy does with polynomials that nothing traced has met stays NumPy's.
    found = ad.grad(lambda x: x * p.roots()[0].real + x * (p // Legendre([0.0, 1.0]))(0.0))(0.3)
    np.testing.assert_allclose(found, p.roots()[0].real + (p // Legendre([0.0, 1.0]))(0.0))
    found = ad.grad(lambda x: x * (p % Legendre([0.0, 1.0]))(0.0) + x * p.trim().degree())(0.3)
    np.testing.assert_allclose(found, (p % Legendre([0.0, 1.0]))(0.0) + 2)
    found = ad.grad(lambda x: x * divmod(p, Legendre([0.0, 1.0]))[0](0.0) + x * (p / 2)(1.0))(0.3)
    np.testing.assert_allclose(found, divmod(p, Legendre([0.0, 1.0]))[0](0.0) + 3)
    shown = []
    ad.grad(lambda x: (shown.append(f"{p} {p!r} {p!s}"), x)[1])(0.3)
    assert shown == [f"{p} {p!r} {p!s}"]


def test_later_changes_of_the_closure_are_seen():
    p = Legendre([1.0, 2.0, 3.0])
    gradient = ad.grad(lambda x: p(x))
    assert gradient(0.0) == 2.0
    p.coef = np.array([1.0, 5.0])
    assert gradient(0.0) == 5.0
    p.coef[1] = 7.0
    assert gradient(0.0) == 7.0


def test_polynomials_of_traced_coefficients_come_from_a_space():
    space = ad.spaces.Polynomials(2)
    found = ad.grad(lambda c: space.from_coordinates(c)(0.3))(np.ones(3))
    np.testing.assert_allclose(found, [1, 0.3, Legendre.basis(2)(0.3)])
    series = Legendre(np.ones(3))  # an argument that is not the closure's
    np.testing.assert_allclose(ad.grad(lambda x, p: p(x))(0.3, series), series.deriv()(0.3))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_polynomials_of_traced_coefficients(kind):
    """NumPy's constructors take them, inside the function."""
    columns = [kind.basis(k, domain=DOMAIN)(0.3) for k in range(3)]

    def f(c):
        p = kind(c, domain=DOMAIN)
        assert isinstance(p, kind)
        assert isinstance(p, np.polynomial.Legendre) == (kind is Legendre)
        return p(0.3)

    np.testing.assert_allclose(ad.grad(f)(np.ones(3)), columns)
    found = ad.grad(lambda a: kind([a, 1.0, a**2], DOMAIN)(0.3))(2.0)
    np.testing.assert_allclose(found, columns[0] + 4 * columns[2])
    np.testing.assert_allclose(ad.grad(lambda a: kind(a)(0.3))(2.0), 1.0)
    found = ad.jit(lambda c: getattr(np.polynomial, kind.__name__)(c, domain=DOMAIN))(np.ones(3))
    assert found == kind(np.ones(3), domain=DOMAIN)
    with pytest.raises(ArgumentError, match="one row of numbers"):
        ad.grad(lambda c: kind(c)(0.3))(np.ones((2, 2)))
    with pytest.raises(ValueError, match="Domain has wrong number"):
        ad.grad(lambda c: kind(c, domain=[1.0])(0.3))(np.ones(2))


def test_constructors_of_the_class_work_inside_functions():
    points = np.linspace(-1, 1, 5)

    def f(x):
        fitted = Legendre.fit(points, points**2, 2)
        line = Legendre.identity() + Legendre.basis(2)
        squares = Legendre.fromroots([0.0, 1.0])
        cast = Legendre.cast(Polynomial([1.0, 2.0]))
        assert isinstance(P, Legendre)
        assert not isinstance(P, Chebyshev)
        space = ad.spaces.Polynomials(1, basis=Legendre)
        assert space.contains(P)
        return x * (fitted(0.3) + line(0.3) + squares(0.3) + cast(0.3)) + P.convert(
            kind=Polynomial
        )(x)

    P = Legendre([1.0, 2.0])
    expected = 0.09 + 0.3 + (3 * 0.09 - 1) / 2 + 0.3 * (0.3 - 1) + 1.6 + 2
    np.testing.assert_allclose(ad.grad(f)(0.5), expected)


def test_fits_of_traced_values_are_refused():
    with pytest.raises(DroppedDerivativeError):
        ad.grad(lambda y: Legendre.fit(POINTS, y, 2)(0.3))(np.ones(5))


def test_faults():
    p = Legendre([1.0, 2.0, 3.0])
    with pytest.raises(ArgumentTypeError, match=r"Two polynomials combine .* a Chebyshev"):
        ad.grad(lambda p: (p + Chebyshev([1.0]))(0.3))(p)
    with pytest.raises(TypeError, match="Polynomial types differ"):  # NumPy's own words
        ad.grad(lambda p, g: (g + p)(0.3))(p, Chebyshev([1.0]))
    with pytest.raises(ArgumentTypeError, match=r"domain \(0\.0, 1\.0\)"):
        ad.grad(lambda p: (Legendre([1.0], domain=[0, 1]) * p)(0.3))(p)
    with pytest.raises(ArgumentError, match="non-negative integer"):
        ad.grad(lambda p: (p**0.5)(0.3))(p)
    with pytest.raises(ArgumentError, match="of at most 100"):
        ad.grad(lambda p: (p**101)(0.3))(p)
    with pytest.raises(ArgumentError, match="at most as many constants"):
        ad.grad(lambda p: p.integ(1, k=[1.0, 2.0])(0.3))(p)
    with pytest.raises(ArgumentTypeError, match="Convert to another class outside"):
        ad.grad(lambda p: p.convert(kind=Hermite)(0.3))(p)
    for wrong in ("text", np.ones((2, 2)), None):
        with pytest.raises(TypeError):
            ad.grad(lambda p, wrong=wrong: (p + wrong)(0.3))(p)
        with pytest.raises(TypeError):
            ad.grad(lambda p, wrong=wrong: (p - wrong)(0.3))(p)
        with pytest.raises(TypeError):
            ad.grad(lambda p, wrong=wrong: (p * wrong)(0.3))(p)
        with pytest.raises(TypeError):
            ad.grad(lambda p, wrong=wrong: (p / wrong)(0.3))(p)


def test_stacks_have_no_arithmetic():
    stack = ad.vmap(lambda a: ad.jit(lambda p, a: a * p)(Legendre([1.0, 2.0]), a))(np.arange(3.0))
    np.testing.assert_allclose(stack.coef, np.outer(np.arange(3.0), [1, 2]))
    with pytest.raises(UnsupportedFunctionError, match="a stack of polynomials"):
        stack(0.3)
    values = ad.vmap(lambda p: p(0.3))(stack)
    np.testing.assert_allclose(values, np.arange(3.0) * 1.6)


# --- trees ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_polynomials_are_trees_of_one_leaf(kind):
    p = kind([1.0, 2.0], domain=DOMAIN, window=(0, 1), symbol="t")
    leaves, treedef = pytrees.flatten({"p": p})
    assert [leaf.tolist() for leaf in leaves] == [[1.0, 2.0]]
    assert pytrees.paths({"p": p}) == ["['p'].coef"]
    back = pytrees.unflatten(treedef, leaves)["p"]
    assert type(back) is kind
    assert back == p
    assert str(back) == str(p)
    other = pytrees.unflatten(treedef, ["placeholder"])["p"]
    assert isinstance(other, PolynomialSeries)
    other_treedef = pytrees.flatten({"p": other})[1]
    assert pytrees.alike(treedef, other_treedef)
    assert not pytrees.alike(treedef, pytrees.flatten({"p": kind([1.0])})[1])
    assert not pytrees.alike(treedef, None)


def test_lifted_polynomials_are_lifted_once():
    p = lifted(Legendre([1.0, 2.0]))
    assert lifted(p) is p
    assert Legendre([1.0, 2.0]) == p
    np.testing.assert_allclose((p * p)(0.3), 1.6**2)


def test_polynomials_in_functions_with_derivatives_of_their_own():
    @ad.primitive
    def doubled(p):
        return Legendre(2 * p.coef)

    @doubled.jvp
    def _(primals, tangents):
        (p,), (u,) = primals, tangents
        return 2 * p, 2 * u

    p = Legendre([1.0, 2.0, 3.0])
    gradient = ad.grad(lambda p: doubled(p)(0.3) ** 2)(p)
    np.testing.assert_allclose(gradient.coef, ad.grad(lambda p: (2 * p)(0.3) ** 2)(p).coef)
    assert type(ad.jit(doubled)(p)) is Legendre


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("counts", [(1, 1), (3, 1), (2, 4)])
@pytest.mark.parametrize("dtypes", [(np.float32, np.float32), (np.float64, np.float32)])
def test_dtypes_are_those_of_numpy(kind, counts, dtypes):
    p, q = (kind(np.ones(count, dtype)) for count, dtype in zip(counts, dtypes, strict=True))
    for operation in (
        lambda p, q: p * q,
        lambda p, q: q * p,
        lambda p, q: p**0,
        lambda p, q: p**1,
        lambda p, q: q**3,
        lambda p, q: q + 1,
        lambda p, q: q * np.float32(2),
        lambda p, q: q / 2,
        lambda p, q: q * np.array([1, 2], np.int16),
        lambda p, q: q.deriv(),
        lambda p, q: q.integ(2, [1.0, 2.0], 0.5),
        lambda p, q: p(q),
    ):
        assert ad.jit(operation)(p, q).coef.dtype == operation(p, q).coef.dtype


def test_lists_may_hold_traced_numbers():
    p = Legendre([1.0, 2.0, 3.0])
    x = np.array([0.3, 0.5])
    found = ad.grad(lambda x: p([x[0], 0.1, 2]) @ np.ones(3))(x)
    np.testing.assert_allclose(found, [p.deriv()(0.3), 0.0])
    found = ad.grad(lambda x: (p * [x[0], 1.0])(0.7) + ((x[1], 2) * p)(0.7))(x)
    np.testing.assert_allclose(found, [p(0.7), p(0.7)])


@pytest.mark.parametrize("constants", [lambda k: k, lambda k: [k[0], k[1]], lambda k: (k[0], 1.0)])
def test_integration_constants_may_be_traced(constants):
    p, k = Legendre([1.0, 2.0, 3.0]), np.array([0.3, 0.5])
    found = ad.jit(lambda k: p.integ(2, constants(k))(0.7))(k)
    np.testing.assert_allclose(found, p.integ(2, constants(k))(0.7))


def test_polynomials_that_differ_are_refused_as_numpy_refuses_them():
    p = Legendre([1.0, 2.0])
    for other in (
        Chebyshev([1.0]),
        Hermite([1.0, 2.0]),
        Legendre([1.0], domain=(0, 1)),
        Legendre([1.0], window=(0, 1)),
        Legendre([1.0], symbol="t"),
    ):
        for operation in (lambda p, q: p + q, lambda p, q: q - p, lambda p, q: p * q):
            with pytest.raises((TypeError, ValueError)) as expected:
                operation(p, other)
            with pytest.raises(expected.type):
                ad.grad(lambda p, operation=operation, q=other: operation(p, q)(0.3))(p)
    for operation in (lambda p: p * True, lambda p: p / p, lambda p: p / "a"):
        with pytest.raises(TypeError, match="unsupported"):
            ad.jit(operation)(p)


def test_stacks_are_pickled_and_copied():
    stack = ad.vmap(lambda c: Legendre(c) * 2)(np.arange(6.0).reshape(2, 3))
    for made in (pickle.loads(pickle.dumps(stack)), copy.deepcopy(stack)):
        assert isinstance(made, Legendre)
        np.testing.assert_array_equal(made.coef, stack.coef)
        np.testing.assert_allclose(ad.vmap(lambda p: p(0.3))(made), 2 * np.array([-0.43, 2.375]))


def test_polynomials_in_containers():
    held = {"p": Legendre([1.0, 2.0, 3.0], domain=(0, 1))}
    np.testing.assert_allclose(ad.grad(lambda x: held["p"](x))(0.3), held["p"].deriv()(0.3))
    found = ad.grad(lambda x: Legendre(held["p"].coef, held["p"].domain)(x))(0.3)
    np.testing.assert_allclose(found, held["p"].deriv()(0.3))
