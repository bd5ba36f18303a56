"""Derived programs found on disk: the same results to the last bit, and nothing is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import pipeline
from adjoint.base.arrays import type_of
from adjoint.executors.disk import derivations, sources
from adjoint.executors.disk.contents import UnknownContentError, program_digest, whole_content
from adjoint.primitives import PRIMITIVES, Primitive
from adjoint.program import Builder, Operation, Program, operation

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


def test_a_primitive_of_the_users_is_not_kept(derived: list[Any]) -> None:
    """Its type rule is one of the package, and its derivative is not."""
    names = []
    try:
        for factor in (2.0, 3.0):
            names.append(f"planted {factor}")
            op = operation(
                Primitive(
                    names[-1],
                    infer=PRIMITIVES["sin"].infer_rule,
                    evaluate=np.sin,
                    linear=None,
                    derivative=PRIMITIVES["sin"].derivative,
                    batch=PRIMITIVES["sin"].batch,
                    samples=PRIMITIVES["sin"].samples,
                )
            )
            with pytest.raises(UnknownContentError):
                whole_content(program(op, X))
            assert program_digest(program(op, X)) is not None  # of what it does, that says all
    finally:
        for name in names:
            del PRIMITIVES[name]
    whole_content(program(operation(PRIMITIVES["sin"]), X))
    assert not derived


def program(op: Operation, value: Any) -> Program:
    builder = Builder()
    return builder.build(builder.emit(op, [builder.input(type_of(value))]))


def test_programs_within_programs_many_times_over(derived: list[Any]) -> None:
    """Reading takes more of the stack than writing; where it does not suffice, one derives anew."""

    def nested(depth: int) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            y = np.cos(np.sin(x)) * np.exp(-x)
            if not depth:
                return y
            return ad.cond(x > 0.0, lambda z: nested(depth - 1)(z) * 1.1, lambda z: z * 2, y + x)

        return f

    for depth in (20, 40, 60, 75):
        expected = ad.grad(nested(depth))(0.7)
        ad.cache_clear()
        assert ad.grad(nested(depth))(0.7) == expected
