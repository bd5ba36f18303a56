"""One operator of torch, at each of torch's own sample inputs, against its counterpart in NumPy.

Three things are compared: the value, the pullback of a random covector, and the derivative of that
pullback in a random direction (the Hessian-vector product of <cotangent, f>). Torch counts complex
numbers as this library does: the gradient of a real loss is the direction of steepest ascent under
Re<., .>.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import adjoint as ad
from tests.torch_operators.operators import COUNTERPARTS, Counterpart

# The most entries of a sample that is compared; torch has some for its kernels of large arrays.
_LARGEST = 20_000
# The most samples of an operator, spread evenly over all: torch has hundreds of some.
_MOST = 60
# How much the gradients on both sides of a point differ, relative to their size, at a kink.
_KINK = 1e-3


@dataclass
class Outcome:
    """What came of comparing one operator."""

    counts: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Sample:
    """A sample input of torch's, as arrays that vary and the places where they stand."""

    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    tensors: list[Any]
    text: str

    def places(self, other: Callable[[Any], Any]) -> tuple[Any, dict[str, Any]]:
        """The arguments, with numbered places for the tensors that vary."""

        def put(value: Any) -> Any:
            for number, tensor in enumerate(self.tensors):
                if value is tensor:
                    return _Place(number)
            if isinstance(value, tuple | list):
                return type(value)(map(put, value))
            return other(value)

        return tuple(map(put, self.arguments)), {k: put(v) for k, v in self.keywords.items()}


@dataclass(frozen=True)
class _Place:
    """Where one of the arrays that vary stands among the arguments."""

    number: int


def _filled(value: Any, leaves: Any) -> Any:
    if isinstance(value, _Place):
        return leaves[value.number]
    if isinstance(value, tuple | list):
        return type(value)([_filled(each, leaves) for each in value])
    return value


def _called(function: Callable[..., Any], places: Any, keywords: Any) -> Callable[..., Any]:
    """A function of the arrays alone, from which nothing of torch's can be reached."""

    def of_arrays(*leaves: Any) -> tuple[Any, ...]:
        named = {name: _filled(value, leaves) for name, value in keywords.items()}
        result = function(*_filled(places, leaves), **named)
        several = result if isinstance(result, tuple | list) else (result,)
        return tuple(each for each in several if np.asarray(each).dtype.kind in "fc")

    return of_arrays


def _paired(function: Callable[..., Any], cotangents: list[Any]) -> Callable[[list[Any]], Any]:
    """The inner product of what a function gives with the cotangents."""

    def loss(points: list[Any]) -> Any:
        values = function(*points)
        return sum(np.sum(np.real(np.conj(c) * v)) for c, v in zip(cotangents, values, strict=True))

    return loss


