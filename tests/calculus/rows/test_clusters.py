"""Rows on a cluster of Dask's, whose workers may be killed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError
from tests.calculus.rows.functions import W, X, Y, same_bits, squares
from tests.calculus.rows.test_engines import all_functions

distributed = pytest.importorskip(
    "distributed", reason="clusters are not tested: dask.distributed is not installed"
)
pytestmark = pytest.mark.filterwarnings("default")  # what Dask warns of when workers are killed


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_the_same_bits_as_on_threads(client: Any) -> None:
    for function, given in all_functions(60):
        expected = function(*given)
        with ad.config(engine=client):
            for _ in range(2):
                same_bits(function(*given), expected)


def test_files_are_opened_and_blocks_made_by_the_workers(client: Any, tmp_path: Path) -> None:
    array = pytest.importorskip("dask.array")
    np.save(tmp_path / "x.npy", X)
    expected = ad.grad(squares)(W, ad.rows(X, chunk=100), ad.rows(Y, chunk=100))
    rows = {
        "file": ad.rows(tmp_path / "x.npy", chunk=100),
        "blocks": ad.rows(array.from_array(X, chunks=(70, 13)), chunk=100),
        "stream": ad.rows(lambda: iter([X[:300], X[300:]]), chunk=100),
    }
    with ad.config(engine=client):
        for x in rows.values():
            same_bits(ad.grad(squares)(W, x, ad.rows(Y)), expected)


@pytest.mark.parametrize("killed", [1, 2])
def test_workers_that_are_killed_lose_nothing(client: Any, killed: int) -> None:
    given = ad.rows(np.tile(X, (20, 1)), chunk=100), ad.rows(np.tile(Y, 20))
    expected = ad.grad(squares)(W, *given)
    processes = list(client.run(os.getpid).values())[:killed]

    def kill(done: int, total: int) -> None:
        if done == 70:
            for process in processes:
                os.kill(process, signal.SIGKILL)

    with ad.config(engine=client, progress=kill):
        same_bits(ad.grad(squares)(W, *given), expected)
    client.wait_for_workers(2)


def test_an_error_on_a_worker_is_raised_here(client: Any) -> None:
    class Broken:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, index: slice) -> Any:
            return X[index, :5]

    with ad.config(engine=client), pytest.raises(ArgumentError, match="the source has changed"):
        ad.grad(squares)(W, ad.rows(Broken(), chunk=100), ad.rows(Y))


def test_a_client_that_does_not_wait() -> None:
    class Asynchronous:
        asynchronous = True
        submit = scatter = gather = None

    with (
        pytest.raises(ArgumentError, match="asynchronous"),
        ad.config(engine=Asynchronous()),
    ):
        pass
