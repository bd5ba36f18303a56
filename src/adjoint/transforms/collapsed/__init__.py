"""Collapsed Taylor mode: values, many directions, and one sum of second derivatives over them."""

from adjoint.transforms.collapsed.collapse import Moving, collapse
from adjoint.transforms.collapsed.directions import Directions, DirectionSet

__all__ = ["DirectionSet", "Directions", "Moving", "collapse"]
