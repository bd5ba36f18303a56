"""Public checks of spaces and linear maps, as reports."""

from __future__ import annotations

import numpy as np

from adjoint.base.errors import MissingTransposeError
from adjoint.maps import LinearMap, adjoint_error, linearity_error, space_error
from adjoint.spaces import Space
from adjoint.testing.report import Outcome, Report, Result

_TRIALS = 3


def check_space(space: Space, seed: int = 0) -> Report:
    """The laws of an inner-product space on random elements.

    Symmetry, linearity and positivity of the inner product; that the Riesz map and its inverse undo
    each other; that coordinates do.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> space = ad.spaces.Weighted(ad.spaces.Euclidean(2), np.array([1.0, 4.0]))
        >>> ad.testing.check_space(space).passed
        True
    """
    tolerance = _tolerance(space)
    tests = [
        measured(
            "laws of the space", f"trial {n}", space_error(space, generator(seed, n)), tolerance
        )
        for n in range(_TRIALS)
    ]
    return Report(repr(space), tuple(tests))


def check_map(linear_map: LinearMap, seed: int = 0) -> Report:
    """Whether a linear map is linear, and its transpose its transpose, on random elements.

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
    return np.random.default_rng(seeds)


def _tolerance(space: Space) -> float:
    return 1e-12 if np.finfo(space._real_dtype).bits >= 64 else 1e-5
