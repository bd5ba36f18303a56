"""Functions of a matrix through its eigenvectors or singular vectors: recognised, as one pass.

V diag(g(l)) V^H, with the eigenvalues l and the eigenvectors V of a Hermitian matrix A, is the
function g(A). Where eigenvalues coincide, V is any basis of a common space and has no derivative;
g(A) has one. Step by step the chain rule would go through V. So before a program is differentiated,

1. `columns.py` reads which of its values are V with its columns scaled, and by what;
2. `entrywise.py` follows the scales back to l, through what is computed entry by entry;
3. `matching.py` finds the equations that sum two such values over the columns: functions of A, or
   products with them; also U diag(g(s)) V^H of singular values;
4. `writing.py` keeps their values, and gives them the derivatives of g(A): divided differences of g
   (`primitives/linear_algebra/spectra/spectral.py`; Yu. Daleckii, S. Krein, 1951).

What uses eigenvectors otherwise goes through `primitives/linear_algebra/spectra/rotations.py`,
which refuses those of equal eigenvalues when it runs. `docs/manual/spectral-functions.md` tells the
same to users.
"""

from typing import Final

from adjoint.primitives.linear_algebra.spectra.eigen import EIGH
from adjoint.primitives.linear_algebra.spectra.singular_values import SVD
from adjoint.transforms.recognition.spectral.writing import PushForward, functions_of_matrices

DECOMPOSITIONS: Final = frozenset({EIGH, SVD})

__all__ = ["DECOMPOSITIONS", "PushForward", "functions_of_matrices"]
