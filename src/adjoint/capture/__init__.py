"""Floor 4: capture, from a plain NumPy function to a program."""

from adjoint.capture import joints
from adjoint.capture.capture import Captured, capture, traced_type, with_cells
from adjoint.capture.clones import interception
from adjoint.capture.numpy import array_api
from adjoint.capture.numpy.indexing import assigning
from adjoint.capture.numpy.linalg import decompositions as linalg_decompositions
from adjoint.capture.numpy.linalg import fft as numpy_fft
from adjoint.capture.numpy.linalg import least_squares as linalg_least_squares
from adjoint.capture.numpy.linalg import linalg_products
from adjoint.capture.numpy.linalg import norms as linalg_norms
from adjoint.capture.numpy.linalg import solving as numpy_linalg
from adjoint.capture.numpy.making import grids as numpy_grids
from adjoint.capture.numpy.making import making as numpy_making
from adjoint.capture.numpy.making import mapping as numpy_mapping
from adjoint.capture.numpy.making import padding as numpy_padding
from adjoint.capture.numpy.operations import emath, methods, operators, ufunc_methods, ufuncs
from adjoint.capture.numpy.polynomials import old_polynomials as numpy_old_polynomials
from adjoint.capture.numpy.polynomials import polynomial as numpy_polynomial
from adjoint.capture.numpy.reducing import histogram as numpy_histogram
from adjoint.capture.numpy.reducing import nan as numpy_nan
from adjoint.capture.numpy.reducing import sets as numpy_sets
from adjoint.capture.numpy.reducing import sorting as numpy_sorting
from adjoint.capture.numpy.reducing import statistics as numpy_statistics
from adjoint.capture.numpy.shaping import answers as numpy_answers
from adjoint.capture.numpy.shaping import arranging as numpy_arranging
from adjoint.capture.numpy.shaping import arrays as numpy_arrays
from adjoint.capture.recording.exits import questions
from adjoint.capture.recording.exits.escape import closes_over, sealed
from adjoint.capture.recording.tracing.applying import (
    apply,
    apply_beside,
    concrete,
    hush,
    peek,
    reapply,
    settle,
)
from adjoint.capture.recording.tracing.trace import current
from adjoint.capture.recording.tracing.traced import Traced, from_slot, is_known, unwrap, wrap
from adjoint.capture.recording.values.awaited_arrays import AwaitedArray, stood_for
from adjoint.capture.scipy import sparse
from adjoint.capture.scipy import table as scipy_table

__all__ = [
    "AwaitedArray",
    "Captured",
    "Traced",
    "apply",
    "apply_beside",
    "array_api",
    "assigning",
    "capture",
    "closes_over",
    "concrete",
    "current",
    "emath",
    "from_slot",
    "hush",
    "interception",
    "is_known",
    "joints",
    "linalg_decompositions",
    "linalg_least_squares",
    "linalg_norms",
    "linalg_products",
    "methods",
    "numpy_answers",
    "numpy_arranging",
    "numpy_arrays",
    "numpy_fft",
    "numpy_grids",
    "numpy_histogram",
    "numpy_linalg",
    "numpy_making",
    "numpy_mapping",
    "numpy_nan",
    "numpy_old_polynomials",
    "numpy_padding",
    "numpy_polynomial",
    "numpy_sets",
    "numpy_sorting",
    "numpy_statistics",
    "operators",
    "peek",
    "questions",
    "reapply",
    "scipy_table",
    "sealed",
    "settle",
    "sparse",
    "stood_for",
    "traced_type",
    "ufunc_methods",
    "ufuncs",
    "unwrap",
    "with_cells",
    "wrap",
]
