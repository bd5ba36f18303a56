"""Graphs of small functions with the forward and the reverse pass, drawn by `ad.draw`.

Run it to write `expression_graph.svg` and its companions next to this file:
`..._chain` (Figures E1.4 and E1.5), `..._two_inputs` (E1.6), `..._two_outputs` (E1.7), and
`..._vjp`, the program of the reverse pass.
"""

from pathlib import Path

import numpy as np

import adjoint as ad

ONE = np.float64(1)


def graph(x):
    """A value that is read by a node which is itself read later on."""
    s1 = np.square(x)
    s2 = np.sin(s1)
    s3 = np.exp(s1)
    s4 = s2 * s3
    s5 = np.cos(s4)
    return s4 + s5


def chain(x):
    """F = f2 after f1."""
    h = np.exp(x)
    return np.sin(h)


def two_inputs(x, w):
    """f(x, W) = W x."""
    return w @ x


def two_outputs(x):
    """x + x^2, at 3."""
    return x + np.square(x)


def main() -> None:
    """Draw them."""
    here = Path(__file__)
    X, W = np.array([3.0, 4.0]), np.array([[1.0, 2.0]])
    v = np.array([5.0])
    drawings = {
        "": ad.draw(graph, np.float64(0.5), values=True, tangents=ONE, cotangents=ONE),
        "_chain": ad.draw(chain, np.float64(0.5), values=True, tangents=ONE, cotangents=ONE),
        "_two_inputs": ad.draw(two_inputs, X, W, values=True, cotangents=v),
        "_two_outputs": ad.draw(two_outputs, np.float64(3), values=True, cotangents=ONE),
        "_vjp": ad.draw(ad.program(graph, np.float64(0.5)).vjp()),
    }
    for suffix, drawing in drawings.items():
        drawing.save(here.with_name(f"{here.stem}{suffix}.svg"))


if __name__ == "__main__":
    main()
