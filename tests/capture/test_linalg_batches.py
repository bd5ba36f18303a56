"""Linear algebra under `vmap` and in loops: what decides for one example decides for no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy

import adjoint as ad
from adjoint.base.errors import ValueNeededError

linalg = np.linalg


def drawn(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def _solution(a: Any) -> Any:
    return linalg.lstsq(a, np.arange(4.0), None)[0]


def _refitted(x: Any) -> Any:
    for shift in range(3):
        x, _, rank, sizes = linalg.lstsq(drawn(4, 3) + x[0], np.arange(4.0) + shift, None)
        x = x * rank / sizes[0]
    return x


def test_lstsq_in_batches_and_loops_gives_all_but_residuals() -> None:
    matrices = np.stack([drawn(4, 3), drawn(4, 3, seed=9)])
    for function in (
        _solution,
        lambda a: linalg.lstsq(a, np.ones(4), None)[2],
        ad.jacobian(_solution),
    ):
        expected = [function(a) for a in matrices]
        np.testing.assert_allclose(ad.vmap(function)(matrices), expected, rtol=1e-9)
    np.testing.assert_allclose(
        ad.vmap(lambda a: scipy.linalg.lstsq(a, np.ones(4))[0])(matrices),
        [linalg.lstsq(a, np.ones(4), None)[0] for a in matrices],
    )

    def loop(x: Any) -> Any:
        def fit(shift: Any, x: Any) -> Any:
            x, _, rank, sizes = linalg.lstsq(drawn(4, 3) + x[0], np.arange(4.0) + shift, None)
            return x * rank / sizes[0]

        return ad.fori_loop(0, 3, fit, x)

    start = np.ones(3)
    np.testing.assert_allclose(loop(start), _refitted(start))
    np.testing.assert_allclose(ad.jacobian(loop)(start), ad.jacobian(_refitted)(start), rtol=1e-9)


@pytest.mark.parametrize(
    "use",
    [
        np.sum,
        np.sin,
        len,
        lambda rest: rest[0],
        lambda rest: 1 - rest,
        lambda rest: rest.shape[0] * 1.0,
        lambda rest: rest,
        lambda rest: np.zeros(1) - rest,
        lambda rest: 1.0 if rest else 0.0,
    ],
)
def test_residuals_of_lstsq_that_may_differ_in_number_are_refused(use: Any) -> None:
    matrices = np.stack([drawn(4, 3), drawn(4, 3, seed=9)])
    with pytest.raises(ValueNeededError, match=r"np\.sum\(\(a @ x - b\) \*\* 2, 0\)"):
        ad.vmap(lambda a: use(linalg.lstsq(a, np.ones(4), None)[1]))(matrices)


@pytest.mark.parametrize("place", [0, 1])
def test_a_batch_with_a_singular_matrix_raises_what_numpy_does(place: int) -> None:
    matrices = np.stack([np.eye(2), np.eye(2)])
    matrices[place] = -np.ones((2, 2))
    functions: list[Any] = [linalg.inv, linalg.cholesky, lambda a: linalg.solve(a, np.ones(2))]
    for function in functions:
        with pytest.raises(linalg.LinAlgError) as expected:
            function(matrices[place])
        mapped = ad.vmap(function)
        for batched in (mapped, ad.jit(mapped), ad.vmap(ad.jacobian(function))):
            for _ in range(2):
                with pytest.raises(linalg.LinAlgError) as error:
                    batched(matrices)
                assert str(error.value) == str(expected.value)


def test_an_error_of_one_example_that_is_caught_is_refused() -> None:
    def inverse_or_itself(a: Any) -> Any:
        try:
            return linalg.inv(a)
        except linalg.LinAlgError:
            return a

    def inverse_or_reason(a: Any) -> Any:
        try:
            return linalg.inv(a)
        except linalg.LinAlgError:
            raise KeyError("no inverse") from None

    matrices = np.stack([np.zeros((2, 2)), np.eye(2)])
    with pytest.raises(ValueNeededError, match="LinAlgError was raised, and caught"):
        ad.vmap(inverse_or_itself)(matrices)
    with pytest.raises(KeyError, match="no inverse"):
        ad.vmap(inverse_or_reason)(matrices)
