"""User code with types, as mypy and pyright read it; mypy checks it with the sources.

A comment that ignores an error says that there is one: mypy reports those that are not needed.
"""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import adjoint as ad

Array = npt.NDArray[np.float64]

X: Array = np.array([1.0, 2.0])


def loss(x: Array, scale: float = 1.0, *, shift: float = 0.0) -> float:
    """A number."""
    return float(scale * np.sum(x**2) + shift)


def square(t: float) -> float:
    return t * t


def squares(x: Array) -> Array:
    return x * x


def of_tree(p: dict[str, Array]) -> float:
    return float(np.sum(p["w"]))


def with_note(x: Array) -> tuple[float, dict[str, int]]:
    return float(np.sum(x)), {"n": 3}


def pair(x: Any) -> tuple[float, dict[str, Any]]:
    return float(np.sum(x)), {"n": 3}


def with_anything(x: Array) -> tuple[float, dict[str, Any]]:
    return pair(x)


def untold(x: Any) -> Any:
    return pair(x)


def gradients() -> None:
    assert_type(ad.grad(loss)(X), Array)
    assert_type(ad.grad(loss)(X, 2.0, shift=1.0), Array)
    assert_type(ad.grad(square)(2.0), float)
    slope_of = ad.grad(square)
    assert_type(ad.grad(slope_of)(2.0), float)
    assert_type(ad.grad(of_tree)({"w": X}), dict[str, Array])
    assert_type(ad.grad(with_note, has_aux=True)(X), tuple[Array, dict[str, int]])
    assert_type(ad.grad(loss, argnums=(0, 1))(X, 2.0), Any)
    assert_type(ad.value_and_grad(loss)(X), tuple[float, Array])
    value, slope = ad.value_and_grad(with_note, has_aux=True)(X)
    assert_type(value, tuple[float, dict[str, int]])
    assert_type(slope, Array)
    assert_type(ad.grad(pair, has_aux=True)(X), tuple[Any, dict[str, Any]])
    assert_type(ad.grad(with_anything, has_aux=True)(X), tuple[Array, dict[str, Any]])
    assert_type(
        ad.value_and_grad(with_anything, has_aux=True)(X),
        tuple[tuple[float, dict[str, Any]], Array],
    )
    ad.value_and_grad(pair, has_aux=True)(X)
    ad.value_and_grad(untold, has_aux=True)(X)
    ad.grad(untold, has_aux=bool(X.size))(X)
    ad.grad(pair, (0,), has_aux=True)(X)
    ad.grad(lambda x: np.sum(x**2))(X)
    ad.grad(lambda x, y: np.sum(x**2) * y)(X, 3.0)
    ad.grad(lambda p: p["w"] ** 2)({"w": 2.0, "n": 3})


def other_transforms() -> None:
    ad.jacobian(squares)(X)
    ad.hessian(loss)(X, scale=2.0)
    assert_type(ad.jit(loss)(x=X, scale=2.0), float)
    assert_type(ad.jit(ad.grad(loss))(X, 2.0), Array)
    assert_type(ad.jit(paths=8)(loss)(X), float)
    assert_type(ad.checkpoint(squares)(X), Array)
    assert_type(ad.jvp(squares, (X,), (X,)), tuple[Array, Array])
    assert_type(ad.jvp(with_note, (X,), (X,), has_aux=True), tuple[float, float, dict[str, int]])
    assert_type(ad.vjp(squares, X)[0], Array)
    assert_type(ad.vjp(squares, X)[1](X), tuple[Array])
    assert_type(ad.hvp(loss, X, X), Array)
    assert_type(ad.linearize(squares, X), tuple[Array, ad.LinearMap])
    assert_type(ad.derivative(squares, X), ad.LinearMap)
    assert_type(ad.taylor(square, 1.0, 1.0, 2), tuple[float, ...])
    assert_type(ad.stop_gradient(X), Array)
    assert_type(ad.cond(X[0] > 0, squares, ad.jit(squares), X), Array)
    assert_type(ad.differential(loss, X), ad.Covector)


@ad.jit
def decorated(x: Array) -> float:
    return float(np.sum(x))


@ad.jit(paths=2)
def decorated_with_paths(x: Array) -> float:
    return float(np.sum(x))


@ad.primitive
def outside(x: float, power: int = 2) -> float:
    return x**power


@outside.jvp
def _rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    return outside(primals[0]), 2 * primals[0] * tangents[0]


def decorators() -> None:
    assert_type(decorated(X), float)
    assert_type(decorated_with_paths(X), float)
    assert_type(outside(3.0), float)
    assert_type(ad.grad(outside)(3.0), float)


def settings() -> None:
    with ad.config(kink=0.0, native=False, enter=["package"]):
        pass


def wrong_uses() -> None:
    """What must be an error; none of it is run."""
    ad.config(knk=0.0)  # type: ignore[call-arg]
    ad.config(kink="left")  # type: ignore[arg-type]
    ad.jacobian(squares, mode="forwards")  # type: ignore[arg-type]
    ad.hessian(loss, composition="forward")  # type: ignore[arg-type]
    ad.grad(loss)("text")  # type: ignore[arg-type]
    ad.grad(loss)(X, factor=2.0)  # type: ignore[call-arg]
    ad.grad(3.0)  # type: ignore[call-overload]
    ad.value_and_grad(loss)(X)[2]  # type: ignore[misc]
    ad.jit(loss)(X, "text")  # type: ignore[arg-type]
    ad.jit(loss, path=8)  # type: ignore[call-overload]
    ad.jvp(squares, X)  # type: ignore[call-overload]
    ad.hvp(loss)  # type: ignore[call-arg]
    ad.checkpoint(loss)(X, sclae=2.0)  # type: ignore[call-arg]
    ad.gradd(loss)  # type: ignore[attr-defined]
    outside("text")  # type: ignore[arg-type]
