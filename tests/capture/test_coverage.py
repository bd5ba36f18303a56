"""The three tables of NumPy's callables, held against the NumPy that is installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.numpy.coverage import CONSTANT, DIFFERENTIABLE, REFUSED, as_markdown
from tests.capture.comparing import (
    direction,
    is_inexact,
    leaves,
    pair,
    refuses,
    same_derivative,
    same_values,
)
from tests.capture.coverage_samples import (
    CONSTANTS,
    COUNTED,
    NAMES,
    POINTS,
    REFUSALS,
    SAMPLES,
    UNCALLED,
)
from tests.capture.rows import ARGUMENTS, ROWS

ROOMS = {"": np, "linalg.": np.linalg, "fft.": np.fft}
PUBLIC = {
    prefix + name: getattr(room, name)
    for prefix, room in ROOMS.items()
    for name in dir(room)
    if not name.startswith("_") and callable(getattr(room, name))
}
# Text, steps and single precision: compared by value alone.
STEPS = re.compile(r"round|around|fix|int64|float32|float16|single|half|complex64|csingle")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_every_callable_is_in_exactly_one_table() -> None:
    tables = (DIFFERENTIABLE, CONSTANT, set(REFUSED))
    found = {name: sum(name in table for table in tables) for name in PUBLIC}
    assert {name: count for name, count in found.items() if count != 1} == {}
    assert sum(map(len, tables)) == len(set().union(*tables))


def test_the_page_shows_the_tables() -> None:
    page = Path(__file__).parents[2] / "docs" / "numpy.md"
    assert page.read_text(encoding="utf-8").endswith(as_markdown())


def test_a_callable_in_no_table_is_found() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PUBLIC, "new_in_numpy_3", np.sum)
        with pytest.raises(AssertionError):
            test_every_callable_is_in_exactly_one_table()


def sample(name: str) -> str:
    """A call of a function: its own sample, or the first of the rows that calls it."""
    if name in SAMPLES:
        return SAMPLES[name]
    wanted = re.compile(rf"(?<![\w.])np\.{re.escape(name)}\(")
    return next(row for row in ROWS if wanted.search(row) and differentiable(row))


def made(row: str) -> tuple[Any, tuple[Any, ...]]:
    """A call as a function of the arguments that it names, and their values."""
    values = POINTS if row in SAMPLES.values() or row in OWN else ARGUMENTS
    names = [name for name in values if re.search(rf"(?<![\w.\"']){name}(?![\w\"'(=])", row)]
    function = eval(f"lambda {', '.join(names)}: {row}", dict(NAMES))
    return function, tuple(values[name] for name in names)


OWN = set(CONSTANTS.values())


def differentiable(row: str) -> bool:
    function, args = made(row)
    with np.errstate(all="ignore"):
        results = leaves(function(*args))
    return any(map(is_inexact, args)) and any(map(is_inexact, results))


def inexact(function: Any) -> Any:
    """A function's floating-point results, as a list."""

    def chosen(*args: Any) -> Any:
        result = function(*args)
        found = []
        stack = [result]
        while stack:
            each = stack.pop(0)
            if isinstance(each, (tuple, list)):
                stack = [*each, *stack]
            elif getattr(each, "dtype", np.dtype(type(each))).kind in "fc":
                found.append(each)
        return found

    return chosen


DIFFERENTIABLE_HERE = sorted(DIFFERENTIABLE & set(PUBLIC))


@pytest.mark.parametrize("name", DIFFERENTIABLE_HERE)
def test_differentiable(name: str) -> None:
    """Values, forward and reverse, against NumPy and differences; and a batch."""
    row = sample(name)
    function, args = made(row)
    with np.errstate(all="ignore"):
        expected = function(*args)
        same_values(ad.jit(function)(*args), expected)
        if not STEPS.search(row):
            same_derivative(inexact(function), args)
        batched(name, function, args, expected)


def batched(name: str, function: Any, args: tuple[Any, ...], expected: Any) -> None:
    places = [n for n, arg in enumerate(args) if is_inexact(arg)]
    axes = tuple(0 if n in places else None for n in range(len(args)))
    twice = tuple(np.stack([arg, arg]) if n in places else arg for n, arg in enumerate(args))
    mapped = ad.vmap(lambda *some: inexact(function)(*some), axes)
    try:
        found = mapped(*twice)
    except ad.errors.ValueNeededError:
        assert name in COUNTED, name
        return
    for one, other in zip(leaves(found), leaves(inexact(function)(*args)), strict=True):
        same_values([one[0], one[1]], [other, other], 1e-9)


