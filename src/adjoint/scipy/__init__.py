"""Floor 10: SciPy's functions on traced arrays, under SciPy's names.

`import adjoint.scipy as sp` is a drop-in for the parts of SciPy that stand here. In captured code
the names of SciPy mean these functions anyway, so that `from scipy.linalg import expm` works as it
stands; code that capture does not enter imports them from here. On plain arrays they are SciPy's.
"""

from adjoint.base.namespaces import names_of as _names_of
from adjoint.scipy import (
    coverage,  # noqa: F401  # its table of what is constant
    fft,
    integrate,
    interpolate,
    linalg,
    ndimage,
    optimize,
    signal,
    sparse,
    spatial,
    special,
    stats,
)

__dir__ = _names_of(__name__)

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]
