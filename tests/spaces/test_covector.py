"""Covectors: pairing, algebra, and that they never mix with vectors."""

from __future__ import annotations

import pickle

import numpy as np
import optree
import pytest

from adjoint.base import pytrees
from adjoint.base.errors import ArgumentTypeError, MembershipError, SpaceMismatchError
from adjoint.spaces import Covector, Euclidean, Product, Weighted

SPACE = Euclidean(2)
W = SPACE.covector(np.array([1.0, 10.0]))
U = np.array([3.0, 4.0])


def test_natural_pairing_is_the_inner_product_with_the_representative():
    """E.1.30: l[x] = <y, x>, under any inner product."""
    for space in (SPACE, Weighted(SPACE, np.array([[2.0, 1.0], [1.0, 2.0]]))):
        w = space.covector(np.array([1.0, 10.0]))
        assert float(w(U)) == 43.0  # no inner product involved
        np.testing.assert_allclose(space.inner(space.represent(w), U), 43.0, rtol=1e-14)


def test_algebra():
    assert list((W + W).components) == [2, 20]
    assert list((W - 2 * W).components) == [-1, -10]
    assert list((-W).components) == [-1, -10]
    assert list((W / 2).components) == [0.5, 5]
    for scalar in (2, 2.0, np.float64(2), np.float32(2), np.int64(2), np.array(2.0)):
        assert list((scalar * W).components) == list((W * scalar).components) == [2, 20]


def test_scalars_do_not_widen():
    w = Euclidean(2, np.float32).covector(np.ones(2, np.float32))
    assert (np.float64(2) * w).components.dtype == np.float32


def test_tangent_and_covector_do_not_add():
    message = r"Tangents \(vectors\) and covectors do not add.*Use space\.represent\(covector\)"
    attempts = [
        lambda: U + W,
        lambda: W + U,
        lambda: U - W,
        lambda: W - U,
        lambda: 1.0 + W,
        lambda: W + 1.0,
        lambda: 1.0 - W,
        lambda: np.float64(1) + W,
        lambda: np.add(U, W),
    ]
    for attempt in attempts:
        with pytest.raises(SpaceMismatchError, match=message):
            attempt()


def test_numpy_functions_refuse_covectors():
    attempts = [
        (lambda: np.sin(W), "np.sin"),
        (lambda: np.sum(W), "np.sum"),
        (lambda: np.dot(U, W), "np.dot"),
        (lambda: np.asarray(W), "np.asarray"),
        (lambda: U @ W, "np.matmul"),
        (lambda: np.add.reduce(W), "np.add"),
    ]
    for attempt, name in attempts:
        with pytest.raises(
            SpaceMismatchError, match=r"functional and no array|do not add"
        ) as caught:
            attempt()
        assert "Covector on Euclidean" in str(caught.value)
        assert name in str(caught.value)
    with pytest.raises(TypeError):
        float(W)


def test_covectors_on_different_spaces_do_not_add():
    other = Weighted(SPACE, 2.0).covector(np.ones(2))
    with pytest.raises(SpaceMismatchError, match=r"two covectors on the same space.*map\.T"):
        W + other
    with pytest.raises(SpaceMismatchError, match="two covectors on the same space"):
        W - other


@pytest.mark.parametrize("factor", [1j, np.complex128(1), True, "2", U, None])
def test_factors_must_be_real_scalars(factor):
    with pytest.raises(ArgumentTypeError, match="real scalar factors only"):
        W * factor
    with pytest.raises(ArgumentTypeError, match="real scalar factors only"):
        W / factor


def test_arrays_times_covectors_are_refused():
    with pytest.raises(ArgumentTypeError, match="real scalar factors only"):
        U * W


def test_pairing_checks_its_argument():
    with pytest.raises(MembershipError, match=r"u must be an element of Euclidean\(\(2,\)\)"):
        W(np.ones(3))
    with pytest.raises(SpaceMismatchError, match="A covector is not a vector"):
        W(W)


def test_immutable():
    with pytest.raises(AttributeError, match="a Covector is immutable: 'components'"):
        W.components = U
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del W.space


def test_repr_and_pickle():
    assert repr(W) == "Covector(Euclidean((2,)), array([ 1., 10.]))"
    again = pickle.loads(pickle.dumps(W))
    assert again.space == SPACE
    assert np.array_equal(again.components, W.components)


def test_is_a_pytree_node():
    leaves, treedef = pytrees.flatten({"w": W})
    assert list(leaves[0]) == [1, 10]
    again = pytrees.unflatten(treedef, [leaf * 2 for leaf in leaves])["w"]
    assert isinstance(again, Covector)
    assert again.space == SPACE
    assert float(again(U)) == 86.0
    assert optree.tree_structure(W, namespace="adjoint") == optree.tree_structure(
        W * 3, namespace="adjoint"
    )


def test_covectors_on_products_have_trees_of_components():
    space = Product({"a": Euclidean(2), "b": Euclidean(())})
    w = space.covector({"a": np.array([1.0, 2.0]), "b": 3.0})
    doubled = w + w
    assert float(doubled({"a": np.ones(2), "b": 1.0})) == 12.0
    assert (-w).components["b"] == -3.0


def test_a_covector_has_no_entries() -> None:
    covector = Euclidean(3).riesz(np.ones(3))
    for ask in (lambda: covector[0], lambda: list(covector), lambda: covector[1:]):
        with pytest.raises(ArgumentTypeError, match=r"has no entries: .*\.components"):
            ask()
