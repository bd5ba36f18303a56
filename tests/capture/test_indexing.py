"""Indexing.

Every form that NumPy has, read and written, gives NumPy's values, derivatives and errors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import adjoint as ad
from tests.capture.comparing import captured_value, same_derivative, same_values


@st.composite
def shapes(draw: Any) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))


@st.composite
def indices(draw: Any, shape: tuple[int, ...]) -> Any:
    """An index from NumPy's whole grammar, mostly within bounds."""
    entries: list[Any] = []
    axis, ellipsis = 0, False
    common = draw(st.sampled_from([(2,), (1,), (2, 2), (), (3, 1), (0,)]))
    while axis < len(shape):
        kind = draw(st.sampled_from("isssnea am".replace(" ", "")))
        n = shape[axis]
        if kind == "i":
            number = draw(st.integers(-n, n - 1))
            entries.append(draw(st.sampled_from([number, np.int64(number)])))
        elif kind == "s":
            bound = st.one_of(st.none(), st.integers(-n - 2, n + 2))
            step = draw(st.sampled_from([None, 1, 2, -1, -2, 3]))
            entries.append(slice(draw(bound), draw(bound), step))
        elif kind == "n":
            entries.append(None)
            continue
        elif kind == "e":
            if ellipsis or draw(st.booleans()):
                continue
            ellipsis = True
            entries.append(Ellipsis)
            axis += draw(st.integers(0, len(shape) - axis))
            continue
        elif kind == "a":
            flat = draw(st.lists(st.integers(-n, n - 1), min_size=6, max_size=6))
            array = np.resize(np.array(flat), common)
            entries.append(
                array.tolist() if array.ndim == 1 and array.size and draw(st.booleans()) else array
            )
        else:
            mask = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
            entries.append(mask)
        axis += 1
        if draw(st.integers(0, 5)) == 0:
            break
    if len(entries) == 1 and draw(st.booleans()):
        return entries[0]
    return tuple(entries)


@st.composite
def cases(draw: Any) -> tuple[Any, Any]:
    shape = draw(shapes())
    return np.arange(float(np.prod(shape))).reshape(shape) + 0.5, draw(indices(shape))


def outcome(function: Any, *args: Any) -> Any:
    try:
        return function(*args)
    except (IndexError, ValueError, TypeError) as error:
        return error


@settings(max_examples=300, deadline=None)
@given(cases())
def test_reading(case: Any) -> None:
    x, index = case

    def function(x: Any) -> Any:
        return x[index]

    def made_inside(x: Any) -> Any:
        a = np.zeros(x.shape)
        a[...] = x
        return a[index]

    expected = outcome(function, x)
    for each in (function, made_inside):
        found = outcome(lambda each=each: captured_value(each, x))
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), (found, expected)
        else:
            same_values(found, expected)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_reading_has_the_right_derivative(case: Any) -> None:
    x, index = case

    def function(x: Any) -> Any:
        return x[index] * 2.0

    assume(not isinstance(outcome(function, x), Exception))
    same_derivative(function, (x,))


def repeats(x: Any, index: Any) -> bool:
    """Whether an index names an entry twice, where the order of writes would matter."""
    counts = np.zeros(x.shape)
    np.add.at(counts, index, 1)
    return bool((counts > 1).any())


@settings(max_examples=300, deadline=None)
@given(
    cases(),
    st.sampled_from(["scalar", "whole", "row", "wrong"]),
    st.sampled_from(["=", "+=", "*="]),
)
def test_writing(case: Any, form: str, operator: str) -> None:
    x, index = case
    part = outcome(lambda: x[index])
    shape = () if isinstance(part, Exception) else np.shape(part)
    shape = {"scalar": (), "whole": shape, "row": shape[-1:], "wrong": (7, *shape)}[form]
    assume(
        form != "wrong" or np.size(part)
    )  # NumPy lets any shape through where nothing is written
    value = np.linspace(1, 2, int(np.prod(shape))).reshape(shape)[()]

    def function(x: Any, value: Any) -> Any:
        x = x.copy()
        if operator == "=":
            x[index] = value
        elif operator == "+=":
            x[index] += value
        else:
            x[index] *= value
        return x

    def made_inside(x: Any, value: Any) -> Any:
        a = np.ones(x.shape)
        if operator == "=":
            a[index] = value
        elif operator == "+=":
            a[index] += value
        else:
            a[index] *= value
        return a * x

    for each in (function, made_inside):
        expected = outcome(each, x, value)
        found = outcome(lambda each=each: captured_value(each, x, value))
        if isinstance(expected, Exception):
            assert isinstance(found, type(expected)), (found, expected)
        else:
            same_values(found, expected)


