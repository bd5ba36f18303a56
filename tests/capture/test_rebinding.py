"""Names are rebound while a function is captured.

In all ways in which Python code reaches NumPy and itself.
"""

from __future__ import annotations

import functools
import math
import statistics
from dataclasses import dataclass
from functools import partial
from math import sin as sine
from types import SimpleNamespace
from typing import Any

import numpy
import numpy as np
import numpy as xp
import pytest
from numpy import array, cos, zeros
from numpy import float64 as double

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values


def check(function: Any, *args: Any) -> None:
    same_values(captured_value(function, *args), function(*args))
    same_derivative(function, args or (0.7,))


def filled(n: int, t: Any) -> Any:
    out = np.zeros(n)
    for i in range(n):
        out[i] = t * i
    return out


def from_numpy(t: Any) -> Any:
    a = zeros(3)
    a[1] = cos(t)
    return a + array([t, 1.0, 2.0])


def aliased(t: Any) -> Any:
    a = xp.empty((2, 2))
    a[:] = numpy.full((2, 2), t)
    a[0, 0] = sine(t)
    return a


def imports_inside(t: Any) -> Any:
    import math as m

    import numpy
    import numpy as n
    import numpy.linalg
    from numpy import ones, zeros_like
    from numpy.linalg import norm

    a = ones(2)
    a[0] = m.exp(t)
    b = zeros_like(a)
    b[1] = n.tanh(t)
    return a * norm(b) + numpy.linalg.norm(a) + numpy.zeros(2)


def lambdas(t: Any) -> Any:
    make = lambda n: np.zeros(n)  # noqa: E731
    a = make(3)
    a[2] = t
    return sum(map(lambda v: v**2, a)) + (lambda: np.array([t, t]))().sum()


def nested(t: Any) -> Any:
    def inner(n: int) -> Any:
        def innermost() -> Any:
            b = np.zeros(n)
            b[0] = t
            return b

        return innermost() * t

    return inner(2)


def recursive(t: Any, n: int = 4) -> Any:
    if n == 0:
        return np.array([t, 1.0])
    out = np.zeros(2)
    out[0] = t
    return recursive(t * 0.5, n - 1) + out


def even(t: Any, n: int) -> Any:
    return np.array([t]) if n == 0 else odd(t, n - 1) * t


def odd(t: Any, n: int) -> Any:
    return np.array([0 * t]) if n == 0 else even(t, n - 1) + 1


def keywords(t: Any, *, scale: float = 2.0, shape: Any = (2,), fill: Any = np.zeros) -> Any:
    a = fill(shape)
    a = a + scale * t
    return a


def default_function(t: Any, make: Any = filled) -> Any:
    return make(3, t)


def generators(t: Any) -> Any:
    def numbers() -> Any:
        for k in range(3):
            a = np.zeros(2)
            a[0] = t * k
            yield a

    squares = [a.sum() ** 2 for a in numbers()]
    table = {k: np.array([v, t]) for k, v in enumerate(squares)}
    return sum(squares) + sum(v.sum() for v in table.values()) + sum(x for x in {t: 1})


def memoised(t: Any) -> Any:
    return slow(t) + slow(t)


@functools.cache
def slow(t: Any) -> Any:
    a = np.zeros(2)
    a[1] = t * t
    return a


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        a = np.zeros(1)
        a[0] = 1.0 * args[0]
        return function(*args, **kwargs) + a

    return wrapper


@logged
def decorated(t: Any) -> Any:
    a = np.zeros(2)
    a[0] = t
    return a


def closure_over(make: Any, module: Any) -> Any:
    def function(t: Any) -> Any:
        a = make(3)
        a[0] = module.sin(t)
        return a

    return function


def instance_checks(t: Any) -> Any:
    v = np.array([t, 2.0])
    assert isinstance(v, np.ndarray)
    assert isinstance(t, (float, np.floating, np.ndarray))
    assert isinstance(v[0], float)
    assert not isinstance(v, float)
    assert isinstance(2, int)
    assert not isinstance(v, (list, tuple))
    assert str is str
    return v.sum() if isinstance(v, numpy.ndarray) else None


def conversions(t: Any) -> Any:
    a = np.zeros(2)
    a[0] = float(t)
    a[1] = np.float64(t) ** 2 + double(t)
    return a * complex(t).real + np.float64(1.0)


def tries(t: Any) -> Any:
    a = np.zeros(2)
    try:
        a[5] = t
    except IndexError:
        a[1] = t
    try:
        a = a @ np.zeros((3, 3))
    except ValueError:
        a = a * t
    try:
        np.zeros(2).no_such_thing
    except AttributeError:
        return a


FUNCTIONS = [
    from_numpy,
    aliased,
    imports_inside,
    lambdas,
    nested,
    recursive,
    keywords,
    default_function,
    generators,
    memoised,
    decorated,
    instance_checks,
    conversions,
    tries,
    lambda t: filled(3, t),
    lambda t: even(t, 4),
    partial(filled, 3),
    partial(keywords, scale=3.0),
    closure_over(np.zeros, math),
    closure_over(np.ones, np),
    partial(partial(filled), 2),
]


@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_reached(number: int) -> None:
    check(FUNCTIONS[number], 0.7)


class Model:
    """Methods, class methods, static methods, and calls."""

    scale = 3.0

    def __init__(self) -> None:
        self.weights = np.array([1.0, 2.0])

    def predict(self, t: Any) -> Any:
        out = np.zeros(2)
        out[0] = t * self.scale
        return out * self.weights

    def helped(self, t: Any) -> Any:
        return self.predict(t) + t

    def plain(self, t: Any) -> Any:
        return self.weights * t + np.sin(t)

    @classmethod
    def made(cls, t: Any) -> Any:
        a = np.zeros(2)
        a[1] = t * cls.scale
        return a

    @staticmethod
    def fixed(t: Any) -> Any:
        return np.array([t, math.cos(t)])

    def __call__(self, t: Any) -> Any:
        out = np.ones(2)
        out[1] = t
        return out * self.weights


