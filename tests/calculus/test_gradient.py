"""grad, value_and_grad and differential: arguments, containers, dtypes, results, errors."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Euclidean, Weighted

X = np.array([1.0, -2.0, 0.5])
Pair = namedtuple("Pair", "u v")


@dataclass
class Plain:
    u: Any
    v: Any = None


@dataclass(frozen=True)
class Frozen:
    u: Any
    v: Any


@dataclass(slots=True)
class Checked:
    u: Any
    v: Any

    def __post_init__(self):
        assert isinstance(self.u, np.ndarray), "only arrays, please"


def f(a, b=1.0):
    return np.sum(a**2 * b)


# --- which arguments ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argnums", "expected"),
    [
        (0, 18.0),
        (1, 4 * 3.0),
        (-1, 4 * 3.0),
        (-2, 18.0),
        (np.int64(1), 12.0),
        ((0,), (18.0,)),
        ((1, 0), (12.0, 18.0)),
        ([0, -1], (18.0, 12.0)),
        ((), ()),
    ],
)
def test_argnums(argnums, expected):
    def product(a, b):
        return a**2 * b**2 / 2

    assert ad.grad(product, argnums)(2.0, 3.0) == expected
    assert ad.value_and_grad(product, argnums)(2.0, 3.0) == (18.0, expected)


def test_keyword_arguments_are_passed_on_and_not_differentiated():
    np.testing.assert_array_equal(ad.grad(f)(X, b=3.0), 6 * X)
    np.testing.assert_array_equal(ad.grad(lambda x, *, n: np.sum(x**n))(X, n=2), 2 * X)


def test_arguments_that_are_not_differentiated_may_be_anything():
    def power(x, how, n):
        return np.sum(x**n) if how == "sum" else np.prod(x)

    np.testing.assert_array_equal(ad.grad(power)(X, "sum", 2), 2 * X)
    np.testing.assert_allclose(ad.grad(power)(X, "prod", None), np.prod(X) / X)


@pytest.mark.parametrize(
    ("argnums", "error", "message"),
    [
        (2, ad.errors.ArgumentError, "argument 2, but .* called with 2 positional"),
        (-3, ad.errors.ArgumentError, "argument -3"),
        ((0, -2), ad.errors.ArgumentError, "names an argument twice"),
        (True, ad.errors.ArgumentTypeError, "an integer, or a tuple or list of integers, got True"),
        ("x", ad.errors.ArgumentTypeError, "an integer, or a tuple or list of integers, got 'x'"),
        (np.float64(1), ad.errors.ArgumentTypeError, "tuple or list of integers"),
        ((0.0,), ad.errors.ArgumentTypeError, "tuple or list of integers, got 0.0"),
    ],
)
def test_wrong_argnums(argnums, error, message):
    with pytest.raises(error, match=message):
        ad.grad(f, argnums)(1.0, 2.0)


# --- containers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda u, v: (u, v),
        lambda u, v: [u, v],
        lambda u, v: {"v": v, "u": u},
        lambda u, v: OrderedDict(u=u, v=v),
        Pair,
        Plain,
        Frozen,
        Checked,
        lambda u, v: {"deep": [(u,), Frozen(None, v)], "none": None, "empty": []},
    ],
    ids=["tuple", "list", "dict", "ordered", "named", "data", "frozen", "checked", "deep"],
)
def test_containers_come_back_as_they_went_in(make):
    tree = make(X, 2.0)

    def scalar(tree):
        u, v = leaves(tree)
        return np.sum(u**2) * v

    gradient = ad.grad(lambda u, v: np.sum(u**2) * v, argnums=(0, 1))(X, 2.0)
    found = ad.grad(scalar)(tree)
    assert type(found) is type(tree)
    expected = make(*gradient)
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def leaves(tree):
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree) for leaf in leaves(tree[key])]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    if hasattr(tree, "__dataclass_fields__"):
        return [leaf for name in tree.__dataclass_fields__ for leaf in leaves(getattr(tree, name))]
    return [] if tree is None else [tree]


def test_none_is_an_empty_container():
    assert ad.grad(lambda p: np.sum(p[0]))([X, None])[1] is None


def test_methods_of_a_dataclass_work_on_traced_fields():
    @dataclass
    class Line:
        slope: Any
        shift: Any

        def at(self, x):
            return self.slope * x + self.shift

    gradient = ad.grad(lambda line: np.sum(line.at(X) ** 2))(Line(2.0, 1.0))
    assert gradient.shift == pytest.approx(2 * np.sum(2 * X + 1))
    assert gradient.slope == pytest.approx(2 * np.sum((2 * X + 1) * X))


# --- callables ------------------------------------------------------------------------------------


class Quadratic:
    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return self.scale * np.sum(x**2)

    def method(self, x):
        return self(x)

    @staticmethod
    def static(x):
        return 3.0 * np.sum(x**2)


@pytest.mark.parametrize(
    "function",
    [
        Quadratic(3.0),
        Quadratic(3.0).method,
        Quadratic.static,
        partial(f, b=3.0),
        partial(lambda k, x: k * np.sum(x**2), 3.0),
        lambda x: np.linalg.norm(x) ** 2 * 3,
    ],
    ids=["object", "method", "static", "partial", "bound first", "lambda"],
)
def test_callables(function):
    np.testing.assert_allclose(ad.grad(function)(X), 6 * X, rtol=1e-14)


@pytest.mark.parametrize(
    "transform",
    [
        ad.grad,
        ad.value_and_grad,
        ad.jacobian,
        ad.hessian,
        ad.vmap,
        ad.jit,
        partial(ad.jvp, primals=(X,), tangents=(X,)),
        lambda f: ad.vjp(f, X),
        lambda f: ad.linearize(f, X),
        lambda f: ad.derivative(f, X),
        lambda f: ad.differential(f, X),
        lambda f: ad.linear_transpose(f, X),
        lambda f: ad.hvp(f, X, X),
        lambda f: ad.program(f, X),
    ],
)
def test_a_value_where_a_function_should_be(transform):
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"takes a function first, got a float"):
        transform(3.0)


# --- auxiliary output -----------------------------------------------------------------------------


def with_aux(x):
    return np.sum(x**2), {"double": 2 * x, "count": [x.size]}


def test_has_aux():
    gradient, aux = ad.grad(with_aux, has_aux=True)(X)
    np.testing.assert_array_equal(gradient, 2 * X)
    np.testing.assert_array_equal(aux["double"], 2 * X)
    assert aux["count"] == [3]
    (value, again), gradient = ad.value_and_grad(with_aux, has_aux=True)(X)
    assert value == np.sum(X**2)
    assert again.keys() == aux.keys()
    np.testing.assert_array_equal(gradient, 2 * X)


def test_the_auxiliary_output_may_be_none_or_a_number():
    assert ad.grad(lambda x: (np.sum(x), None), has_aux=True)(X)[1] is None
    assert ad.grad(lambda x: (np.sum(x), 3.0), has_aux=True)(X)[1] == 3
    assert ad.vjp(lambda x: (np.sum(x), None), X, has_aux=True)[2] is None


def test_auxiliary_output_of_an_outer_gradient_keeps_its_derivative():
    def outer(x):
        gradient, aux = ad.grad(lambda y: (np.sum(y**3), y * x), has_aux=True)(x)
        return np.sum(gradient) + np.sum(aux)

    np.testing.assert_allclose(ad.grad(outer)(X), 8 * X)  # of 3x² + x²


@pytest.mark.parametrize("value", [1.0, (1.0, 2.0, 3.0), [1.0, 2.0]])
def test_has_aux_needs_a_pair(value):
    with pytest.raises(ad.errors.ArgumentTypeError, match=r"return a pair \(value, auxiliary\)"):
        ad.grad(lambda x: value, has_aux=True)(X)


# --- dtypes and shapes ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, np.complex64])
def test_gradients_have_the_dtype_of_the_argument(dtype):
    def scalar(x):
        y = 2.5 * np.exp(x / 3) + np.arange(2)
        return np.sum(np.abs(y * np.array([1.0, 2.0])) ** 2)

    x = np.array([0.5, 0.25], dtype)
    assert ad.grad(scalar)(x).dtype == dtype
    assert ad.value_and_grad(scalar)(x)[1].dtype == dtype


@pytest.mark.parametrize(
    ("x", "kind"),
    [
        (3.0, np.float64),
        (np.float32(3.0), np.float32),
        (np.array(3.0), np.float64),
        (3.0 + 0j, np.complex128),
    ],
)
def test_numbers_and_0d_arrays_give_scalars(x, kind):
    gradient = ad.grad(lambda x: np.real(x * x))(x)
    assert type(gradient) is kind
    assert gradient == 6


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_empty_arrays(shape):
    value, gradient = ad.value_and_grad(lambda x: np.sum(np.sin(x) * x) + 1)(np.zeros(shape))
    assert value == 1
    assert gradient.shape == shape


@pytest.mark.parametrize("transform", [ad.grad, lambda f: lambda x: ad.differential(f, x)])
@pytest.mark.parametrize(
    ("point", "message"),
    [
        (3, "argument 0 has the type int.*[Ii]ntegers and booleans carry no derivative"),
        (np.arange(3), "argument 0 has dtype int64"),
        (np.array([True]), "argument 0 has dtype bool"),
        ({"w": [2, np.arange(2)]}, r"argument 0\['w'\]\[0\] has the type int"),
        (Pair("text", 2), r"argument 0\.u has the type str.*Only arrays and numbers"),
        (np.array(["a"]), "argument 0 has dtype <U1"),
        (object(), "argument 0 has the type object"),
    ],
)
def test_what_carries_no_derivative_is_refused(transform, point, message):
    with pytest.raises(ad.errors.NotDifferentiableError, match=message):
        transform(lambda x: 1.0)(point)


def test_covectors_are_refused_as_points():
    covector = Weighted(Euclidean(3), 2.0).covector(X)
    for point in (covector, [X, {"w": covector}]):
        with pytest.raises(ad.errors.SpaceMismatchError, match="argument 0 is, or holds, a cov"):
            ad.grad(lambda p: 1.0)(point)


# --- the value ------------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [ad.grad, ad.value_and_grad])
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x * 2, r"value is f8\[3\], not a real scalar.*sum it, or use ad.jacobian"),
        (lambda x: np.sum(x) * 1j, r"value is c16\[\].*take the real part"),
        (lambda x: np.argmax(x), r"value is i8\[\].*no derivative"),
        (lambda x: np.sum(x) > 0, r"value is b1\[\].*no derivative"),
        (lambda x: {"a": np.sum(x)}, r"returns \{'a': \*\}.*has_aux=True"),
        (lambda x: (np.sum(x), x), r"returns \(\*, \*\), not a real scalar"),
        (lambda x: None, "returns None, not a real scalar"),
    ],
)
def test_what_is_no_real_scalar_is_refused(transform, function, message):
    with pytest.raises(ad.errors.NotDifferentiableError, match=message):
        transform(function)(X)


@pytest.mark.parametrize("value", ["text", object(), np.sin])
def test_what_is_no_array_is_refused(value):
    with pytest.raises(ad.errors.ArgumentTypeError, match="a derivative needs arrays or numbers"):
        ad.grad(lambda x: value)(X)


@pytest.mark.parametrize("constant", [3.0, np.float32(3.0), np.float64(3.0)])
def test_gradient_of_a_constant_is_zero(constant):
    np.testing.assert_array_equal(ad.grad(lambda x: constant)(X), np.zeros(3))


def test_errors_of_the_user_pass_through():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        ad.grad(broken)(X)
    np.testing.assert_array_equal(ad.grad(f)(X), 2 * X)  # and leave nothing behind


# --- differentials --------------------------------------------------------------------------------


def test_differential_is_a_covector_on_the_space_of_the_point():
    space = Weighted(Euclidean(3), np.array([1.0, 2.0, 4.0]))
    df = ad.differential(f, X, space=space)
    assert isinstance(df, ad.Covector)
    assert df.space == space
    np.testing.assert_array_equal(df.components, 2 * X)  # whatever the inner product
    np.testing.assert_array_equal(space.represent(df), ad.grad(f, space=space)(X))
    assert not df.components.flags.writeable


def test_differential_of_several_arguments():
    df = ad.differential(lambda x, y: x * y, 2.0, 3.0)
    assert df((np.float64(1.0), np.float64(0.0))) == 3.0
    assert df((np.float64(0.0), np.float64(1.0))) == 2.0


def test_point_outside_the_space():
    for take in (
        lambda: ad.differential(f, X, space=Euclidean(2)),
        lambda: ad.grad(f, space=Euclidean(2))(X),
    ):
        with pytest.raises(ad.errors.MembershipError, match=r"shape must be \(2,\)"):
            take()


def test_point_outside_the_space_is_found_before_the_function_runs():
    def value(p):
        return p(0.5) ** 2  # an array cannot be called

    space, point = ad.spaces.Polynomials(3), np.ones(4)
    for take in (
        lambda: ad.grad(value, space=space)(point),
        lambda: ad.value_and_grad(value, space=space)(point),
        lambda: ad.hvp(value, point, point, space=space),
    ):
        with pytest.raises(ad.errors.MembershipError, match="elements are Legendre"):
            take()


@pytest.mark.parametrize("transform", [ad.grad, ad.value_and_grad])
def test_a_space_that_is_none(transform):
    with pytest.raises(ad.errors.ArgumentTypeError, match="A space was expected for space"):
        transform(f, space=3)


# --- one number through a loop: forward mode, without a tape --------------------------------------


def _rounds(x):
    return ad.fori_loop(0, 5, lambda i, y: np.sin(y) * x, x)


def _until(x):
    return ad.while_loop(lambda y: y < 50, lambda y: y * y + x, x)


def _in_python(x):
    for _ in range(40):
        x = x + 0.1 * np.sin(x)
    return x


def _wide(x):
    start = np.linspace(0, 1, 5) * x
    return np.sum(ad.fori_loop(0, 5, lambda i, y: np.tanh(y) + x, start))


def _checkpointed(x):
    return ad.checkpoint(_rounds)(x) + x


def _apart(x):
    """Roots and quotients at zero, where nothing leads."""
    return ad.fori_loop(
        0, 4, lambda i, y: np.where(y > 1e9, np.sqrt(y - y), y) + x / (1 + y * y), x
    )


LOOPS_OF_ONE_NUMBER = (_rounds, _until, _in_python, _wide, _checkpointed, _apart)


@pytest.mark.parametrize("function", LOOPS_OF_ONE_NUMBER)
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.array(1.5), np.float32(1.5)])
def test_one_number_through_a_loop_has_the_slope_of_reverse_mode(function, x):
    (expected,) = ad.vjp(function, x)[1](np.ones_like(function(x)))
    tolerance = 1e-5 if isinstance(x, np.float32) else 1e-12
    for transform in (ad.grad, lambda f: ad.jit(ad.grad(f))):
        slope = transform(function)(x)
        assert slope.dtype == np.asarray(x).dtype
        assert np.shape(slope) == ()
        np.testing.assert_allclose(slope, expected, rtol=tolerance)
    value, slope = ad.value_and_grad(function)(x)
    np.testing.assert_allclose([value, slope], [function(x), expected], rtol=tolerance)
    np.testing.assert_allclose(ad.differential(function, x)(1.0), expected, rtol=tolerance)
    space = Weighted(Euclidean(()), np.array(4.0))
    np.testing.assert_allclose(ad.grad(function, space=space)(x), expected / 4, rtol=tolerance)


@pytest.mark.parametrize("function", LOOPS_OF_ONE_NUMBER)
def test_one_number_through_a_loop_within_other_transforms(function):
    slope, x = ad.grad(function), np.float64(1.5)

    def reverse(x):
        return ad.vjp(function, x)[1](1.0)[0]

    for outer in (ad.grad, lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1]):
        np.testing.assert_allclose(outer(slope)(x), outer(reverse)(x), rtol=1e-11)
    points = np.array([1.5, 1.7, 1.6])
    np.testing.assert_allclose(ad.vmap(slope)(points), [*map(reverse, points)], rtol=1e-12)


def test_one_number_through_a_loop_takes_no_tape():
    def loops(function):
        view = ad.program(function, np.float64(1.5))
        return [e for e in view.program.equations if e.primitive.name in ("scan", "while")]

    for function in (_rounds, _until):
        (loop,) = loops(ad.grad(function))
        assert all(not result.type.ndim for result in loop.outputs)
        assert len(loops(lambda x, f=function: ad.vjp(f, x)[1](1.0)[0])) == 2
    assert len(loops(ad.grad(_rounds, has_aux=False))) == 1
    assert len(loops(ad.grad(lambda x: (_rounds(x), x), has_aux=True))) == 2


def test_one_number_through_a_loop_whose_rule_is_for_reverse_mode_alone():
    @ad.primitive(result=lambda x: x)
    def doubled(x):
        return 2 * x

    @doubled.vjp
    def rule(x):
        return doubled(x), lambda cotangent: 2 * cotangent

    slope = ad.grad(lambda x: ad.fori_loop(0, 3, lambda i, y: doubled(y), x))
    assert slope(np.float64(1.5)) == 8.0


def _with_rules(**rules):
    """x -> 2 x, with these rules."""

    @ad.primitive(result=lambda x: x)
    def doubled(x):
        return 2 * x

    for name, rule in rules.items():
        getattr(doubled, name)(rule)
    return doubled


@ad.primitive(result=lambda x: x)
def _without_rules(x):
    return 2 * x


def _fails(primals, tangents):
    raise ValueError("there is no forward mode here")


# A VJP rule of C code, of which no JVP comes; and VJP rules beside a JVP that fails, or is another.
OF_REVERSE_MODE = {
    "closed": _with_rules(vjp=lambda x: (2 * x, _without_rules)),
    "beside one that fails": _with_rules(jvp=_fails, vjp=lambda x: (2 * x, lambda c: 2 * c)),
    "beside another": _with_rules(
        jvp=lambda primals, tangents: (2 * primals[0], 0 * tangents[0]),
        vjp=lambda x: (2 * x, lambda c: 2 * c),
    ),
}


@pytest.mark.parametrize("name", OF_REVERSE_MODE)
def test_one_number_through_a_loop_goes_by_the_vjp_rule_that_is_given(name):
    doubled = OF_REVERSE_MODE[name]

    def branches(i, y):
        return ad.switch(i % 2, [doubled, lambda y: y], y)

    slopes = {
        lambda x: ad.fori_loop(0, 3, lambda i, y: doubled(y), x): 8.0,
        lambda x: doubled(ad.fori_loop(0, 3, lambda i, y: 1.5 * y, x)): 6.75,
        lambda x: ad.fori_loop(0, 3, branches, x): 4.0,
        lambda x: ad.while_loop(lambda y: y < 5, lambda y: doubled(y) + 1, x): 4.0,
        lambda x: ad.checkpoint(lambda x: ad.fori_loop(0, 3, branches, x))(x): 4.0,
    }
    for function, slope in slopes.items():
        assert ad.grad(function)(np.float64(1.5)) == slope
        assert ad.value_and_grad(function)(np.float64(1.5))[1] == slope