@settings(max_examples=60, deadline=None)
@given(cases(), st.booleans())
def test_writing_has_the_right_derivative(case: Any, adds: bool) -> None:
    x, index = case

    def function(x: Any, value: Any) -> Any:
        x = x * 1.5
        if adds:
            x[index] += value
        else:
            x[index] = value
        return x

    part = outcome(lambda: x[index])
    assume(not isinstance(part, Exception))
    same_derivative(function, (x, np.linspace(1, 2, np.size(part)).reshape(np.shape(part))[()]))
    same_derivative(function, (x, 0.3))


X = np.arange(12.0).reshape(3, 4)
EMPTY = np.array([], int)
WRONG = [
    5,
    -4,
    (0, 4),
    (0, 0, 0),
    (slice(None), [0, 4]),
    [0, 3],
    1.0,
    "a",
    np.array([0.5]),
    (Ellipsis, Ellipsis),
    np.ones((2, 4), bool),
    np.ones((3, 4, 1), bool),
    ([0, 1], [0, 1, 2]),
    None if False else (None, 7),
    [[0, 1], [0]],
    np.array([-4]),
]


@pytest.mark.parametrize("index", WRONG, ids=repr)
def test_what_numpy_refuses(index: Any) -> None:
    expected = outcome(lambda: X[index])
    assert isinstance(expected, Exception)
    for function in (lambda x: x[index], lambda x: np.array(x)[index]):
        found = outcome(lambda function=function: captured_value(function, X))
        assert isinstance(found, type(expected)), (found, expected)

    def write(x: Any) -> Any:
        x = x.copy()
        x[index] = 0.0
        return x

    assert isinstance(outcome(lambda: captured_value(write, X)), type(outcome(write, X)))


@pytest.mark.parametrize(
    "index",
    [
        [0, 5],
        (slice(None), [0, 9]),
        ([0, 1], 9),
        (9, [0]),
        (0, [9]),
        (None, [9]),
        (np.array(9), [0]),
        np.array(9),
        (5, slice(None)),
        ([0, 1], [0, 1, 2]),
        ([0, 2], [True, False]),
        (slice(0, 0), [9]),
        (EMPTY, 9),
    ],
    ids=repr,
)
@pytest.mark.parametrize("shape", [(), (7, 5), (7, 0)])
def test_where_index_and_value_are_both_wrong_the_error_is_numpys(index: Any, shape: Any) -> None:
    def write(x: Any) -> Any:
        x = x * 1.0
        x[index] = np.ones(shape)
        return x

    expected = outcome(write, X)
    assert isinstance(expected, (IndexError, ValueError))
    found = outcome(lambda: captured_value(write, X))
    assert isinstance(found, type(expected)), (found, expected)


def test_slices_and_tuples_of_integers_are_told_apart() -> None:
    cube = np.arange(24.0).reshape(2, 3, 4)
    for index in (slice(1, 2, 3), (1, 2, 3), slice(0, 1, 1), (0, 1, 1), slice(1, 1), (1, 1)):
        same_values(captured_value(lambda x, index=index: x[index], cube), cube[index])


def test_an_index_that_is_computed() -> None:
    def function(x: Any) -> Any:
        place = np.argmax(x)
        order = np.argsort(x)
        return x[place] * x[order[0]] + x[int(place)] + x[x > 0.5].sum() + x[order][1]

    x = np.array([0.2, 0.9, 0.4])
    same_values(captured_value(function, x), function(x))
    same_derivative(function, (x,))


def test_an_index_that_is_an_argument() -> None:
    def function(x: Any, k: Any, rows: Any) -> Any:
        return x[k] + x[rows].sum(0) + x[rows, k] + x[..., k].sum()

    args = (X, 2, np.array([0, 2]))
    with pytest.raises(ValueError):
        function(*args)

    def fitting(x: Any, k: Any, rows: Any) -> Any:
        return x[k].sum() + x[rows].sum() + x[rows, k].sum() + x[..., k].sum()

    same_values(captured_value(fitting, *args), fitting(*args))
    same_derivative(fitting, args)


@pytest.mark.parametrize(
    "value", [[1.0, 2.0, 3.0, 4.0], (1, 2, 3, 4), 5, True, 1 + 0j * 0, np.float32(2)]
)
def test_writing_plain_values(value: Any) -> None:
    def function(x: Any) -> Any:
        x = x.copy()
        x[1] = value
        return x

    expected = outcome(function, X)
    found = outcome(lambda: captured_value(function, X))
    if isinstance(expected, Exception) or isinstance(value, complex):
        assert isinstance(found, TypeError)
    else:
        same_values(found, expected)


