"""NumPy functions in PyTorch and PyTorch's in NumPy code, by PyTorch's own checks."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import (
    ArgumentTypeError,
    DTypeError,
    MissingPackageError,
    UnsupportedFunctionError,
    ValueNeededError,
)
from adjoint.interop.torch_library import torch_module
from tests.interop.foreign import (
    ENTERED,
    TRANSFORMS,
    Scaled,
    X,
    Y,
    assert_same,
    check_complex,
    curve,
    energy,
    entered_functions,
    pair,
)

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
    assert gradcheck(ours, given, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(ours, given, check_fwd_over_rev=True, check_batched_grad=True)


LAYOUTS = {
    "turned": lambda: torch.randn(4, 3, dtype=torch.float64).T,
    "every other": lambda: torch.randn(8, dtype=torch.float64)[::2],
    "a number": lambda: tensor(X[0]),
    "none": lambda: torch.zeros(0, dtype=torch.float64),
    "a part": lambda: torch.randn(3, dtype=torch.complex128).imag,
    "conjugate": lambda: torch.randn(3, dtype=torch.complex128).conj(),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_tensors(layout: str) -> None:
    torch.manual_seed(5)
    x = LAYOUTS[layout]().requires_grad_()
    ours = ad.interop.torch(lambda x: (np.sin(x) * np.sum(x * x), x[..., ::-1] if x.ndim else x))
    assert gradcheck(ours, (x,), check_forward_ad=True)
    assert gradgradcheck(ours, (x,))


def test_several_tensors_of_which_some_move() -> None:
    ours = ad.interop.torch(lambda x, y, n: (np.sum(x * y) * n, n + 1, x**n))
    x, y, n = tensor(X), torch.tensor(Y, dtype=torch.float32, requires_grad=True), torch.tensor(3)
    total, following, cubes = ours(x, y, n)
    assert (following.item(), following.requires_grad) == (4, False)
    (slope,) = torch.autograd.grad(total, y, retain_graph=True)  # of one result alone
    assert slope.dtype == torch.float32
    np.testing.assert_allclose(slope, 3 * X, rtol=1e-6)
    assert not cubes.requires_grad or not torch.any(torch.autograd.grad(cubes.sum(), y)[0])


def test_real_and_complex_tensors_beside_each_other() -> None:
    ours = ad.interop.torch(lambda x, z: np.exp(1j * x) * z)
    given = (tensor(X, True), tensor(Y + 1j * X, True))
    assert gradcheck(ours, given, check_forward_ad=True)
    assert gradgradcheck(ours, given)


@pytest.mark.parametrize("name", ["float16", "float32", "complex64"])
def test_results_have_numpys_dtypes(name: str) -> None:
    x = torch.tensor(X, dtype=getattr(torch, name), requires_grad=True)
    result = ad.interop.torch(lambda x: np.sum(np.abs(np.sin(x))))(x)
    result.backward()
    assert result.dtype == torch.abs(torch.sin(x)).sum().dtype
    assert x.grad.dtype == x.dtype


def test_what_is_written_after_a_call_is_noticed() -> None:
    ours = ad.interop.torch(lambda x: np.sum(np.sin(x)))
    x = tensor(X, True) * 1.0
    total = ours(x)
    x.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_without_gradients_nothing_is_kept() -> None:
    ours = ad.interop.torch(lambda x: np.sum(np.sin(x)))
    with torch.no_grad():
        assert not ours(tensor(X, True)).requires_grad
    with torch.inference_mode():
        assert ours(tensor(X)).item() == pytest.approx(np.sum(np.sin(X)))


def test_a_checkpoint_runs_it_twice() -> None:
    calls = []

    def counted(x: Any) -> Any:
        calls.append(None)
        return np.sum(np.sin(x) ** 2)

    x = tensor(X, True)
    checkpoint = import_module("torch.utils.checkpoint").checkpoint
    checkpoint(ad.interop.torch(counted), x, use_reentrant=False).backward()
    assert len(calls) >= 2
    np.testing.assert_allclose(x.grad, np.sin(2 * X))


def test_arguments_that_are_no_tensors_are_told_apart() -> None:
    """Those of an earlier call do not count, be they equal to these."""
    ours = ad.interop.torch(lambda x, kind: np.copysign(x, kind) if kind != 7 else x + kind)
    x = tensor(X, True)
    for kind, slope in ((0.0, 1), (-0.0, -1), (True, 1), (1, 1), (7, 1), (7.0, 1), (0.0, 1)):
        (found,) = torch.autograd.grad(ours(x, kind).sum(), x)
        assert found.tolist() == [slope] * 3, kind
    for scale in (np.ones(3), np.zeros(3)):  # which cannot be keys
        result = ad.interop.torch(lambda x, scale: x * scale)(x, scale)
        np.testing.assert_array_equal(torch.autograd.grad(result.sum(), x)[0], scale)


@pytest.mark.parametrize("kind", ENTERED)
def test_functions_are_entered_and_their_state_is_that_of_the_call(kind: str) -> None:
    scaled = Scaled(1.0)
    ours = ad.interop.torch(entered_functions(scaled)[kind])
    x, rows = tensor(X, True), np.stack([X, Y])
    one = lambda x: ours(x).sum()  # noqa: E731
    for scale in (2.0, 3.0, 3.0, 2.0):
        scaled.scale = scale
        (slope,) = torch.autograd.grad(one(x), x)
        slopes = [
            (slope, scale * np.cos(X)),
            (torch.func.jacfwd(ours)(x.detach()), np.diag(scale * np.cos(X))),
            (torch.func.hessian(one)(x.detach()), np.diag(-scale * np.sin(X))),
            (torch.func.vmap(ours)(tensor(rows)), scale * np.sin(rows)),
            (torch.func.vmap(torch.func.grad(one))(tensor(rows)), scale * np.cos(rows)),
        ]
        for found, expected in slopes:
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 30, 60, 61, 64, 130])
def test_any_number_of_tensors(count: int) -> None:
    """More than an operator of PyTorch's has arguments, and results."""
    ours = ad.interop.torch(lambda parts: [np.sin(part) for part in parts])
    parts = [tensor(X[:2] + place, True) for place in range(count)]
    total = sum((part**2).sum() for part in ours(parts))
    slopes = torch.autograd.grad(total, parts, create_graph=True)
    expected = [torch.sin(2 * part).detach() for part in parts]
    np.testing.assert_allclose(np.stack([x.detach() for x in slopes]), np.stack(expected))
    second = torch.autograd.grad(sum(map(torch.sum, slopes)), parts)
    expected = [2 * torch.cos(2 * part).detach() for part in parts]
    np.testing.assert_allclose(np.stack(second), np.stack(expected))
    rows = [torch.stack([part.detach(), part.detach() + 1]) for part in parts]
    for row, found in zip(rows, torch.func.vmap(ours)(rows), strict=True):
        np.testing.assert_allclose(found, torch.sin(row))


