"""Jacobians of random vectorised functions: every way to them agrees with forward mode.

`python -m tests.fuzz.test_array_programs FIRST COUNT` tries as many as are asked for.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest

import adjoint as ad
from tests.fuzz.array_programs import ArrayProgram

EACH, SHARDS = 75, 4


def check(seed: int) -> None:
    """Hold all ways to the Jacobian of one function to forward mode."""
    program = ArrayProgram(seed)
    function, x = program.function, program.point
    expected = ad.jacobian(function, mode="forward")(x)
    ways = {
        "auto": ad.jacobian(function)(x),
        "elimination": ad.jacobian(function, mode="elimination")(x),
        "sparse": np.reshape(ad.jacobian(function, sparse=True)(x).toarray(), expected.shape),
        "by rows": np.reshape(
            ad.jacobian(function, sparse=True, mode="reverse")(x).toarray(), expected.shape
        ),
    }
    bound = 1e-10 * (1 + np.max(np.abs(expected), initial=0))
    for name, found in ways.items():
        close = found.shape == expected.shape and np.all(np.abs(found - expected) <= bound)
        assert close, f"{name}, seed {seed}\n{program.source}"
    missed = ~ad.sparsity(function, x).toarray() & (np.reshape(expected, (-1, x.size)) != 0)
    assert not missed.any(), f"an entry missed, seed {seed}\n{program.source}"


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_way_to_a_jacobian(shard: int) -> None:
    with ad.config(native=False):
        for seed in range(shard * EACH, (shard + 1) * EACH):
            check(seed)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for number in range(first, first + count):
        check(number)
    print(f"{count} functions")
