"""jit of functions that ask for values: every call is as without jit, and paths are kept."""

from __future__ import annotations

import math
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.calculus.jit import capturing, stages
from adjoint.executors.tiered import Tiered
from adjoint.program import Literal
from tests.counting import counting

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(params=[None, False], ids=["machine code", "numpy"])
def native(request: pytest.FixtureRequest) -> Any:
    with ad.config(native=request.param):
        yield request.param


def same(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)
    assert np.shape(found) == np.shape(expected)


# --- kinds of questions ---------------------------------------------------------------------------


def test_a_branch_is_captured_once_for_each_side(native: Any) -> None:
    function, calls = counting(lambda x: x * x if x > 0 else -x)
    jitted = ad.jit(function)
    for x in (2.0, -2.0, 3.0, -3.0, 0.0, -1.0, 1.0, 1.0, math.nan):
        same(jitted(x), x * x if x > 0 else -x)
    assert len(calls) == 2


def test_both_sides_of_many_branches(native: Any) -> None:
    def steps(x: Any) -> Any:
        y = x
        for k in range(4):
            y = np.sin(y) + 1 if y > 0.3 * k else np.cos(3 * y)
        return y

    function, calls = counting(steps)
    jitted = ad.jit(function)
    points = np.linspace(-3, 3, 50)
    for x in (*points, *points):
        same(jitted(x), steps(x))
    assert len(calls) <= 16


def test_loops_until_something_holds(native: Any) -> None:
    def root(a: Any) -> Any:
        y = a
        while abs(y * y - a) > 1e-12:
            y = (y + a / y) / 2
        return y

    function, calls = counting(root)
    jitted = ad.jit(ad.value_and_grad(function))
    for a in (2.0, 3.0, 100.0, 2.5, 1.0, 99.0, 2.0, 7.0, 1e4):
        value, slope = jitted(a)
        same(value, root(a))
        same(slope, ad.grad(root)(a))
    captured = len(calls)
    for a in (2.0, 3.0, 100.0, 2.5, 1.0, 99.0, 2.0, 7.0, 1e4):
        jitted(a)
    assert len(calls) <= captured


@pytest.mark.parametrize(
    ("whole", "kind"), [(int, "int"), (math.floor, "floor"), (math.ceil, "ceil"), (round, "round")]
)
def test_whole_numbers_are_asked_for_as_such(native: Any, whole: Any, kind: str) -> None:
    function, calls = counting(lambda x: x * np.ones(3 + whole(x)).sum())
    jitted = ad.jit(function)
    for x in (1.2, 1.3, 1.7, 1.9, -0.5, 0.5, 1.2, 2.5, 1.5, -2.5):
        same(jitted(x), x * (3 + whole(x)))
    assert len(calls) == len({whole(x) for x in (1.2, 1.3, 1.7, 1.9, -0.5, 0.5, 2.5, 1.5, -2.5)})
    with pytest.raises(ValueError, match="NaN"):
        jitted(math.nan)
    same(jitted(1.3), 1.3 * (3 + whole(1.3)))


def test_ranges_and_indices(native: Any) -> None:
    def power(x: Any, n: Any) -> Any:
        y = x[n]
        for _ in range(n):
            y = y * x[0]
        return y

    function, calls = counting(power)
    jitted = ad.jit(function)
    for n in (0, 1, 2, 1, 0, 2, np.int64(1)):
        same(jitted(X, n), power(X, n))
    assert len(calls) == 4  # a Python integer and one of NumPy's are two signatures


@pytest.mark.parametrize(
    "choose",
    [
        lambda x: x[x > 0],
        lambda x: x[np.nonzero(x > 0)],
        lambda x: np.compress(x > 0, x),
        lambda x: np.sort(x)[: int(np.sum(x > 0))],
    ],
)
def test_shapes_that_depend_on_values(native: Any, choose: Any) -> None:
    function, calls = counting(lambda x: np.exp(choose(x)))
    jitted = ad.jit(function)
    points = [X, X + 1, X - 5, -X, X, X + 0.1, -X, X - 5]
    for x in points:
        same(jitted(x), np.exp(choose(x)))
    assert len(calls) <= 4


