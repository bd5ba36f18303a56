"""A function of PyTorch's within NumPy code, with PyTorch's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.calculus.arguments import check_callable
from adjoint.interop.foreign import ForeignPrimitive, Function
from adjoint.interop.torch_library import to_numpy, to_torch, torch_module


def from_torch(function: Callable[..., Any], *, result: Any = None) -> Callable[..., Any]:
    """A function of PyTorch's as one of NumPy's arrays, with its derivatives.

    It runs as it is, on tensors with the numbers of its arguments; all modes of any order, and
    `ad.vmap`, ask PyTorch (`torch.func.jvp`, `vjp`, `vmap`). Capture does not enter it.

    Arguments and results may be trees. Arrays and floating-point numbers among the positional
    arguments are operands; anything else, and every keyword argument, is static and must be
    hashable.

    Args:
        function: PyTorch code without side effects, such as a module. Its parameters are constants.
        result: the type of the result, as `ad.primitive` takes it; needed inside `ad.vmap` where
            PyTorch cannot tell it on tensors without numbers (`device="meta"`).

    Returns:
        The function to call in NumPy code.

    Raises:
        ArgumentTypeError: what is given is no function.
        MissingPackageError: PyTorch is not there.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> import torch  # doctest: +SKIP
        >>> energy = ad.interop.from_torch(lambda x: torch.sum(x**3))  # doctest: +SKIP
        >>> ad.grad(lambda x: 2 * energy(x))(np.array([1.0, 2.0]))  # doctest: +SKIP
        array([ 6., 24.])
    """
    check_callable(function, "interop.from_torch")
    torch_module()
    return ForeignPrimitive(function, _Torch(), result)


class _Torch:
    """PyTorch as a library of functions."""

    name = "PyTorch"

    def compiled(self, function: Function) -> Function:
        def run(*arrays: Any) -> tuple[Any, ...]:
            results = function(*map(to_torch, arrays))
            return tuple(np.array(to_numpy(x)) for x in results)

        return run

    def array(self, value: Any) -> Any:
        return torch_module().as_tensor(value)

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return torch_module().func.jvp(function, tuple(primals), tuple(tangents))[1]

    def pulled(self, function: Function, primals: Sequence[Any], cotangents: Any) -> Any:
        return torch_module().func.vjp(function, *primals)[1](tuple(cotangents))

    def rows(self, function: Function, axes: tuple[int | None, ...]) -> Function:
        if all(axis is None for axis in axes):
            return function
        batched: Function = torch_module().func.vmap(function, in_dims=axes)
        return batched

    def types(self, function: Function, types: Sequence[ArrayType]) -> list[ArrayType] | None:
        module = torch_module()
        given = [
            module.empty(x.shape, dtype=getattr(module, x.dtype.name), device="meta") for x in types
        ]
        try:
            found = function(*given)
        except Exception:  # whatever it does that needs numbers
            return None
        return [array_type(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in found]
