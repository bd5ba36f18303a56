"""The bases that polynomials are written in: classes of `numpy.polynomial`."""

from __future__ import annotations

from typing import Any, Final

from numpy.polynomial import Chebyshev, Legendre, Polynomial, chebyshev, legendre, polynomial

# For each class, the columns P_0(x), ..., P_n(x) at points x.
VANDERMONDE: Final[dict[Any, Any]] = {
    Polynomial: polynomial.polyvander,
    Legendre: legendre.legvander,
    Chebyshev: chebyshev.chebvander,
}
KINDS: Final = tuple(VANDERMONDE)
