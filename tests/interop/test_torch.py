"""NumPy functions in PyTorch and PyTorch's in NumPy code, by PyTorch's own checks."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, DTypeError, MissingPackageError
from adjoint.interop.torch_library import torch_module
from tests.interop.foreign import TRANSFORMS, X, Y, assert_same, check_complex, curve, energy, pair

torch = pytest.importorskip("torch", reason="bridges to PyTorch are not tested: it is no package")
gradcheck, gradgradcheck = (
    getattr(import_module("torch.autograd"), name) for name in ("gradcheck", "gradgradcheck")
)

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")


def tensor(x: Any, grad: bool = False) -> Any:
    return torch.tensor(x, requires_grad=grad)


# --- NumPy functions in PyTorch -------------------------------------------------------------------


def total(function: Any) -> Any:
    def whole(x: Any) -> Any:
        one, two = function(x, tensor(Y))
        return one**2 + torch.sum(two**2)

    return whole


def test_torch_checks_derivatives_of_two_orders() -> None:
    ours = ad.interop.torch(pair(np))
    given = (tensor(X, True), tensor(Y, True))
    assert gradcheck(ours, given, check_forward_ad=True)
    assert gradgradcheck(ours, given)


def test_complex_numbers_by_torchs_convention() -> None:
    ours = ad.interop.torch(curve(np))
    z = tensor(X + 1j * Y, True)
    assert gradcheck(ours, (z,), check_forward_ad=True)
    assert gradgradcheck(ours, (z,))


@pytest.mark.parametrize("outer", ["jacrev", "jacfwd"])
@pytest.mark.parametrize("inner", ["jacrev", "jacfwd"])
def test_hessians_by_all_modes(outer: str, inner: str) -> None:
    def hessian(function: Any) -> Any:
        return getattr(torch.func, outer)(getattr(torch.func, inner)(total(function)))

    found = hessian(ad.interop.torch(pair(np)))(tensor(X))
    np.testing.assert_allclose(found, hessian(pair(torch))(tensor(X)), rtol=1e-10)


def test_batches() -> None:
    rows = torch.stack([tensor(X), tensor(Y)])
    slopes = [
        torch.func.vmap(torch.func.grad(total(function)))(rows)
        for function in (ad.interop.torch(pair(np)), pair(torch))
    ]
    np.testing.assert_allclose(*slopes, rtol=1e-10)


def test_a_batch_of_a_function_that_asks_for_values() -> None:
    ours = ad.interop.torch(lambda x: np.sum(x**2) if x[0] > 0 else np.sum(3 * x))
    rows = torch.tensor([[1.0, 2.0], [-1.0, 2.0]])
    np.testing.assert_allclose(torch.func.vmap(ours)(rows), [5.0, 3.0])
    slopes = torch.func.vmap(torch.func.grad(ours))(rows)
    np.testing.assert_allclose(slopes, [[2.0, 4.0], [3.0, 3.0]])


def test_trees_integers_and_other_leaves() -> None:
    def loss(weights: Any, places: Any, kind: str, *, scale: float) -> Any:
        rows = weights["a"][places]
        return {"loss": scale * np.sum(rows**2), "places": places + 1, kind: rows.dtype.type(1)}

    ours = ad.interop.torch(loss)
    weights = {"a": tensor(np.float32(X), True)}
    found = ours(weights, torch.tensor([0, 2, 2]), "one", scale=3.0)
    assert found["places"].tolist() == [1, 3, 3]
    assert not found["places"].requires_grad
    assert found["loss"].dtype == torch.float32
    found["loss"].backward()
    expected = [6 * X[0], 0, 12 * X[2]]
    np.testing.assert_allclose(weights["a"].grad, expected, rtol=1e-6)


def test_a_module_learns_through_numpy() -> None:
    layer = torch.nn.Linear(3, 2, dtype=torch.float64)
    ours = ad.interop.torch(lambda x: np.sum(np.tanh(x) ** 2))
    ours(layer(tensor(X))).backward()
    expected = torch.autograd.grad(torch.sum(torch.tanh(layer(tensor(X))) ** 2), layer.weight)[0]
    np.testing.assert_allclose(layer.weight.grad, expected, rtol=1e-10)


def test_an_error_of_the_function_is_its_own() -> None:
    def picky(x: Any) -> Any:
        raise ValueError("never right")

    with pytest.raises(ValueError, match="never right"):
        ad.interop.torch(picky)(tensor(X))


def test_a_tensor_is_not_written_into() -> None:
    def careless(x: Any) -> Any:
        x[0] = 7.0
        return np.sum(x)

    x = tensor(X)
    with pytest.raises(ValueError, match="read-only"):
        ad.interop.torch(careless)(x)
    np.testing.assert_array_equal(x, X)


# --- PyTorch's in NumPy code ----------------------------------------------------------------------


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_are_those_of_numpy(name: str) -> None:
    transform = TRANSFORMS[name]
    ours = energy(ad.interop.from_torch(pair(torch)))
    assert_same(transform(ours)(X, Y), transform(energy(pair(np)))(X, Y))


def test_complex_numbers() -> None:
    check_complex(ad.interop.from_torch(curve(torch)))


def test_dtypes_are_kept() -> None:
    scaled = ad.interop.from_torch(lambda x, s: x * s)
    for dtype in (np.float32, np.float64, np.complex64):
        x = np.ones(2, dtype)
        assert scaled(x, 2.0).dtype == dtype
        assert ad.jvp(scaled, (x, 2.0), (x, 1.0))[1].dtype == dtype


def test_a_module_is_a_function() -> None:
    layer = torch.nn.Linear(3, 2, dtype=torch.float64)
    slope = ad.grad(lambda x: np.sum(ad.interop.from_torch(layer)(x) ** 2))(X)
    weight, bias = (part.detach().numpy() for part in (layer.weight, layer.bias))
    np.testing.assert_allclose(slope, 2 * weight.T @ (weight @ X + bias))


def test_there_and_back_again() -> None:
    back = ad.interop.from_torch(ad.interop.torch(pair(np)))
    assert_same(ad.grad(energy(back))(X, Y), ad.grad(energy(pair(np)))(X, Y))


# --- wrong use ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ad.interop.torch(3), ArgumentTypeError, "interop.torch"),
        (lambda: ad.interop.from_torch(3), ArgumentTypeError, "interop.from_torch"),
        (lambda: ad.interop.torch(lambda x: "text")(tensor(X)), ArgumentTypeError, "dtype <U4"),
        (lambda: ad.interop.from_torch(lambda x: "text")(X), ArgumentTypeError, "no array of"),
        (lambda: ad.interop.from_torch(torch.sin)(np.longdouble([1])), DTypeError, "no numbers of"),
        (
            lambda: ad.interop.torch(np.sin)(torch.ones(2, dtype=torch.bfloat16)),
            DTypeError,
            "bfloat16",
        ),
    ],
)
def test_wrong_use_is_named(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPackageError, match="pip install torch"):
        torch_module.__wrapped__()
