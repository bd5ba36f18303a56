"""What a user may get wrong in a space of their own is told, with the member and its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import adjoint as ad
from adjoint.base.errors import (
    ArgumentError,
    ArgumentTypeError,
    MembershipError,
    NotDifferentiableError,
    NotLinearError,
    NotPositiveDefiniteError,
)
from adjoint.spaces import CustomSpace, Euclidean, Product, Symmetric
from adjoint.testing import check_space
from tests.spaces.custom.own import INERTIA, SPACES, Differences, MeanFree, Twist, Twists


class Plane(CustomSpace):
    """The arrays (a, b, -a - b), as they should be."""

    dimension = 2

    def from_coordinates(self, c: Any) -> Any:
        return np.append(c, -c[0] - c[1])


def altered(**members: Any) -> CustomSpace:
    """A Plane with other members."""
    space: CustomSpace = type("Altered", (Plane,), members)()
    return space


POINT = np.array([1.0, 2.0, -3.0])

FAULTS: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    (
        "dimension",
        {"dimension": 2.5},
        ArgumentTypeError,
        "must be an integer. Got the Python float",
    ),
    ("dimension", {"dimension": -1}, ArgumentError, "must not be negative. Got -1"),
    (
        "from_coordinates",
        {"dimension": 3, "from_coordinates": lambda self, c: np.append(c[:2], c[1])},
        ArgumentError,
        "the 3 basis vectors 2 are independent. The dimension is",
    ),
    (
        "from_coordinates",
        {"dimension": 1},
        ArgumentError,
        r"must take coordinates of shape \(1,\), since Altered.dimension is 1. It raised IndexErr",
    ),
    (
        "from_coordinates",
        {"from_coordinates": lambda self, c: np.append(c, 1 - c[0] - c[1])},
        NotLinearError,
        "must be linear",
    ),
    (
        "from_coordinates",
        {"from_coordinates": lambda self, c: np.append(c, c[0] * c[1])},
        NotLinearError,
        "An affine set is no vector space",
    ),
    (
        "from_coordinates",
        {"from_coordinates": lambda self, c: np.zeros(3, int)},
        NotDifferentiableError,
        "must return arrays of floating-point numbers",
    ),
    (
        "from_coordinates",
        {"from_coordinates": lambda self, c: "text"},
        ArgumentTypeError,
        "must return arrays of floating-point numbers",
    ),
    (
        "from_coordinates",
        {"ambient": Euclidean(4)},
        MembershipError,
        r"Its shape must be \(4,\)",
    ),
    ("ambient", {"ambient": 3}, ArgumentTypeError, "must be a space. Got the Python int 3"),
    (
        "ambient",
        {"ambient": Symmetric(3)},
        ArgumentError,
        "must be the space of all arrays of a kind",
    ),
    (
        "coordinates",
        {"coordinates": lambda self, x: x[1:]},
        ArgumentError,
        r"must undo Altered.from_coordinates .*coordinates\(from_coordinates\(c\)\) differs",
    ),
    (
        "coordinates",
        {"coordinates": lambda self, x: x},
        ArgumentError,
        r"must return a real array of shape \(2,\), since Altered.dimension is 2. Got an array of",
    ),
    (
        "coordinates",
        {"coordinates": lambda self, x: [x[0], x[1]]},
        ArgumentError,
        "Got a list of length 2",
    ),
    (
        "restrict",
        {"restrict": lambda self, x: x - x[0]},
        ArgumentError,
        "must be an orthogonal projection",
    ),
    (
        "restrict",
        {"restrict": lambda self, x: (x - np.mean(x)) / 2},
        ArgumentError,
        "changes no element",
    ),
    (
        "restrict",
        {"restrict": lambda self, x: np.full(3, np.mean(x))},
        ArgumentError,
        "must project onto what Altered.from_coordinates",
    ),
    (
        "restrict",
        {"restrict": lambda self, x: x[:2]},
        MembershipError,
        "what Altered.restrict .*Its shape must be",
    ),
    (
        "gram",
        {"gram": lambda self: np.array([[2.0, 1.0], [0.0, 2.0]])},
        NotPositiveDefiniteError,
        r"Altered.gram \(.*test_members.py:\d+\) gives no inner product.* is not symmetric",
    ),
    (
        "gram",
        {"gram": lambda self: np.diag([1.0, -1.0])},
        NotPositiveDefiniteError,
        "smallest eigenvalue is -1",
    ),
    (
        "gram",
        {"gram": lambda self: np.eye(3)},
        ArgumentError,
        r"real of shape \(2, 2\)",
    ),
    (
        "gram",
        {"gram": lambda self: scipy.sparse.csc_array(np.array([[1.0, 2.0], [2.0, 1.0]]))},
        NotPositiveDefiniteError,
        "not positive|pivot",
    ),
    (
        "gram",
        {"gram": lambda self: np.eye(2), "inner": lambda self, x, y: x @ y},
        ArgumentError,
        "Altered.gram .* and Altered.inner .* disagree",
    ),
    (
        "inner",
        {"inner": lambda self, x, y: x[0] * y[1]},
        NotPositiveDefiniteError,
        "Altered.inner .* not symmetric",
    ),
    (
        "inner",
        {"inner": lambda self, x, y: -(x @ y)},
        NotPositiveDefiniteError,
        "eigenvalue",
    ),
    (
        "inner",
        {"inner": lambda self, x, y: np.sum(np.abs(x * y))},
        NotLinearError,
        "must be linear in both arguments",
    ),
    (
        "inner",
        {"inner": lambda self, x, y: 1j * (x @ y)},
        ArgumentTypeError,
        "must return a real number. Got the Python complex 2j",
    ),
    (
        "why_not",
        {"why_not": lambda self, x: "Never."},
        ArgumentError,
        "must return None for an element. For a random one it returned 'Never.'",
    ),
]


def used(space: CustomSpace) -> Any:
    """A gradient in the space."""
    space.inner(POINT, POINT)
    ad.derivative(lambda x: 2 * x, POINT, domain=space, codomain=space).matrix()
    return ad.grad(lambda x: np.sum(x**2), space=space)(POINT)


def test_what_is_altered_is_right() -> None:
    np.testing.assert_allclose(used(altered()), 2 * POINT)
    assert check_space(altered()).passed


@pytest.mark.parametrize(("member", "members", "error", "words"), FAULTS)
def test_a_fault_is_told_with_its_member(
    member: str, members: dict[str, Any], error: type[Exception], words: str
) -> None:
    report = check_space(altered(**members))
    assert [test.name for test in report.failures] == [member], str(report)
    (failure,) = report.failures
    assert f"Altered.{member}" in failure.detail
    if member == "why_not":
        error = MembershipError  # at its use: the point is refused
    with pytest.raises(error, match=None if member == "why_not" else words):
        used(altered(**members))


@pytest.mark.parametrize(("member", "members", "error", "words"), FAULTS)
def test_a_fault_is_told_of_a_part_of_a_product(
    member: str, members: dict[str, Any], error: type[Exception], words: str
) -> None:
    together = Product([Euclidean(2), altered(**members)])
    assert [test.name for test in check_space(together).failures] == [member]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_right_spaces_pass(space: CustomSpace) -> None:
    report = check_space(space)
    assert report.passed, str(report)
    assert len(report.tests) > 8


def test_check_space_takes_spaces_alone() -> None:
    with pytest.raises(ArgumentTypeError, match=r"takes a space\. Got an object of type int"):
        check_space(3)  # type: ignore[arg-type]


# --- what is missing ------------------------------------------------------------------------------


class Empty(CustomSpace):
    """Which says nothing."""


class Undimensioned(CustomSpace):
    """Which has no dimension."""

    def from_coordinates(self, c: Any) -> Any:
        return c


MISSING: list[tuple[Callable[[], Any], str]] = [
    (lambda: ad.grad(np.sum, space=Empty())(POINT), "says neither from_coordinates and dimension"),
    (lambda: Empty().dimension, "says neither from_coordinates and dimension"),
    (lambda: ad.grad(np.sum, space=Undimensioned())(POINT), "must say its dimension"),
]


@pytest.mark.parametrize(("use", "words"), MISSING)
def test_what_is_missing_is_told(use: Callable[[], Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        use()


def test_a_dataclass_is_refused() -> None:
    @dataclass
    class Data(CustomSpace):
        dimension: int = 2

    with pytest.raises(ArgumentTypeError, match="Data must not be a dataclass"):
        Data()


def test_a_space_that_was_used_does_not_change() -> None:
    space = Twists(2.0, INERTIA)
    space.mass = 3.0
    np.testing.assert_allclose(space.zero().translation, 0)
    with pytest.raises(AttributeError, match="'mass' cannot be set"):
        space.mass = 4.0
    inertia = INERTIA.copy()
    space = Twists(2.0, inertia)
    before = ad.grad(lambda t: t.rotation[0], space=space)(space.zero())
    inertia[0, 0] = 100.0  # as for Weighted, what was given is copied
    again = ad.grad(lambda t: t.rotation[0], space=space)(space.zero())
    np.testing.assert_array_equal(before.rotation, again.rotation)
    assert space == Twists(2.0, INERTIA)
    with pytest.raises(ValueError, match="read-only"):
        space.inertia[0, 0] = 100.0


def test_what_is_derived_from_attributes_may_be_kept() -> None:
    class Kept(Plane):
        def __init__(self, matrix: Any) -> None:
            self.matrix = matrix

        @cached_property
        def square(self) -> Any:
            return self.matrix @ self.matrix.T

        def gram(self) -> Any:
            return scipy.sparse.csc_array(self.square)

    space, twin = Kept(np.diag([1.0, 2.0])), Kept(np.diag([1.0, 2.0]))
    gradient = ad.grad(lambda x: x[0], space=space)(POINT)
    np.testing.assert_allclose(gradient, [1.0, 0.0, -1.0], atol=1e-14)
    assert space == twin
    assert hash(space) == hash(twin)


# --- membership -----------------------------------------------------------------------------------


def test_why_a_value_is_no_element() -> None:
    space = MeanFree(3)
    assert space.contains(POINT)
    with pytest.raises(MembershipError, match=r"<MeanFree>.*Its mean is not zero: x - x.mean\(\)"):
        space.check(np.ones(3))
    with pytest.raises(MembershipError, match=r"Its shape must be \(3,\)"):
        space.check(np.ones(4))
    with pytest.raises(MembershipError, match=r"It is changed by space\.restrict"):
        Differences(3).check(np.ones(3))
    assert space.contains(np.full(3, np.nan))


def test_an_object_of_another_class_is_no_element() -> None:
    space = Twists(2.0, INERTIA)
    for other in (np.ones(6), (np.ones(3), np.ones(3)), Twist(np.ones(3), np.ones(2))):
        assert not space.contains(other)
    with pytest.raises(MembershipError, match="Its structure must be"):
        ad.grad(np.sum, space=space)(np.ones(6))
    with pytest.raises(MembershipError, match=r"x.translation must be .*shape must be \(3,\)"):
        space.check(Twist(np.ones(3), np.ones(2)))


def test_a_covector_is_no_element() -> None:
    space = Twists(2.0, INERTIA)
    assert not space.contains(space.riesz(space.random(0)))
    assert space.dual.contains(space.riesz(space.random(0)))
