"""Arguments that are not what their annotations say end in an error that names them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import AdjointError, ArgumentTypeError
from adjoint.base.signatures.checked import (
    check_flag,
    check_whole,
    checked,
    checked_class,
    generator_of,
)
from adjoint.spaces import Space


@checked
def example(
    function: Callable[[Any], Any],
    space: Space | None = None,
    count: int = 1,
    size: float = 1.0,
    flag: bool = False,
    *rows: Sequence[Any],
    word: Literal["a", "b"] = "a",
    anything: Any = None,
) -> Any:
    return function(count) + size + sum(map(len, rows)) + (0 if space is None else space.dimension)


def test_what_is_right_is_passed_on():
    assert example(lambda n: n) == 2.0
    assert example(abs, ad.spaces.Euclidean(2), np.int64(2), np.float32(1), True, [1], ()) == 6.0
    assert example.__name__ == "example"


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((3,), {}, "example takes a function as its function. Got an int: 3."),
        ((abs, 3), {}, "example takes a Space or None as its space. Got an int: 3."),
        ((abs,), {"count": 2.0}, "a whole number .* as its count. Got a float: 2.0."),
        ((abs,), {"count": True}, "a whole number .* as its count. Got True."),
        ((abs,), {"count": 2**70}, "a whole number .* as its count"),
        ((abs,), {"size": "a"}, "a number as its size. Got a str: 'a'."),
        ((abs,), {"size": np.ones(2)}, "a number as its size. Got an array of shape"),
        ((abs,), {"flag": 1}, "True or False as its flag. Got an int: 1."),
        ((abs, None, 1, 1.0, False, 3), {}, "a list or tuple each as its rows"),
    ],
)
def test_what_is_wrong_is_named(args, kwargs, message):
    with pytest.raises(ArgumentTypeError, match=message):
        example(*args, **kwargs)


def test_errors_of_the_function_stay_as_they_are():
    with pytest.raises(ZeroDivisionError):
        example(lambda n: n / 0)


def test_what_does_not_fit_is_named():
    with pytest.raises(ArgumentTypeError, match="example: missing a required argument"):
        example()
    with pytest.raises(ArgumentTypeError, match=r"example has no argument 'flags'\. Write flag"):
        example(abs, flags=True)


def test_a_class_is_checked_too():
    @checked_class
    class Pair:
        def __init__(self, left: int, right: int) -> None:
            self.sum = left + right

    assert Pair(1, 2).sum == 3
    with pytest.raises(ArgumentTypeError, match=r"Pair takes a whole number .* as its right"):
        Pair(1, "a")


def test_single_checks():
    check_flag(np.True_, "flag")
    check_whole(np.int8(3), "count")
    for seed in (None, 7, [1, 2], np.uint64(2**63 + 1), np.random.SeedSequence(3)):
        assert isinstance(generator_of(seed), np.random.Generator)
    generator = np.random.default_rng(0)
    assert generator_of(generator) is generator
    for wrong in (1, None, "a"):
        with pytest.raises(ArgumentTypeError, match="flag must be True or False"):
            check_flag(wrong, "flag")
    for wrong in (1.0, True, 2**64, "a"):
        with pytest.raises(ArgumentTypeError, match="count must be a whole number"):
            check_whole(wrong, "count")
    for wrong in (-1, "a", 1.5, [1.5]):
        with pytest.raises(ArgumentTypeError, match="seed must be"):
            generator_of(wrong)


# --- public functions, with something wrong in each of their arguments ----------------------------

X = np.ones(2)
SPACE = ad.spaces.Euclidean(2)
WRONG = {
    "vmap in_axes": lambda: ad.vmap(np.sin, in_axes="a"),
    "vmap, in_axes": lambda: ad.vmap(np.sin, in_axes=(0, 1.5)),
    "grad argnums": lambda: ad.grad(np.sum, argnums="a"),
    "grad has_aux": lambda: ad.grad(np.sum, has_aux="yes"),
    "jacobian argnums": lambda: ad.jacobian(np.sin, argnums=(0, None)),
    "hessian has_aux": lambda: ad.hessian(np.sum, has_aux=1),
    "jvp has_aux": lambda: ad.jvp(np.sin, (X,), (X,), has_aux=None),
    "vjp has_aux": lambda: ad.vjp(np.sin, X, has_aux=None),
    "linearize has_aux": lambda: ad.linearize(np.sin, X, has_aux=X),
    "plan argnums": lambda: ad.plan(np.sin, X, argnums=X),
    "jit strict": lambda: ad.jit(np.sin, strict="a"),
    "cond predicate": lambda: ad.cond("a", np.sin, np.cos, 1.0),
    "switch branches": lambda: ad.switch(0, 3, 1.0),
    "switch index": lambda: ad.switch(2**70, [np.sin], 1.0),
    "fori_loop upper": lambda: ad.fori_loop(0, 2**70, lambda i, x: x, 1.0),
    "scan reverse": lambda: ad.scan(lambda x, a: (x, a), 1.0, X, reverse="a"),
    "taylor order": lambda: ad.taylor(np.sin, 1.0, 1.0, 2**70),
    "linear transpose": lambda: ad.linear(np.negative, transpose=3),
    "nodes spaces": lambda: ad.nodes(np.sin, 1.0, spaces=3),
    "draw values": lambda: ad.draw(np.sin, 1.0, values="a"),
    "cache_clear disk": lambda: ad.cache_clear(disk="a"),
    "pullback_metric matrix_free": lambda: ad.pullback_metric(np.sin, matrix_free="a"),
    "check function": lambda: ad.testing.check(3.0, X),
    "check order": lambda: ad.testing.check(np.sin, X, order="a"),
    "check seed": lambda: ad.testing.check(np.sin, X, seed=-1),
    "check spaces": lambda: ad.testing.check(np.sin, X, spaces=3),
    "check_map linear_map": lambda: ad.testing.check_map(3),
    "random seed": lambda: SPACE.random("a"),
    "Dual ": lambda: ad.spaces.Dual(3),
    "Span elements": lambda: ad.spaces.Span(3, SPACE),
    "UpperTriangular strict": lambda: ad.spaces.UpperTriangular(2, strict="a"),
    "dual_basis space": lambda: ad.spaces.dual_basis(3, [X]),
    "identity space": lambda: ad.maps.identity(3),
    "zero domain": lambda: ad.maps.zero(3, SPACE),
    "adjoint_error linear_map": lambda: ad.maps.adjoint_error(3),
    "space_error space": lambda: ad.maps.space_error(3),
    "from_matrix domain": lambda: ad.maps.from_matrix(np.eye(2), 3, SPACE),
    "LinearMap apply": lambda: ad.LinearMap(SPACE, SPACE, 3),
    "LinearMap inverse": lambda: ad.LinearMap(SPACE, SPACE, np.negative, inverse="a"),
    "BilinearMap transpose": lambda: ad.maps.BilinearMap(SPACE, SPACE, SPACE, min, transpose=3),
    "inner_product space": lambda: ad.tensors.inner_product(3),
    "to_map tensor": lambda: ad.tensors.to_map(3),
    "Newton tolerance": lambda: ad.implicit.Newton(tolerance="a"),
    "Krylov preconditioner": lambda: ad.implicit.Krylov(preconditioner=3),
    "Anderson memory": lambda: ad.implicit.Anderson(memory=2.5),
    "root tolerance": lambda: ad.implicit.root(lambda y: y - 1, 0.0, tolerance="a"),
    "root polish": lambda: ad.implicit.root(lambda y: y - 1, 0.0, polish=X),
    "descend max_iterations": lambda: ad.optimize.descend(np.sum, X, max_iterations="a"),
    "descend progress": lambda: ad.optimize.descend(np.sum, X, progress="a"),
    "LineSearch": lambda: ad.optimize.LineSearch(first="a"),
}


@pytest.mark.parametrize("where", WRONG)
def test_public_functions_name_what_is_wrong(where):
    with pytest.raises(AdjointError, match=where.split()[-1]):
        WRONG[where]()


@pytest.mark.parametrize("setting", ["strong_zeros", "debug", "precise", "replay"])
def test_settings_are_true_or_false(setting):
    with (
        pytest.raises(ArgumentTypeError, match=f"{setting} must be True or False"),
        ad.config(**{setting: "yes"}),
    ):
        pass
