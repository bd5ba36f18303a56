"""Names are rebound while a function is captured: in all ways in which Python code reaches NumPy and itself."""

from __future__ import annotations

import functools
import importlib.util
import math
import sys
import threading
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

STATE: Any = None
COUNT = 0


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


@functools.lru_cache(maxsize=None)
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
    assert type("a") is str
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
    from_numpy, aliased, imports_inside, lambdas, nested, recursive, keywords, default_function, generators, memoised,
    decorated, instance_checks, conversions, tries, lambda t: filled(3, t), lambda t: even(t, 4),
    partial(filled, 3), partial(keywords, scale=3.0), closure_over(np.zeros, math), closure_over(np.ones, np),
    partial(partial(filled), 2),
]  # fmt: skip


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


REFUSED = (ad.errors.DroppedDerivativeError, ad.errors.DTypeError, ad.errors.UnsupportedFunctionError)


def right_or_refused(function: Any, *args: Any) -> None:
    try:
        ad.jvp(function, args, tuple(1.0 for _ in args))
    except REFUSED as error:
        assert len(str(error)) > 40
        return
    same_derivative(function, args)


@dataclass
class Holder:
    data: Any

    def fill(self, t: Any) -> Any:
        self.data[0] = t
        return self.data


OUTSIDE = np.zeros(3)
TABLE = {"fill": lambda t: filled(2, t), "make": lambda t: np.array([t, 1.0]), "sin": lambda t: math.sin(t)}


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
    return np.frompyfunc(lambda u: u * u, 1, 1)(np.array([t, 2.0]))


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
        lambda t: np.random.default_rng(0).normal(t, 1.0),
        lambda t: np.random.normal(loc=t),
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


# --- state ----------------------------------------------------------------------------------------


def sets_global(t: Any) -> Any:
    global COUNT, STATE
    COUNT += 1
    STATE = 3.0
    return t * STATE * COUNT


def reads_global(t: Any) -> Any:
    return sets_global(t) + COUNT


def test_globals_are_really_assigned() -> None:
    global COUNT
    COUNT = 0
    assert ad.grad(sets_global)(1.0) == 3
    assert (COUNT, STATE) == (1, 3.0)
    assert ad.grad(reads_global)(1.0) == 6
    assert COUNT == 2


def test_nonlocal_variables_are_really_assigned() -> None:
    calls = 0
    best = None

    def function(t: Any) -> Any:
        nonlocal calls, best
        calls += 1
        best = calls * 2

        def inner() -> Any:
            nonlocal calls
            calls += 1
            return t

        return inner() * best

    assert ad.grad(function)(1.0) == 2
    assert (calls, best) == (2, 2)


def test_lists_outside_can_be_appended_to() -> None:
    history: list[Any] = []

    def function(t: Any) -> Any:
        history.append(float(t) if False else 1)
        return t * len(history)

    assert ad.grad(function)(1.0) == 1
    assert ad.grad(function)(1.0) == 2


def test_traced_values_that_leak_keep_their_value() -> None:
    kept = []

    def function(t: Any) -> Any:
        kept.append(t * 2)
        a = np.zeros(2)
        a[0] = t
        kept.append(a)
        return t**2

    assert ad.grad(function)(3.0) == 6
    leaked, array_ = kept
    assert float(leaked) == 6
    assert leaked + 1 == 7
    same_values(np.asarray(array_), np.array([3.0, 0.0]))
    assert f"{leaked}" == "6.0"
    assert ad.grad(lambda u: u * leaked)(1.0) == 6


def test_closures_that_change_are_seen() -> None:
    factor = np.array([1.0, 2.0])

    def function(t: Any) -> Any:
        return (t * factor).sum()

    assert ad.grad(function)(1.0) == 3
    factor[0] = 5.0
    assert ad.grad(function)(1.0) == 7


def test_an_array_outside_that_changes_between_uses() -> None:
    buffer = np.zeros(2)

    def function(t: Any) -> Any:
        buffer[:] = 1.0
        one = (t * buffer).sum()
        buffer[:] = 5.0
        return one + (t * buffer).sum()

    assert ad.grad(function)(1.0) == 12


class Counter:
    def __init__(self, size: int) -> None:
        self.buffer = np.ones(size)

    def advance(self) -> None:
        self.buffer += 1


@pytest.mark.parametrize("size", [2, 50_000])
def test_an_array_that_a_method_changes_between_uses(size: int) -> None:
    counter = Counter(size)

    def function(t: Any) -> Any:
        one = (t * counter.buffer).mean()
        counter.advance()
        return one + (t * counter.buffer).mean()

    assert ad.grad(function)(1.0) == pytest.approx(3)


