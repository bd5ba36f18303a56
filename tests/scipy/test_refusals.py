"""What SciPy has and adjoint has not is refused by name, also what lies deeper or in objects."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, ndimage, stats
from scipy.spatial import distance

import adjoint as ad

X = np.array([0.4, 0.2, 0.7])


def test_functions_of_deeper_parts() -> None:
    message = r"scipy\.spatial\.distance\.directed_hausdorff was given traced values"
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=message):
        ad.grad(lambda x: distance.directed_hausdorff(x[None], x[None])[0])(X)
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"scipy\.ndimage\.generic"):
        ad.grad(lambda x: ndimage.generic_filter(x, np.mean, 3).sum())(X)
    assert ad.grad(lambda x: x @ distance.cdist(np.eye(3), np.eye(3))[0])(X)[0] == 0.0


def test_methods_of_objects_are_named() -> None:
    with pytest.raises(
        ad.errors.DroppedDerivativeError, match=r"caller is scipy\.stats\._distribution_infra"
    ):
        ad.grad(lambda x: stats.Normal().logpdf(x[0]))(X)


def test_functions_that_are_called_back() -> None:
    with pytest.raises(ad.errors.UnsupportedFunctionError, match=r"ad\.stop_gradient\.\n"):
        ad.grad(lambda x: integrate.nquad(lambda u: x[0] * u, [(0, 1)])[0])(X)


def test_random_draws_say_what_to_write() -> None:
    generator = np.random.default_rng(0)
    with pytest.raises(ad.errors.DroppedDerivativeError, match="standard_normal"):
        ad.grad(lambda x: generator.lognormal(x[0], 1.0))(X)
