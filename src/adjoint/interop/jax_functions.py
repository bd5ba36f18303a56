"""A function of JAX's within NumPy code, with JAX's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.executors.xla import backend
from adjoint.interop.foreign import ForeignPrimitive, Function


def primitive(function: Callable[..., Any], result: Any) -> Callable[..., Any]:
    """The function of NumPy's arrays; see `front.from_jax`."""
    backend.jax()
    return ForeignPrimitive(function, _Jax(), result)


class _Jax:
    """JAX as a library of functions."""

    name = "JAX"
    keeps_state = False  # `jax.jit` keeps what it has seen

    def compiled(self, function: Function) -> Function:
        jitted = backend.jax().jit(function)

        def run(*arrays: Any) -> tuple[Any, ...]:
            backend.jax()  # which refuses in a child of a process that has started XLA
            with backend.in_double_precision():
                return tuple(np.array(x) for x in jitted(*arrays))

        return run

    def array(self, value: Any) -> Any:
        return import_module("jax.numpy").asarray(value)

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return backend.jax().jvp(function, tuple(primals), tuple(tangents))[1]

    def pulled(self, function: Function, primals: Sequence[Any], cotangents: Any) -> Any:
        # JAX pairs complex numbers by sum(a b).
        back = backend.jax().vjp(function, *primals)[1]
        return [x.conj() for x in back(tuple(x.conj() for x in cotangents))]

    def without_draws(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()  # a key gives the same numbers each time

    def rows(self, function: Function, axes: tuple[int | None, ...]) -> Function:
        batched: Function = backend.jax().vmap(function, in_axes=axes)
        return batched

    def types(self, function: Function, types: Sequence[ArrayType]) -> list[ArrayType]:
        module = backend.jax()
        with backend.in_double_precision():
            given = [module.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak) for x in types]
            results = module.eval_shape(function, *given)
        return [array_type(x.shape, x.dtype) for x in results]