@pytest.mark.parametrize("size", [2, 50_000])
def test_an_array_that_an_unreached_function_changes(size: int) -> None:
    buffer = np.ones(size)

    def advance() -> None:
        buffer[...] = buffer + 1

    tools = {"advance": advance}

    def function(t: Any) -> Any:
        one = (t * buffer).mean()
        tools["advance"]()
        return one + (t * buffer).mean()

    assert ad.grad(function)(1.0) == pytest.approx(3)


# --- modules, errors, threads -----------------------------------------------------------------------


def test_modules_of_the_user(tmp_path: Any, monkeypatch: Any) -> None:
    package = tmp_path / "users_physics"
    package.mkdir()
    (package / "__init__.py").write_text("from .helpers import fill\nfrom . import helpers\nSCALE = 2.0\n")
    (package / "helpers.py").write_text(
        "import numpy as np\nfrom math import exp\nTOTAL = 0\n\n\n"
        "def fill(n, t):\n    global TOTAL\n    TOTAL += 1\n    out = np.zeros(n)\n"
        "    for i in range(n):\n        out[i] = step(t, i)\n    return out\n\n\n"
        "def step(t, i):\n    return exp(t) * i + float(t)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    users_physics = importlib.import_module("users_physics")
    helpers = sys.modules["users_physics.helpers"]

    def through_module(t: Any) -> Any:
        return users_physics.fill(3, t) * users_physics.SCALE

    def through_submodule(t: Any) -> Any:
        return users_physics.helpers.fill(3, t)

    def imported_inside(t: Any) -> Any:
        import users_physics.helpers as h
        from users_physics import fill

        return fill(2, t) + h.step(t, 1)

    for function in (through_module, through_submodule, imported_inside):
        before = helpers.TOTAL
        check(function, 0.7)
        assert helpers.TOTAL > before
    assert users_physics.fill.__globals__ is vars(helpers)


def test_functions_without_a_file() -> None:
    names: dict[str, Any] = {}
    source = "import numpy as np\ndef f(t):\n    a = np.zeros(2)\n    a[0] = g(t)\n    return a\ndef g(t):\n    return np.array([t])[0]\n"
    exec(source, names)
    check(names["f"], 0.7)
    names = {}
    exec(compile(source, "<stdin>", "exec"), names)
    check(names["f"], 0.7)


def raises_own(t: Any) -> Any:
    raise LookupError("mine")


@pytest.mark.parametrize("transform", [ad.grad, ad.jit, ad.vmap, ad.hessian], ids=lambda t: t.__name__)
def test_errors_of_the_user_pass_unchanged(transform: Any) -> None:
    from adjoint.capture import current

    with pytest.raises(LookupError, match="mine") as caught:
        transform(raises_own)(np.ones(2) if transform is ad.vmap else 1.0)
    assert type(caught.value) is LookupError
    assert not getattr(caught.value, "__notes__", [])
    assert current() is None
    assert ad.grad(lambda t: t * t)(2.0) == 4


def test_an_error_points_at_the_line_of_the_user() -> None:
    def function(t: Any) -> Any:
        return np.linalg.qr(np.array([[t]]))[0]  # this line

    with pytest.raises(ad.errors.UnsupportedFunctionError) as caught:
        ad.jit(function)(1.0)
    assert "this line" in caught.value.__notes__[0]


def test_captures_in_many_threads() -> None:
    errors = []

    def function(t: Any) -> Any:
        out = np.zeros(20)
        for i in range(20):
            out[i] = math.sin(t * i)
        return out.sum()

    expected = [ad.grad(function)(0.1 * k) for k in range(8)]

    def work(k: int) -> None:
        for _ in range(15):
            if ad.grad(function)(0.1 * k) != expected[k]:
                errors.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_nested_derivatives_and_writes_of_the_inner_into_the_outer() -> None:
    def function(t: Any) -> Any:
        out = np.zeros(2)

        def inner(u: Any) -> Any:
            out[0] = t
            return u * t * out[0]

        slope = ad.grad(inner)(t)
        return slope * t + out[0]

    assert function.__name__
    assert ad.grad(function)(2.0) == pytest.approx(3 * 4 + 1)


def test_writing_a_value_of_an_inner_capture_into_an_outer_array() -> None:
    def function(t: Any) -> Any:
        out = np.zeros(2)

        def inner(u: Any) -> Any:
            out[0] = u * t
            return u * t

        slope = ad.grad(inner)(t)
        return slope + out[0]

    assert ad.grad(function)(2.0) == pytest.approx(1 + 4)


def test_the_original_is_untouched() -> None:
    before = (np.zeros, math.sin, filled.__globals__["np"], float)
    ad.grad(lambda t: filled(3, t).sum())(1.0)
    assert before == (np.zeros, math.sin, filled.__globals__["np"], float)
    assert type(filled(2, 1.0)) is np.ndarray
    assert type(np.zeros(2)) is np.ndarray
