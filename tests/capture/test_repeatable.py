"""Functions that are proven to do nothing but compute, and those that are not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from adjoint.capture.clones.remembering.repeatable import proof_of
from adjoint.capture.clones.stand_ins.shadows import shadow_of
from tests.capture.recursions import X
from tests.capture.test_remembered import copied_sign, helped, minor, paths, typed, waves
from tests.capture.test_remembered_effects import counting, drawing, printing, raising, writing

SCALES = {"s": 2.0}


def with_default(x: Any, n: int, seen: Any = [0]) -> Any:  # noqa: B006
    return x[n % 3] if n == 0 else with_default(x, n - 1) * x[1] + with_default(x, n - 1)


def with_keyword(x: Any, *, n: int) -> Any:
    return x[0] if n == 0 else with_keyword(x, n=n - 1) * x[1] + with_keyword(x, n=n - 1)


def starred(x: Any, *n: int) -> Any:
    return x[0] if n[0] == 0 else starred(x, n[0] - 1) * x[1] + starred(x, n[0] - 1)


def catching(x: Any, n: int) -> Any:
    try:
        return x[0] if n == 0 else catching(x, n - 1) * x[1] + catching(x, n - 1)
    except ZeroDivisionError:
        return x[1]


def generating(x: Any, n: int) -> Any:
    yield x[0] if n == 0 else sum(generating(x, n - 1)) * x[1] + sum(generating(x, n - 1))


def through_a_dictionary(x: Any, n: int) -> Any:
    if n == 0:
        return x[0] * SCALES["s"]
    return through_a_dictionary(x, n - 1) * x[1] + through_a_dictionary(x, n - 1)


def importing(x: Any, n: int) -> Any:
    from math import pi

    return x[0] * pi if n == 0 else importing(x, n - 1) * x[1] + importing(x, n - 1)


def identifying(x: Any, n: int) -> Any:
    return x[0] * (1.0 if x is X else 2.0) if n == 0 else identifying(x, n - 1) * x[1]


def through_an_effect(x: Any, n: int) -> Any:
    return counting(x, 0) if n == 0 else through_an_effect(x, n - 1) + through_an_effect(x, n - 1)


def closed_over() -> Any:
    scale = 2.0

    def inner(x: Any, n: int) -> Any:
        return x[0] * scale if n == 0 else inner(x, n - 1) * x[1] + inner(x, n - 1)

    return inner


UNPROVEN = [
    *(counting, printing, drawing, with_default, with_keyword, starred, catching, generating),
    *(through_a_dictionary, importing, identifying, raising, writing, through_an_effect),
    closed_over(),
]


@pytest.mark.parametrize("function", UNPROVEN, ids=lambda function: function.__name__)
def test_what_may_do_more_is_not_proven(function: Any) -> None:
    assert proof_of(function) is None


@pytest.mark.parametrize("function", [minor, paths, helped, copied_sign, typed])
def test_what_only_computes_is_proven(function: Any) -> None:
    proof = proof_of(function)
    assert proof is not None
    assert proof.holds()


# --- functions that are more than called ----------------------------------------------------------


def weight() -> Any:
    return 1.0


def size_of(x: Any) -> Any:
    return x.size


def by_a_name(x: Any) -> Any:
    function: Any = weight
    return function.size


def by_an_argument(x: Any) -> Any:
    return size_of(weight)


def by_a_tuple(x: Any) -> Any:
    function: Any = (weight, 1)[0]
    return function.size


def by_a_choice(x: Any) -> Any:
    function: Any = weight if x else size_of
    return function.size


def by_a_named_call(x: Any) -> Any:
    (function := weight)()
    return function.size  # type: ignore[attr-defined]


def by_a_named_tuple(x: Any) -> Any:
    (functions := (weight, 1))[0]()  # type: ignore[operator]
    return functions[0].size  # type: ignore[union-attr]


def by_its_call(x: Any) -> Any:
    return weight.size(x)  # type: ignore[attr-defined]


def by_an_entry(x: Any) -> Any:
    return weight.size[0](x)  # type: ignore[attr-defined]


def by_a_ufunc(x: Any) -> Any:
    return np.sin.size(x)  # type: ignore[attr-defined]


def by_a_ufuncs_name(x: Any) -> Any:
    function = np.sin
    return function(x)


def by_a_module(x: Any) -> Any:
    module = np
    return module.sin(x)


def by_a_module_or_more(x: Any) -> Any:
    return (x or np).conjugate(x)


def by_what_is_given(x: Any) -> Any:
    return x(1.0)


def by_a_method(x: Any) -> Any:
    return x.size()


def by_another_attribute(x: Any) -> Any:
    return x.T


def by_a_class(x: Any) -> Any:
    return range.size  # type: ignore[attr-defined]


MORE_THAN_CALLED = [
    *(by_a_name, by_an_argument, by_a_tuple, by_a_choice, by_a_named_call, by_a_named_tuple),
    *(by_its_call, by_an_entry, by_a_ufunc, by_a_ufuncs_name, by_a_module, by_a_module_or_more),
    *(by_what_is_given, by_a_method, by_another_attribute, by_a_class),
]


@pytest.mark.parametrize("function", MORE_THAN_CALLED, ids=lambda function: function.__name__)
def test_a_function_is_called_where_it_is_looked_up(function: Any) -> None:
    assert proof_of(function) is None


def branching(x: Any, n: int) -> Any:
    total = 0.0
    while (n > 0 and total < 5) or not n:
        n -= 1
        for a, b in enumerate(reversed(range(n))):
            if a == b:
                continue
            if a > 7:
                break
            if a == 3:
                return branching(x[1:2], a if a < b < n else b) if b else -x[-b]
            total = total + np.cos(branching(x, n - 1) if n else 2.0) * math.pi
        a, b, total = b, total, a
    return (total, x.shape[0], x.size + x.ndim)[0] + np.add(x[0], helped(x, 1, 2))


def test_all_branches_are_followed() -> None:
    proof = proof_of(branching)
    assert proof is not None
    assert [*proof.functions] == [branching, helped]


@pytest.mark.parametrize(("module", "name"), [(np, "sin"), (np, "pi"), (math, "cos")])
def test_what_clones_see_of_a_module_is_watched(module: Any, name: str) -> None:
    proof = proof_of(waves)
    assert proof is not None
    assert proof.holds()
    names = vars(shadow_of(module))
    shown = names[name]
    names[name] = 1.0
    try:
        assert not proof.holds()
        assert proof_of(waves) is None
    finally:
        names[name] = shown
    assert proof.holds()


def test_ufuncs_of_the_user_are_not_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    own = np.frompyfunc(lambda x: x, 1, 1)
    monkeypatch.setattr(np, own.__name__, own, raising=False)
    monkeypatch.setattr(np, "sin", own)
    assert proof_of(waves) is None
