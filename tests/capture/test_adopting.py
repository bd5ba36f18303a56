"""Arrays made outside of the function, written into: they hold what NumPy would leave there."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.capture.recording.tracing.trace import Trace

BUFFER = np.zeros(3)
TOTAL = np.zeros(1)
SHARED = np.zeros(2)
PART = SHARED[:1]
LISTED = np.zeros(2)
LIST = [LISTED]


class Solver:
    def __init__(self) -> None:
        self.state = np.zeros(4)
        self.field = np.ones(4)
        self.history: list[Any] = []

    def run(self, x: Any, steps: int = 3) -> Any:
        self.state[:] = 0.0
        for i in range(steps):
            self.state[i] += x * i
            self.field *= x
            self.state[1:-1] += 0.1 * self.field[2:]
        state = self.state
        state[0] = x**2
        self.history.append(state.sum())
        return self.state.sum() + self.field[0]


def test_attributes_of_an_object_made_before() -> None:
    ours, plain = Solver(), Solver()
    places = (id(ours.state), id(ours.field))
    gradient = ad.grad(ours.run)
    for _ in range(3):
        before = plain.field[0]
        plain.run(0.7)
        assert gradient(0.7) == pytest.approx(slope(before))
        assert (id(ours.state), id(ours.field)) == places
        np.testing.assert_allclose(ours.state, plain.state)
        np.testing.assert_allclose(ours.field, plain.field)


def slope(first: float) -> Any:
    """Of one run, by differences, from a field that is `first` everywhere."""

    def value(x: float) -> Any:
        solver = Solver()
        solver.field *= first
        return solver.run(x)

    return (value(0.7 + 1e-6) - value(0.7 - 1e-6)) / 2e-6


def test_in_all_compositions() -> None:
    solver = Solver()

    def fresh(x: Any) -> Any:
        solver.field[:] = 1.0
        return solver.run(x)

    first = ad.grad(fresh)
    step = (first(0.7 + 1e-5) - first(0.7 - 1e-5)) / 2e-5
    for found in (
        ad.grad(first)(0.7),
        ad.jvp(first, (0.7,), (1.0,))[1],
        ad.grad(lambda x: ad.jvp(fresh, (x,), (1.0,))[1])(0.7),
        ad.jvp(lambda x: ad.jvp(fresh, (x,), (1.0,))[1], (0.7,), (1.0,))[1],
    ):
        assert found == pytest.approx(step, rel=1e-6)
    assert type(solver.state) is np.ndarray
    assert ad.jit(fresh)(0.7) == pytest.approx(fresh(0.7))


def test_arrays_of_a_module() -> None:
    def function(x: Any) -> Any:
        BUFFER[0] = x
        BUFFER[1:] += x**2
        total = TOTAL
        total[0] += x
        return BUFFER.sum() * TOTAL[0]

    array = BUFFER
    del array  # one more reference, and it would not be sure who looks into it
    assert ad.value_and_grad(function)(2.0) == (20.0, 10.0 + 2 * 9)
    np.testing.assert_array_equal(BUFFER, [2.0, 4.0, 4.0])
    assert ad.value_and_grad(function)(2.0) == (72.0, 18.0 + 4 * 9)
    assert TOTAL[0] == 4.0
    BUFFER[:] = TOTAL[:] = 0.0


def writes_shared(x: Any) -> Any:
    SHARED[0] = x
    return PART.sum()


def writes_listed(x: Any) -> Any:
    LISTED[0] = x
    return LIST[0].sum()


@pytest.mark.parametrize("function", [writes_shared, writes_listed])
def test_an_array_that_something_else_refers_to_is_left_alone(function: Any) -> None:
    with pytest.raises(ad.errors.DroppedDerivativeError):
        ad.grad(function)(1.0)
    assert not SHARED.any()
    assert not LISTED.any()


def test_one_array_cannot_stand_for_a_batch() -> None:
    solver = Solver()
    with pytest.raises((ad.errors.DroppedDerivativeError, ad.errors.UnsupportedFunctionError)):
        ad.vmap(solver.run)(np.ones(2))
    assert type(solver.state) is np.ndarray


def test_after_an_error_the_array_is_there_again() -> None:
    solver = Solver()

    def fails(x: Any) -> Any:
        solver.state[0] = x
        solver.state[3] = 1.0
        raise LookupError

    with pytest.raises(LookupError):
        ad.grad(fails)(3.0)
    np.testing.assert_array_equal(solver.state, [3.0, 0.0, 0.0, 1.0])


def test_what_replaces_the_array_stays() -> None:
    solver = Solver()

    def function(x: Any) -> Any:
        solver.state[0] = x
        solver.state = "gone"
        return x

    ad.grad(function)(1.0)
    assert solver.state == "gone"


# --- arrays made in the function by code that is not entered --------------------------------------

START = np.arange(1.0, 5.0)
START.flags.writeable = False  # whatever is written into shares no memory with it


def _copied(x: Any) -> Any:
    u = START.copy()
    u[0] = x
    u[1:] *= u[0]
    return u.sum()


def _computed(x: Any) -> Any:
    u, w = 2 * START, START.astype(int).astype(float)
    u[::2] += x
    w[1] = x**2
    return u @ w


def _drawn(x: Any) -> Any:
    positions = np.random.default_rng(0).normal(size=(3, 2))
    velocities = np.random.default_rng(1).uniform(size=6).reshape(3, 2)
    for _ in range(3):
        positions += 0.1 * x * velocities
        velocities[1:] -= 0.1 * positions[:-1]
    return np.sum(positions**2)


def _accumulated(x: Any) -> Any:
    total = 0.0
    for power in range(3):
        total += START**power
        total += x * START
    total[0] = 0.0
    return np.sum(total**2)


def _by_another(x: Any) -> Any:
    u = START * 1.0

    def fill(place: int) -> None:
        u[place] = x * place

    for place in (1, 3):
        fill(place)
    return np.sum(u**2)


def _chosen(x: Any) -> Any:
    u = START[START > 1] if x > 0 else START.copy()
    u[0] *= x
    return u.sum()


def _set_ends(u: Any, value: Any, scale: float = 1.0) -> None:
    u[0] = value
    u[-1] = scale * value


def _handed_on(x: Any) -> Any:
    u, v = START.copy(), START * 2
    _set_ends(u, x + 1.0)
    _set_ends(v, value=x, scale=3.0)
    return u @ v


def _under_other_names(x: Any) -> Any:
    u = START.copy()
    v = u
    middle = v[1:-1]
    middle += x
    last = u[2:]
    last[1] = x
    return np.sum(u**2)


@pytest.mark.parametrize(
    "function",
    [
        *(_copied, _computed, _drawn, _accumulated, _by_another, _chosen, _handed_on),
        _under_other_names,
    ],
)
def test_arrays_made_inside_by_plain_methods(function: Any) -> None:
    expected = (function(1.5 + 1e-6) - function(1.5 - 1e-6)) / 2e-6
    for gradient in (ad.grad(function), ad.jit(ad.grad(function))):
        assert gradient(1.5) == pytest.approx(expected, rel=1e-6)
        assert gradient(1.5) == pytest.approx(expected, rel=1e-6)


def test_arrays_that_others_refer_to_are_left_alone() -> None:
    kept = [np.zeros(2)]
    also = [*kept]

    def listed(x: Any) -> Any:
        u = kept[0]
        u[0] = x
        return u.sum()

    def seen(x: Any) -> Any:
        u = kept[0].reshape(2, 1)
        u[0] = x
        return u.sum()

    for function in (listed, seen):
        with pytest.raises(ad.errors.DroppedDerivativeError):
            ad.grad(function)(1.0)
    np.testing.assert_array_equal(also[0], 0.0)


def _in_a_list() -> Any:
    buffers = [np.zeros(3), np.ones(3)]

    def run(x: Any) -> Any:
        buffers[0][:] = x * np.arange(3.0)
        last = buffers[-1]
        last += buffers[0] * x
        return np.sum(buffers[0] * last)

    return run, lambda: buffers


def _in_a_dictionary() -> Any:
    state = {"position": np.ones(2), "velocity": np.zeros(2)}

    def run(x: Any) -> Any:
        for _ in range(3):
            state["position"] += 0.1 * x
            state["velocity"] -= x * state["position"]
        return state["position"] @ state["velocity"]

    return run, lambda: [*state.values()]


def _in_a_closure() -> Any:
    total = np.zeros(2)
    count = np.ones(2)

    def add(x: Any) -> None:
        np.multiply([1.0, 2.0], x, out=count)
        total[0] += x**2 * count[1]

    def run(x: Any) -> Any:
        add(x)
        add(2 * x)
        return total @ (count + 1)

    return run, lambda: [total, count]


def _in_a_list_that_changes() -> Any:
    buffers = [np.zeros(2)]

    def run(x: Any) -> Any:
        buffers[0][:] = x
        buffers.insert(0, np.full(2, 3.0))
        buffers[1][0] *= x
        return buffers.pop(1).sum() * buffers[0][0]

    return run, lambda: buffers


@pytest.mark.parametrize(
    "maker", [_in_a_list, _in_a_dictionary, _in_a_closure, _in_a_list_that_changes]
)
@pytest.mark.parametrize("derive", [ad.value_and_grad, lambda f: ad.jit(ad.value_and_grad(f))])
def test_arrays_held_in_lists_dictionaries_and_closures(maker: Any, derive: Any) -> None:
    (ours, held), (theirs, wanted) = maker(), maker()
    above, below = maker()[0], maker()[0]
    function, places = derive(ours), [id(array) for array in held()]
    for call in range(3 if maker is not _in_a_list_that_changes else 1):
        value, slope = function(0.7)
        differences = (above(0.7 + 1e-6) - below(0.7 - 1e-6)) / 2e-6
        assert value == pytest.approx(theirs(0.7), rel=1e-15)
        if call == 0:  # the states from which the differences start go apart after that
            assert slope == pytest.approx(differences, rel=1e-6)
        for array, plain in zip(held(), wanted(), strict=True):
            assert type(array) is np.ndarray
            np.testing.assert_allclose(array, plain, rtol=1e-15)
        if maker is not _in_a_list_that_changes:
            assert [id(array) for array in held()] == places
        del array  # to which nothing else refers at the next call


def test_after_an_error_arrays_in_containers_are_there_again() -> None:
    buffers, kept = [np.zeros(2)], {"a": np.ones(2)}
    places = (id(buffers[0]), id(kept["a"]))

    def run(x: Any) -> Any:
        buffers[0][:] = x
        kept["a"] *= x
        raise KeyError("too late")

    with pytest.raises(KeyError):
        ad.grad(run)(2.0)
    assert (id(buffers[0]), id(kept["a"])) == places
    np.testing.assert_array_equal(buffers[0], [2.0, 2.0])
    np.testing.assert_array_equal(kept["a"], [2.0, 2.0])


def test_an_array_that_two_containers_hold_is_left_alone() -> None:
    array = np.zeros(2)
    buffers, others = [array], {"also": array}

    def run(x: Any) -> Any:
        buffers[0][:] = x
        return others["also"].sum()

    with pytest.raises(ad.errors.DroppedDerivativeError):
        ad.grad(run)(2.0)
    np.testing.assert_array_equal(array, [0.0, 0.0])


def test_what_an_inner_capture_has_read_is_written_into_by_another() -> None:
    class Model:
        def __init__(self) -> None:
            self.work = np.zeros(2)

        def read(self, x: Any) -> Any:
            return np.sum(self.work * x)

        def write(self, x: Any) -> Any:
            self.work[:] = x
            self.work *= 2
            return np.sum(self.work**2)

    model = Model()

    def both(x: Any) -> Any:
        return ad.grad(model.read)(x) + ad.grad(model.write)(x) + ad.grad(model.read)(x)

    jitted = ad.jit(both)
    for number in range(8):
        x = np.array([1.0, 2.0]) + number // 2
        before = model.work.copy()
        np.testing.assert_allclose((jitted if number % 3 else both)(x), before + 8 * x + 2 * x)


def test_a_capture_leaves_nothing_for_the_collector() -> None:
    """A trace that waits for the collector would refer to the user's arrays till then."""
    weights = np.ones(2)

    def traces() -> int:
        return sum(type(value) is Trace for value in gc.get_objects())

    gc.collect()
    before = traces()
    gc.disable()
    try:
        for number in range(6):
            ad.grad(lambda x: np.sum(weights * x**2))(np.array([1.0, 2.0]) + number)
            ad.jit(ad.grad(lambda x: np.sum(weights * x**2)))(np.array([1.0, 2.0]))
        assert traces() == before
    finally:
        gc.enable()
