"""NumPy's namespace on traced arrays and NumPy's own: `import adjoint.numpy as np`.

Every name is NumPy's. A function of it understands traced arrays wherever it is called from, also
where NumPy itself would ask for plain numbers: `np.array([x, 1.0])`, `np.full(3, x)`. On NumPy's
arrays it is NumPy's. Code that is differentiated does not need it, since the names of captured
functions are bound to these functions anyway; code that capture does not enter does. The namespace
follows the Python array API standard as NumPy 2 does, and traced arrays answer
`__array_namespace__` by it.
"""

from adjoint.numpy.namespace import __dir__, __getattr__

__all__ = ["__dir__", "__getattr__"]
