"""Spaces of the user's own: a few public members, from which the rest of a space follows."""

from adjoint.spaces.custom.custom_space import CustomSpace

__all__ = ["CustomSpace"]
