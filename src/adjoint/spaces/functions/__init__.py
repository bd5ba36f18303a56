"""Functions on an interval, a grid or a mesh, as spaces of coefficient arrays."""

from adjoint.spaces.functions.functions import Functions
from adjoint.spaces.functions.grids import Boundary

__all__ = ["Boundary", "Functions"]