def test_lists_of_traced_values_are_written() -> None:
    def function(x: Any) -> Any:
        a = np.zeros((2, 2))
        a[0] = [x[0], 2 * x[1]]
        a[:, 1] += (x[2], 1.0)
        a[1][0] = x[1]
        return a

    same_derivative(function, (np.array([1.0, 2.0, 3.0]),))


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((1, 2), (np.array([-2]), EMPTY)),
        ((3, 1, 3), (EMPTY, np.array([-3]))),
        ((0, 2, 3), (np.array([0]), EMPTY, -2)),
        ((2, 0), (Ellipsis, EMPTY, np.array([1]))),
    ],
)
def test_where_nothing_is_indexed_nothing_is_out_of_bounds(shape: Any, index: Any) -> None:
    x = np.ones(shape)
    same_values(ad.jit(lambda x: (x * 1.0)[index])(x), x[index])

    def written(x: Any) -> Any:
        y = x * 2.0
        y[index] = 5.0
        return y

    same_values(ad.jit(written)(x), written(x))
    np.testing.assert_array_equal(ad.vjp(written, x)[1](x)[0], 2 * x)


@pytest.mark.parametrize(
    ("shape", "mask"), [((1,), (0,)), ((2, 3), (0,)), ((2, 3), (0, 3)), ((2, 3), (2, 0))]
)
def test_an_axis_of_a_mask_of_length_0_fits_every_axis(shape: Any, mask: Any) -> None:
    test_where_nothing_is_indexed_nothing_is_out_of_bounds(shape, np.zeros(mask, bool))


@pytest.mark.parametrize(("shape", "mask"), [((0, 3), (1,)), ((3, 4), (0, 5)), ((3,), (0, 1))])
def test_other_axes_of_such_a_mask_must_fit(shape: Any, mask: Any) -> None:
    index = np.zeros(mask, bool)
    for function in (lambda x: x[index], ad.jit(lambda x: (x * 1.0)[index])):
        with pytest.raises(IndexError):
            function(np.ones(shape))


def test_plain_integers_are_checked_even_there() -> None:
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        ad.jit(lambda x: (x * 1.0)[EMPTY, 9])(np.ones((3, 3)))


def test_an_object_that_is_a_whole_number_and_a_sequence() -> None:
    class Place:
        def __index__(self) -> int:
            return 1

        def __len__(self) -> int:
            return 2

        def __getitem__(self, _: int) -> float:
            return 0.5

    place: Any = Place()
    np.testing.assert_array_equal(ad.grad(lambda x: x[place] ** 2)(np.arange(3.0)), [0, 2, 0])


PLACES: dict[str, Any] = {
    "behind": lambda x: x[..., (0, 2)],
    "in front": lambda x: x[(0, 1), ...],
    "alone": lambda x: x[(0, 1),],
    "both": lambda x: x[(0, 1), (2, 2)],
    "slice": lambda x: x[:, (2, 0)],
    "new axis": lambda x: x[None, :, (1, 1)],
    "nested": lambda x: x[((0, 1), (1, 0)), 2],
}


@pytest.mark.parametrize("name", PLACES)
def test_a_tuple_within_an_index_is_an_array_of_places(name: str) -> None:
    function, x = PLACES[name], np.arange(6.0).reshape(2, 3) + 1
    weights = np.cos(np.arange(function(x).size)).reshape(function(x).shape)
    for derivative in (ad.grad, lambda f: ad.jit(ad.grad(f))):
        expected = np.zeros((2, 3))
        np.add.at(expected.reshape(-1), function(np.arange(6).reshape(2, 3)), weights)
        gradient = derivative(lambda x: np.sum(weights * function(x)))(x)
        np.testing.assert_allclose(gradient, expected)


def test_writing_at_a_tuple_of_places() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        y[..., (0, 2)] *= x[:2]
        y[(0, 1),] = 0.0
        return y.sum()

    np.testing.assert_array_equal(ad.grad(function)(np.array([2.0, 3.0, 4.0])), [0, 4, 3])


BOOLEANS: dict[str, Any] = {
    "take": lambda x: np.take(x, True),
    "take a number": lambda x: np.take(x, np.True_, axis=0),
    "take some": lambda x: np.take(x, np.array([True, False])),
    "take of a list": lambda x: np.take(x, [True, False], axis=1),
    "take by a question": lambda x: np.take(x, x[0] > 1.5),
    "method": lambda x: x.take(True),
    "clip": lambda x: np.take(x, True, mode="clip"),
    "roll": lambda x: np.roll(x, True, axis=True),
    "moveaxis": lambda x: np.moveaxis(x, True, False),
    "cross": lambda x: np.cross(x, x[::-1], axis=True),
}


@pytest.mark.parametrize("name", BOOLEANS)
def test_a_boolean_is_a_number_where_numpy_takes_it_as_one(name: str) -> None:
    function, x = BOOLEANS[name], np.arange(6.0).reshape(2, 3) + 1
    expected = function(x)
    for call in (ad.jit(function), lambda x: ad.vjp(function, x)[0]):
        actual = call(x)
        assert np.shape(actual) == np.shape(expected)
        np.testing.assert_array_equal(actual, expected)
