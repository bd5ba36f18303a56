"""The example of a deep-equilibrium layer: a contraction, with the gradient of unrolling it."""

from __future__ import annotations

import runpy
import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.architecture.modules import ROOT


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "deep_equilibrium.py"))


def draw(examples: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(7)
    return generator.uniform(size=(examples, 64)), generator.integers(10, size=examples)


def test_the_layer_is_a_contraction_in_the_maximum_norm(example: Any) -> None:
    """E.1.70: so that the recursion converges, whatever W is."""
    x, _ = draw(4)
    parameters = example["start"]()
    parameters["W"] = 30 * parameters["W"]
    generator = np.random.default_rng(8)
    one, two = generator.standard_normal((2, 4, example["HIDDEN"]))
    layer = example["layer"]
    apart = np.max(np.abs(layer(one, x, parameters) - layer(two, x, parameters)))
    assert apart <= example["CONTRACTION"] * np.max(np.abs(one - two))


def test_the_gradient_is_that_of_many_steps_unrolled(example: Any) -> None:
    """E.1.71 - E.1.75 against E.1.70; and too few steps are another gradient."""
    x, label = draw(6)
    parameters = example["start"]()
    slope = ad.grad(example["loss"])
    exact = slope(parameters, x, label)
    many, few = (slope(parameters, x, label, example["unrolled"](n)) for n in (80, 3))
    assert example["distance"](many, exact) < 1e-8
    assert example["distance"](few, exact) > 1e-3


def test_without_scikit_learn_the_error_names_the_extra(
    example: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ad.errors.MissingPackageError, match=r"pip install 'adjoint\[examples\]'"):
        example["digits"]()