def test_values_to_the_last_bit(native: Any) -> None:
    def hidden(x: Any) -> Any:
        return x * (2.0 if math.copysign(1.0, float(ad.stop_gradient(x))) > 0 else 3.0)

    class Holder:  # its method is not entered, so that float() asks for all of the value
        def sign(self, x: Any) -> Any:
            return math.copysign(1.0, float(x))

    jitted = ad.jit(lambda x: Holder().sign(x) * (x + 1))
    for x in (0.0, -0.0, 0.0, -0.0, 2.0, -0.0, math.nan, math.nan):
        np.testing.assert_array_equal(jitted(x), math.copysign(1.0, x) * (x + 1))
    same(ad.jit(hidden)(-2.0), -6.0)


def test_truth_of_numbers_and_of_single_entries(native: Any) -> None:
    jitted = ad.jit(lambda x: x + 1 if x else x - 1)
    for x in (2.0, 0.0, -0.0, math.nan, 3, 0, np.array([2.0]), np.array([0.0]), 1j, 0j, True):
        np.testing.assert_array_equal(jitted(x), x + 1 if x else x - 1)
        np.testing.assert_array_equal(jitted(x), x + 1 if x else x - 1)


# --- a wrong path leaves no trace -----------------------------------------------------------------


def test_no_warning_of_the_side_that_is_not_taken(native: Any) -> None:
    jitted = ad.jit(lambda x: np.log(x) if x > 0 else np.sqrt(-x))
    for x in (2.0, -2.0, 3.0, -4.0, 1.0, -1.0) * 8:  # warnings are errors in the tests
        same(jitted(x), math.log(x) if x > 0 else math.sqrt(-x))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        ad.jit(lambda x: np.log(x) if x >= 0 else x)(0.0)


def test_the_side_that_is_taken_warns_each_time(native: Any) -> None:
    jitted = ad.jit(lambda x: np.log(x) if x >= 0 else x)
    for _ in range(3):
        same(jitted(-1.0), -1.0)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert jitted(0.0) == -math.inf
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            jitted(0.0)


def test_no_error_of_the_side_that_is_not_taken(native: Any) -> None:
    def solved(A: Any, b: Any) -> Any:
        if abs(np.linalg.det(A)) > 1e-9:
            return np.linalg.solve(A, b)
        return A @ b

    jitted = ad.jit(solved)
    regular, singular = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones((2, 2))
    for A in (regular, singular, 2 * regular, 2 * singular, regular, singular):
        same(jitted(A, X[:2]), solved(A, X[:2]))


def test_guards_are_trusted_up_to_the_first_that_differs(native: Any) -> None:
    def nested(A: Any) -> Any:
        if np.sum(A) > 0:
            x = np.linalg.solve(A, np.ones(2))  # fails where the first answer is another
            if x[0] > 0:
                return x[0]
            return -x[1]
        return np.sum(A)

    jitted = ad.jit(nested)
    regular, other = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 3.0], [2.0, 1.0]])
    for A in (regular, -np.ones((2, 2)), other, regular, np.zeros((2, 2)), -other, regular):
        same(jitted(A), nested(A))
        same(jitted(A), nested(A))


def test_functions_of_the_user_are_not_called_for_nothing(native: Any) -> None:
    seen: list[float] = []

    @ad.primitive
    def noted(x: Any) -> Any:
        seen.append(float(x))
        assert x > 0
        return np.sqrt(x)

    @noted.jvp
    def rule(primals: Any, tangents: Any) -> Any:
        root = noted(primals[0])
        return root, tangents[0] / (2 * root)

    def function(x: Any) -> Any:
        y = np.sin(x)
        if y > 0:
            y = noted(y)
            if y > 0.5:
                y = y + noted(y)
        return y * 2

    for transform in (lambda f: f, ad.grad):
        jitted, plain = ad.jit(transform(function)), transform(function)
        for x in (1.0, -1.0, 0.1, 1.2, -1.0, 0.2, 1.0, 0.1, 4.0, 1.5):
            seen.clear()
            same(jitted(x), plain(x))
            assert min(seen, default=1.0) > 0


