"""Spaces as users write them, for the tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

import adjoint as ad
from adjoint.spaces import CustomSpace, Euclidean

INERTIA = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])


@dataclass
class Twist:
    """The velocity of a rigid body."""

    rotation: np.ndarray
    translation: np.ndarray

    def moved(self, arm: np.ndarray) -> np.ndarray:
        """The velocity of a point of the body."""
        return self.translation + np.cross(self.rotation, arm)


class Twists(CustomSpace):
    """By coordinates both ways, and an inner product that is written down: kinetic energy."""

    dimension = 6

    def __init__(self, mass: float, inertia: np.ndarray) -> None:
        self.mass, self.inertia = mass, inertia

    def from_coordinates(self, c: Any) -> Twist:
        return Twist(c[:3], c[3:])

    def coordinates(self, x: Twist) -> Any:
        return np.concatenate([x.rotation, x.translation])

    def inner(self, x: Twist, y: Twist) -> Any:
        turning = x.rotation @ self.inertia @ y.rotation
        return turning + self.mass * (x.translation @ y.translation)


class Spline:
    """A piecewise linear function on [0, 1], of a class that is no dataclass."""

    def __init__(self, coefficients: Any, degree: int) -> None:
        self.coefficients, self.degree = coefficients, degree

    def values(self) -> Any:
        """Values between the nodes."""
        return (self.coefficients[1:] + self.coefficients[:-1]) / 2


ad.register_container(
    Spline,
    split=lambda spline: ((spline.coefficients,), spline.degree),
    join=lambda degree, parts: Spline(parts[0], degree),
)


class Splines(CustomSpace):
    """Objects of a registered class, under a sparse Gram matrix: that of H1."""

    def __init__(self, count: int) -> None:
        self.dimension = count

    def from_coordinates(self, c: Any) -> Spline:
        return Spline(c, 1)

    def gram(self) -> Any:
        n = self.dimension
        width = 1 / (n - 1)
        ends = np.concatenate([[1.0], np.full(n - 2, 2.0), [1.0]])
        sides = np.ones(n - 1)
        mass = scipy.sparse.diags_array([sides, 2 * ends, sides], offsets=[-1, 0, 1]) * width / 6
        stiffness = scipy.sparse.diags_array([-sides, ends, -sides], offsets=[-1, 0, 1]) / width
        return mass + 0.01 * stiffness


class Skews(CustomSpace):
    """By a basis that is orthogonal and not orthonormal, under the inner product of the arrays."""

    dimension = 3

    def from_coordinates(self, c: Any) -> Any:
        return np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])


class Axes(Skews):
    """The same, with coordinates and an inner product of its own."""

    def coordinates(self, x: Any) -> Any:
        return np.array([x[2, 1], x[0, 2], x[1, 0]])

    def gram(self) -> Any:
        return np.array([1.0, 2.0, 3.0])


class MeanFree(CustomSpace):
    """By a projection alone."""

    def __init__(self, count: int) -> None:
        self.ambient = Euclidean(count)

    def restrict(self, x: Any) -> Any:
        return x - np.mean(x)

    def why_not(self, x: Any) -> str | None:
        if abs(np.mean(x)) > 1e-12 * np.max(np.abs(x), initial=1):
            return "Its mean is not zero: x - x.mean() is mean-free."
        return None


class WeightedMeanFree(MeanFree):
    """By a projection, under another inner product."""

    def inner(self, x: Any, y: Any) -> Any:
        return np.sum(x * y * np.arange(1.0, len(x) + 1))


class Differences(CustomSpace):
    """The mean-free arrays again, by a basis that is not orthogonal."""

    def __init__(self, count: int) -> None:
        self.dimension = count - 1

    def from_coordinates(self, c: Any) -> Any:
        return np.append(c, 0.0) - np.append(0.0, c)


class ComplexMeanFree(CustomSpace):
    """A complex space."""

    def __init__(self, count: int) -> None:
        self.dimension = 2 * (count - 1)

    def from_coordinates(self, c: Any) -> Any:
        half = len(c) // 2
        z = c[:half] + 1j * c[half:]
        return np.append(z, -np.sum(z))

    def gram(self) -> Any:
        half = self.dimension // 2
        return np.kron(np.eye(2), np.diag(np.arange(1.0, half + 1)))


class Singles(CustomSpace):
    """In single precision."""

    dimension = 2

    def from_coordinates(self, c: Any) -> Any:
        return np.array([c[0], c[1], c[0] + c[1]], np.float32)


SPACES = [
    Twists(2.0, INERTIA),
    Splines(6),
    Skews(),
    Axes(),
    MeanFree(4),
    WeightedMeanFree(4),
    Differences(4),
    Differences(600),  # whose basis is a sparse matrix
    ComplexMeanFree(3),
]


def numbers(x: Any) -> list[Any]:
    """The arrays in an element."""
    if isinstance(x, Twist):
        return [x.rotation, x.translation]
    return [x.coefficients] if isinstance(x, Spline) else [x]


def smooth(x: Any) -> Any:
    """A function of an element of any of them."""
    total: Any = 0.0
    for array in numbers(x):
        total = total + np.sum(np.abs(np.exp(array / 4) - 0.3 * array) ** 2)
        total = total + np.real(np.ravel(array)[0])
    return total