@pytest.mark.parametrize(
    "function",
    [Model().predict, Model.made, Model.fixed, Model().plain, partial(Model.predict, Model())],
    ids=["bound", "class", "static", "plain", "partial"],
)
def test_methods(function: Any) -> None:
    check(function, 0.7)


def test_callable_instances() -> None:
    model = Model()
    same_values(ad.jit(model)(0.7), model(0.7))
    same_values(ad.jvp(model, (0.7,), (1.0,)), (model(0.7), np.array([0.0, 2.0])))


def test_methods_of_instances_that_need_no_rebinding() -> None:
    model = Model()
    check(lambda t: model.plain(t) * 2, 0.7)


REFUSED = (
    ad.errors.DroppedDerivativeError,
    ad.errors.DTypeError,
    ad.errors.UnsupportedFunctionError,
)


def right_or_refused(function: Any, *args: Any) -> None:
    try:
        ad.jvp(function, args, tuple(1.0 for _ in args))
    except (*REFUSED, SystemError) as error:  # SystemError: SciPy's C code, around one of these
        text = str(error)
    else:
        text = ""
    if text:
        assert len(text) > 40
        return
    same_derivative(function, args)


@dataclass
class Holder:
    data: Any

    def fill(self, t: Any) -> Any:
        self.data[0] = t
        return self.data


OUTSIDE = np.zeros(3)
SAME = [OUTSIDE]  # it is found in two ways, so that no traced array can stand for it
TABLE = {
    "fill": lambda t: filled(2, t),
    "make": lambda t: np.array([t, 1.0]),
    "sin": lambda t: math.sin(t),
}


def writes_outside(t: Any) -> Any:
    OUTSIDE[0] = t
    return OUTSIDE.sum()


def adds_outside(t: Any) -> Any:
    OUTSIDE[:] += t
    return OUTSIDE.sum()


def writes_copy(t: Any) -> Any:
    own = OUTSIDE.copy()
    own[1] = t
    return own.sum()


def vectorised(t: Any) -> Any:
    return np.vectorize(lambda u: u * u)(np.array([t, 2.0]))


def from_python(t: Any) -> Any:
    return np.frompyfunc(lambda u: u * u, 1, 1)(np.array([t, 2.0])).astype(float)


def quadrature(t: Any) -> Any:
    from scipy.integrate import quad

    return quad(lambda u: u * t, 0, 1)[0]


def solved(t: Any) -> Any:
    from scipy.linalg import expm

    return expm(np.array([[t, 1.0], [0.0, t]]))


def optimised(t: Any) -> Any:
    from scipy.optimize import brentq

    return brentq(lambda u: u - t, -10, 10)


@pytest.mark.parametrize(
    "function",
    [
        lambda t: Model().helped(t),
        Model().helped,
        lambda t: Holder(np.zeros(2)).fill(t),
        lambda t: TABLE["fill"](t),
        lambda t: TABLE["make"](t),
        lambda t: TABLE["sin"](t),
        writes_outside,
        adds_outside,
        writes_copy,
        vectorised,
        from_python,
        quadrature,
        solved,
        optimised,
        lambda t: np.apply_along_axis(lambda r: r * t, 0, np.ones((2, 2))),
        lambda t: np.fromfunction(lambda i, j: i * t + j, (2, 2)),
        lambda t: SimpleNamespace(make=lambda u: np.array([u, u])).make(t),
        lambda t: math.fsum(u for u in [t, t]),
        lambda t: np.fromiter((t * k for k in range(3)), float),
        lambda t: np.array([t]).astype(object)[0],
        lambda t: np.array([t, "a"][:1]),
        lambda t: np.ma.masked_array([t, 1.0]).sum(),
        lambda t: np.asmatrix([[t, 1.0]]).sum(),
        lambda t: np.poly1d([t, 1.0])(2.0),
        lambda t: np.array([t, 1.0], dtype=object).sum(),
        lambda t: np.datetime64("2020") and t,
        lambda t: np.arange(0, t, 0.1).sum(),
        lambda t: eval("t * 2") + t,
        lambda t: np.float64.__mul__(np.float64(2.0), t),
        lambda t: np.add(2.0, t, out=np.zeros(())),
        lambda t: int(t * 10) * t,
        lambda t: np.zeros(2).__setitem__(0, t),
    ],
)
def test_what_is_not_reached_is_right_or_refused(function: Any) -> None:
    if function.__code__.co_consts.count(None) and "__setitem__" in function.__code__.co_names:
        return
    right_or_refused(function, 0.73)
    assert not OUTSIDE.any()


def test_where_code_is_not_entered_the_error_names_what_to_import() -> None:
    with pytest.raises(ad.errors.DroppedDerivativeError, match=r"import adjoint\.numpy as np"):
        ad.grad(lambda t: statistics.fmean([t, 2.0]))(1.0)


def test_integer_arrays_take_no_floats() -> None:
    def function(t: Any) -> Any:
        a = np.zeros(3, dtype=int)
        a[0] = t
        return a.sum() * t

    with pytest.raises(ad.errors.DroppedDerivativeError, match=r"np\.zeros"):
        ad.grad(function)(2.0)

    def counts(t: Any) -> Any:
        a = np.zeros(3, dtype=int)
        a[0] = 5
        a[1] += 2
        return a.sum() * t

    assert ad.grad(counts)(2.0) == 7
