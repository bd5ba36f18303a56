"""Random vectorised functions from an array to an array, as text: what Jacobians are computed of.

Slices, reshapes, stacks and broadcasts of a few small arrays, so that entries meet, repeat and are
left out in every way: the places where products share columns, and where points are kept apart.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

Shape = tuple[int, ...]
LARGEST = 80  # numbers in an array
UNARY = ("np.sin({})", "np.tanh({})", "{0} * {0}", "np.exp(-({}**2))", "3.0 * {}", "-{}")
BINARY = ("{} * {}", "{} + {}", "{} - {}", "np.where({0} > {1}, {0}, {1})", "{} / (2 + {}**2)")


class ArrayProgram:
    """A random function, with a point and its text."""

    def __init__(self, seed: int) -> None:
        self._random, self._numbers = random.Random(seed), np.random.default_rng(seed)
        n, k = self._random.choice([3, 4, 5, 7]), self._random.choice([1, 2, 3])
        shape = self._random.choice([(n,), (n, k), (k, n), (n, n), (k,)])
        self.point = self._numbers.normal(size=shape)
        self._shapes: dict[str, Shape] = {"x": shape}
        self._constants: dict[str, Any] = {}
        self._lines: list[str] = []
        for _ in range(self._random.randint(3, 10)):
            self._line()
        self.source = self._whole()

    @property
    def function(self) -> Callable[[Any], Any]:
        """The function, from its text."""
        names: dict[str, Any] = {"np": np, **self._constants}
        exec(compile(self.source, "<array program>", "exec"), names)
        return names["program"]  # type: ignore[no-any-return]

    def _whole(self) -> str:
        last, shape = list(self._shapes.items())[-1]
        if shape and self._random.random() < 0.3:
            start = self._random.randrange(shape[0])
            self._lines += [f"z = np.zeros({shape})", f"z[{start}:] += {last}[0]"]
            last = f"z * {last}"
        return "\n    ".join(["def program(x):", *self._lines, f"return {last}"])

    def _define(self, text: str, shape: Shape) -> None:
        if 0 < np.prod(shape) <= LARGEST and len(shape) < 4:
            name = f"a{len(self._lines)}"
            self._shapes[name] = shape
            self._lines.append(f"{name} = {text}")

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def _line(self) -> None:
        name, shape = self._random.choice(list(self._shapes.items()))
        other = self._random.choice(list(self._shapes))
        draw = self._random.randrange(4)
        if draw == 0:
            self._define(self._random.choice(UNARY).format(name), shape)
        elif draw == 1:
            try:
                whole = np.broadcast_shapes(shape, self._shapes[other])
            except ValueError:
                return
            self._define(self._random.choice(BINARY).format(name, other), whole)
        elif shape:
            axis = self._random.randrange(len(shape))
            ways = (self._part, self._sum, self._joined, self._moved, self._product, self._taken)
            self._random.choice(ways)(name, other, shape, axis)

    def _part(self, name: str, other: str, shape: Shape, axis: int) -> None:
        start = self._random.randrange(shape[axis])
        stop, step = self._random.randint(start + 1, shape[axis]), self._random.choice([1, 1, 2])
        entry = self._random.choice([str(start), "::-1", f"{start}:{stop}:{step}"])
        index = ", ".join([":"] * axis + [entry])
        self._define(f"{name}[{index}]", eval(f"np.empty({shape})[{index}].shape"))

    def _sum(self, name: str, other: str, shape: Shape, axis: int) -> None:
        keep = self._random.random() < 0.4
        middle = (1,) if keep else ()
        self._define(
            f"np.sum({name}, axis={axis}, keepdims={keep})",
            (*shape[:axis], *middle, *shape[axis + 1 :]),
        )

    def _joined(self, name: str, other: str, shape: Shape, axis: int) -> None:
        shapes = np.empty(shape), np.empty(self._shapes[other])
        function = self._random.choice(["concatenate", "stack"])
        try:
            whole = getattr(np, function)(shapes, axis=axis).shape
        except ValueError:
            return
        self._define(f"np.{function}([{name}, {other}], axis={axis})", whole)

    def _moved(self, name: str, other: str, shape: Shape, axis: int) -> None:
        size = int(np.prod(shape))
        width = self._random.choice([d for d in range(1, size + 1) if size % d == 0])
        shift = self._random.randint(-2, 2)
        text, after = self._random.choice(
            [
                (f"{name}.T", shape[::-1]),
                (f"{name}.reshape({width}, {size // width})", (width, size // width)),
                (f"{name}.ravel()", (size,)),
                (f"np.expand_dims({name}, {axis})", (*shape[:axis], 1, *shape[axis:])),
                (f"np.roll({name}, {shift}, axis={axis})", shape),
            ]
        )
        self._define(text, after)

    def _product(self, name: str, other: str, shape: Shape, axis: int) -> None:
        width = self._random.choice([2, 3, shape[-1]])
        matrix = self._constant(self._numbers.normal(size=(shape[-1], width)))
        self._define(f"{name} @ {matrix}", (*shape[:-1], width))

    def _taken(self, name: str, other: str, shape: Shape, axis: int) -> None:
        count = self._random.choice([2, shape[axis]])
        places = self._constant(self._numbers.integers(0, shape[axis], size=count))
        self._define(
            f"np.take({name}, {places}, axis={axis})", (*shape[:axis], count, *shape[axis + 1 :])
        )