def operators() -> dict[str, Any]:
    """Torch's own list, by name and variant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db

    named = {}
    for operator in op_db:
        variant = operator.variant_test_name
        named[f"{operator.name}|{variant}" if variant else operator.name] = operator
    return named


def compare(name: str, dtype: str, operator: Any) -> Outcome:
    """Compare an operator with its counterpart at all of its samples in one precision."""
    import torch

    outcome = Outcome()
    if getattr(torch, dtype) not in operator.supported_backward_dtypes("cpu"):
        return outcome
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place, sample in enumerate(_samples(operator, dtype)):
            label = f"{name} {dtype} sample {place} {sample.text}"
            try:
                _Comparison(COUNTERPARTS[name], operator, sample, outcome, label).run()
            except _Skipped as skipped:
                outcome.counts[f"skipped: {skipped}"] += 1
    return outcome


def _samples(operator: Any, dtype: str) -> Iterator[Sample]:
    import torch

    found = list(operator.sample_inputs("cpu", getattr(torch, dtype), requires_grad=True))
    stride = -(-len(found) // _MOST)
    for given in found[::stride]:
        arguments = (given.input, *given.args)
        tensors: list[Any] = []
        _collect(arguments, tensors)
        _collect(tuple(given.kwargs.values()), tensors)
        if sum(tensor.numel() for tensor in tensors) <= _LARGEST:
            yield Sample(arguments, given.kwargs, tensors, given.summary())


def _collect(value: Any, tensors: list[Any]) -> None:
    import torch

    if isinstance(value, tuple | list):
        for each in value:
            _collect(each, tensors)
    elif isinstance(value, torch.Tensor) and value.requires_grad and _is_new(value, tensors):
        tensors.append(value)


def _is_new(value: Any, tensors: list[Any]) -> bool:
    return not any(value is tensor for tensor in tensors)


class _Skipped(Exception):
    """A sample that is not compared, and why."""


class _Comparison:
    """One sample: the same loss and its derivatives, by torch and by this library."""

    def __init__(
        self, counterpart: Counterpart, operator: Any, sample: Sample, outcome: Outcome, label: str
    ) -> None:
        self.counterpart, self.operator, self.sample = counterpart, operator, sample
        self.outcome, self.label = outcome, label
        self.random = np.random.default_rng(len(label))
        self._function = _called(counterpart.numpy, *sample.places(_constant))
        self.points = [_array(tensor) for tensor in sample.tensors]

    def run(self) -> None:
        """Compare the value, the pullback and the second derivative, as far as torch has them."""
        if not self.points:
            raise _Skipped("nothing varies")
        values = self._torch_values()
        found = self._ours("value", lambda: ad.vjp(self._function, *self.points))
        if found is None:
            return
        mine, pullback = found
        if not self._agree("value", [_array(value) for value in values], list(mine)):
            return
        cotangents = [self._normal(value) for value in mine]
        directions = [self._normal(point) for point in self.points]
        loss = _torch_inner(values, cotangents)
        if not loss.requires_grad:
            self.outcome.counts["without a derivative"] += 1
            return
        gradients = _torch_gradients(
            loss, self.sample.tensors, again=self.operator.supports_gradgrad
        )
        pulled = self._ours("vjp", lambda: pullback(tuple(cotangents)))
        theirs = [_array(gradient) for gradient in gradients]
        if pulled is None or not self._agree("vjp", theirs, list(pulled), cotangents, directions):
            return
        if self.operator.supports_gradgrad:
            self._second(gradients, cotangents, directions)

    def _second(self, gradients: list[Any], cotangents: list[Any], directions: list[Any]) -> None:
        product = _torch_inner(gradients, directions)
        if product.requires_grad:
            try:
                theirs = _torch_gradients(product, self.sample.tensors)
            except RuntimeError as error:
                raise _Skipped("torch has no second derivative") from error
            expected = [_array(each) for each in theirs]
        else:
            expected = [np.zeros_like(point) for point in self.points]
        loss = _paired(self._function, cotangents)
        found = self._ours("hvp", lambda: ad.hvp(loss, list(self.points), list(directions)))
        if found is not None:
            self._agree("hvp", expected, list(found), cotangents, directions)

    def _torch_values(self) -> list[Any]:
        import torch

        try:
            result = (self.counterpart.torch or self.operator)(
                *self.sample.arguments, **self.sample.keywords
            )
        except RuntimeError as error:
            raise _Skipped("torch raises an error") from error
        several = result if isinstance(result, tuple | list) else (result,)
        values = [value for value in several if isinstance(value, torch.Tensor)]
        return [
            each.resolve_conj() for each in values if each.is_floating_point() or each.is_complex()
        ]

    def _normal(self, like: Any) -> Any:
        like = np.asarray(like)
        drawn = self.random.standard_normal(like.shape)
        if like.dtype.kind == "c":
            drawn = drawn + 1j * self.random.standard_normal(like.shape)
        return np.asarray(drawn, like.dtype)

    def _ours(self, what: str, computed: Callable[[], Any]) -> Any:
        try:
            return computed()
        except ad.errors.AdjointError as error:
            self.outcome.counts[f"{what} refused"] += 1
            self._note(what, f"{type(error).__name__}: {error}")
        except NotImplementedError as error:
            raise _Skipped(f"no counterpart, {error}") from error
        except Exception as error:
            if what == "value" and self._raises(type(error)):
                raise _Skipped("NumPy raises an error") from error
            self.outcome.counts[f"{what} raised"] += 1
            self._note(what, f"{type(error).__name__}: {error}")
        return None

    def _raises(self, error: type[Exception]) -> bool:
        """Whether NumPy alone raises this error."""
        try:
            self._function(*self.points)
        except error as raised:
            self.outcome.skipped.append(f"{self.label}\n  {type(raised).__name__}: {raised}")
            return True
        return False

    def _agree(
        self,
        what: str,
        theirs: list[Any],
        mine: list[Any],
        cotangents: Any = None,
        directions: Any = None,
    ) -> bool:
        problem = _difference(theirs, mine, self.counterpart.tolerance)
        if problem is None:
            self.outcome.counts[f"{what} agreed"] += 1
            return True
        if what != "value" and self._at_a_kink(what, cotangents, directions):
            self.outcome.counts[f"{what} at a kink"] += 1
            self.outcome.skipped.append(f"{self.label}\n  {what} at a kink: {problem}")
            return False
        self.outcome.counts[f"{what} disagreed"] += 1
        self._note(what, problem)
        return False

    def _note(self, what: str, problem: str) -> None:
        self.outcome.disagreements.append(f"{self.label}\n  {what}: {problem}")

    def _at_a_kink(self, what: str, cotangents: list[Any], directions: list[Any]) -> bool:
        """Whether the derivatives along the direction, at a little on both sides, are two."""
        loss = _paired(self._function, cotangents)

        def slope(length: float) -> Any:
            moved = [p + length * d for p, d in zip(self.points, directions, strict=True)]
            if what == "vjp":
                return (loss(moved) - loss([*self.points])) / length
            return np.concatenate([np.ravel(g) for g in ad.grad(loss)(moved)])

        try:
            left, right = slope(-1e-6), slope(1e-6)
        except (ad.errors.AdjointError, np.linalg.LinAlgError):
            return False
        scale = np.max(np.abs(right), initial=0.0) + np.max(np.abs(left), initial=0.0)
        return bool(np.max(np.abs(right - left), initial=0.0) > _KINK * scale)


def _constant(value: Any) -> Any:
    """What stands for an argument of torch's that does not vary."""
    import torch

    if isinstance(value, torch.Tensor):
        return _array(value)
    if isinstance(value, torch.dtype):
        return np.dtype(str(value).removeprefix("torch.")).type
    if isinstance(value, dict):
        return {name: _constant(each) for name, each in value.items()}
    return value