def smooth(function: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]] | None:
    """A real function of the inexact arguments: the results paired with fixed weights, squared."""
    places = [n for n, arg in enumerate(args) if is_inexact(arg)]
    weights = direction([np.asarray(each) for each in leaves(inexact(function)(*args))], 3)

    def scalar(chosen: Any) -> Any:
        whole = list(args)
        for place, arg in zip(places, chosen, strict=True):
            whole[place] = arg
        total = 0.0
        for weight, each in zip(weights, inexact(function)(*whole), strict=True):
            product = np.conj(weight) * each
            total = total + np.sum(product.real) + np.sum((np.conj(each) * each).real)
        return total

    return scalar, tuple(args[place] for place in places)


@pytest.mark.parametrize("name", DIFFERENTIABLE_HERE)
def test_second_derivative(name: str) -> None:
    """Forward over reverse and reverse over reverse are the difference of the gradient."""
    row = sample(name)
    if STEPS.search(row):
        return
    function, args = made(row)
    with np.errstate(all="ignore"):
        scalar, point = smooth(function, args)
        u, w = direction(point, 1), direction(point, 2)
        step = 1e-5
        gradient = ad.grad(scalar)
        ahead = gradient(moved(point, u, step))
        behind = gradient(moved(point, u, -step))
        expected = (pair(ahead, w) - pair(behind, w)) / (2 * step)
        _, forward = ad.jvp(gradient, (point,), (u,))
        back = ad.grad(lambda p: traced_pair(ad.grad(scalar)(p), w))(point)
        scale = 1.0 + abs(expected)
        assert abs(pair(forward, w) - expected) <= 2e-5 * scale
        assert abs(pair(back, u) - expected) <= 2e-5 * scale


def moved(point: Any, u: Any, step: float) -> Any:
    return tuple(x + step * v for x, v in zip(point, u, strict=True))


def traced_pair(one: Any, other: Any) -> Any:
    return sum(np.sum((np.conj(b) * a).real) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("name", DIFFERENTIABLE_HERE[::4])
def test_native(name: str) -> None:
    """The gradient by machine code is that by NumPy."""
    pytest.importorskip("llvmlite")
    function, args = made(sample(name))
    with np.errstate(all="ignore"):
        scalar, point = smooth(function, args)
        with ad.config(native=True):
            found = ad.jit(ad.grad(scalar))(point)
        same_values(found, ad.grad(scalar)(point), 1e-9)


@pytest.mark.parametrize("name", sorted(CONSTANT & set(PUBLIC)))
def test_constant(name: str, tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    np.arange(3.0).tofile(file)
    row = CONSTANTS[name]
    function, args = made(row.replace("FILE", repr(str(file))))
    if not args:
        function, args = (lambda s, f=function: f()), (0.6,)
    with np.errstate(all="ignore"):
        expected = function(*args)
        assert not isinstance(expected, float) or name == "finfo"
        seen = []

        def looked(*some: Any) -> Any:
            with np.errstate(all="ignore"):
                seen.append(function(*some))
            return some[0] * 1.0

        jacobian = ad.grad(lambda *some: np.sum(looked(*some)).real)(*args)
        assert leaves(jacobian)
        found = ad.jit(function)(*args) if numbers(expected) else seen[0]
        assert_same(found, expected)


def numbers(value: Any) -> bool:
    parts = value if isinstance(value, (tuple, list)) else (value,)
    return all(isinstance(each, (np.ndarray, np.generic)) for each in parts) and bool(parts)


def assert_same(found: Any, expected: Any) -> None:
    if numbers(expected):
        same_values(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("name", sorted(set(REFUSED) & set(PUBLIC)))
def test_refused(name: str) -> None:
    row = REFUSALS.get(name, f"np.{name}(x)")
    if name in UNCALLED:
        return
    function = eval(f"lambda x: {row}", dict(NAMES))
    whole = lambda x: np.sum(x) + function(x)  # noqa: E731
    refuses(ad.grad, whole, (POINTS["x"],), ad.errors.UnsupportedFunctionError, REFUSED[name])


def test_a_wrong_sample_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SAMPLES, "sin", "np.sin(np.abs(x - 0.5) ** 1.5) + WRONG(x)")
    monkeypatch.setitem(NAMES, "WRONG", ad.stop_gradient)
    with pytest.raises(AssertionError):
        test_differentiable("sin")
