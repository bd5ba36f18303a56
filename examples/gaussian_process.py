"""A curve and its smoothness from noisy points: a Gaussian process, and Kalman's smoother at once.

A curve whose slope is a random walk is a state (value, slope) that moves at random from one time to
the next. All states together are one Gaussian vector, whose precision (the inverse of the
covariance) couples neighbours in time alone: a matrix of blocks on three diagonals. Given noisy
values, its mean is the solution of a sparse system, which is Kalman's smoother without a loop, and
the evidence of the parameters takes the logarithm of its determinant. With 2n unknowns all of that
takes a time in proportion to n, the gradient too: it needs the entries of the covariance where the
precision has entries, and no others.

The parameters, how much the slope moves and how large the noise is, are those of largest evidence.

    python examples/gaussian_process.py
"""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import spsolve

import adjoint as ad

log_determinant = ad.scipy.sparse.log_determinant


def precision(log_motion, times):
    """Of all states (value, slope) before anything is seen, the first of them nearly free."""
    steps = np.diff(times)
    count = len(steps)
    # What moves from one time to the next: x' = F x + noise, of covariance motion * Q.
    moves = sp.block_diag([np.array([[1.0, h], [0.0, 1.0]]) for h in steps])
    weights = [
        np.linalg.inv(np.array([[h**3 / 3, h**2 / 2], [h**2 / 2, h]])) for h in steps
    ]  # the inverses of Q
    before = sp.hstack([moves, sp.csr_array((2 * count, 2))])
    after = sp.hstack([sp.csr_array((2 * count, 2)), sp.eye_array(2 * count)])
    jumps = (after - before).tocsr()
    start = sp.diags_array(np.r_[1e-2, 1e-2, np.zeros(2 * count)])
    return jumps.T @ sp.block_diag(weights) @ jumps * np.exp(-log_motion) + start


def smoothed(log_motion, log_noise, times, values):
    """The mean of the states given the values, and the precision of them."""
    seen = sp.diags_array(np.tile([1.0, 0.0], len(times)))
    Q = (precision(log_motion, times) + seen * np.exp(-log_noise)).tocsc()
    right = np.stack([values, 0 * values], axis=1).ravel() * np.exp(-log_noise)
    return spsolve(Q, right), Q


def evidence(parameters, times, values):
    """The logarithm of the density of the values, but for a constant: to be as large as may be."""
    log_motion, log_noise = parameters
    states, Q = smoothed(log_motion, log_noise, times, values)
    prior = precision(log_motion, times).tocsc()
    rest = values - states[::2]
    square = states @ (prior @ states) + np.sum(rest**2) * np.exp(-log_noise)
    determinants = log_determinant(Q) - log_determinant(prior) + len(values) * log_noise
    return -(square + determinants) / 2


def data(count=120, seed=0):
    """Noisy values of a curve at times that are not evenly spaced."""
    generator = np.random.default_rng(seed)
    times = np.linspace(0.0, 10.0, count) + 3.0 / count * generator.uniform(-1.0, 1.0, count)
    truth = np.sin(times) + 0.3 * times
    return times, truth, truth + 0.3 * generator.standard_normal(count)


def fitted(times, values):
    """The parameters of largest evidence, by Newton's method with gradients and Hessians."""
    slope = ad.value_and_grad(evidence)

    def negative(parameters):
        value, gradient = slope(parameters, times, values)
        return -value, -gradient

    curvature = ad.hessian(evidence)
    return minimize(
        negative,
        np.zeros(2),
        jac=True,
        hess=lambda parameters: -curvature(parameters, times, values),
        method="trust-exact",
    )


def main():
    times, truth, values = data()
    result = fitted(times, values)
    states, Q = smoothed(*result.x, times, values)
    errors = np.sqrt(np.diag(np.linalg.inv(-ad.hessian(evidence)(result.x, times, values))))
    for name, value, error in zip(("motion", "noise"), result.x, errors, strict=True):
        print(f"log {name:<7} {value:6.2f} ± {error:.2f}")
    print(f"deviation of the noise {np.exp(result.x[1] / 2):.3f}, which was 0.3")
    gap = np.sqrt(np.mean((states[::2] - truth) ** 2))
    print(f"the curve is off by {gap:.3f} on average, its points by 0.3")
    print(f"{Q.shape[0]} unknowns, {Q.nnz} entries of the precision, {result.nit} iterations")


if __name__ == "__main__":
    main()
