"""The operators of PyTorch's that a function of NumPy's is called by.

What PyTorch traces (`torch.func.linearize`, `make_fx`, `torch.export`) it sees operator by
operator: arrays that are made beside its operators are constants to it, of the numbers that they
had while it traced. So the functions are called by operators of ours, one for each number of
operands and of results.
"""

from __future__ import annotations

import functools
import itertools
import sys
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol
from weakref import WeakValueDictionary

from adjoint.base.arrays import ArrayType
from adjoint.base.errors import ArgumentError
from adjoint.interop.torch_library import to_numpy, to_torch, torch_module


class TensorWork(Protocol):
    """What an operator runs: a function of arrays."""

    name: str

    @property
    def key(self) -> str:
        """What it is found by."""

    @property
    def count(self) -> int | None:
        """How many results it has; None where only a call tells."""

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """The results as arrays."""

    def types(self, tensors: Sequence[Any]) -> Sequence[ArrayType]:
        """The types of the results at tensors that may hold no numbers."""


_MOST: Final = 60  # of operands, and of results: PyTorch takes no more than 64 of both kinds
_DEFINING: Final = threading.Lock()
_PROCESS: Final = uuid.uuid4().hex
_COUNTER: Final = itertools.count()
_WORKS: Final[WeakValueDictionary[str, TensorWork]] = WeakValueDictionary()
_TRACED: Final[
    dict[str, TensorWork]
] = {}  # graphs hold their keys, for as long as the process runs


def new_key() -> str:
    """A key that no other process has either: a graph may be read from a file."""
    return f"{_PROCESS}/{next(_COUNTER)}"


def call_operator(work: TensorWork, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The results of the work as tensors, on the device of the first tensor."""
    if not tensors:  # by whose device PyTorch would choose how to run
        return tuple(map(to_torch, work.run(())))
    _WORKS[work.key] = work
    if _is_tracing():
        _TRACED[work.key] = work
    count = None if work.count is None or work.count > _MOST else work.count
    with _DEFINING:  # which two threads must not do at once, and a cache does not wait
        operator = _operator(len(tensors) if len(tensors) <= _MOST else None, count)
    results = operator(work.key, *(tensors if len(tensors) <= _MOST else (list(tensors),)))
    return (results,) if work.count == 1 else tuple(results or ())


def _is_tracing() -> bool:
    """Whether PyTorch writes a graph; what does so is imported late, by PyTorch itself."""
    tracer = sys.modules.get("torch.fx.experimental.proxy_tensor")
    return tracer is not None and tracer.get_proxy_mode() is not None


@functools.cache
def _library() -> Any:
    """Where the operators stand, for as long as the process runs."""
    return torch_module().library.Library("adjoint", "FRAGMENT")


@functools.cache
def _operator(inputs: int | None, outputs: int | None) -> Callable[..., Any]:
    """The operator of so many operands and results; None: of any number, in a row."""
    module, library = torch_module(), _library()
    name = "_".join("any" if x is None else str(x) for x in ("call", inputs, outputs))
    # Rows of tensors would be one schema for all, but none that PyTorch's own loops over a batch
    # take (`is_grads_batched`).
    operands = (
        ", Tensor[] row"
        if inputs is None
        else "".join(f", Tensor x{place}" for place in range(inputs))
    )
    results = "Tensor[]" if outputs is None else f"({', '.join(['Tensor'] * outputs)})"
    library.define(f"{name}(str function{operands}) -> {results}")

    def run(key: str, *operands: Any) -> Any:
        tensors = operands[0] if inputs is None else operands
        device = tensors[0].device
        arrays = _work(key).run([to_numpy(x) for x in tensors])
        return _in_schema([to_torch(x, device) for x in arrays], outputs)

    def run_on_types(key: str, *operands: Any) -> Any:
        tensors = operands[0] if inputs is None else operands
        types = _work(key).types(tensors)
        empty = [
            module.empty(x.shape, dtype=getattr(module, x.dtype.name), device=tensors[0].device)
            for x in types
        ]
        return _in_schema(empty, outputs)

    library.impl(name, run, "CompositeExplicitAutograd")
    module.library.register_fake(f"adjoint::{name}", run_on_types, lib=library)
    operator: Callable[..., Any] = getattr(module.ops.adjoint, name).default
    return operator


def _in_schema(tensors: list[Any], outputs: int | None) -> Any:
    """Results as an operator of so many returns them."""
    if outputs is None:
        return tensors
    return tensors[0] if outputs == 1 else tuple(tensors)


def _work(key: str) -> TensorWork:
    work = _WORKS.get(key)
    if work is None:
        raise ArgumentError(
            "A graph of PyTorch's calls a function of ad.interop.torch that is not there: the "
            "graph was written in another process. Trace it again in this one."
        )
    return work
