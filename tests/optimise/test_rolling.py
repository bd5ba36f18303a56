"""Rolling: programs of unrolled loops, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.calculus.inspecting.programs import capture_whole
from adjoint.loops.bodies import interpreted
from adjoint.loops.declared import SCAN
from adjoint.optimise import roll
from adjoint.optimise.rolling import Run, codes, runs, writing
from adjoint.optimise.rolling.runs import Codes, distances
from adjoint.program import Equation, Program, check_program

RNG = np.random.default_rng(3)


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    ad.cache_clear()
    yield
    ad.cache_clear()


def captured(function: Callable[..., Any], *args: Any) -> tuple[Program, list[Any]]:
    """The program of a function, and its arguments."""
    found = capture_whole(function, args, {}, "program")
    return found.program(), [*pytrees.flatten((args, {}))[0], *found.constants]


def rolled(function: Callable[..., Any], *args: Any) -> Program:
    """The rolled program, which computes the same to the last bit."""
    program, values = captured(function, *args)
    made = check_program(roll(program))
    for one, other in zip(interpreted(program)(*values), interpreted(made)(*values), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
    return made


def loops(program: Program) -> list[Any]:
    return [each for each in program.equations if each.primitive.name == "scan"]


# --- loops as they are written --------------------------------------------------------------------


def recurrence(x: Any) -> Any:
    y = np.zeros(len(x))
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = 0.9 * y[i - 1] + x[i] * 2.0
    return y.sum()


def fibonacci(x: Any) -> Any:
    a, b = x[0], x[1]
    for _ in range(150):
        a, b = b, np.sin(a) + b * 0.5
    return a, b


def runge_kutta(x: Any) -> Any:
    def rate(y: Any) -> Any:
        return np.concatenate([x[:1], x[1:] * y[:-1]])

    y, h = np.zeros(len(x)), 2.0 / 30
    for _ in range(30):
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        k4 = rate(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


TEXT = RNG.integers(0, 5, size=90).tolist()


def characters(x: Any) -> Any:
    hidden, total = np.zeros(4), 0.0
    for letter in TEXT:
        hidden = np.tanh(0.5 * hidden + x[letter])
        total = total + np.sum(hidden * hidden)
    return total


def table(x: Any) -> Any:
    size = len(x)
    best = np.full((size + 1, size + 1), np.inf)
    best[0, 0] = 0.0
    for i in range(1, size + 1):
        for j in range(1, size + 1):
            before = np.minimum(np.minimum(best[i - 1, j], best[i, j - 1]), best[i - 1, j - 1])
            best[i, j] = np.abs(x[i - 1] - 0.5 * x[j - 1]) + before
    return best[size, size]


def nested(x: Any) -> Any:
    size = len(x)
    best = np.full((size + 1, size + 1), np.inf)
    best[0, 0] = 0.0
    for i in range(1, size + 1):
        row = x[i - 1]
        for j in range(1, size + 1):
            before = np.minimum(np.minimum(best[i - 1, j], best[i, j - 1]), best[i - 1, j - 1])
            best[i, j] = np.abs(row - 0.5 * x[j - 1]) + before
        best[i, size] = best[i, size] * 1.01
    return best[size, size]


def times(x: Any) -> Any:
    y = x
    for k in range(100):
        y = y + 0.01 * np.sin(y * (0.1 * k))
    return y


def windows(x: Any) -> Any:
    out, total = np.zeros(x.size), 0.0
    for k in range(2, x.size - 2):
        out[k : k + 2] = x[k - 2 : k + 3].sum() * x[k : k + 2]
        total = total + out[k - 1]
    return total, out


def backwards(x: Any) -> Any:
    y = x.copy()
    for k in range(len(x) - 2, -1, -1):
        y[k] += 0.5 * y[k + 1]
        y[k : k + 2] *= 1.25
    return y


def columns(x: Any) -> Any:
    y = x.copy()
    for k in range(1, x.shape[1]):
        y[:, k] = y[:, k] + 0.5 * y[:, k - 1]
        y[1:, k] *= 2.0
    return y


def kept(x: Any) -> Any:
    y, seen = x, []
    for _ in range(120):
        y = np.cos(y) * 1.5 + y
        seen.append(y)
    return seen[-1], seen[3] + seen[40], np.stack(seen)


def two_loops(x: Any) -> Any:
    first = [np.sin(x[k] * 2.0) * x[k] for k in range(100)]
    total = 0.0
    for value in first:
        total = total * 0.5 + value * value
        total = total + np.exp(-value)
    return total


def read_before(x: Any) -> Any:
    rows, total, y = [x[k] for k in range(100)], 0.0, x[0]
    for k in range(99):
        y = np.sin(y) * rows[k] + rows[k + 1]
        total = total + y * rows[99 - k]
    return total


def momentum(x: Any) -> Any:
    v = np.zeros_like(x)
    for _ in range(60):
        g = 2 * x * np.cos(x)
        v = 0.9 * v - 0.1 * g
        x = x + v
    return x, v, g


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any, int]] = {
    "recurrence": (recurrence, RNG.normal(size=100), 8),
    "fibonacci": (fibonacci, RNG.normal(size=2), 8),
    "runge_kutta": (runge_kutta, RNG.normal(size=6), 110),
    "characters": (characters, RNG.normal(size=(5, 4)), 20),
    "table": (table, RNG.normal(size=9), 30),
    "nested": (nested, RNG.normal(size=32), 60),
    "times": (times, RNG.normal(size=3), 110),
    "windows": (windows, RNG.normal(size=80), 10),
    "backwards": (backwards, RNG.normal(size=80), 10),
    "columns": (columns, RNG.normal(size=(3, 80)), 10),
    "kept": (kept, RNG.normal(size=3), 20),
    "two_loops": (two_loops, RNG.normal(size=100), 15),
    "read_before": (read_before, RNG.normal(size=100), 110),
    "momentum": (momentum, RNG.normal(size=3), 20),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_are_found_and_change_no_bit(name: str) -> None:
    function, x, most = FUNCTIONS[name]
    made = rolled(function, x)
    assert loops(made)
    assert len(made) <= most


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_precision_stays_what_it_is(name: str) -> None:
    function, x, _ = FUNCTIONS[name]
    rolled(function, x.astype(np.float32))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_rolled_programs(name: str) -> None:
    function, x, _ = FUNCTIONS[name]

    def scalar(x: Any) -> Any:
        return sum(np.sum(np.sin(each)) for each in pytrees.flatten(function(x))[0])

    with ad.config(native=False):
        expected = ad.grad(scalar)(x)
    found = ad.vmap(ad.grad(scalar))(np.stack([x, 0.5 * x]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ad.grad(scalar)(x), expected, rtol=1e-9, atol=1e-12)
    with ad.config(native=True):
        np.testing.assert_allclose(ad.grad(scalar)(x), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["recurrence", "fibonacci", "characters", "table", "momentum"])
@pytest.mark.parametrize("modes", ["ff", "fr", "rf", "rr"])
def test_second_derivatives_of_rolled_programs(name: str, modes: str) -> None:
    function, x, _ = FUNCTIONS[name]
    u = np.cos(np.arange(x.size)).reshape(x.shape)

    def scalar(x: Any) -> Any:
        return sum(np.sum(np.sin(each)) for each in pytrees.flatten(function(x))[0])

    def forward(f: Any) -> Any:
        return lambda x: ad.jvp(f, (x,), (u,))[1]

    def reverse(f: Any) -> Any:
        return lambda x: np.sum(ad.vjp(f, x)[1](np.ones_like(f(x)))[0] * u)

    one, other = ((forward if mode == "f" else reverse) for mode in modes)
    with ad.config(native=False):
        expected = one(other(scalar))(x)
    np.testing.assert_allclose(one(other(scalar))(x), expected, rtol=1e-8, atol=1e-10)


def test_loops_within_loops() -> None:
    function, x, _ = FUNCTIONS["nested"]
    (outer, *_) = sorted(
        loops(rolled(function, x)), key=lambda each: -len(loops(each.params["body"]))
    )
    assert len(loops(outer.params["body"])) == 1


def test_what_stays_the_same_is_computed_once() -> None:
    def function(x: Any) -> Any:
        y = x
        for _ in range(100):
            y = y * np.exp(x[0]) - np.sin(x[1]) * y
        return y

    made = rolled(function, np.array([0.1, 0.2, 0.3]))
    (loop,) = loops(made)
    assert {each.primitive.name for each in loop.params["body"].equations} == {
        "multiply",
        "subtract",
    }


def test_the_number_of_rounds_does_not_matter() -> None:
    sizes = {len(rolled(recurrence, np.ones(n))) for n in (100, 200, 400)}
    assert len(sizes) == 1


def test_numbers_of_data_do_not_change_the_program() -> None:
    def loss(x: Any, labels: list[int], rate: float) -> Any:
        total = 0.0
        for label in labels:
            total = total + np.log1p(np.exp(-label * x)) * (rate / 2) + 2 * label
        return total

    programs = set()
    for seed in range(4):
        labels = np.random.default_rng(seed).integers(0, 2, 60).tolist()
        program, _ = captured(lambda x, labels=labels, rate=0.1 * seed: loss(x, labels, rate), 0.5)
        programs.add(program)
        assert loops(rolled(lambda x, labels=labels: loss(x, labels, 0.3), 0.5))
    assert len(programs) == 1


@pytest.mark.parametrize("function", [table, nested], ids=["table", "nested"])
def test_two_dimensional_loops_are_rolled_from_few_rounds_on(function: Any) -> None:
    """What is left to derive, to simplify and to compile does not grow with the table."""
    sizes = [size_of(rolled(function, RNG.normal(size=size))) for size in (8, 12, 20)]
    assert max(sizes) < 80


def size_of(program: Program) -> int:
    bodies = [each.params["body"] for each in loops(program)]
    return len(program) + sum(map(size_of, bodies))


def made_anew(x: Any) -> Any:
    for _ in range(120):
        z, w = np.empty_like(x), np.zeros_like(x)
        w[1:] = 0.1 * x[:-1]
        z[0] = np.sin(x[0])
        z[1:] = 0.9 * x[1:] + w[1:]
        x = z
    return x


def test_what_is_made_anew_in_each_round_is_one_constant_and_the_rest_no_inputs() -> None:
    """Otherwise each array would be an input of its own, which is looked at at each call."""
    program, values = captured(made_anew, RNG.normal(size=6))
    assert len(program.inputs) == len(values) == 5  # x, 0.1, 0.9, and what z and w begin as
    assert len(rolled(made_anew, RNG.normal(size=6))) < 10


def test_draws_are_found_where_constants_before_them_are_one() -> None:
    rng = np.random.default_rng(0)

    def function(x: Any) -> Any:
        for _ in range(5):
            z = np.zeros_like(x)
            z[0] = x[1] * rng.normal()
            x = x + z
        return np.sum(x * rng.normal(size=2))

    jitted, x = ad.jit(ad.grad(function)), np.array([1.0, 2.0])
    for _ in range(4):
        state = rng.bit_generator.state
        slopes = jitted(x)
        rng.bit_generator.state = state
        with ad.config(replay=False):
            np.testing.assert_allclose(slopes, ad.grad(function)(x), rtol=1e-12)


# --- what is left as it is ------------------------------------------------------------------------


def test_short_loops_are_left() -> None:
    program, _ = captured(recurrence, np.ones(4))
    assert roll(program) is program


def test_short_loops_are_left_where_arrays_are_large() -> None:
    """A loop would go through memory once a round: 60 rounds of these took 27 ms, and not 5."""

    def orbit(x: Any) -> Any:
        y = x
        for _ in range(20):
            y = y * y * 0.5 - x
        return y

    program, _ = captured(orbit, np.ones(100_000))
    assert roll(program) is program
    assert loops(rolled(orbit, np.ones(100)))


def test_functions_of_the_user_are_left() -> None:
    @ad.primitive
    def opaque(x: Any) -> Any:
        return np.sin(x)

    def function(x: Any) -> Any:
        for _ in range(100):
            x = opaque(x) * 0.5 + np.cos(x) * 2.0
        return x

    program, _ = captured(function, 0.5)
    assert roll(program) is program


def test_arrays_that_are_large_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [RNG.normal(size=(3, 3)) for _ in range(60)]

    def layers(x: Any) -> Any:
        for weight in weights:
            x = np.tanh(weight @ x + x) * 0.5 + weight[0]
        return x

    x = RNG.normal(size=3)
    assert loops(rolled(layers, x))
    monkeypatch.setattr(writing, "MOST_BYTES", 1000)
    assert not loops(rolled(layers, x))


def test_lines_of_errors_are_those_of_the_loop() -> None:
    function, x, _ = FUNCTIONS["recurrence"]
    program, _ = captured(function, x)
    origins = {each.origin for each in program.equations}
    for each in roll(program).equations:
        inner = each.params["body"].equations if each.primitive.name == "scan" else [each]
        assert {equation.origin for equation in inner} <= {*origins, None}


def test_warnings_come_from_loops_too() -> None:
    def function(x: Any) -> Any:
        y = x
        for _ in range(120):
            y = np.log(y * 0.5) + 1.0
            y = y * 1.0
        return y

    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(ad.jit(function)(1.0))


def test_guards_within_a_loop() -> None:
    def function(x: Any) -> Any:
        count = 0
        while np.sum(x * x) > 1e-4:
            x = x * 0.9 + np.sin(x) * 0.01
            count += 1
        return x * count

    jitted = ad.jit(ad.value_and_grad(lambda x: np.sum(function(x))))
    for scale in (1.0, 2.0, 1.0, 0.5, 2.0):
        x = scale * np.array([1.0, -2.0, 0.5])
        with ad.config(native=False):
            value, slope = ad.value_and_grad(lambda x: np.sum(function(x)))(x)
        found = jitted(x)
        np.testing.assert_allclose(found[0], value, rtol=1e-12)
        np.testing.assert_allclose(found[1], slope, rtol=1e-10)


# --- runs -----------------------------------------------------------------------------------------


def test_runs_of_codes() -> None:
    block = list(range(5))
    found = runs([9, 8, *block * 30, 7, *([1, 2] * 50)])
    assert [(run.period, run.rounds) for run in found] == [(2, 50), (5, 30)]
    assert runs(list(range(500))) == []


def test_the_longest_repetition_is_taken() -> None:
    stage, end = [1, 2, 3], [4, 5]
    (run,) = runs([*[*stage * 4, *end] * 40])
    assert run == Run(0, 560, 14)


@pytest.mark.parametrize("window", [1, 2, 3, 7, 24, 96])
def test_windows_are_found_again_by_their_hashes(window: int) -> None:
    rng = np.random.default_rng(window)
    parts = [rng.integers(0, 4, size=rng.integers(1, 40)).tolist() for _ in range(6)]
    numbers = [code for part in parts for code in part * int(rng.integers(1, 20))]
    seen: dict[tuple[int, ...], int] = {}
    expected = [0] * len(numbers)
    for place in range(window - 1, len(numbers)):
        content = tuple(numbers[place - window + 1 : place + 1])
        expected[place] = place - seen.get(content, place)
        seen[content] = place
    assert distances(numbers, window).tolist() == expected


def test_equations_keep_their_codes() -> None:
    program, _ = captured(lambda x: (np.sin(x), np.cos(x), np.sin(x[:2])), np.ones(6))
    given = Codes()
    first = given.of(program.equations)
    other, _ = captured(lambda x: (np.cos(x), np.sin(x)), np.ones(6))
    assert given.of([*other.equations, *program.equations]) == [first[1], first[0], *first]


def test_codes_see_past_the_numbers_of_indices() -> None:
    program, _ = captured(lambda x: (x[0], x[1], x[1:3], x[2:4], x[2:5]), np.ones(6))
    found = codes(program.equations)
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert len({found[0], found[2], found[4]}) == 3


# --- random programs ------------------------------------------------------------------------------


def random_loop(seed: int) -> Callable[[Any], Any]:
    """A loop with a random body: reads, writes, values of one and two rounds before, numbers."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 8, size=6).tolist()
    numbers = rng.uniform(0.2, 0.9, size=60).tolist()
    letters = rng.integers(0, 10, size=60).tolist()
    stride, rounds = int(rng.integers(1, 3)), 60

    def function(x: Any) -> Any:
        kept = []
        y, before, out = x[0] * 1.0, x[1] * 1.0, np.zeros(2 * rounds + 4)
        for k in range(rounds):
            for step in steps:
                if step == 0:
                    y, before = np.sin(y) + before, y
                elif step == 1:
                    y = y * numbers[k]
                elif step == 2:
                    y = y + x[letters[k]]
                elif step == 3:
                    out[stride * k + 1] = y * 0.5 + out[stride * k]
                elif step == 4:
                    out[k : k + 3] *= 0.5
                elif step == 5:
                    kept.append(np.tanh(y))
                elif step == 6:
                    y = np.tanh(y) + x[letters[k] :].sum() * 0.1 + out[rounds - k]
                else:
                    y = y + x[k % 7] * x[3]
        return y, out, sum(kept, 0.0), kept[len(kept) // 2 :]

    return function


@pytest.mark.parametrize("seed", range(30))
def test_random_loops(seed: int) -> None:
    function, x = random_loop(seed), np.random.default_rng(seed).normal(size=10)
    rolled(function, x)


def test_many_random_loops_are_rolled() -> None:
    x = np.ones(10)
    found = [loops(roll(captured(random_loop(seed), x)[0])) for seed in range(30)]
    assert sum(map(bool, found)) >= 8


def test_a_planted_error_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers of indices that are one too large."""
    whole = writing.LoopWriter._number

    def wrong(self: Any, numbers: Any) -> Any:
        return whole(self, None if numbers is None else tuple(each + 1 for each in numbers))

    monkeypatch.setattr(writing.LoopWriter, "_number", wrong)
    with pytest.raises((AssertionError, IndexError)):
        rolled(windows, RNG.normal(size=80))


def test_the_same_array_in_captures_within_is_one_constant() -> None:
    """A gradient in each round lifts the arrays of its function: each time the same one.

    They were an input a round, and rolling stacked them: a call took 145 us, now 15.
    """
    centre = np.array([1.0, -2.0])

    def descended(x: Any) -> Any:
        for _ in range(40):
            x = x - 0.1 * ad.grad(lambda y: np.sum((y - centre) ** 2 * np.cos(y)))(x)
        return x

    x = np.array([0.3, 0.4])
    _, values = captured(descended, x)
    arrays = [value for value in values if np.ndim(value)]
    assert len(arrays) <= 3
    assert size_of(rolled(descended, x)) < 60
    with ad.config(native=False):
        expected = ad.grad(lambda x: np.sum(descended(x)))(x)
    np.testing.assert_allclose(ad.jit(ad.grad(lambda x: np.sum(descended(x))))(x), expected)


def test_an_array_that_is_written_between_captures_within_is_not() -> None:
    def descended(x: Any) -> Any:
        centre = np.array([1.0, -2.0])
        for k in range(8):
            centre[0] = k
            x = x - 0.1 * ad.grad(lambda y: np.sum((y - centre) ** 2))(x)
        return x

    x = np.array([0.3, 0.4])
    expected = x
    for k in range(8):
        expected = expected - 0.2 * (expected - np.array([k, -2.0]))
    np.testing.assert_allclose(ad.jit(descended)(x), expected, rtol=1e-14)
    jacobian = ad.jacobian(descended)(x)
    np.testing.assert_allclose(jacobian, 0.8**8 * np.eye(2), rtol=1e-12)


def test_guards_of_a_loop_are_counted_in_a_loop() -> None:
    """What follows from 350 answers was 1200 equations, each of which LLVM compiled."""

    def function(x: Any) -> Any:
        while np.sum(x * x) > 1e-6:
            x = x * 0.97 + np.sin(x) * 0.01
        return np.sum(x)

    x = np.array([1.0, -2.0, 0.5])
    jitted = ad.jit(ad.grad(function))
    with ad.config(native=False):
        expected = [ad.grad(function)(scale * x) for scale in (1.0, 2.0, 0.1)]
    for _ in range(3):
        for scale, slopes in zip((1.0, 2.0, 0.1), expected, strict=True):
            np.testing.assert_allclose(jitted(scale * x), slopes, rtol=1e-10)


def test_reading_rows_alone_is_no_loop() -> None:
    program, _ = captured(lambda x: [x[k] for k in range(100)], np.ones(100))
    assert roll(program) is program


def test_reading_parts_of_rows_alone_is_no_loop() -> None:
    program, _ = captured(
        lambda x: [x[:, k : k + 1].reshape(5) for k in range(99)], np.ones((5, 99))
    )
    assert roll(program) is program


def _loops(program: Program) -> list[Equation]:
    return [equation for equation in program.equations if equation.primitive is SCAN]


def _short_rounds(x: Any, rounds: int) -> Any:
    """Rounds of two operations on arrays that were made one by one."""
    rows = [np.sin(x) if k % 3 else np.cos(x) for k in range(17)]
    return [rows[k * k % 17] * rows[k * 5 % 16] + rows[k * 7 % 15] for k in range(rounds)]


def test_what_would_move_more_than_it_computes_is_no_loop() -> None:
    program, _ = captured(lambda x: _short_rounds(x, 40), np.ones(5))
    assert roll(program) is program
    program, _ = captured(lambda x: _short_rounds(x, 700), np.ones(5))
    assert _loops(roll(program)), "what takes long to compile is a loop all the same"


def test_a_loop_is_found_around_one_that_would_move_too_much() -> None:
    def steps(x: Any) -> Any:
        for _ in range(8):
            x = x + np.max(np.stack(_short_rounds(x, 40)))
        return x

    program, _ = captured(steps, np.ones(5))
    (loop,) = _loops(roll(program))
    assert len(loop.params["body"]) > 80


def test_rounds_begin_where_least_is_carried() -> None:
    """And not in the middle of a step, where its first results stand beside the state."""

    def steps(x: Any) -> Any:
        y = np.zeros(6)
        for _ in range(12):
            first = np.sin(y) * x
            second = np.cos(y + 0.5 * first) * x
            y = y + 0.1 * (first + 2.0 * second)
        return y

    program, args = captured(steps, np.linspace(0.0, 1.0, 6))
    rolled = check_program(roll(program))
    (loop,) = _loops(rolled)
    assert loop.params["carried"] == 1
    for one, other in zip(interpreted(program)(*args), interpreted(rolled)(*args), strict=True):
        np.testing.assert_array_equal(one, other)