def test_random_numbers_of_a_value_are_not_drawn_again() -> None:
    generator = np.random.default_rng(0)
    ours = ad.interop.torch(lambda x: np.sum((generator.random(3) > 0.5) * x))
    x = tensor(X, True)
    for _ in range(2):
        total = ours(x)  # the value alone is fine
        with pytest.raises(UnsupportedFunctionError, match="draws random numbers"):
            total.backward()
    with pytest.raises(UnsupportedFunctionError, match="draws random numbers"):
        torch.func.jvp(ours, (tensor(X),), (tensor(X),))
    seeded = ad.interop.torch(lambda x: np.sum(np.random.default_rng(5).random(3) * x))
    for _ in range(3):
        (slope,) = torch.autograd.grad(seeded(x), x)
        np.testing.assert_array_equal(slope, np.random.default_rng(5).random(3))


def test_a_jitted_function_of_rows() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(23, 3)), random.normal(size=23)
    rows = ad.rows(x, chunk=5), ad.rows(y, chunk=4)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return np.mean((np.tanh(x @ w) - y) ** 2)

    ours, w = ad.interop.torch(ad.jit(lambda w: loss(w, *rows))), tensor(X, True)
    (slope,) = torch.autograd.grad(ours(w), w)
    np.testing.assert_allclose(slope, ad.grad(loss)(X, x, y))
    hessian = torch.func.hessian(ours)(tensor(X))
    np.testing.assert_allclose(hessian, ad.hessian(loss)(X, x, y), rtol=1e-10)


