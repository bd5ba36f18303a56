"""Which kinks an evaluation met, and what derivatives do there."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
import scipy.special

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.primitives import PRIMITIVES
from adjoint.primitives.elementwise.kink_table import CHOOSING, KINKS, SEARCHING, KinkKind

CORNER, JUMP, STEEP, BRANCH, QUESTION = KinkKind


def only(function, *args, **options):
    """The one kink met."""
    (found,) = ad.kinks(function, *args, **options)
    return found


def sides(kink):
    return kink.left.tolist(), kink.right.tolist(), kink.used.tolist()


# --- the lecture ----------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 1.0])
def test_a_convex_combination_of_the_two_derivatives_of_the_absolute_value(weight):
    """Lecture, "Discontinuity": |x| at 0 takes (1 - w)(-1) + w(+1): -1, 0, 1 at w = 0, 1/2, 1."""
    with ad.config(kink=weight):
        assert ad.grad(abs)(0.0) == 2 * weight - 1
        assert ad.jvp(np.abs, (0.0,), (1.0,))[1] == 2 * weight - 1
        kink = only(abs, 0.0)
    assert sides(kink) == ([[-1.0]], [[1.0]], [[2 * weight - 1]])
    assert kink.used == (1 - weight) * kink.left + weight * kink.right


def abs_by_if(x):
    return -x if x < 0 else x


def abs_bis_by_if(x):
    return x if x > 0 else -x


def abs_by_where(x):
    return np.where(x < 0, -x, x)


def abs_bis_by_where(x):
    return np.where(x > 0, x, -x)


@pytest.mark.parametrize(
    ("function", "slope", "operation"),
    [
        (abs_by_if, 1, "less"),
        (abs_by_where, 1, "less"),
        (abs_bis_by_if, -1, "greater"),
        (abs_bis_by_where, -1, "greater"),
    ],
)
def test_two_programs_of_the_absolute_value(function, slope, operation):
    """Lecture: abs(Dual(0, 1)) = Dual(0, 1), abs_bis(Dual(0, 1)) = Dual(0, -1)."""
    value, tangent = ad.jvp(function, (0.0,), (1.0,))
    assert (float(value), float(tangent)) == (0, slope)
    assert ad.grad(function)(0.0) == slope
    kink = only(function, 0.0)
    assert (kink.operation, kink.kind) == (operation, BRANCH)
    assert sides(kink)[2] == [[False]]
    assert sides(kink)[0] != sides(kink)[1]
    assert ad.kinks(function, 0.5) == []


# --- the rows -------------------------------------------------------------------------------------

MIDDLE = [
    (np.abs, (0.0,), CORNER, [-1], [1], [0]),
    (np.fabs, (0.0,), CORNER, [-1], [1], [0]),
    (np.maximum, (2.0, 2.0), CORNER, [0, 0], [1, 1], [0.5, 0.5]),
    (np.minimum, (2.0, 2.0), CORNER, [1, 1], [0, 0], [0.5, 0.5]),
    (np.fmax, (2.0, 2.0), CORNER, [0, 0], [1, 1], [0.5, 0.5]),
    (np.fmin, (2.0, 2.0), CORNER, [1, 1], [0, 0], [0.5, 0.5]),
    (np.hypot, (0.0, 0.0), CORNER, [-1, -1], [1, 1], [0, 0]),
    (np.abs, (0j,), CORNER, [-1], [1], [0]),
    (np.sign, (0.0,), JUMP, [0], [0], [0]),
    (np.floor, (2.0,), JUMP, [0], [0], [0]),
    (np.ceil, (2.0,), JUMP, [0], [0], [0]),
    (np.trunc, (-2.0,), JUMP, [0], [0], [0]),
    (np.rint, (2.5,), JUMP, [0], [0], [0]),
    (np.remainder, (6.0, 3.0), JUMP, [1, -2], [1, -1], [1, -2]),
    (np.fmod, (6.0, 3.0), JUMP, [1, -2], [1, -1], [1, -2]),
    (np.floor_divide, (6.0, 3.0), JUMP, [0, 0], [0, 0], [0, 0]),
    (np.sqrt, (0.0,), STEEP, [np.nan], [np.inf], [np.inf]),
    (np.cbrt, (0.0,), STEEP, [np.inf], [np.inf], [np.inf]),
    (np.arcsin, (1.0,), STEEP, [np.inf], [np.nan], [np.inf]),
    (np.arcsin, (-1.0,), STEEP, [np.nan], [np.inf], [np.inf]),
    (np.arccos, (1.0,), STEEP, [-np.inf], [np.nan], [-np.inf]),
    (np.arccosh, (1.0,), STEEP, [np.nan], [np.inf], [np.inf]),
]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize(("function", "point", "kind", "left", "right", "used"), MIDDLE)
def test_rows(function, point, kind, left, right, used):
    kink = only(function, *point)
    assert kink.kind is kind
    np.testing.assert_array_equal(kink.left, [left])
    np.testing.assert_array_equal(kink.right, [right])
    np.testing.assert_array_equal(kink.used, [used])
    assert kink.places == tuple(range(len(point)))
    np.testing.assert_array_equal(kink.values, [point])
    assert kink.distance == [0]


@pytest.mark.parametrize(
    ("function", "point"),
    [
        (np.abs, (0.5,)),
        (np.maximum, (2.0, 2.5)),
        (np.maximum, (np.nan, np.nan)),
        (np.trunc, (0.0,)),
        (np.rint, (2.0,)),
        (np.fmod, (0.0, 3.0)),
        (np.remainder, (1.0, 0.3)),
        (np.sqrt, (1.0,)),
        (np.arctan2, (0.0, 1.0)),
        (np.hypot, (0.0, 1.0)),
        (np.power, (0.0, 2.0)),
        (np.arcsin, (0.5,)),
        (lambda x: np.maximum(x, x), (1.0,)),
        (lambda x: np.where(x == x, x, 0.0), (1.0,)),
        (lambda n: n * abs(2 - n), (2,)),
        (np.sinc, (0.0,)),
        (ad.grad(scipy.special.j1), (0.0,)),
    ],
)
def test_where_there_is_none(function, point):
    assert ad.kinks(function, *point) == []


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_jumps_and_steep_places_of_two_operands():
    assert only(np.arctan2, 0.0, -1.0).kind is JUMP
    assert only(np.arctan2, 0.0, 0.0).kind is JUMP
    assert only(np.copysign, 1.0, 0.0).kind is JUMP
    assert only(np.heaviside, 0.0, 0.5).kind is JUMP
    entropy = only(scipy.special.entr, 0.0)
    assert (entropy.kind, entropy.right[0, 0]) == (STEEP, np.inf)
    relative = only(lambda x: scipy.special.rel_entr(x, 0.5), 0.0)
    assert (relative.kind, relative.right[0, 0]) == (STEEP, -np.inf)
    root = only(np.power, 0.0, 0.5)
    assert (root.kind, root.right[0, 0]) == (STEEP, np.inf)


@pytest.mark.parametrize("compare", [np.less, np.less_equal, np.greater, np.greater_equal])
def test_a_comparison_says_what_it_said(compare):
    kink = only(lambda x: np.where(compare(x, 1.0), x, -x), 1.0)
    assert kink.left[0, 0] == compare(0.9, 1.0)
    assert kink.right[0, 0] == compare(1.1, 1.0)
    assert kink.used[0, 0] == compare(1.0, 1.0)


def test_ties_of_reductions_are_shared():
    x = np.array([[3.0, 1.0, 3.0], [5.0, 2.0, 0.0]])
    for function, values, left, right in ((np.max, x, 0, 1), (np.min, -x, 1, 0)):
        kink = only(lambda x, f=function: f(x, axis=1), values)
        assert kink.indices.tolist() == [[0, 0], [0, 2]]
        assert sides(kink) == ([[left]] * 2, [[right]] * 2, [[0.5]] * 2)
    assert ad.kinks(np.max, np.array([1.0, 2.0])) == []
    assert only(np.max, np.zeros((2, 2))).used.tolist() == [[0.25]] * 4


def test_ties_of_searches():
    kink = only(lambda x: x[np.argmin(x)], np.array([2.0, 1.0, 1.0]))
    assert kink.indices.tolist() == [[1], [2]]
    assert sides(kink) == ([[True]] * 2, [[False]] * 2, [[True], [False]])


def test_norm_clip_and_relu_meet_their_parts():
    (norm,) = ad.kinks(np.linalg.norm, np.zeros(3))
    assert (norm.kind, norm.used.tolist()) == (STEEP, [[np.inf]])  # that of its square root
    clipped = ad.kinks(lambda x: np.clip(x, -1.0, 1.0), np.array([-1.0, 0.0, 1.0]))
    assert [kink.indices.tolist() for kink in clipped] == [[[0]], [[2]]]
    assert only(lambda x: np.maximum(x, 0), np.array([0.0, 1.0])).places == (0,)


def test_entries_and_broadcasting():
    x, y = np.array([[1.0], [2.0]]), np.array([1.0, 2.0, 3.0])
    kink = only(np.maximum, x, y)
    assert kink.indices.tolist() == [[0, 0], [1, 1]]
    assert kink.values.tolist() == [[1, 1], [2, 2]]
    assert len(kink) == 2


def test_float32_and_python_numbers():
    kink = only(lambda x: np.maximum(x, 0.1), np.array([0.1], np.float32))
    assert kink.used.tolist() == [[0.5]]


def test_near_kinks():
    x = np.array([1e-9, -1e-3, 0.5])
    kink = only(np.abs, x, within=1e-2)
    assert kink.indices.tolist() == [[0], [1]]
    assert sides(kink) == ([[-1]] * 2, [[1]] * 2, [[1], [-1]])
    np.testing.assert_array_equal(kink.distance, [1e-9, 1e-3])
    near = only(np.max, np.array([1.0, 1.0 + 1e-7, 0.0]), within=1e-6)
    assert near.used.tolist() == [[0], [1]]
    (step,) = ad.kinks(lambda x: x * np.floor(x), 2.999, within=0.01)
    assert step.operation == "floor"


def test_only_what_depends_on_an_argument_counts():
    zero = np.zeros(2)

    def f(x):
        return x * np.maximum(zero, 0.0)[0] + ad.stop_gradient(np.abs(x - x))

    assert [kink.operation for kink in ad.kinks(f, 1.0)] == ["absolute"]
    assert ad.kinks(lambda x, n: x * (n > 2), 1.0, 2) == []


def test_the_users_line_and_the_text():
    def f(x):
        y = np.sin(x)
        return np.sum(np.abs(y))

    kink = only(f, np.zeros(6))
    path, _, number = kink.line.rpartition(":")
    assert (path, int(number)) == (__file__, f.__code__.co_firstlineno + 2)
    assert kink.text == "return np.sum(np.abs(y))"
    lines = str(kink).splitlines()
    assert lines[0].endswith("return np.sum(np.abs(y))")
    assert lines[1] == "  the one-sided derivatives differ, 6 entries"
    assert lines[2] == "  [0]: at 0: left -1, right 1, used 0"
    assert lines[-1] == "  and 2 more"


# --- the setting reaches every kink ---------------------------------------------------------------

COMBINED = {
    "abs": (np.abs, 0.0, -1, 1),
    "fabs": (np.fabs, 0.0, -1, 1),
    "relu": (lambda x: np.maximum(x, 0.0), 0.0, 0, 1),
    "relu on the right": (lambda x: np.maximum(0.0, x), 0.0, 1, 0),
    "fmax": (lambda x: np.fmax(x, 0.0), 0.0, 0, 1),
    "minimum": (lambda x: np.minimum(x, 0.0), 0.0, 1, 0),
    "fmin": (lambda x: np.fmin(x, 0.0), 0.0, 1, 0),
    "clip below": (lambda x: np.clip(x, 0.0, 1.0), 0.0, 0, 1),
    "clip above": (lambda x: np.clip(x, 0.0, 1.0), 1.0, 1, 0),
    "through others": (lambda x: 3 * np.abs(np.sin(x)), 0.0, -3, 3),
}


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", COMBINED)
def test_the_setting_in_both_modes(name, weight):
    """(1 - w) f'(x-) + w f'(x+), forward and reverse; of a second argument, the other way round.

    maximum(0, x) has the weight of the right-hand derivative in its *first* argument.
    """
    function, x, left, right = COMBINED[name]
    with ad.config(kink=weight):
        expected = pytest.approx((1 - weight) * left + weight * right)
        assert ad.jvp(function, (x,), (1.0,))[1] == expected
        assert ad.grad(function)(x) == expected
        assert ad.nodes(function, x, cotangents=1.0)["a"].adjoint == expected


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_what_the_setting_leaves_alone(weight):
    """Ties of reductions are shared equally, and the derivative of a norm at 0 is 0."""
    with ad.config(kink=weight):
        assert ad.grad(np.max)(np.ones(4)).tolist() == [0.25] * 4
        assert ad.grad(np.linalg.norm)(np.zeros(2)).tolist() == [0, 0]
        assert ad.grad(np.hypot, argnums=(0, 1))(0.0, 0.0) == (0, 0)
        assert only(np.max, np.ones(4)).used.tolist() == [[0.25]] * 4


# --- the table ------------------------------------------------------------------------------------


def test_every_row_is_of_a_primitive():
    assert {*KINKS, *CHOOSING, *SEARCHING} <= set(PRIMITIVES)


def test_every_primitive_whose_rule_reads_the_setting_has_a_row():
    """Planted against oversight: what the setting changes must be in the table."""
    points = {1: ((0.0,), (1.0,)), 2: ((0.0, 0.0), (1.0, None))}
    changed = set()
    for name, primitive in PRIMITIVES.items():
        if not isinstance(primitive.ufunc, np.ufunc) or primitive.ufunc.nin not in points:
            continue
        slopes = []
        for weight in (0.0, 1.0):
            with (
                ad.config(kink=weight),
                np.errstate(all="ignore"),
                contextlib.suppress(TypeError, ValueError),  # of integers, or no derivative
            ):
                _, slope = ad.jvp(primitive.ufunc, *points[primitive.ufunc.nin])
                slopes.append(float(np.nan_to_num(np.real(slope))))
        if len(set(slopes)) == 2:
            changed.add(name)
    assert changed == {"absolute", "fabs", "maximum", "minimum", "fmax", "fmin"}
    assert changed <= set(KINKS)


# --- errors ---------------------------------------------------------------------------------------


def test_errors():
    with pytest.raises(ArgumentTypeError, match="within must be a number"):
        ad.kinks(np.abs, 0.0, within="near")
    with pytest.raises(ArgumentError, match="must not be negative"):
        ad.kinks(np.abs, 0.0, within=-1.0)
    with pytest.raises(ArgumentError, match="must not be negative"):
        ad.kinks(np.abs, 0.0, within=np.nan)
    with pytest.raises(ArgumentTypeError, match="kinks takes a function first"):
        ad.kinks(0.0)
    with pytest.raises(ArgumentTypeError, match="being captured"):
        ad.grad(lambda x: len(ad.kinks(np.abs, x)) * x)(1.0)


def test_the_kink_of_a_constant_operand_is_none():
    """0^y has no kink in y > 0, though x^y has one in x."""
    assert ad.kinks(lambda y: np.power(np.zeros(2), y), np.array([0.5, 0.7])) == []
    assert only(np.power, np.zeros(1), np.full(1, 0.5)).kind is STEEP


def test_a_list_of_kinks_is_short_to_read():
    found = ad.kinks(lambda x: np.abs(x).sum(), np.array([0.0, 1.0, 0.0]))
    assert len(repr(found)) < 120
    assert re.fullmatch(r"\[<Kink: absolute at .*test_kinks\.py:\d+, 2 entries>\]", repr(found))


# --- questions ------------------------------------------------------------------------------------


def bisection(c):
    low, high = 0.0, 4.0
    while high - low > 1.0:
        middle = (low + high) / 2
        if middle**2 > c:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def test_questions_that_alone_decide_a_result_are_listed():
    with pytest.warns(ad.errors.QuestionsAloneWarning):
        found = ad.kinks(bisection, 2.0)
    questions = [kink for kink in found if kink.kind is QUESTION]
    assert [kink.text for kink in questions] == ["if middle**2 > c:"] * 2
    assert [kink.values.tolist() for kink in questions] == [[[True]], [[False]]]
    assert "middle**2 > c" in str(questions[0])
    assert "through questions alone, 1 entry" in str(questions[0])


def test_questions_beside_a_result_that_depends_on_the_argument_are_not_listed():
    assert not ad.kinks(lambda x: 2 * x if x > 1 else x, 3.0)
