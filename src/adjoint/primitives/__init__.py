"""Floor 3: the primitives, one file a family; each declaration says everything about it."""

from adjoint.primitives import identities
from adjoint.primitives.calls import custom, failing, initial_value, integrals, solving
from adjoint.primitives.calls import linear as calls
from adjoint.primitives.declaration import PRIMITIVES, UFUNCS, EmptySlot, Itself, Primitive
from adjoint.primitives.elementwise import comparison, conversion, floating, kinks, smooth
from adjoint.primitives.elementwise.arithmetic import integer_power
from adjoint.primitives.expression import Expression, bind
from adjoint.primitives.linear_algebra import (
    cholesky,
    determinants,
    least_squares,
    matrix_functions,
    orthogonal,
    sparse,
    triangular,
)
from adjoint.primitives.linear_algebra import systems as linear_algebra
from adjoint.primitives.linear_algebra.spectra import (
    dilation,
    divided_differences,
    eigen,
    eigen_general,
    rotations,
    singular_values,
    spectral,
)
from adjoint.primitives.special import bessel as special_bessel
from adjoint.primitives.special import densities as special_densities
from adjoint.primitives.special import distributions as special_distributions
from adjoint.primitives.special import elementary as special_elementary
from adjoint.primitives.special import elliptic as special_elliptic
from adjoint.primitives.special import errors as special_errors
from adjoint.primitives.special import gamma as special_gamma
from adjoint.primitives.special import hypergeometric as special_hypergeometric
from adjoint.primitives.special import polynomials as special_polynomials
from adjoint.primitives.special import quadrature as special_quadrature
from adjoint.primitives.special.declaring import find_special
from adjoint.primitives.structure import (
    correlation,
    diagonals,
    fourier,
    gathering,
    recurrences,
    reductions,
    slicing,
    sorting,
)
from adjoint.primitives.structure import moving as structure
from adjoint.primitives.structure.contraction import CONTRACT

__all__ = [
    "CONTRACT",
    "PRIMITIVES",
    "UFUNCS",
    "EmptySlot",
    "Expression",
    "Itself",
    "Primitive",
    "bind",
    "calls",
    "cholesky",
    "comparison",
    "control_flow",
    "conversion",
    "correlation",
    "custom",
    "determinants",
    "diagonals",
    "dilation",
    "divided_differences",
    "eigen",
    "eigen_general",
    "failing",
    "find_special",
    "floating",
    "fourier",
    "gathering",
    "identities",
    "initial_value",
    "integer_power",
    "integrals",
    "kinks",
    "least_squares",
    "linear_algebra",
    "matrix_functions",
    "orthogonal",
    "recurrences",
    "reductions",
    "rotations",
    "singular_values",
    "slicing",
    "smooth",
    "solving",
    "sorting",
    "sparse",
    "special_bessel",
    "special_densities",
    "special_distributions",
    "special_elementary",
    "special_elliptic",
    "special_errors",
    "special_gamma",
    "special_hypergeometric",
    "special_polynomials",
    "special_quadrature",
    "spectral",
    "structure",
    "triangular",
]