def test_results_that_are_constants() -> None:
    ours = ad.interop.torch(lambda x: (np.ones(2), 2.5, 1j, 3, True, None, np.sum(x)))
    x = tensor(X, True)
    ones, number, imaginary, count, flag, nothing, total = ours(x)
    assert (number.item(), imaginary.item(), count.item(), flag.item()) == (2.5, 1j, 3, True)
    assert nothing is None
    whole = total * number + ones.sum() + imaginary.abs()
    (slope,) = torch.autograd.grad(whole, x)
    assert slope.tolist() == [2.5] * 3
    rows = torch.func.vmap(lambda x: ours(x)[1] * ours(x)[-1])(tensor(np.stack([X, X])))
    np.testing.assert_allclose(rows, [2.5 * np.sum(X)] * 2)


def test_rows_with_results_of_several_structures_are_refused() -> None:
    ours = ad.interop.torch(lambda x: {"a": x} if x[0] > 0 else {"b": x})
    with pytest.raises(ArgumentTypeError, match="results of one structure"):
        torch.func.vmap(ours)(torch.tensor([[1.0], [-1.0]]))


def test_threads_that_meet_a_number_of_operands_at_once() -> None:
    together = threading.Barrier(6)
    ours = ad.interop.torch(lambda *xs: sum(map(np.sum, xs)))

    def total(count: int) -> Any:
        together.wait()
        return ours(*tensors[:count]).item()

    tensors = [tensor(X) for _ in range(50)]
    for count in range(20, 50):
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(total, [count] * 6))
        np.testing.assert_allclose(found, count * np.sum(X))


def test_threads_at_once() -> None:
    ours = ad.interop.torch(lambda x: {"a": np.sum(np.sin(x) ** 2)} if x[0] > 0.0 else np.sum(x))

    def slope(number: int) -> Any:
        x = torch.tensor([float(number) - 4.5, 1.0], requires_grad=True)
        result = ours(x)
        (result["a"] if isinstance(result, dict) else result).backward()
        return x.grad[0].item()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(slope, range(20)))
    numbers = np.arange(20) - 4.5
    np.testing.assert_allclose(found, np.where(numbers > 0, np.sin(2 * numbers), 1.0), rtol=1e-4)


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


def test_a_module_that_learns_between_calls() -> None:
    """Also where it is given constants, which capture computes with."""
    layer = torch.nn.Linear(3, 3, dtype=torch.float64)
    call = ad.interop.from_torch(layer)
    functions = [
        (ad.grad(lambda x: np.sum(call(Y) * x)), lambda: call(Y)),
        (ad.jit(ad.grad(lambda x: np.sum(call(Y) * x))), lambda: call(Y)),
        (ad.jit(lambda x: call(Y) * x), lambda: call(Y) * X),
        (ad.jit(ad.grad(lambda x: np.sum(call(x)))), lambda: np.sum(layer.weight.tolist(), axis=0)),
    ]
    for _ in range(6):
        with torch.no_grad():
            layer.weight.add_(1.0)
        for function, expected in functions:
            np.testing.assert_allclose(function(X), expected(), rtol=1e-12)


def test_a_derivative_at_other_random_numbers_than_the_values_is_refused() -> None:
    dropout = torch.nn.Dropout(0.5)
    calls = ad.interop.from_torch(dropout), ad.interop.from_torch(lambda x: x * torch.rand(3))
    for call in calls:
        slope = ad.grad(lambda x, call=call: np.sum(call(x) ** 2))
        with pytest.raises(UnsupportedFunctionError, match="draws random numbers"):
            slope(X)
        with pytest.raises(UnsupportedFunctionError, match="draws random numbers"):
            ad.jvp(call, (X,), (Y,))
    assert calls[0](X).shape == X.shape  # the value alone is drawn
    dropout.eval()
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(calls[0](x) ** 2))(X), 2 * X)


