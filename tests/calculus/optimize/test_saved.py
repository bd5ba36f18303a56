"""Descents that are interrupted and go on from a file, to the same end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base import pytrees
from adjoint.base.errors import ArgumentError
from adjoint.calculus.optimize import saved

ROOT = Path(__file__).parents[3]
START = {"x": np.array([-1.2, 1.0, 0.7]), "s": 0.5}


def banana(p: Any) -> Any:
    x, s = p["x"], p["s"]
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2) + (s - 2) ** 2


def momentum(here: Any, previous: Any) -> Any:
    """A rule that looks at the iterate before, as conjugate gradients do."""
    steepest = here.space._scale(-1.0, here.gradient)
    if previous is None or here.direction is None:
        return steepest
    ratio = min(1.0, (here.gradient_norm / previous.gradient_norm) ** 2)
    whole = here.space._add(steepest, here.space._scale(ratio, here.direction))
    slope = here.space._inner(here.gradient, whole)
    return whole if slope < 0 else steepest


class Stopped(Exception):
    pass


def stops_at(number: int) -> Any:
    def callback(here: Any) -> None:
        if here.number == number:
            raise Stopped

    return callback


def same(one: Any, other: Any) -> None:
    for name in ("x", "gradient"):
        pairs = zip(
            pytrees.leaves(getattr(one, name)), pytrees.leaves(getattr(other, name)), strict=True
        )
        for x, y in pairs:
            assert type(x) is type(y)
            np.testing.assert_array_equal(x, y)
    for name in ("value", "gradient_norm", "iterations", "evaluations", "reason", "history"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("direction", [ad.optimize.steepest_descent, momentum])
def test_the_same_end_after_interruptions(tmp_path: Path, direction: Any) -> None:
    file = tmp_path / "descent"

    def descend(**more: Any) -> Any:
        return ad.optimize.descend(
            banana, START, direction=direction, max_iterations=60, checkpoint=file, **more
        )

    expected = descend()
    same(descend(), expected)  # it is over
    file.unlink()
    for number in (0, 3, 4, 31):
        with pytest.raises(Stopped):
            descend(callback=stops_at(number))
        assert file.exists()
    told: list[int] = []
    same(descend(callback=lambda here: told.append(here.number)), expected)
    assert told[0] == 31


def test_more_iterations_than_before(tmp_path: Path) -> None:
    def descend(limit: int, name: str) -> Any:
        return ad.optimize.descend(banana, START, max_iterations=limit, checkpoint=tmp_path / name)

    short = descend(10, "one")
    assert short.iterations == 10
    same(descend(25, "one"), descend(25, "other"))


def test_in_a_weighted_space_and_on_a_manifold(tmp_path: Path) -> None:
    space = ad.spaces.Weighted(ad.spaces.Euclidean(3), np.array([1.0, 10.0, 100.0]))
    sphere = ad.manifolds.Sphere(3)
    x0 = np.array([1.0, 0.0, 0.0])
    matrix = np.diag([3.0, 2.0, 1.0]) + 0.1

    def quotient(x: Any) -> Any:
        return x @ matrix @ x

    for number, where in enumerate((space, sphere)):
        file = tmp_path / str(number)

        def descend(file: Path = file, where: Any = where, **more: Any) -> Any:
            return ad.optimize.descend(
                quotient, x0, where, max_iterations=12, checkpoint=file, **more
            )

        expected = descend()
        file.unlink()
        with pytest.raises(Stopped):
            descend(callback=stops_at(5))
        same(descend(), expected)


def test_what_the_file_must_be(tmp_path: Path) -> None:
    file = tmp_path / "descent"

    def descend(function: Any = banana, start: Any = START) -> Any:
        return ad.optimize.descend(function, start, max_iterations=3, checkpoint=file)

    descend()
    with pytest.raises(ArgumentError, match="from another start"):
        descend(start={"x": START["x"], "s": 0.6})
    with pytest.raises(ArgumentError, match="the same function and data"):
        descend(function=lambda p: banana(p) + 1)
    content = file.read_bytes()
    for damaged in (b"", b"something else", content[:-1], content[:-9] + b"x" + content[-8:]):
        file.write_bytes(damaged)
        with pytest.raises(ArgumentError, match="damaged"):
            descend()
    file.unlink()
    with pytest.raises(ArgumentError, match="directory that is there"):
        ad.optimize.descend(banana, START, checkpoint=tmp_path / "none" / "descent")


def test_directions_of_another_structure(tmp_path: Path) -> None:
    state = saved.SavedIterate(1, START, 0.0, START, (1.0, 2.0), 1.0, 1)
    with (
        pytest.raises(ArgumentError, match="directions have the structure"),
        saved.DescentFile(tmp_path / "descent", START) as file,
    ):
        file.note(saved.DescentState(state, None, 1.0, (), (0.0, 0.0, 0)))


SCRIPT = """
import os, sys
import numpy as np
import adjoint as ad
from adjoint.calculus.optimize import saved
x = np.random.default_rng(0).normal(size=(4000, 5))
rows = ad.rows(x, chunk=500)
def loss(w):
    return np.mean(np.logaddexp(0, -rows @ w)) + 0.01 * w @ w
def callback(here):
    if here.number == int(sys.argv[2]):
        os._exit(9)
saved._SECONDS = 0.0
descent = ad.optimize.descend(
    loss, np.zeros(5), max_iterations=8, checkpoint=sys.argv[1], callback=callback
)
print(descent.x.tobytes().hex(), descent.history)
"""


def test_a_process_that_is_killed_loses_little(tmp_path: Path) -> None:
    def run(name: str, stop: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", SCRIPT, str(tmp_path / name), str(stop)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"src{os.pathsep}."},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    whole = run("whole", 99)
    assert whole.returncode == 0, whole.stderr
    assert run("cut", 5).returncode == 9
    assert run("cut", 99).stdout == whole.stdout