def test_functions_of_the_user_are_called_once(native: Any) -> None:
    seen: list[float] = []

    @ad.primitive
    def noted(x: Any) -> Any:
        seen.append(float(x))
        return np.sqrt(x)

    def function(x: Any) -> Any:
        if x < 0:
            return x
        y = noted(x)
        return noted(x) + (y if y > 1 else 2 * y)

    jitted = ad.jit(function)
    with ad.config(debug=False):  # which captures once more, to compare
        for x in (2.0, 0.5, -1.0):
            for _ in range(3):
                seen.clear()
                same(jitted(x), x if x < 0 else math.sqrt(x) * (2 if x > 1 else 3))
            assert seen == ([] if x < 0 else [x])


@pytest.mark.skipif(not hasattr(ad, "while_loop"), reason="loops are being written")
def test_an_endless_loop_on_the_wrong_side() -> None:
    def halve(x: Any) -> Any:
        if x > 0:
            return ad.while_loop(lambda y: y > 1, lambda y: y / 2, x)
        return -x

    def endless(x: Any) -> Any:  # for negative numbers
        if x > 0:
            return ad.while_loop(lambda y: y != 1, lambda y: y - 1, x)
        return x

    for function in (halve, endless):
        jitted = ad.jit(function)
        for x in (3.0, -3.0, 5.0, -0.5, 4.0):
            found = jitted(x)
            assert found == (function(x) if x > 0 else abs(x) if function is halve else x)


# --- errors and what else a function may do -------------------------------------------------------


