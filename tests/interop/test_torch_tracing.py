"""NumPy functions in what PyTorch writes of a program: graphs, files, loops over a batch."""

from __future__ import annotations

import gc
import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, UnknownResultError
from adjoint.interop import torch_operator

torch = pytest.importorskip("torch", reason="bridges to PyTorch are not tested: it is no package")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),  # of linearize
    pytest.mark.filterwarnings("ignore:.*:DeprecationWarning:torch"),
]

X = np.array([0.3, 0.5, 1.2])
ELSEWHERE = X[::-1] + 1.0


def tensor(x: Any, grad: bool = False) -> Any:
    return torch.tensor(x, requires_grad=grad)


def sine(library: Any) -> Callable[..., Any]:
    return lambda x: library.sum(library.sin(x * x) ** 3)


def ask(x: Any) -> Any:
    return np.sum(x**2) if x[0] > 0.5 else np.sum(3.0 * x)


# --- graphs ---------------------------------------------------------------------------------------


def make_fx(mode: str) -> Callable[..., Any]:
    made = import_module("torch.fx.experimental.proxy_tensor").make_fx
    return lambda function: made(function, tracing_mode=mode)(tensor(X))


GRAPHS: dict[str, Callable[..., Any]] = {
    "real": make_fx("real"),
    "fake": make_fx("fake"),
    "symbolic": make_fx("symbolic"),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("transform", ["value", "gradient", "hessian", "tangent"])
def test_a_graph_calls_the_function_again(graph: str, transform: str) -> None:
    """It holds no numbers of the point that it was written at."""
    transforms: dict[str, Any] = {
        "value": lambda f: f,
        "gradient": torch.func.grad,
        "hessian": torch.func.hessian,
        "tangent": lambda f: lambda x: torch.func.jvp(f, (x,), (2.0 * x,))[1],
    }
    ours, theirs = (transforms[transform](f) for f in (ad.interop.torch(sine(np)), sine(torch)))
    written = GRAPHS[graph](ours)
    gc.collect()
    for point in (X, ELSEWHERE):
        np.testing.assert_allclose(written(tensor(point)), theirs(tensor(point)), rtol=1e-10)


def test_linearize_is_a_map_of_tangents() -> None:
    value, push = torch.func.linearize(ad.interop.torch(sine(np)), tensor(X))
    expected, other = torch.func.linearize(sine(torch), tensor(X))
    np.testing.assert_allclose(value, expected)
    for tangent in (X, ELSEWHERE):
        np.testing.assert_allclose(push(tensor(tangent)), other(tensor(tangent)), rtol=1e-10)


def test_an_exported_module_runs_and_says_when_it_cannot() -> None:
    ours = ad.interop.torch(lambda x: {"a": np.sin(x), "b": x[0]})

    class Module(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            found = ours(2.0 * x)
            return found["a"] * found["b"]

    program = torch.export.export(Module(), (tensor(X),))
    expected = np.sin(2 * ELSEWHERE) * 2 * ELSEWHERE[0]
    np.testing.assert_allclose(program.module()(tensor(ELSEWHERE)), expected)
    file = io.BytesIO()
    torch.export.save(program, file)
    text = str(program)
    assert torch_operator._PROCESS in text
    with pytest.raises(ArgumentError, match="written in another process"):
        torch_operator._work("another process/1")


def test_a_graph_of_a_function_that_asks_for_values_is_refused() -> None:
    with pytest.raises(UnknownResultError, match="asks for a value"):
        make_fx("fake")(ad.interop.torch(ask))


def test_functions_are_let_go() -> None:
    ours = ad.interop.torch(sine(np))
    x = tensor(X, True)
    ours(x).backward()
    before = len(torch_operator._WORKS)
    for _ in range(5):
        ours(x).backward()
    gc.collect()
    assert len(torch_operator._WORKS) <= before


# --- code that is compiled ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor:UserWarning")  # its own look
@pytest.mark.parametrize("function", [sine(np), ask])
def test_compiled_code_goes_around(function: Callable[..., Any]) -> None:
    import_module("torch._dynamo").reset()
    ours = ad.interop.torch(function)
    step = torch.compile(lambda x: 2.0 * ours(x * x), backend="eager")
    slope = ad.grad(lambda x: 2.0 * function(x * x))
    for point in (X, ELSEWHERE, X):
        x = tensor(point, True)
        step(x).backward()
        np.testing.assert_allclose(x.grad, slope(point), rtol=1e-10)


def test_compiled_code_in_one_piece_is_refused() -> None:
    dynamo = import_module("torch._dynamo")
    dynamo.reset()
    step = torch.compile(ad.interop.torch(sine(np)), backend="eager", fullgraph=True)
    with pytest.raises(dynamo.exc.Unsupported):
        step(tensor(X))


# --- gradients in a batch -------------------------------------------------------------------------


def test_many_cotangents_at_once() -> None:
    ours = ad.interop.torch(lambda x: np.sin(x) * np.sum(x))
    x = tensor(X, True)
    (rows,) = torch.autograd.grad(
        ours(x), x, torch.eye(3, dtype=torch.float64), is_grads_batched=True
    )
    np.testing.assert_allclose(rows, ad.jacobian(lambda x: np.sin(x) * np.sum(x))(X), rtol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_jacobians_in_a_batch(strategy: str) -> None:
    x = tensor(X)
    found, expected = (
        torch.autograd.functional.jacobian(f, x, vectorize=True, strategy=strategy)
        for f in (
            ad.interop.torch(lambda x: np.sin(x) * np.sum(x)),
            lambda x: torch.sin(x) * torch.sum(x),
        )
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_hessians_in_a_batch(strategy: str) -> None:
    found, expected = (
        torch.autograd.functional.hessian(
            f, tensor(X), vectorize=True, outer_jacobian_strategy=strategy
        )
        for f in (ad.interop.torch(sine(np)), sine(torch))
    )
    np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-10)
