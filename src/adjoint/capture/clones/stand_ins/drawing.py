"""What draws random numbers in a clone: calls of it are made and written down (`script.py`)."""

from __future__ import annotations

import operator
import random
import types
from typing import Any, Final

import numpy as np

from adjoint.capture.clones.stand_ins.classes import NumberClass
from adjoint.capture.numpy.making.drawing import for_traced
from adjoint.capture.recording.effects.script import GENERATORS, GLOBAL, MAKERS, script_under_way
from adjoint.capture.recording.tracing.applying import concrete
from adjoint.capture.recording.tracing.traced import Traced, is_known, unwrap

_NUMPYS: Final = frozenset({np.random.Generator, np.random.RandomState})
_CYTHON: Final = type(np.random.default_rng)
_METHODS: Final = frozenset({types.MethodType, types.BuiltinFunctionType})


class Drawn:
    """What a clone calls for something that draws.

    called: that. owner: the generator, or None for what makes one.
    """

    __slots__ = ("__wrapped__", "called", "owner")

    def __init__(self, called: Any, owner: Any) -> None:
        self.called = self.__wrapped__ = called
        self.owner = owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Draw. Traced arrays may be given to a generator of NumPy's, to be shuffled, say."""
        if type(self.owner) in _NUMPYS:
            return for_traced(self._drawn, self.called.__name__)(*args, **kwargs)
        given = _of_pythons if self.owner is not None else _given
        return self._drawn(*map(given, args), **{name: given(x) for name, x in kwargs.items()})

    def _drawn(self, *args: Any, **kwargs: Any) -> Any:
        script = script_under_way()
        if script is None:
            return self.called(*args, **kwargs)
        return script.draw(self.owner, self.called, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.called, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.called == (other.called if type(other) is Drawn else other))

    def __hash__(self) -> int:
        return hash(self.called)


def _given(value: Any) -> Any:
    """An argument as compiled code takes it: a whole number is asked for, as a seed is."""
    if type(value) in (list, tuple):
        return type(value)(map(_given, value))
    if type(value) is Traced and not is_known(value):
        if value.type.dtype.kind in "iu":
            return concrete(value) if value.type.shape else operator.index(value)
        return value
    return unwrap(value)


def _of_pythons(value: Any) -> Any:
    """An argument as Python's own generators take it: a list is itself, whatever is in it.

    It may be shuffled, and what is drawn from it may be written into.
    """
    return value if type(value) in (list, tuple) else _given(value)


class _Making(NumberClass):
    """The type of stand-ins for classes of generators."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return Drawn(cls.original, None)(*args, **kwargs)


_classes: Final = {
    maker: _Making(maker.__name__, (), {"original": maker})
    for maker in MAKERS
    if isinstance(maker, type)
}


def is_random_module(value: Any) -> bool:
    """Whether it is a module whose functions draw."""
    return value is np.random or value is random


def drawing(value: Any) -> Any:
    """What stands for something that draws in a clone; None for anything else."""
    kind = type(value)
    if kind in _METHODS:
        owner = getattr(value, "__self__", None)
        return Drawn(value, owner) if type(owner) in GENERATORS else None
    if value is np.random.default_rng:
        return Drawn(value, None)
    if kind is _CYTHON and value is np.random.seed:
        return Drawn(value, _GLOBAL)
    return _classes.get(value) if kind is type else None


_GLOBAL: Final = GLOBAL[0]  # of np.random.seed
