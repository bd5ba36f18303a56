"""Contraction by named indices (Table T.1.2)."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    SpaceMismatchError,
    VarianceError,
)
from adjoint.spaces import Euclidean
from adjoint.tensors import Tensor, contract, inner_product

X, Y = Euclidean(3), Euclidean(2)
GENERATOR = np.random.default_rng(0)
A = Tensor(GENERATOR.standard_normal((2, 3)), (Y,), (X,))
B = Tensor(GENERATOR.standard_normal((3, 2)), (X,), (Y,))
T = Tensor(GENERATOR.standard_normal((3, 2, 3, 3)), (X, Y), (X, X))


def test_contractions_are_those_of_einsum():
    found = contract("i -> k; k -> j = i -> j", A, B)
    np.testing.assert_allclose(found.components, B.components @ A.components)
    assert (found.outputs, found.inputs) == ((X,), (X,))
    found = contract("i j -> k l; l -> i", T, B)
    np.testing.assert_allclose(
        found.components, np.einsum("klij,il->kj", T.components, B.components)
    )
    assert (found.outputs, found.inputs) == ((X,), (X,))
    found = contract("a b -> c d; x -> y = b x a -> d y c", T, A)
    assert found.outputs == (Y, Y, X)
    np.testing.assert_allclose(
        found.components, np.einsum("cdab,yx->dycbxa", T.components, A.components)
    )
    np.testing.assert_allclose(
        contract("i -> k; k -> i", A, B), np.trace(A.components @ B.components)
    )
    np.testing.assert_allclose(contract("i -> i", A @ B), (A @ B).trace())


def test_it_agrees_with_the_methods():
    np.testing.assert_allclose(
        contract("x -> y; i j -> k l", A, T).components, A.product(T).components
    )
    np.testing.assert_allclose(
        contract("j k -> i l = k j -> l i", T).components,
        T.permuted((1, 0), (1, 0)).components,
    )
    x = X.random(1)
    np.testing.assert_allclose(contract("i -> j; -> i", A, ad.tensors.ket(x)).components, A(x))


def test_variance_is_checked():
    W = inner_product(X)
    covector = Tensor(np.ones(3), inputs=(X,))
    with pytest.raises(VarianceError, match=r"joins two inputs .* raised\(\)"):
        contract("i j ->; i ->", W, covector)
    with pytest.raises(VarianceError, match=r"joins two outputs .* lowered\(\)"):
        contract("-> i; -> i", ad.tensors.ket(np.ones(3)), ad.tensors.ket(np.ones(3)))
    np.testing.assert_allclose(contract("i j ->; -> i", W, covector.raised()).components, 1.0)


def test_faults():
    with pytest.raises(SpaceMismatchError, match="Only indices over one space"):
        contract("i -> k; k -> j", A, A)
    with pytest.raises(SpaceMismatchError, match="in one basis"):
        contract("i -> k; k -> j", A, B.change_of_basis({Y: 2 * np.eye(2)}))
    with pytest.raises(ArgumentError, match="occurs 3 times"):
        contract("i -> i; i -> j", A @ B, B)
    with pytest.raises(ArgumentError, match="is one of 1 tensors"):
        contract("i -> j", A, B)
    with pytest.raises(ArgumentError, match="written inputs -> outputs"):
        contract("i j", A)
    with pytest.raises(ArgumentError, match="A pattern of type"):
        contract("i j -> k", A)
    with pytest.raises(ArgumentError, match="It may only reorder"):
        contract("i -> j = j -> i", A)
    with pytest.raises(ArgumentTypeError, match="contract takes tensors"):
        contract("i -> j", np.ones((2, 2)))
    with pytest.raises(ArgumentTypeError, match="takes a pattern first"):
        contract(A, B)
    with pytest.raises(ArgumentError, match="1 batch axes"):
        contract("-> i", Tensor(np.ones((4, 3)), (X,), batch=1))
    many = Tensor(np.ones((1,) * 30), (Euclidean(1),) * 30)
    names = [" ".join(f"{letter}{number}" for number in range(30)) for letter in "ab"]
    with pytest.raises(ArgumentError, match="52 indices"):
        contract(f"-> {names[0]}; -> {names[1]}", many, many)
