"""Values that user code asks for: branches, loops, conversions and text.

And what vmap and jit make of them.
"""

# ruff: noqa: UP031
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values


def branch(x: Any) -> Any:
    if x > 1:
        return x**2
    elif 0 < x <= 1:
        return 3 * x
    return -x


def while_loop(x: Any) -> Any:
    count = 0
    while abs(x) > 0.5 and count < 100:
        x = x * 0.7
        count += 1
    return x * count


def chained(x: Any) -> Any:
    return x * 2 if -1 < x < 1 else x * 3 if not x < 5 else x


def counted(x: Any) -> Any:
    total = 0.0
    for k in range(int(x * 4) + 2):
        total += x * k
    return total


def extremes(x: Any) -> Any:
    values = [x, x**2, 2 - x]
    return (
        max(values)
        + min(values) * 2
        + max(x, 0.1)
        + min(x, 3)
        + sorted(values)[1]
        + sorted(values, reverse=True)[0]
    )


def logic(x: Any) -> Any:
    flags = [x > 0, x > 10]
    if any(flags) and not all(flags) and bool(x) and (x or 0):
        return x * 5
    return x


def contains(x: Any) -> Any:
    v = np.array([x, 2.0, 3.0])
    return x * 7 if 2.0 in v and x in [x, 1] else x


def rounded(x: Any) -> Any:
    n = round(float(x) * 10)
    m = int(np.floor(x)) + int(x)
    return x * n + m + round(x) + len("%d" % x)


def shown(x: Any) -> Any:
    text = (
        f"{x:.3f} {x!r} {x}"
        + "%.2f %s" % (x, x)
        + f"{x:8.2e} {x}"
        + str(x)
        + repr(x)
        + format(x, ".1f")
    )
    print(text)
    print(x, float(x), "%g" % x)
    assert float(x) == x, "equal"
    assert x > -100
    return x * len(f"{x:.3f}")


def matched(x: Any) -> Any:
    match int(x * 2):
        case 0 | 1:
            return x
        case 2 | 3:
            return x**2
        case _:
            return x**3


def ternary(x: Any) -> Any:
    return sum(x * k if k % 2 else -x for k in range(4)) + (lambda t: t if t > 0 else 0 * t)(x)


def tried(x: Any) -> Any:
    v = np.array([x, 1.0])
    try:
        return v[int(x) + 1] * x
    except IndexError:
        return v[0] ** 3


def enumerated(x: Any) -> Any:
    table = {0: 1.0, 1: 2.0}
    return x * table.get(int(x), 5.0) + [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][int(x)] * x


def set_of(x: Any) -> Any:
    return x * len({int(x), 1})


def divided(x: Any) -> Any:
    whole, rest = divmod(x, 0.75)
    return rest * 2 + x // 0.75 + x % 0.75 + whole


FUNCTIONS = [
    branch,
    while_loop,
    chained,
    counted,
    extremes,
    logic,
    contains,
    rounded,
    shown,
    matched,
    ternary,
    tried,
    enumerated,
    set_of,
    divided,
]
POINTS = [0.3, 0.9, 1.6, 5.2]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("x", POINTS)
@pytest.mark.parametrize("kind", [float, np.float64, np.array, np.float32])
def test_values_are_asked_for(function: Any, x: float, kind: Any, capsys: Any) -> None:
    if kind is np.array and function is rounded:
        return  # NumPy's arrays have no round()
    point = kind(x)
    single = kind is np.float32
    expected = function(point)
    text = capsys.readouterr().out
    found = captured_value(function, point)
    assert np.asarray(found) == pytest.approx(np.asarray(expected), rel=1e-6 if single else 1e-13)
    if kind is not np.array:  # repr(np.array(1.0)) and repr of a scalar differ
        assert capsys.readouterr().out == text
    if kind is float:
        same_derivative(function, (x,))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_jit_takes_the_right_branch_every_time(function: Any, capsys: Any) -> None:
    jitted = ad.jit(function)
    slope = ad.jit(ad.grad(function))
    for x in [*POINTS, *POINTS[::-1]]:
        assert jitted(x) == pytest.approx(function(x), rel=1e-13)
        assert slope(x) == pytest.approx(ad.grad(function)(x), rel=1e-13)


@pytest.mark.parametrize(
    "function",
    [
        branch,
        while_loop,
        chained,
        counted,
        extremes,
        logic,
        contains,
        rounded,
        matched,
        tried,
        enumerated,
    ],
    ids=lambda function: function.__name__,
)
def test_vmap_has_no_single_value(function: Any) -> None:
    with pytest.raises(ad.errors.ValueNeededError, match=r"np\.where"):
        ad.vmap(function)(np.array(POINTS))


