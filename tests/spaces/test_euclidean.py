"""Euclidean spaces: membership, Frobenius and real-view-of-complex inner products."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.base.errors import ArgumentError, ArgumentTypeError, MembershipError
from adjoint.spaces import Euclidean


def test_frobenius_inner_product_is_the_trace():
    """E.1.26: <X, Y> = Tr(X'Y)."""
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal((2, 4, 3))
    np.testing.assert_allclose(Euclidean((4, 3)).inner(x, y), np.trace(x.T @ y), rtol=1e-13)


def test_functionals_on_matrices_are_traces():
    """E.1.31: every l[A] is Tr(B'A); here B are the components."""
    generator = np.random.default_rng(0)
    a, b = generator.standard_normal((2, 4, 3))
    np.testing.assert_allclose(Euclidean((4, 3)).covector(b)(a), np.trace(b.T @ a), rtol=1e-13)


def test_complex_inner_product_is_the_real_part():
    x, y = np.array([1 + 2j, 3j]), np.array([2 - 1j, 1 + 1j])
    space = Euclidean(2, complex)
    assert float(space.inner(x, y)) == np.vdot(x, y).real == 3.0
    assert float(space.inner(1j * x, x)) == 0.0  # i x is orthogonal to x
    assert space.dimension == 4


def test_complex_coordinates_are_real_parts_then_imaginary_parts():
    space = Euclidean(2, complex)
    assert list(space.coordinates(np.array([1 + 2j, 3 + 4j]))) == [1, 3, 2, 4]
    element = space.from_coordinates(np.array([1.0, 3.0, np.inf, 4.0]))
    assert element[0] == complex(1.0, np.inf)  # no NaN in the real part
    assert list(space.coordinates(np.ones(2))) == [1, 1, 0, 0]  # real arrays are elements


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_made_elements_have_the_dtype_of_the_space(shape, dtype):
    space = Euclidean(shape, dtype)
    made = [space.zero(), space.random(0), *space.basis()]
    made.append(space.from_coordinates(np.ones(space.dimension)))
    for element in made:
        assert element.dtype == dtype
        assert np.shape(element) == shape
        assert space.contains(element)


def test_scalar_elements():
    space = Euclidean(())
    for element in (1.5, 2, np.float64(1.0), np.array(1.0), np.float32(1.0)):
        assert space.contains(element)
        assert float(space.norm(element)) == element
    assert Euclidean((), np.float32).contains(1.5)  # a Python float has no precision of its own
    assert Euclidean((), complex).contains(1.5)
    assert Euclidean((), complex).contains(1.5 + 1j)
    assert float(Euclidean((), complex).norm(3.0 + 4j)) == 5.0


@pytest.mark.parametrize(
    ("value", "space", "message"),
    [
        (np.ones(2), Euclidean(3), r"Got an array of shape \(2,\).*Its shape must be \(3,\)"),
        (
            [1.0, 2.0],
            Euclidean(2),
            r"Got a list of length 2\. Turn it into an array with np.asarray",
        ),
        (np.ones(2, int), Euclidean(2), r"dtype int64\. .*convert it with x\.astype\(float64\)"),
        (np.ones(2, bool), Euclidean(2), "Its numbers must be floating ones"),
        (np.ones(2), Euclidean(2, np.float32), r"wider than the space.*astype\(float32\)"),
        (np.ones(2), Euclidean(2, np.complex64), "wider than the space"),
        (np.ones(2, complex), Euclidean(2), r"The space is real: take np.real\(x\)"),
        (True, Euclidean(()), "Got the Python bool True"),
        (1j, Euclidean(()), r"Got the Python complex 1j"),
        (1.5, Euclidean(1), "Got the Python float 1.5"),
        (np.float64(1.0), Euclidean((), np.float32), r"Got the NumPy scalar np.float64\(1.0\)"),
        (None, Euclidean(2), "Got an object of type NoneType"),
        (np.ma.masked_array(np.ones(2), [True, False]), Euclidean(2), "masks of its own"),
    ],
)
def test_what_is_no_element(value, space, message):
    assert not space.contains(value)
    with pytest.raises(MembershipError, match=f"tangent must be an element of .*{message}"):
        space.check(value, "tangent")


def test_narrower_arrays_are_elements():
    assert Euclidean(2).contains(np.ones(2, np.float32))
    assert Euclidean(2, np.complex64).contains(np.ones(2, np.float32))


@pytest.mark.parametrize("dtype", [int, bool, object, "no dtype", "U3"])
def test_dtype_must_be_a_floating_one(dtype):
    with pytest.raises(ArgumentTypeError, match="needs a real or complex floating dtype"):
        Euclidean(2, dtype)


def test_shape_must_be_one():
    with pytest.raises(ArgumentTypeError, match="shape must be an integer or a tuple"):
        Euclidean(2.5)
    with pytest.raises(ArgumentError, match="shape must not be negative"):
        Euclidean((2, -1))


def test_repr():
    assert repr(Euclidean(3)) == "Euclidean((3,))"
    assert repr(Euclidean((), np.complex64)) == "Euclidean((), complex64)"


def test_components_are_checked():
    with pytest.raises(MembershipError, match=r"components must be an element of Euclidean"):
        Euclidean(2).covector(np.ones(3))
    with pytest.raises(MembershipError, match="components must be"):
        Euclidean(2).restrict([1.0, 2.0])
