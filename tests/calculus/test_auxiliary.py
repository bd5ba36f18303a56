"""Auxiliary outputs come back as they were given: arrays, numbers, text, objects."""

import dataclasses
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError
from adjoint.base.trees.held import hold

X = np.array([1.0, 2.0])


class Fit:
    """An object that nobody registered."""

    def __init__(self, slope):
        self.slope = slope


@dataclasses.dataclass
class Record:
    loss: object
    name: str


FIT = Fit(3.0)

GIVEN = [
    "text",
    3,
    True,
    None,
    2**70,
    b"bytes",
    range(3),
    FIT,
    Fit,
    {"a", "b"},
    np.float32(2.0),
    np.arange(3, dtype=np.int8),
    np.array(["a", "b"]),
    [1, ("a", {"n": 2, "none": None})],
    {"epoch": 7, "note": "x", "sizes": np.arange(2)},
]

WAYS = {
    "grad": lambda f: ad.grad(f, has_aux=True)(X)[1],
    "value_and_grad": lambda f: ad.value_and_grad(f, has_aux=True)(X)[0][1],
    "jacobian": lambda f: ad.jacobian(f, has_aux=True)(X)[1],
    "hessian": lambda f: ad.hessian(f, has_aux=True)(X)[1],
    "vjp": lambda f: ad.vjp(f, X, has_aux=True)[2],
    "jvp": lambda f: ad.jvp(f, (X,), (X,), has_aux=True)[2],
    "linearize": lambda f: ad.linearize(f, X, has_aux=True)[2],
    "jit of grad": lambda f: ad.jit(ad.grad(f, has_aux=True))(X)[1],
    "grad of jit": lambda f: ad.grad(ad.jit(f), has_aux=True)(X)[1],
    "jit": lambda f: ad.jit(f)(X)[1],
}


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(other, (list, tuple)):
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_same(left, right)
    elif isinstance(other, dict):
        assert one.keys() == other.keys()
        for key in other:
            assert_same(one[key], other[key])
    elif isinstance(other, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one is other or one == other


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", GIVEN, ids=lambda given: type(given).__name__)
def test_what_is_given_comes_back(way, given):
    f = lambda x: (np.sum(x**2), given)  # noqa: E731
    for _ in range(4):  # captured, then replayed
        assert_same(WAYS[way](f), given)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_computed_comes_back_beside_it(way):
    def f(x):
        return np.sum(x**2), {"note": "twice", "twice": 2 * x, "count": len(x), "record": (x[0],)}

    for _ in range(4):
        aux = WAYS[way](f)
        assert_same(aux["twice"], 2 * X)
        assert aux["note"] == "twice"
        assert_same(aux["count"], 2)
        assert aux["record"] == (1.0,)


def test_text_and_counts_are_those_of_the_call():
    def f(x):
        loss = np.sum(x**2)
        return loss, (f"{float(loss):.1f}", int(np.argmax(x)), "large" if loss > 10 else "small")

    for gradient in (ad.grad(f, has_aux=True), ad.jit(ad.grad(f, has_aux=True))):
        for point in ([1.0, 2.0], [3.0, 2.0], [0.5, 0.1], [1.0, 4.0], [5.0, 4.0], [1.0, 2.0]):
            x = np.array(point)
            slope, aux = gradient(x)
            np.testing.assert_array_equal(slope, 2 * x)
            loss = np.sum(x**2)
            expected = f"{loss:.1f}", int(np.argmax(x)), "large" if loss > 10 else "small"
            assert_same(aux, expected)


def test_counts_from_outside_are_those_of_the_call():
    steps = []

    def f(x):
        steps.append(1)
        return np.sum(x**2), len(steps)

    gradient = ad.grad(f, has_aux=True)
    assert [gradient(X)[1] for _ in range(5)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("wrap", [lambda g: g, ad.jit])
def test_an_object_is_another_one_at_every_call(wrap):
    f = lambda x: (np.sum(x**2), Fit(2 * x))  # noqa: E731
    gradient = wrap(ad.grad(f, has_aux=True))
    fits = [gradient(k * X)[1] for k in range(1, 6)]
    assert len(set(map(id, fits))) == 5
    for k, fit in enumerate(fits, 1):
        assert type(fit.slope) is np.ndarray
        np.testing.assert_array_equal(fit.slope, 2 * k * X)


def test_a_function_that_is_returned_holds_values():
    gradient = ad.grad(lambda x: (np.sum(x**2), lambda: 3 * x), has_aux=True)
    for k in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(gradient(k * X)[1](), 3 * k * X)


def test_a_dataclass_is_a_container():
    def f(x):
        loss = np.sum(x**2)
        return loss, Record(loss, "run")

    for _ in range(4):
        aux = ad.grad(f, has_aux=True)(X)[1]
        assert type(aux) is Record
        assert (aux.loss, aux.name) == (5.0, "run")


def test_an_object_does_not_hide_a_derivative():
    def outer(x):
        _, fit = ad.grad(lambda y: (np.sum(y**2), Fit(y * x)), has_aux=True)(x)
        return np.sum(fit.slope)

    for derived in (ad.grad(outer), ad.jit(ad.grad(outer))):
        for k in (1.0, 2.0, 3.0, 4.0):
            np.testing.assert_array_equal(derived(k * X), 2 * k * X)


@pytest.mark.parametrize(
    "way", ["value_and_grad", "grad", "jacobian", "vjp", "jvp", "linearize", "hessian"]
)
@pytest.mark.parametrize("value", ["text", FIT, ["text", 1.0]])
def test_the_value_itself_is_of_numbers(way, value):
    with pytest.raises(ArgumentTypeError):
        WAYS[way](lambda x: (value, np.sum(x)))


def test_counts_within_the_value_are_numbers_as_without_auxiliary():
    f = lambda x: ((x**2, 3), "note")  # noqa: E731
    value, pullback, note = ad.vjp(f, X, has_aux=True)
    assert (value[1], note) == (3, "note")
    np.testing.assert_array_equal(pullback((X, np.int64(0)))[0], 2 * X**2)
    assert ad.jvp(f, (X,), (X,), has_aux=True)[1][1] == 0
    with pytest.raises(NotDifferentiableError, match="integer"):
        ad.grad(lambda x: (3, "note"), has_aux=True)(X)


def test_a_value_without_auxiliary_is_of_numbers():
    for way in (ad.grad, ad.jacobian, ad.hessian, lambda f: lambda x: ad.vjp(f, x)):
        with pytest.raises(ArgumentTypeError, match="returned a str"):
            way(lambda x: (np.sum(x), "text"))(X)


def test_a_linear_map_with_auxiliary_is_pickled():
    _, D, aux = ad.linearize(_with_note, X, has_aux=True)
    assert aux == "squares"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(D))(X), D(X))


def _with_note(x):
    return x**2, "squares"


@pytest.mark.parametrize("transform", [ad.grad, ad.value_and_grad])
def test_a_value_of_several_leaves_is_told_in_the_users_terms(transform):
    with pytest.raises(ArgumentTypeError, match=r"whose value is a number; the value is \{'a': \*"):
        transform(lambda x: ({"a": x, "b": x}, {"n": 3}), has_aux=True)(1.0)
    with pytest.raises(ArgumentTypeError, match=r"it returned \(\*, \*, \*\)\.$"):
        transform(lambda x: (x, 3, 2), has_aux=True)(1.0)


def test_what_is_held_is_told_by_its_class():
    structure = hold(*pytrees.flatten([1.0, {"n": 3, "s": "text"}]), [True, False, False])[1]
    assert pytrees.structure_text(structure) == "[*, {'n': int, 's': str}]"
