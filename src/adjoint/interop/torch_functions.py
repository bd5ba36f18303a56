"""A function of PyTorch's within NumPy code, with PyTorch's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from adjoint.base.arrays import ArrayType, array_type
from adjoint.base.errors import UnsupportedFunctionError
from adjoint.interop.foreign import ForeignPrimitive, Function
from adjoint.interop.torch_library import to_numpy, to_torch, torch_module


def primitive(function: Callable[..., Any], result: Any) -> Callable[..., Any]:
    """The function of NumPy's arrays; see `front.from_torch`."""
    torch_module()
    return ForeignPrimitive(function, _Torch(), result)


class _Torch:
    """PyTorch as a library of functions."""

    name = "PyTorch"
    keeps_state = True  # a module has parameters, which an optimiser of PyTorch's may write

    def compiled(self, function: Function) -> Function:
        def run(*arrays: Any) -> tuple[Any, ...]:
            results = function(*map(to_torch, arrays))
            return tuple(np.array(to_numpy(x)) for x in results)

        return run

    def array(self, value: Any) -> Any:
        # Of Python's numbers PyTorch would keep half of the digits.
        exact = {float: torch_module().float64, complex: torch_module().complex128}
        return torch_module().as_tensor(value, dtype=exact.get(type(value)))

    def pushed(self, function: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        return torch_module().func.jvp(function, tuple(primals), tuple(tangents))[1]

    def pulled(self, function: Function, primals: Sequence[Any], cotangents: Any) -> Any:
        return torch_module().func.vjp(function, *primals)[1](tuple(cotangents))

    @contextmanager
    def without_draws(self, name: str) -> Iterator[None]:
        before = _states_of_generators()
        yield
        after = _states_of_generators()
        if not all(map(torch_module().equal, before, after)):
            raise UnsupportedFunctionError(
                f"{name} draws random numbers, and its derivative would be at others than its "
                "value. Draw them outside of it, and pass them as an argument, or call .eval() of "
                "a module with dropout."
            )

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
            results = function(*given)
        except Exception:  # whatever it does that needs numbers
            return None
        return [array_type(tuple(x.shape), str(x.dtype).removeprefix("torch.")) for x in results]


def _states_of_generators() -> list[Any]:
    """What PyTorch's own generators of random numbers give next, on this machine and its GPUs."""
    module = torch_module()
    states = [module.get_rng_state()]
    if module.cuda.is_initialized():
        states += module.cuda.get_rng_state_all()
    return states