def test_vmap_prints_what_it_can(capsys: Any) -> None:
    def function(x: Any) -> Any:
        print(x, [x])
        return x * 2

    same_values(ad.vmap(function)(np.array([1.0, 2.0])), np.array([2.0, 4.0]))
    assert capsys.readouterr().out == "<traced f8[]> [<traced f8[]>]\n"


@pytest.mark.parametrize("shown", [str, repr, "{}".format, lambda x: f"{x:.2f}"])
def test_text_that_vmap_goes_on_with_is_refused(shown: Any) -> None:
    def function(x: Any) -> Any:
        try:
            return x * len(shown(x))
        except TypeError:
            return x

    with pytest.raises(ad.errors.ValueNeededError, match=r"print\(x\) shows its type"):
        ad.vmap(function)(np.array([1.0, 2.0]))


@pytest.mark.parametrize(
    "filled",
    [
        lambda x: "%f" % x,
        lambda x: "%d" % x,
        lambda x: "%s: %.2e" % ("x", x),
        lambda x: "%(name)d" % {"name": x},
        lambda x, text="%d": text % x,
        lambda x, text="%f": text % (x,),
    ],
)
def test_numbers_in_a_template_that_vmap_goes_on_with_are_refused(filled: Any) -> None:
    """Python makes an error of its own of the one that a conversion raises, from 3.15 on always."""

    def function(x: Any) -> Any:
        try:
            return x * len(filled(x))
        except TypeError:
            return x

    assert ad.grad(function)(1.5) == len(filled(1.5))
    with pytest.raises(ad.errors.ValueNeededError, match="inside vmap"):
        ad.vmap(function)(np.array([1.0, 2.0]))
    with pytest.raises(ad.errors.ValueNeededError, match="inside vmap"):
        ad.vmap(lambda x: x * len(filled(x)))(np.array([1.0, 2.0]))


def test_a_template_that_does_not_fit_is_pythons_error() -> None:
    def function(x: Any) -> Any:
        return x * len("%d %d" % x)

    with pytest.raises(TypeError, match="not enough arguments"):
        ad.grad(function)(1.5)


def test_what_the_users_except_catches_of_one_example_is_refused() -> None:
    def truth(x: Any) -> Any:
        try:
            return x if x > 0 else -x
        except TypeError:
            return 0 * x

    def singular(A: Any) -> Any:
        try:
            return np.linalg.inv(A).sum()
        except np.linalg.LinAlgError:
            return A.sum()

    def strict(x: Any) -> Any:
        with np.errstate(divide="raise"):
            try:
                return 1 / x
            except FloatingPointError:
                return x

    batches = (np.array([1.0, -1.0]), np.array([np.ones((2, 2)), np.eye(2)]), np.array([0.0, 1.0]))
    for function, batch in zip((truth, singular, strict), batches, strict=True):
        with pytest.raises(ad.errors.ValueNeededError):
            ad.vmap(function)(batch)


def test_values_of_what_all_examples_share_can_be_asked_for() -> None:
    def function(x: Any, flag: Any) -> Any:
        return x * 2 if flag > 0 else x

    mapped = ad.vmap(function, in_axes=(0, None))
    same_values(mapped(np.array([1.0, 2.0]), 1.0), np.array([2.0, 4.0]))


def test_numbers_of_text_keep_their_value() -> None:
    def function(x: Any) -> Any:
        return x * float("2.5") * int("3") * complex("1").real

    assert ad.grad(function)(1.0) == 7.5


def test_what_a_comparison_gives_is_data_not_a_derivative() -> None:
    def function(x: Any) -> Any:
        return np.sum(x * (x > 0)) + float((x > 0).sum()) + (x > 0).mean()

    same_values(ad.grad(function)(np.array([1.0, -1.0])), np.array([1.0, 0.0]))


def test_conversions_have_the_errors_of_numpy() -> None:
    for convert in (float, int, bool, complex, len, hash, iter, list, lambda x: x[0]):
        for value in (np.ones(2), np.float64(1.0)):
            try:
                convert(value)
            except Exception as error:
                with pytest.raises(type(error)):
                    ad.jit(lambda x, convert=convert: (convert(x), x * 0)[1])(value)


def test_scalars_are_immutable() -> None:
    def function(x: Any) -> Any:
        t = x[0]
        s = t
        t += 1
        u = x.sum()
        w = u
        u *= 2
        return s, t, x, u, w

    x = np.array([1.0, 2.0])
    same_values(captured_value(function, x), function(x))


def test_hashing_and_equality() -> None:
    def function(x: Any) -> Any:
        memory = {x[0]: 1.0}  # a scalar can be a key
        assert x[0] == x[0]
        return x[0] * len(memory)

    same_values(ad.grad(function)(np.array([1.0, 2.0])), np.array([1.0, 0.0]))
