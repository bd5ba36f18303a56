"""Rosenbrock's valley, for `adjoint check examples/rosenbrock.py:rosenbrock` and `adjoint show`."""

import numpy as np

inputs = (np.linspace(-1.5, 1.5, 10),)


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