def test_numbers_of_pythons_keep_their_digits() -> None:
    assert ad.interop.from_torch(lambda x: x.sum().item() / 3)(X) == np.sum(X) / 3
    assert ad.interop.from_torch(lambda x: 1j / 3)(X) == 1j / 3


def test_there_and_back_again() -> None:
    back = ad.interop.from_torch(ad.interop.torch(pair(np)))
    assert_same(ad.grad(energy(back))(X, Y), ad.grad(energy(pair(np)))(X, Y))


def test_a_module_with_its_parameters_as_arrays() -> None:
    layer = torch.nn.Linear(3, 2, dtype=torch.float64)
    call = ad.interop.from_torch(
        lambda parts, x: torch.func.functional_call(layer, parts, (x,)).sum()
    )
    parts = {name: part.detach().numpy() for name, part in layer.named_parameters()}
    slopes = ad.grad(call)(parts, X)
    np.testing.assert_allclose(slopes["weight"], [X, X])
    np.testing.assert_allclose(slopes["bias"], [1.0, 1.0])


@pytest.mark.parametrize("x", [X[::-1], np.stack([X, Y]).T, np.float64(0.3)], ids=str)
def test_layouts_of_arrays(x: Any) -> None:
    ours = ad.interop.from_torch(lambda x: torch.sum(torch.sin(x) * torch.sum(x * x)))
    theirs = lambda x: np.sum(np.sin(x) * np.sum(x * x))  # noqa: E731
    assert_same(ad.grad(ours)(x), ad.grad(theirs)(x))
    assert_same(ad.hessian(ours)(x), ad.hessian(theirs)(x))


def test_places_and_orders_have_no_derivative() -> None:
    ours = ad.interop.from_torch(lambda x, places: torch.sort(x[places]))
    places = np.array([2, 0, 0])
    slope = ad.grad(lambda x: np.sum(ours(x, places)[0] * Y))(X)
    np.testing.assert_allclose(slope, [Y[0] + Y[1], 0.0, Y[2]])


# --- tensors as arrays ----------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "conjugate"])
def test_tensors_are_put_on_devices(layout: str) -> None:
    pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")
    x = LAYOUTS[layout]()
    there = ad.device_put({"x": x}, "cpu")["x"]
    assert type(there) is ad.DeviceArray
    np.testing.assert_array_equal(there, x)
    x.zero_()
    assert not np.any(x.numpy())
    slope = ad.jit(ad.grad(lambda x: np.sum(x**2)))(there)
    np.testing.assert_array_equal(slope, 2 * np.asarray(there))
    if there.ndim:  # numbers are NumPy's
        assert torch.equal(torch.from_dlpack(slope), 2 * torch.from_dlpack(there))


def test_tensors_with_gradients_are_not() -> None:
    pytest.importorskip("jax", reason="XLA is not tested: jax is not installed (extra `xla`)")
    for x in (tensor(X, True), torch.ones(2, dtype=torch.bfloat16)):
        with pytest.raises(ArgumentTypeError, match="NumPy cannot take the Tensor"):
            ad.device_put(x, "cpu")


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
            lambda: ad.interop.torch(np.sin)(torch.eye(2).to_sparse()),
            ArgumentTypeError,
            "sparse_coo of a tensor.*to_dense",
        ),
        (
            lambda: ad.interop.from_torch(lambda x: torch.diag(x).to_sparse())(X),
            ArgumentTypeError,
            "sparse_coo of a tensor.*to_dense",
        ),
        (
            lambda: ad.interop.torch(np.sin)(torch.ones(2, dtype=torch.bfloat16)),
            DTypeError,
            "bfloat16",
        ),
        (
            lambda: ad.interop.torch(np.sin)(torch.ones(2).to(torch.float8_e4m3fn)),
            DTypeError,
            "float8_e4m3fn",
        ),
        (
            lambda: torch.func.vmap(ad.interop.torch(lambda x: x if x[0] > 0 else -x))(
                torch.ones(0, 3)
            ),
            ValueNeededError,
            "value",
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
