"""The directions in which a Jacobian is accumulated."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from adjoint.base.signatures.choices import member


class Mode(Enum):
    """In which order the factors of a Jacobian are multiplied (lecture, "Product of Jacobians").

    FORWARD: one JVP for each number in the arguments. REVERSE: one VJP for each number in the
        result. MIDDLE: forward mode up to where few numbers cross, reverse mode down to it, and the
        product of both. OPTIMAL: the cheapest order of all, by dynamic programming over the places
        where few numbers cross. ELIMINATION: vertex after vertex of the program's graph, if it is
        one of few numbers, or of few vectors with a number for each of many points; else as AUTO.
        AUTO: the elimination of vectors, if it saves a quarter of the operations of all others;
        else, where fewer numbers cross somewhere than go in and come out, the cheapest order of
        products, if it saves as much and holds no more than four times the numbers of forward or
        reverse mode; else one of these two, or the few products of a Jacobian that is plainly
        sparse. A mode that lacks a rule of a function by
        `ad.primitive` or `ad.linear` is not taken.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.jacobian(lambda x: np.sum(x) * np.ones(2), mode=ad.Mode.MIDDLE)(np.ones(3))
        array([[1., 1., 1.],
               [1., 1., 1.]])
    """

    AUTO = "auto"
    FORWARD = "forward"
    REVERSE = "reverse"
    MIDDLE = "middle"
    OPTIMAL = "optimal"
    ELIMINATION = "elimination"


ModeName = Literal["auto", "forward", "reverse", "middle", "optimal", "elimination"]


def as_mode(mode: Mode | ModeName) -> Mode:
    """The mode that is meant; ArgumentTypeError where it is none."""
    return member(Mode, mode, "mode")
