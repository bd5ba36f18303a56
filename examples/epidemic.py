"""An epidemic model as one writes it, a class with state that is advanced in place, fitted to data.

Infection and recovery rates and the first share of infected are found from 60 noisy daily counts.
SciPy's minimiser is given the gradient through the whole simulation; nothing in the class knows of
derivatives.

    python examples/epidemic.py
    adjoint check examples/epidemic.py:epidemic
"""

import numpy as np
from scipy.optimize import minimize

import adjoint as ad

inputs = (np.log([0.35, 0.12, 0.002]),)
DAYS, STEPS = 60, 4
NAMES = "infection", "recovery", "infected"
START = np.log([0.8, 0.3, 0.01])


class Epidemic:
    """Susceptible, infected and recovered shares of a population."""

    def __init__(self, infection, recovery, infected):
        self.infection, self.recovery = infection, recovery
        self.shares = np.zeros(3)
        self.shares[:2] = 1 - infected, infected

    @property
    def infected(self):
        """The share that infects others."""
        return self.shares[1]

    def advance(self, days):
        """One explicit step in time."""
        new = self.infection * self.shares[0] * self.infected * days
        healed = self.recovery * self.infected * days
        self.shares[0] -= new
        self.shares[1] += new - healed
        self.shares[2] += healed

    def run(self):
        """The infected share at the end of each day."""
        counts = np.empty(DAYS)
        for day in range(DAYS):
            for _ in range(STEPS):
                self.advance(1 / STEPS)
            counts[day] = self.infected
        return counts


def observed(parameters=(0.4, 0.1, 0.001), noise=0.03):
    counts = Epidemic(*parameters).run()
    return counts * np.exp(noise * np.random.default_rng(0).standard_normal(DAYS))


DATA = observed()


def epidemic(logarithms):
    """Mean squared difference of the logarithms; so are the parameters, which stay positive."""
    return np.mean(np.log(Epidemic(*np.exp(logarithms)).run() / DATA) ** 2)


def fit():
    """What SciPy's BFGS finds, and the standard errors of the logarithms from the Hessian."""
    loss = ad.jit(ad.value_and_grad(epidemic))
    result = minimize(loss, START, jac=True, method="BFGS")
    inverse = np.linalg.inv(ad.hessian(epidemic)(result.x))
    return result, np.sqrt(np.diag(inverse) * 2 * result.fun / DAYS)


def main():
    result, errors = fit()
    for name, value, error in zip(NAMES, result.x, errors, strict=True):
        print(f"{name:9s} {np.exp(value):.5f} +- {np.exp(value) * error:.5f}")
    print(f"{result.nfev} gradients, misfit {result.fun:.6f}")


if __name__ == "__main__":
    main()
