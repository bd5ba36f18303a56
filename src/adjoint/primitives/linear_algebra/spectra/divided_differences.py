"""Divided differences of a function on a spectrum, where nodes may coincide.

g[x] = g(x), and g[x_0, ..., x_k] = (g[x_1, ..., x_k] - g[x_0, ..., x_{k-1}]) / (x_k - x_0), which
tends to g^(k)(x) / k! where all nodes meet (N. Higham, "Functions of Matrices", 2008, appendix
B.16). Of g its values and some of its derivatives at the nodes are given; between a quotient of
differences and a Taylor polynomial the one with the smaller error is taken, entry by entry.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np

from adjoint.base.errors import DegenerateError
from adjoint.primitives.linear_algebra.spectra.rotations import closeness, precision

NEAR = 1e-3  # of the largest node: three of sixteen digits


class Differences:
    """Divided differences of functions on nodes in ascending order.

    nodes: (n,). reference: a function g and its first derivatives at the nodes, (n,) each: by its
    errors it is decided which form to take. functions: others like it, (..., n) each.
    """

    def __init__(self, nodes: Any, reference: Any, functions: Any) -> None:
        self.nodes = nodes
        # Row 0 is the reference.
        self.known = [
            np.concatenate([r[None], g.reshape(-1, len(nodes))])
            for r, g in zip(reference, functions, strict=True)
        ]
        self.lead = functions[0].shape[:-1]
        self.eps = precision(nodes)
        self.close = float(closeness(nodes)[0]) if nodes.size else 0.0
        # What g may be wrong by: rounding where it is largest, and in terms that cancel.
        terms = [np.abs(g * nodes**n) / factorial(n) for n, g in enumerate(reference)]
        self.errors = self.eps * (np.max(terms[0], initial=0) + np.sum(terms, axis=0))

        self.gaps = nodes[None, :] - nodes[:, None]
        # Where a quotient of differences may lose digits: they are looked at one by one.
        self.near = np.abs(self.gaps) <= NEAR * np.max(np.abs(nodes), initial=0)

    def matrix(self) -> Any:
        """g[x_i, x_j] for all pairs: (..., n, n)."""
        g = self.known[0][1:].reshape(*self.lead, -1)
        differences = (g[..., None, :] - g[..., :, None]) / np.where(self.near, 1, self.gaps)
        rows, columns = np.nonzero(self.near)
        differences[..., rows, columns] = self.at(rows, columns)
        return differences

    def at(self, *places: Any) -> Any:
        """The differences on nodes x_i, x_j, ...: (..., *the shape of each of the places)."""
        ordered = list(np.sort(np.broadcast_arrays(*places), axis=0))
        with np.errstate(all="ignore"):
            differences = self._at(ordered)[0][1:]
        return differences.reshape(self.lead + ordered[0].shape)

    def _at(self, places: list[Any]) -> tuple[Any, Any]:
        """The differences, and an estimate of the errors of the reference's."""
        count = len(places) - 1
        if count == 0:
            return self.known[0][:, places[0]], self.errors[places[0]]
        upper, upper_error = self._at(places[1:])
        lower, lower_error = self._at(places[:-1])
        gap = self.nodes[places[-1]] - self.nodes[places[0]]
        met = gap <= self.close
        apart = np.where(met, 1, gap)
        quotient, error = (upper - lower) / apart, (upper_error + lower_error) / apart
        if count >= len(self.known):
            if met.any():
                raise DegenerateError(
                    f"A derivative of order {count} of a function of a matrix with equal "
                    f"eigenvalues: here orders up to {len(self.known) - 1} are known."
                )
            return quotient, error
        smooth, smooth_error = self._taylor(places, gap)
        # A function that jumps in between is far from its Taylor polynomials.
        agree = np.abs(smooth[0] - quotient[0]) <= 10 * (error + smooth_error)
        chosen = met | (agree & (smooth_error <= 2 * error))
        return np.where(chosen, smooth, quotient), np.where(chosen, smooth_error, error)

    def _taylor(self, places: list[Any], gap: Any) -> tuple[Any, Any]:
        """The mean of the derivative at the nodes, with the next term for two of them."""
        count, known = len(places) - 1, self.known
        mean = sum(known[count][:, place] for place in places) / (count + 1)
        size = np.max([np.abs(known[count][0, place]) for place in places], axis=0)
        if count == 1 and len(known) > 3:
            first, last = places
            mean = mean - gap**2 * (known[3][:, first] + known[3][:, last]) / 24
            left = gap**2 * np.abs(known[3][0, last] - known[3][0, first]) / 24
        else:
            following = known[min(count + 1, len(known) - 1)][0]
            left = np.max([np.abs(following[p] - following[places[0]]) for p in places], axis=0)
            left = left * gap if count + 1 < len(known) else left
        return mean / factorial(count), (left + self.eps * size) / factorial(count)