def _array(tensor: Any) -> Any:
    return tensor.numpy(force=True).copy()


def _torch_inner(tensors: list[Any], arrays: list[Any]) -> Any:
    import torch

    total = torch.zeros((), dtype=torch.float64)
    for tensor, array in zip(tensors, arrays, strict=True):
        weight = torch.from_numpy(np.asarray(array))
        total = total + (weight.conj() * tensor).sum().real
    return total


def _torch_gradients(loss: Any, tensors: list[Any], again: bool = False) -> list[Any]:
    import torch

    found = torch.autograd.grad(
        loss, tensors, allow_unused=True, create_graph=again, retain_graph=True
    )
    return [
        torch.zeros_like(tensor) if each is None else each
        for tensor, each in zip(tensors, found, strict=True)
    ]


def _difference(theirs: list[Any], mine: list[Any], tolerance: float) -> str | None:
    """What differs, or None; the size that errors are relative to is that of the whole result."""
    if len(theirs) != len(mine):
        return f"{len(theirs)} results of torch, and {len(mine)} here"
    sizes = [np.max(np.abs(each[np.isfinite(each)]), initial=0.0) for each in theirs]
    scale = max([1e-3, *sizes])
    for place, (a, b) in enumerate(zip(theirs, mine, strict=True)):
        b = np.asarray(b)
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return f"result {place}: {a.dtype}{a.shape} of torch, {b.dtype}{b.shape} here"
        if not np.allclose(a, b, rtol=tolerance, atol=tolerance * scale, equal_nan=True):
            with np.errstate(all="ignore"):
                worst = np.nanargmax(np.where(np.isnan(a) == np.isnan(b), np.abs(a - b), np.inf))
            one, other = np.ravel(a)[worst], np.ravel(b)[worst]
            return f"result {place}, entry {worst}: torch {one}, here {other}"
    return None
