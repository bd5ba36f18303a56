"""What `ad.grad(f)` and its like return: signatures, names, pickling, values of other libraries."""

import array
import copy
import functools
import inspect
import multiprocessing
import pickle

import numpy as np
import pytest

import adjoint as ad

POINT = np.array([0.3, 0.7])


def rosenbrock(x, scale=100.0, *, shift=1.0):
    """The banana-shaped valley."""
    return (shift - x[0]) ** 2 + scale * (x[1] - x[0] ** 2) ** 2


@ad.jit
def decorated(x):
    return np.sum(np.sin(x))


class Model:
    def __init__(self, rate):
        self.rate = rate

    @ad.jit
    def loss(self, x):
        return self.rate * np.sum(x**2)

    def slope(self, x):
        return ad.grad(lambda x: self.rate * np.sum(x**2))(x)


TRANSFORMS = [
    ad.grad,
    ad.value_and_grad,
    ad.jacobian,
    ad.hessian,
    ad.laplacian,
    ad.value_grad_laplacian,
    ad.biharmonic,
    functools.partial(ad.second_order_operator, coefficients=np.eye(2), drift=np.ones(2)),
    functools.partial(ad.estimate_laplacian, probes=np.ones((3, 2))),
    ad.jit,
    ad.vmap,
    ad.checkpoint,
    functools.partial(ad.grad, has_aux=False, argnums=(0, 1)),
    lambda f: ad.jit(ad.grad(f)),
    lambda f: ad.grad(ad.jit(f)),
]


def alike(one, other):
    return all(map(np.array_equal, ad.testing.leaves(one), ad.testing.leaves(other)))


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_derived_function_shows_its_function(transform):
    f = transform(rosenbrock)
    assert inspect.signature(f) == inspect.signature(rosenbrock)
    assert f.__name__ == f.__qualname__ == "rosenbrock"
    assert f.__doc__ == rosenbrock.__doc__
    assert inspect.unwrap(f) is rosenbrock
    assert "rosenbrock" in repr(f)


@pytest.mark.parametrize("transform", [t for t in TRANSFORMS if t is not ad.vmap])
@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))]
)
def test_a_derived_function_is_pickled_and_copied(transform, copied):
    f = transform(rosenbrock)
    expected = f(POINT, 90.0, shift=2.0)
    np.testing.assert_equal(copied(f)(POINT, 90.0, shift=2.0), expected)


def test_what_decorates_a_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    again = pickle.loads(pickle.dumps(ad.grad(decorated)))
    np.testing.assert_allclose(again(POINT), np.cos(POINT))


def test_a_decorated_method_is_bound():
    model = Model(3.0)
    assert model.loss(POINT) == 3.0 * np.sum(POINT**2)
    np.testing.assert_allclose(ad.grad(model.loss)(POINT), 6.0 * POINT)
    assert Model.loss(model, POINT) == model.loss(POINT)


def test_derivatives_are_sent_to_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (gradient,) = pool.map(ad.grad(rosenbrock), [POINT])
    np.testing.assert_array_equal(gradient, ad.grad(rosenbrock)(POINT))


def test_a_derivative_at_a_point_is_pickled():
    D = ad.derivative(rosenbrock, POINT)
    again = pickle.loads(pickle.dumps(D))
    assert again(POINT) == D(POINT)
    np.testing.assert_array_equal(again.H(2.0), D.H(2.0))


def test_derived_functions_inside_captured_ones():
    slope = ad.grad(lambda t: np.sin(t) * t)
    outer = lambda t: slope(t) * t  # noqa: E731
    expected = ad.grad(lambda t: (np.cos(t) * t + np.sin(t)) * t)(0.4)
    for _ in range(4):  # captured, then replayed
        assert ad.grad(outer)(0.4) == pytest.approx(expected, rel=1e-14)
    assert ad.jit(ad.grad(outer))(0.4) == pytest.approx(expected, rel=1e-14)
    assert list(map(ad.grad(ad.grad(np.sin)), [0.4])) == [-np.sin(0.4)]


def test_another_derived_function_under_the_same_name_is_another():
    chosen = [ad.grad(np.sin)]
    f = lambda t: chosen[0](t)  # noqa: E731
    for _ in range(4):
        assert f(0.4) == np.cos(0.4)
        assert ad.grad(f)(0.4) == pytest.approx(-np.sin(0.4))
    chosen[0] = ad.grad(np.exp)
    for _ in range(4):
        assert ad.grad(f)(0.4) == pytest.approx(np.exp(0.4))


# --- arrays of other libraries --------------------------------------------------------------------


class Column:
    """What another library's array is to us: something that can be turned into an array."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __array__(self, dtype=None, copy=None):
        return np.array(self.numbers, dtype)


class Table(Column):
    columns = ("a", "b")


class Deferred(Column):
    __module__ = "dask.array.core"

    def compute(self):
        return self.numbers


def test_arrays_of_other_libraries_are_taken_by_their_numbers():
    for point in (Column([0.3, 0.7]), Column(np.array([0.3, 0.7], np.float32))):
        gradient = ad.grad(rosenbrock)(point)
        assert type(gradient) is np.ndarray
        assert gradient.dtype == np.asarray(point).dtype
        np.testing.assert_allclose(gradient, ad.grad(rosenbrock)(POINT), rtol=1e-5)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (Table([0.3, 0.7]), r"has the type .*test_derived\.Table\..*numbers, np\.asarray\(x\)"),
        (Deferred([0.3, 0.7]), r"has the type dask\.array\.core\.Deferred\..*x\.compute\(\)"),
        (array.array("d", [0.3, 0.7]), r"has the type array\.array"),
        (Column([1, 2]), r"has dtype int64.*x\.astype\(float\)"),
        (3, r"has the type int.*write 3\.0 for 3"),
    ],
)
def test_what_is_not_taken_is_told_by_type_and_way_out(point, message):
    with pytest.raises(ad.errors.NotDifferentiableError, match=message):
        ad.grad(lambda x: np.sum(x))(point)
