"""What comes back belongs to the caller: results share no memory with what went in."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.spaces import Euclidean, Weighted

DATA = np.array([5.0, 6.0, 7.0])


def leaves(tree):
    if isinstance(tree, np.ndarray):
        return [tree]
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    if isinstance(tree, dict):
        return leaves(list(tree.values()))
    return []


FUNCTIONS = [
    lambda x: x,
    lambda x: DATA,
    lambda x: x[::-1],
    lambda x: x.reshape(3, 1).T,
    lambda x: (x, x),
    lambda x: (x, x[1:], DATA),
    lambda x: np.broadcast_to(x[0], (4,)),
    lambda x: np.real(x),
    lambda x: x + 0 * DATA,
    lambda x: np.asarray(x),
    lambda x: x.astype(float, copy=False),
]


def jitted(f, x):
    function = ad.jit(f)
    return [function(x), function(x)]


def mapped(f, x):
    return ad.vmap(f)(np.stack([x, x]))


def pushed(f, x):
    return ad.jvp(f, (x,), (x,))


def pulled(f, x):
    value, pullback = ad.vjp(f, x)
    return value, pullback(value), pullback(value)


def linear(f, x):
    value, map_ = ad.linearize(f, x)
    return value, map_(x), map_(x), map_.H(value)


def of_a_sum(f, x):
    total = ad.value_and_grad(
        lambda x: (sum(np.sum(part) for part in leaves_of(f(x))), f(x)), has_aux=True
    )
    return total(x)


def leaves_of(tree):
    return tree if isinstance(tree, tuple) else (tree,)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("way", [jitted, mapped, pushed, pulled, linear, of_a_sum])
def test_results_share_no_memory(function, way):
    x = np.array([1.0, 2.0, 3.0])
    found = leaves(way(function, x))
    assert found
    for number, array in enumerate(found):
        assert array.flags.writeable
        for other in (x, DATA, *found[:number]):
            assert not np.shares_memory(array, other)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("way", [jitted, mapped, pushed, pulled, linear, of_a_sum])
def test_writing_into_results_changes_nothing_else(function, way):
    x = np.array([1.0, 2.0, 3.0])
    first = way(function, x)
    expected = [array.copy() for array in leaves(first)]
    for array in leaves(first):
        array[...] = np.nan
    assert x.tolist() == [1, 2, 3]
    assert DATA.tolist() == [5, 6, 7]
    for one, other in zip(leaves(way(function, x)), expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "gradient",
    [
        lambda x: ad.grad(lambda x: x @ DATA)(x),
        lambda x: ad.grad(lambda x: x @ DATA, space=Euclidean(3))(x),
        lambda x: ad.grad(lambda x: x @ DATA, space=Weighted(Euclidean(3), 1.0))(x),
        lambda x: ad.grad(lambda x, y: (x + y) @ DATA, argnums=(0, 1))(x, x),
        lambda x: ad.jacobian(lambda x: x * DATA)(x),
        lambda x: ad.jacobian(lambda x: x @ DATA)(x),
        lambda x: ad.derivative(lambda x: x @ DATA, x).matrix(),
        lambda x: ad.derivative(lambda x: x @ DATA, x).H(np.float64(1.0)),
        lambda x: ad.linear_transpose(lambda x: x @ DATA, x)(1.0),
    ],
)
def test_gradients_are_not_the_data_that_they_equal(gradient):
    x = np.array([1.0, 2.0, 3.0])
    found = leaves(gradient(x))
    assert found
    for number, array in enumerate(found):
        assert array.flags.writeable
        for other in (x, DATA, *found[:number]):
            assert not np.shares_memory(array, other)


def test_components_of_a_differential_are_copies():
    assert not np.shares_memory(ad.differential(lambda x: x @ DATA, DATA).components, DATA)


def test_arguments_are_never_written():
    x = np.array([1.0, 2.0, 3.0])
    x.setflags(write=False)

    def function(x):
        y = x.copy()
        y[0] = 7.0
        y += x
        return np.sum(y**2)

    np.testing.assert_array_equal(ad.grad(function)(x), [2 * 8, 8 * 2, 8 * 3])
    np.testing.assert_array_equal(ad.jit(ad.grad(function))(x), [2 * 8, 8 * 2, 8 * 3])
    assert x.tolist() == [1, 2, 3]
