"""Public checks of spaces and linear maps, as reports."""

from __future__ import annotations

import numpy as np

from adjoint.base.errors import AdjointError, ArgumentTypeError, MissingTransposeError
from adjoint.base.signatures.checked import checked, generator_of
from adjoint.maps import LinearMap, adjoint_error, linearity_error, space_errors
from adjoint.spaces import CustomSpace, Product, Space
from adjoint.testing.report import Outcome, Report, Result

_TRIALS = 3


@checked
def check_space(space: Space, seed: int = 0) -> Report:
    """The laws of an inner-product space on random elements, and the members of one's own space.

    Symmetry, linearity and positivity of the inner product; that the Riesz map and its inverse undo
    each other; that coordinates do. Of a `CustomSpace`, also as a part of a product, each member
    that it says is tried first, and a test that failed has the name of the member at fault.

    Args:
        space: the space to test.
        seed: of the random elements.

    Returns:
        A `Report`: `print` shows every test, `.passed` and `.failures` say what came of them.

    Raises:
        ArgumentTypeError: it is no space.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> class Plane(ad.spaces.CustomSpace):
        ...     dimension = 2
        ...
        ...     def from_coordinates(self, c):
        ...         return np.append(c, -c[0] - c[1])
        ...
        ...     def gram(self):
        ...         return np.array([[2.0, 1.0], [0.0, 2.0]])
        >>> [test.name for test in ad.testing.check_space(Plane()).failures]
        ['gram']
    """
    if not isinstance(space, Space):
        raise ArgumentTypeError(
            f"check_space takes a space. Got an object of type {type(space).__qualname__}. "
            "adjoint.spaces.infer(x) gives the Euclidean space of x."
        )
    tests = _member_tests(space)
    if not any(test.failed for test in tests):  # else the laws would only say the same again
        errors = [space_errors(space, generator(seed, n)) for n in range(_TRIALS)]
        for law in {law: None for trial in errors for law in trial}:
            worst = max(trial.get(law, 0.0) for trial in errors)
            tests.append(measured(law, f"{_TRIALS} trials", worst, _tolerance(space)))
    return Report(repr(space), tuple(tests))


def _member_tests(space: Space) -> list[Result]:
    """What the user says of a space, member by member, and of the parts of a product."""
    if isinstance(space, Product):
        return [test for part in space.spaces for test in _member_tests(part)]
    if not isinstance(space, CustomSpace):
        return []
    tests = []
    for member, check in space._member_checks():
        try:
            check()
        except AdjointError as error:
            tests.append(Result(member, Outcome.FAILED, repr(space), detail=str(error)))
            break  # the others rest on it
        tests.append(Result(member, Outcome.PASSED, repr(space)))
    return tests


@checked
def check_map(linear_map: LinearMap, seed: int = 0) -> Report:
    """Whether a linear map is linear, and its transpose its transpose, on random elements.

    Args:
        linear_map: the map to test; without a transpose, the adjoint identity is skipped.
        seed: of the random elements.

    Returns:
        A `Report`: `print` shows every test, `.passed` and `.failures` say what came of them.

    Raises:
        ArgumentTypeError: what is given is no linear map, or the seed no whole number.

    Example:
        >>> import adjoint as ad
        >>> plane = ad.spaces.Euclidean(2)
        >>> wrong = ad.LinearMap(plane, plane, lambda u: 2 * u, lambda c: 3 * c)
        >>> [test.name for test in ad.testing.check_map(wrong).failures]
        ['adjoint identity', 'adjoint identity', 'adjoint identity']
    """
    tolerance = max(_tolerance(linear_map.domain), _tolerance(linear_map.codomain))
    tests = []
    for n in range(_TRIALS):
        error = linearity_error(linear_map, generator(seed, n))
        tests.append(measured("linearity", f"trial {n}", error, tolerance))
    for n in range(_TRIALS):
        try:
            error = adjoint_error(linear_map, generator(seed, n))
        except MissingTransposeError:
            reason = "the map was given without a transpose"
            tests.append(Result("adjoint identity", Outcome.SKIPPED, f"trial {n}", detail=reason))
        else:
            tests.append(measured("adjoint identity", f"trial {n}", error, tolerance))
    return Report(repr(linear_map), tuple(tests))


def measured(name: str, where: str, error: float, tolerance: float, detail: str = "") -> Result:
    """A test that compares an error with what is allowed."""
    outcome = Outcome.PASSED if error <= tolerance else Outcome.FAILED
    return Result(name, outcome, where, float(error), tolerance, detail)


def generator(*seeds: int) -> np.random.Generator:
    """Random numbers that depend on these seeds alone."""
    return generator_of(seeds)


def _tolerance(space: Space) -> float:
    return 1e-12 if np.finfo(space._real_dtype).bits >= 64 else 1e-5
