"""A regularisation chosen by its hyper-gradient: ridge regression on scikit-learn's diabetes data.

The coefficients w of ridge regression minimise the training error plus λ|w|²; the weight λ is to
minimise the error on data that w has not seen (five folds). That is an optimisation problem inside
another one. The inner minimiser is an implicit function of λ, so the outer objective has a
gradient: one λ takes a few steps of it instead of a grid, and a weight of its own for each of the
ten features, for which a grid of 25 values a weight has 25^10 points, takes a few more.

    pip install 'adjoint[examples]'
    python examples/ridge.py
"""

import time

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes

import adjoint as ad

FOLDS = 5


def folds():
    """Features, columns of mean 0 and variance 1; the target; and a number of a fold a row."""
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    fold = np.random.default_rng(0).permutation(len(y)) % FOLDS
    return X, (y - y.mean()) / y.std(), fold


def coefficients(X, y, penalty):
    """argmin_w |Xw - y|²/2 + sum penalty w²/2: the solution of (X'X + diag(penalty)) w = X'y."""
    gram = X.T @ X
    return ad.implicit.linear_solve(lambda w: gram @ w + penalty * w, X.T @ y, positive=True)


def by_argmin(X, y, penalty):
    """The same by the minimum itself: nothing but the objective is written down."""

    def objective(w, penalty):
        return np.sum((X @ w - y) ** 2) / 2 + np.sum(penalty * w**2) / 2

    return ad.implicit.argmin(objective, np.zeros(X.shape[1]), penalty)


def unseen_error(log_penalty, X, y, fold, solution=coefficients):
    """The mean squared error on each fold of what the other folds have taught."""
    penalty = np.exp(log_penalty) * np.ones(X.shape[1])
    total = 0.0
    for number in range(FOLDS):
        seen, unseen = fold != number, fold == number
        w = solution(X[seen], y[seen], penalty)
        total = total + np.sum((X[unseen] @ w - y[unseen]) ** 2)
    return total / len(y)


def descend(start, X, y, fold):
    """BFGS on the error by its hyper-gradient."""
    slope = ad.value_and_grad(unseen_error)
    return minimize(lambda t: slope(t, X, y, fold), start, jac=True, method="BFGS")


def main():
    X, y, fold = folds()
    begin = time.perf_counter()
    grid = np.linspace(np.log(1e-2), np.log(1e4), 200)
    errors = [unseen_error(np.array([t]), X, y, fold) for t in grid]
    seconds = time.perf_counter() - begin
    best = int(np.argmin(errors))

    print("                       unseen error   evaluations   seconds   weights")
    row = "{:<22} {:>12.5f} {:>13} {:>9.2f}   {}"
    one = f"{np.exp(grid[best]):.2f}"
    print(row.format("grid, one weight", errors[best], len(grid), seconds, one))
    for name, count in (("gradient, one weight", 1), ("gradient, ten weights", X.shape[1])):
        begin = time.perf_counter()
        found = descend(np.full(count, np.log(10.0)), X, y, fold)
        seconds = time.perf_counter() - begin
        weights = np.array2string(np.exp(found.x), precision=3, suppress_small=True)
        print(row.format(name, found.fun, found.nfev, seconds, weights if count == 1 else ""))
    listed = ", ".join(
        f"{name} {weight:.3g}"
        for name, weight in zip(load_diabetes().feature_names, np.exp(found.x), strict=True)
    )
    print(f"the ten: {listed}")

    point = np.zeros(X.shape[1])
    gradient = ad.grad(unseen_error)(point, X, y, fold)
    other = ad.grad(lambda t: unseen_error(t, X, y, fold, by_argmin))(point)
    step, direction = 1e-5, np.linspace(-1, 1, X.shape[1])
    ends = [unseen_error(point + s * direction, X, y, fold) for s in (step, -step)]
    difference = (ends[0] - ends[1]) / (2 * step)
    print(f"hyper-gradient against argmin's: {np.max(np.abs(gradient - other)):.0e}", end=", ")
    print(f"against a difference: {abs(gradient @ direction - difference):.0e}")


if __name__ == "__main__":
    main()
