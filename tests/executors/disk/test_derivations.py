"""Derived programs found on disk: the same results to the last bit, and nothing is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import pipeline
from adjoint.executors.disk import derivations, sources

RNG = np.random.default_rng(5)
X = RNG.random(4) + 0.5


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, of short programs too; the sources may have been written just now."""
    monkeypatch.setattr(derivations, "known_sources", lambda rooms: b"sources")
    monkeypatch.setattr(derivations, "are_unchanged", lambda rooms: True)
    monkeypatch.setattr(derivations, "FEWEST", 1)
    ad.cache_clear()
    with ad.config(cache=tmp_path / "kept", debug=False):
        yield tmp_path / "kept"


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The kinds of what is derived from now on."""
    kinds: list[Any] = []
    derive_anew = pipeline._derived_anew

    def listening(program: Any, kind: Any, derive: Any) -> Any:
        kinds.append(kind)
        return derive_anew(program, kind, derive)

    monkeypatch.setattr(pipeline, "_derived_anew", listening)
    return kinds


def smooth(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(-x)) + x[0] ** 3 / x[1]


def kinked(x: Any) -> Any:
    return np.abs(x - x[0]).sum() + np.maximum(x, 1.0).prod()


def stepping(x: Any) -> Any:
    for _ in range(20):
        x = x + 0.01 * np.cos(x[::-1])
    return x @ x


def products(x: Any) -> Any:
    square = np.outer(x, x) + 4 * np.eye(4)
    return np.linalg.solve(square, x).sum() + np.linalg.slogdet(square)[1]


def tables(x: Any) -> Any:
    return (x[np.array([0, 2, 2, 3])] * np.array([1.0, -0.0, 2.0, 3.0])).sum()


FUNCTIONS = [smooth, kinked, stepping, products, tables]


def ways(f: Callable[..., Any]) -> list[Callable[[], Any]]:
    return [
        lambda: ad.grad(f)(X),
        lambda: ad.value_and_grad(f)(X),
        lambda: ad.jvp(f, (X,), (X[::-1].copy(),)),
        lambda: ad.jacobian(lambda x: f(x) * x)(X),
        lambda: ad.hessian(f)(X),
        lambda: ad.hvp(f, X, X),
        lambda: ad.jit(ad.grad(f))(X),
        lambda: ad.jit(lambda x: f(x) * x)(X),
        lambda: ad.jit(ad.grad(lambda x: ad.grad(f)(x) @ x))(X),
        lambda: ad.vmap(ad.grad(f))(np.stack([X, 2 * X])),
    ]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_of_another_process(f: Callable[..., Any], derived: list[Any]) -> None:
    first = [np.asarray(part).tobytes() for way in ways(f) for part in flat(way())]
    count = len(derived)
    assert count > 5
    ad.cache_clear()
    again = [np.asarray(part).tobytes() for way in ways(f) for part in flat(way())]
    assert again == first
    # What a content does not tell all of (a direction of the user's, say) is derived again.
    assert len(derived) - count < count / 2


def flat(results: Any) -> list[Any]:
    """The arrays of nested tuples."""
    if isinstance(results, tuple):
        return [leaf for part in results for leaf in flat(part)]
    return [results]


def test_a_gradient_is_derived_once(derived: list[Any], folder: Path) -> None:
    expected = ad.grad(smooth)(X)
    assert len(derived) == 1
    for _ in range(3):
        ad.cache_clear()
        np.testing.assert_array_equal(ad.grad(smooth)(X), expected)
    assert len(derived) == 1
    ad.cache_clear(disk=True)
    ad.grad(smooth)(X)
    assert len(derived) == 2
    ad.cache_clear()
    for path in folder.iterdir():  # spoilt, they are derived anew, and no longer lie there
        if path.name != "key":
            path.write_bytes(path.read_bytes()[:-1])
    np.testing.assert_array_equal(ad.grad(smooth)(X), expected)
    assert len(derived) == 3


def test_what_it_depends_on_is_in_the_key(
    derived: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(kink: float = 0.5) -> int:
        ad.cache_clear()
        count = len(derived)
        with ad.config(kink=kink):
            ad.grad(kinked)(X)
        return len(derived) - count

    assert again()
    assert not again()
    assert again(0.25)
    assert again(0.75)
    assert not again(0.25)
    changes: list[tuple[Any, str, Any]] = [
        (derivations, "known_sources", lambda rooms: b"others"),
        (derivations, "surroundings", lambda: ("another Python",)),
        (derivations, "known_sources", lambda rooms: None),
        (derivations, "surroundings", lambda: None),
    ]
    for owner, name, value in changes:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, value)
            assert again()
    assert not again()
    assert sources.DERIVING[: len(sources.LOWERING)] == sources.LOWERING


def test_where_nothing_is_kept(derived: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[dict[str, Any]] = [{"cache": False}, {"native": False}, {"debug": True}]
    for choice in chosen:
        for _ in range(2):
            ad.cache_clear()
            count = len(derived)
            with ad.config(**choice):
                ad.grad(smooth)(X)
            assert len(derived) == count + 1
    monkeypatch.setattr(derivations, "FEWEST", 1000)
    for _ in range(2):
        ad.cache_clear()
        count = len(derived)
        ad.grad(smooth)(X)
        assert len(derived) == count + 1


def test_rules_of_the_user_are_not_kept(derived: list[Any]) -> None:
    """Their meaning is in no source of the package, and may be another in the next process."""
    for factor in (2.0, 3.0):

        @ad.primitive
        def scaled(x: Any) -> Any:
            return np.sin(x) * 1.0

        @scaled.jvp
        def push(primals: Any, tangents: Any, *, factor: float = factor) -> Any:
            return scaled(primals[0]), factor * tangents[0]

        ad.cache_clear()
        count = len(derived)
        slope = ad.grad(lambda x, rule=scaled: rule(x).sum())(X)
        np.testing.assert_array_equal(slope, np.full(4, factor))
        assert len(derived) > count
