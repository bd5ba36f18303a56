"""The wine data against the numbers that the lecture prints ("Wine example")."""

import numpy as np
import pytest

from adjoint.datasets import load_wine, normalise

# X[:, [0, 1, 2, 3, 175, 176, 177]] as printed, rows 1, 2 and 13.
PRINTED = {
    0: [1.51434, 0.245597, 0.196325, 1.68679, 0.331822, 0.208643, 1.39116],
    4: [1.90852, 0.018094, 0.0881098, 0.9283, 1.41841, 1.41841, -0.261969],
    12: [1.01016, 0.962526, 1.39122, 2.32801, 0.279786, 0.295664, -0.593486],
}


def test_shapes_and_classes() -> None:
    wine = load_wine()
    assert wine.features.shape == (13, 178)
    assert wine.features.dtype == np.float64
    assert wine.targets.shape == (178,)
    assert np.bincount(wine.targets).tolist() == [0, 59, 71, 48]
    assert len(wine.feature_names) == 13


@pytest.mark.parametrize("row", sorted(PRINTED))
def test_normalised_features_are_those_printed(row: int) -> None:
    X, _ = load_wine().network_data()
    columns = [0, 1, 2, 3, 175, 176, 177]
    np.testing.assert_allclose(X[row, columns], PRINTED[row], rtol=5e-6)


def test_targets_are_those_printed() -> None:
    _, y = load_wine().network_data()
    assert y.shape == (1, 178)
    assert y.dtype == np.float32
    assert y[0, :7].tolist() == [-1.0] * 7
    assert y[0, -8:].tolist() == [1.0] * 8


def test_normalise_uses_the_sample_deviation() -> None:
    x = load_wine().features
    z = normalise(x)
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(z.std(axis=1, ddof=1), 1, rtol=1e-14)


def test_the_licence_travels_with_the_data() -> None:
    from importlib.resources import files

    note = (files("adjoint.datasets") / "WINE.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in note
    assert "10.24432/C5PC7J" in note
