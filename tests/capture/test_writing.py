"""Functions that write into arrays, and what writing costs: filling n entries takes O(n)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.3, -0.7], [0.1, 0.2, 0.3]])


def fills_diagonal(x: Any) -> Any:
    a = x * 1.0
    np.fill_diagonal(a, x[0, 1])
    b = np.zeros((2, 3))
    np.fill_diagonal(b, x[0])
    return a, b


def puts_along(x: Any) -> Any:
    a = np.zeros((3, 3))
    np.put_along_axis(a, np.argmax(x, 1)[:, None], x[:, :1] * 2, 1)
    return a


def puts(x: Any) -> Any:
    a = x * 2
    np.put(a, [0, -1, 4], [x[0, 0], 5.0, x[1, 1] ** 2])
    np.putmask(a, a > 2, 0.0)
    np.copyto(a[0], x[1])
    np.copyto(a, 3 * x, where=x > 1)
    return a


def adds_at(x: Any) -> Any:
    a = np.zeros(3)
    np.add.at(a, [0, 0, 2], x[0])
    np.add.at(a, np.array([1, 1]), 2.0)
    np.subtract.at(a, 0, x[1, 1])
    b = np.zeros((3, 3))
    np.add.at(b, ([0, 0], [1, 1]), x[0, :2])
    np.add.at(b, [2, 2], x[:2])
    np.add.at(b, (slice(None), 0), x[0])
    return a, b


def sorts(x: Any) -> Any:
    a = x.copy()
    a.sort()
    b = np.array([x[0, 0], 1.0, x[0, 2]])
    b.sort()
    return a, b


def in_place(x: Any) -> Any:
    a = x.copy()
    b = a
    a += 1
    a -= x * 0.5
    a *= 2
    a /= 3
    a **= 2
    a[0] -= a[1]
    a[:, 1] *= a[:, 2]
    a @= np.eye(3)
    c = np.arange(6).reshape(2, 3)
    c += 2
    c //= 2
    c[0] = 7
    return a, b, c * x[0, 0]


def broadcast(x: Any) -> Any:
    a = np.zeros((3, 3))
    a += x[0]
    a[1:] = x[:, :1][:2]
    a[:, ::2] -= 1.0
    a[...] *= x[2, 2]
    return a


def real_and_imaginary(x: Any) -> Any:
    z = np.zeros(3, complex)
    z.real[:] = x[0]
    z.imag[1] = x[1, 1]
    z[2] *= 1j * x[0, 0]
    return z, z.real, z.imag


def swaps(x: Any) -> Any:
    a = x.copy()
    a[[0, 1]] = a[[1, 0]]
    a[0], a[2] = a[2].copy(), a[0].copy()
    a[:, 0], a[:, 1] = a[:, 1], a[:, 0].copy()
    return a


FUNCTIONS = [
    fills_diagonal,
    puts_along,
    puts,
    adds_at,
    sorts,
    in_place,
    broadcast,
    real_and_imaginary,
    swaps,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_writes(function: Any) -> None:
    same_values(captured_value(function, X), function(X))
    same_derivative(function, (X,))


WRONG = [
    lambda a, x: a.__setitem__(slice(0, 2), x[0, :2]),
    lambda a, x: a.__iadd__(np.zeros((2, 3, 3)) + x),
    lambda a, x: a.__setitem__(5, x[0, 0]),
    lambda a, x: np.diagonal(a).__setitem__(0, x[0, 0]),
    lambda a, x: np.broadcast_to(a, (2, 3, 3)).__setitem__(0, x),
    lambda a, x: np.add.at(a, [9], x[0]),
    lambda a, x: np.put(a, [9], x[0, 0]),
    lambda a, x: np.copyto(a, np.zeros(2) * x[0, 0]),
    lambda a, x: a.fill(x[0]),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_cannot_be_written(number: int) -> None:
    def function(x: Any) -> Any:
        a = x + 1.0
        WRONG[number](a, x)
        return a

    with pytest.raises((ValueError, IndexError, TypeError)):
        function(X)
    with pytest.raises((ValueError, IndexError, TypeError)):
        ad.jit(function)(X)


def test_complex_numbers_do_not_fit_into_real_arrays() -> None:
    def function(x: Any) -> Any:
        a = x * 1.0
        a[0] = 1j * x[0]
        return a

    with pytest.raises(ad.errors.DTypeError, match="complex"):
        ad.jit(function)(X)


def test_an_uncertain_alias_is_an_error_that_says_what_to_write() -> None:
    def function(x: Any) -> Any:
        a = np.matmul(x, x.T).reshape(-1)
        b = x.T.ravel()
        x[0, 0] = 1.0
        return a, b

    with pytest.raises(ad.errors.AliasingError, match=r"copy\(\)"):
        ad.jit(function)(X)


def test_jit_does_not_keep_what_depends_on_the_layout() -> None:
    def function(x: Any) -> Any:
        flat = x.reshape(-1)
        flat[0] = 9.0
        return x * 1.0

    jitted = ad.jit(function)
    for order in "CFC":
        x = np.array(X, order=order)
        try:
            found = jitted(x.copy(order="K"))
        except ad.errors.AliasingError:
            assert order == "F"
            continue
        same_values(found, function(x.copy(order="K")))


# --- cost -----------------------------------------------------------------------------------------


def filled(n: int) -> Any:
    def function(t: Any) -> Any:
        out = np.zeros(n)
        for i in range(n):
            out[i] = t * i
        return out.sum()

    return function


def running(n: int) -> Any:
    def function(t: Any) -> Any:
        out = np.zeros(n)
        out[0] = t
        for i in range(1, n):
            out[i] = 0.5 * out[i - 1] + t
        return out

    return function


def accumulated(n: int) -> Any:
    def function(t: Any) -> Any:
        out = np.zeros(n)
        for i in range(1, n):
            out[i] += t
            out[i - 1 : i + 1] += t
        return out

    return function


def operations(function: Any) -> int:
    return len(ad.program(function, 1.0).program.equations)


@pytest.mark.parametrize("make", [filled, running, accumulated], ids=lambda make: make.__name__)
def test_filling_records_a_number_of_operations_that_grows_linearly(make: Any) -> None:
    small, large = operations(make(20)), operations(make(40))
    assert large - small <= 20 * 8
    assert large <= 2.2 * small + 10


@pytest.mark.parametrize("make", [filled, running, accumulated], ids=lambda make: make.__name__)
def test_filling_writes_in_place(make: Any) -> None:
    source = ad.program(make(30), 1.0).source()
    assert source.count("array(") + source.count(".copy()") + source.count("zeros(") <= 6, source


def test_a_gradient_of_a_filled_array_is_right_and_fast() -> None:
    assert ad.grad(filled(300))(2.0) == sum(range(300))


def into_default(x: Any, store: Any = np.zeros(3)) -> Any:  # noqa: B008
    store[:] = x
    return np.sum(store**2)


def entry_of_default(x: Any, store: Any = np.zeros(3)) -> Any:  # noqa: B008
    store[0] = x[0]
    return np.sum(store**2)


@pytest.mark.parametrize("function", [into_default, entry_of_default])
def test_a_default_that_is_written_into_is_named(function: Any) -> None:
    words = r"written into an array that was made elsewhere\. .*inside of the function"
    for derivative in (ad.grad(function), ad.jit(ad.grad(function))):
        with pytest.raises(ad.errors.DroppedDerivativeError, match=words) as caught:
            derivative(np.ones(3))
        assert "not enter" not in str(caught.value).replace("(float()", "")
