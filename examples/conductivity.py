"""The conductivity of a block of rock from measured pressures: a gradient for two solves.

The pressure u in a porous block solves -div(k grad u) = f, with u = 0 on the boundary: a sparse
system with one unknown a cell of a grid in three dimensions, and one conductivity a face, k =
exp(m). The logarithms m, one a cell, are to be found from noisy pressures in some wells. With a
million unknowns no matrix can be factorised, and finite differences would take a million solves; a
gradient takes two, both by conjugate gradients: that of the pressure, and that of its adjoint.

The code is plain SciPy. L-BFGS minimises the misfit and the roughness of m.

    python examples/conductivity.py
    python examples/conductivity.py 100    # a gradient with 100^3 unknowns, timed
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import cg

import adjoint as ad

NOISE = 0.01
SMOOTHNESS = 0.5


def differences(size):
    """From values in the cells of a cube to those on its faces: to a neighbour, or to the wall."""
    one = sp.diags_array([1.0, -1.0], offsets=[0, -1], shape=(size + 1, size))
    same = sp.eye_array(size)
    parts = [
        sp.kron(sp.kron(one, same), same),
        sp.kron(sp.kron(same, one), same),
        sp.kron(sp.kron(same, same), one),
    ]
    return size * sp.vstack(parts).tocsr()


def pressure(m, gradient, source):
    """The solution of -div(exp(m) grad u) = f, by preconditioned conjugate gradients."""
    to_faces = abs(gradient)
    k = (to_faces @ np.exp(m)) / to_faces.sum(axis=1)  # the mean of the cells beside a face
    A = (gradient.T @ sp.diags_array(k) @ gradient).tocsr()
    u, _ = cg(A, source, rtol=1e-8, M=sp.diags_array(1 / A.diagonal()))
    return u


def misfit(m, gradient, source, wells, measured):
    """What is to be small: distances to the measurements, and differences of neighbours."""
    u = pressure(m, gradient, source)
    inside = abs(gradient).sum(axis=1) > 1.5 * len(m) ** (1 / 3)
    rough = (gradient @ m)[inside] / len(m) ** (1 / 3)
    distance = (u[wells] - measured) / (NOISE * np.max(np.abs(measured)))
    return np.sum(distance**2) / 2 + SMOOTHNESS * np.sum(rough**2) / 2


def problem(size, seed=0):
    """A cube with a seam that conducts well, wells in it, and what they measured."""
    generator = np.random.default_rng(seed)
    gradient = differences(size)
    places = (np.indices((size,) * 3) + 0.5) / size
    x, y, z = places.reshape(3, -1)
    truth = 1.5 * np.exp(-30 * (z - 0.3 - 0.4 * x) ** 2) - 0.5 * np.sin(np.pi * y)
    source = np.ones(size**3)
    wells = np.sort(generator.choice(size**3, size**3 // 8, replace=False))
    clean = pressure(truth, gradient, source)[wells]
    noise = NOISE * np.max(clean) * generator.standard_normal(len(wells))
    return truth, (gradient, source, wells, clean + noise)


def reconstruction(size=8, iterations=60):
    """The conductivities that were, those found, and the misfit after each iteration."""
    truth, data = problem(size)
    slope = ad.value_and_grad(misfit)
    history = []

    def value_and_gradient(m):
        value, gradient = slope(m, *data)
        history.append(float(value))
        return value, gradient

    options = {"maxiter": iterations}
    start = np.zeros(size**3)
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    return truth, found.x, history


def measure(size):
    """The processor time of the misfit and of its gradient, with so many cells along an edge."""
    truth, data = problem(size)
    for name, function in (("the misfit", misfit), ("its gradient", ad.grad(misfit))):
        begin = time.process_time()
        function(truth, *data)
        print(f"{name} with {len(truth)} unknowns: {time.process_time() - begin:.1f} s")


def main():
    if sys.argv[1:]:
        measure(int(sys.argv[1]))
        return
    truth, found, history = reconstruction(12)
    for name, m in (("a constant", np.full_like(truth, truth.mean())), ("found", found)):
        error = np.linalg.norm(m - truth) / np.linalg.norm(truth - truth.mean())
        print(f"{name:>12}: relative error of the logarithms {error:.2f}")
    print(f"misfit from {history[0]:.0f} to {history[-1]:.1f} in {len(history)} evaluations,")
    print(f"each of them two solves with {len(truth)} unknowns and {len(truth)} parameters")


if __name__ == "__main__":
    main()