def test_errors_of_the_function_itself(native: Any) -> None:
    def checked(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    jitted = ad.jit(checked)
    for _ in range(3):
        same(jitted(4.0), 2.0)
        with pytest.raises(ValueError, match="negative"):
            jitted(-1.0)


def test_errors_that_the_function_catches(native: Any) -> None:
    def factor(A: Any) -> Any:
        try:
            L = np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            L = np.linalg.cholesky(A + 10 * np.eye(2))
        return L[0, 0] * L[1, 1]

    def tried(A: Any) -> Any:  # what may fail is not used
        try:
            np.linalg.inv(A)
        except np.linalg.LinAlgError:
            return A * 0.0
        return A * 2.0

    good, bad = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    counted, calls = counting(factor)
    jitted, gradient = ad.jit(counted), ad.jit(ad.grad(factor))
    for A in (good, bad, 2 * good, good, bad):
        same(jitted(A), factor(A))
        same(gradient(A), ad.grad(factor)(A))
    assert len(calls) == 2
    jitted = ad.jit(tried)
    for A in (good, np.ones((2, 2)), good, np.ones((2, 2))):
        same(jitted(A), tried(A))


def test_a_value_that_is_printed_is_printed_at_each_call(
    native: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(x: Any) -> Any:
        print(f"{x:.1f}")
        return x * x

    jitted = ad.jit(shown)
    for x in (1.0, 2.0, 2.0):
        assert jitted(x) == x * x
    assert capsys.readouterr().out.split() == ["1.0", "2.0", "2.0"]


def test_a_function_that_comes_to_ask_otherwise(native: Any) -> None:
    limits = [0.0]
    jitted = ad.jit(lambda x: x + limits[-1] if x > limits[-1] else x * x if x > -5 else -x)
    assert jitted(1.0) == 1.0
    limits.append(2.0)
    for _ in range(3):
        for x, expected in ((1.0, 1.0), (-1.0, 1.0), (3.0, 5.0), (-6.0, 6.0)):
            assert jitted(x) == expected
    limits.pop()
    assert jitted(3.0) == 3.0


# --- bounds ---------------------------------------------------------------------------------------


def test_too_many_paths(native: Any) -> None:
    def rounds(x: Any) -> Any:
        count = 0
        while x > 1:  # this line
            x, count = x - 1, count + 1
        return x * count

    function, calls = counting(rounds)
    jitted = ad.jit(function, paths=5)
    for x in (1.5, 2.5, 3.5, 4.5, 5.5):
        same(jitted(x), rounds(x))
    with pytest.warns(ad.errors.ManyPathsWarning, match=r"(?s)6 paths .*this line.*while_loop"):
        same(jitted(6.5), rounds(6.5))
    before = len(calls)
    for x in (1.5, 2.5, 9.5, 6.5):  # and no second warning
        same(jitted(x), rounds(x))
    assert len(calls) == before + 4
    same(jitted(np.float64(2.5)), 1.0)  # another signature has paths of its own
    same(jitted(np.float64(2.5)), 1.0)
    assert len(calls) == before + 5


def test_numbers_that_never_come_again(native: Any) -> None:
    def spaced(x: Any) -> Any:
        return np.sum(np.arange(0.0, 3.0, x)) * x  # asks for all of the number

    jitted = ad.jit(spaced)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(1, 20):
            same(jitted(k / 7), spaced(k / 7))
    assert [each.category for each in caught] == [ad.errors.ManyPathsWarning]
    jitted = ad.jit(spaced)
    for x in (0.1, 0.2, 0.3) * 5:
        same(jitted(x), spaced(x))


@pytest.mark.parametrize("paths", [0, -1])
def test_a_bound_must_be_positive(paths: int) -> None:
    with pytest.raises(ad.errors.ArgumentError, match="1 or more"):
        ad.jit(np.sin, paths=paths)


@pytest.mark.parametrize("paths", [True, 2.0, "many"])
def test_a_bound_must_be_whole(paths: Any) -> None:
    with pytest.raises(ad.errors.ArgumentTypeError, match="whole number"):
        ad.jit(np.sin, paths=paths)


def test_threads_find_their_own_paths(native: Any) -> None:
    def steps(x: Any) -> Any:
        y = x
        for k in range(3):
            y = np.sin(y) + 1 if y > 0.3 * k else np.cos(3 * y)
        return y

    jitted = ad.jit(steps)
    faults: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for x in rng.normal(size=60) * 2:
            if not np.isclose(jitted(x), steps(x), rtol=1e-12):
                faults.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_a_planted_error_would_be_seen(native: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every guard is taken to hold, the wrong side is returned."""
    ad.cache_clear()
    monkeypatch.setattr(stages._Counting, "_holds", lambda self, atom, guard: Literal(True))
    jitted = ad.jit(lambda x: x * x if x > 0 else -x)
    assert jitted(2.0) == 4.0
    assert jitted(-2.0) == 4.0
    ad.cache_clear()


def test_the_first_of_several_numbers_asked_for_may_differ(native: Any) -> None:
    f = ad.jit(lambda v, w: np.polydiv(v, w))
    v, w = np.array([0.5, -1.0, 2.0, 0.3]), np.array([1.0, 0.4, -0.7])
    for k in range(3):
        for found, expected in zip(f(v + k, w + k), np.polydiv(v + k, w + k), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_all_stages_of_a_path_are_machine_code_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # A loop that may never end waits for the question before it: the path has two stages.
    def function(x):
        y = x if x > 0 else -x
        return ad.while_loop(lambda s: s > 1e-3, lambda s: 0.9 * s, y)

    on_numpy: list[Any] = []
    left = Tiered._on_numpy
    monkeypatch.setattr(
        Tiered, "_on_numpy", lambda self, given: (on_numpy.append(self), left(self, given))[1]
    )
    with ad.config(debug=False):
        jitted, expected = ad.jit(function), function(3.0)
        jitted(2.0)
        on_numpy.clear()
        np.testing.assert_allclose(jitted(3.0), expected, rtol=1e-12)
    assert not on_numpy


def test_loops_back_over_a_tape_wait_for_no_stage(native: Any) -> None:
    """How many rounds they make is known at run time alone: none, where a question fails."""

    def descend(a: Any) -> Any:
        def inner(x: Any) -> Any:
            while x * x > a:
                x = 0.9 * x
            return x * a

        slope = ad.grad(inner)(3.0 + a)
        return slope * a if slope > 1.0 else slope - a

    ad.cache_clear()
    jitted, stages_of = ad.jit(descend), []
    cut = capturing.cut

    def noted(*given: Any) -> Any:
        staged = cut(*given)
        stages_of.append(len(staged.stages))
        return staged

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(capturing, "cut", noted)
        for a in (2.0, 2.1, 5.0, 0.4, 2.2):
            np.testing.assert_allclose(jitted(a), descend(a), rtol=1e-10)
    assert stages_of
    assert set(stages_of) == {1}
