"""Collapsed Taylor mode: values, many directions, and one sum of second derivatives over them."""

from adjoint.transforms.collapsed.collapse import Moving, collapse
from adjoint.transforms.collapsed.directions import (
    AxisRun,
    Directions,
    DirectionSet,
    count_all,
    count_axes,
    counted_lengths,
    joined,
    standard_directions,
)

__all__ = [
    "AxisRun",
    "DirectionSet",
    "Directions",
    "Moving",
    "collapse",
    "count_all",
    "count_axes",
    "counted_lengths",
    "joined",
    "standard_directions",
]
