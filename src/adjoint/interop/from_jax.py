"""A function of JAX's within NumPy code, with JAX's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.calculus.arguments import check_callable
from adjoint.executors.xla import backend
from adjoint.interop.foreign import ForeignPrimitive, Function


def from_jax(function: Callable[..., Any], *, result: Any = None) -> Callable[..., Any]:
    """A function of JAX's as one of NumPy's arrays, with its derivatives.

    It is compiled by `jax.jit` and runs in double precision where its arguments are, whatever JAX's
    own switch says. All modes of any order, and `ad.vmap`, ask JAX (`jax.jvp`, `jax.vjp`,
    `jax.vmap`); capture does not enter it.

    Arguments and results may be trees. Arrays and floating-point numbers among the positional
    arguments are operands; anything else, and every keyword argument, is static and must be
    hashable.

    Args:
        function: JAX code that `jax.jit` takes, without side effects.
        result: the type of the result, as `ad.primitive` takes it; it is hardly needed, since JAX
            tells it.

    Returns:
        The function to call in NumPy code.

    Raises:
        ArgumentTypeError: what is given is no function.
        XlaUnavailableError: JAX is not there, or is of a version that is wrong.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import jax.numpy as jnp  # doctest: +SKIP
        >>> energy = ad.interop.from_jax(lambda x: jnp.sum(x**3))  # doctest: +SKIP
        >>> ad.grad(lambda x: 2 * energy(x))(np.array([1.0, 2.0]))  # doctest: +SKIP
        array([ 6., 24.])
    """
    check_callable(function, "interop.from_jax")
    backend.jax()
    return ForeignPrimitive(function, _Jax(), result)


class _Jax:
    """JAX as a library of functions."""

    name = "JAX"

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

    def rows(self, function: Function, axes: tuple[int | None, ...]) -> Function:
        batched: Function = backend.jax().vmap(function, in_axes=axes)
        return batched

    def types(self, function: Function, types: Sequence[ArrayType]) -> list[ArrayType]:
        module = backend.jax()
        with backend.in_double_precision():
            given = [module.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak) for x in types]
            found = module.eval_shape(function, *given)
        return [array_type(x.shape, x.dtype) for x in found]
