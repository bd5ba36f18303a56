"""A stand-in for traced arrays: it speaks NumPy's protocols and refuses to be made an array."""

from __future__ import annotations

import numpy as np


class Duck(np.lib.mixins.NDArrayOperatorsMixin):
    """Wraps an array; NumPy functions give Ducks, and asking for entries is an error."""

    def __init__(self, hidden):
        self.hidden = hidden

    shape = property(lambda self: np.shape(self.hidden))
    dtype = property(lambda self: np.asarray(self.hidden).dtype)
    ndim = property(lambda self: np.ndim(self.hidden))
    real = property(lambda self: Duck(self.hidden.real))
    imag = property(lambda self: Duck(self.hidden.imag))

    def __getitem__(self, index):
        return Duck(self.hidden[index])

    def astype(self, dtype):
        return Duck(self.hidden.astype(dtype))

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("the entries of a traced array were asked for")

    def __bool__(self):
        raise AssertionError("the value of a traced array was asked for")

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return Duck(getattr(ufunc, method)(*map(_bare, inputs), **options))

    def __array_function__(self, function, types, args, options):
        return Duck(function(*map(_bare, args), **{k: _bare(v) for k, v in options.items()}))


def _bare(value):
    if isinstance(value, Duck):
        return value.hidden
    if isinstance(value, (list, tuple)):
        return type(value)(_bare(item) for item in value)
    return value
