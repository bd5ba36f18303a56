"""Random NumPy programs, as text: views, writes in place, loops and branches on values.

Each is a function of a vector `x`, a matrix `m` and a number `s`, made from whole numbers as in
`maker.py`. Every name has a known shape, so that each line is valid; values stay bounded, since
what is computed goes through sines. Indices and orders that values decide are common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tests.fuzz.maker import Choices

Shape = tuple[int, ...]
LARGEST, MOST_NAMES, DEEPEST = 24, 9, 2
ELEMENTWISE = ("np.sin({})", "np.tanh({})", "{} * 0.5", "np.cos({})", "np.abs({})", "-{}")
ROWWISE = ("np.cumsum({}, axis=0)", "np.sort({}, axis=-1)", "np.roll({}, 1)", "np.flip({})")
BINARY = ("{} * {}", "{} + {}", "{} - {}", "np.maximum({}, {})", "np.where({} > {}, 0.3, 0.7)")
INPLACE = ("+=", "-=", "*=", "=")


class NumpyProgram(NamedTuple):
    """What was written. batched: whether no value decides what is run."""

    source: str
    batched: bool

    def function(self, loops: Any) -> Callable[..., Any]:
        """The function, from its text. loops: what it finds under the name `ad`."""
        names: dict[str, Any] = {"np": np, "ad": loops, "__name__": __name__}
        exec(compile(self.source, "<numpy program>", "exec"), names)
        return names["program"]  # type: ignore[no-any-return]


def numpy_program(numbers: Sequence[int]) -> NumpyProgram:
    """The program of a list of choices."""
    choices = Choices(numbers)
    writer = _Writer(choices)
    writer.line("def program(x, m, s):")
    writer.indent += 1
    writer.names = {"x": (3 + choices.below(3),), "m": (2, 3), "s": ()}
    for shape in ((3,), (2, 3)):
        if choices.below(2):
            writer.define(f"np.zeros({shape})", shape)
    if choices.below(3):
        writer.line("x = x.copy()")
        writer.line("m = m * 1.0")
    while choices.left and len(writer.lines) < 30:
        writer.statement(DEEPEST)
    writer.line(f"return {writer.total()}")
    return NumpyProgram("\n".join([*writer.helpers, *writer.lines, ""]), writer.batched)


def size_of_x(numbers: Sequence[int]) -> int:
    """How long the vector is."""
    return 3 + Choices(numbers).below(3)


class _Writer:
    """Writes lines. names: those that can be read, with their shapes."""

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        self.lines: list[str] = []
        self.helpers: list[str] = []
        self.names: dict[str, Shape] = {}
        self.indent = 0
        self.made = 0
        self.batched = True

    # --- text -------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """A line."""
        self.lines.append("    " * self.indent + text)

    def fresh(self) -> str:
        """A new name."""
        self.made += 1
        return f"v{self.made}"

    def define(self, text: str, shape: Shape) -> None:
        """A new name, or one that is bound again."""
        if self.indent == 1 and len(self.names) < MOST_NAMES:
            name = self.fresh()
            self.line(f"{name} = {text}")
            self.names[name] = shape
            return
        same = [name for name, old in self.names.items() if old == shape]
        if same:
            name = self.pick(same)
            self.line(f"{name} = {text}")

    def pick(self, items: Sequence[Any]) -> Any:
        """One of them."""
        return items[self.choices.below(len(items))]

    def array(self, least: int = 1) -> tuple[str, Shape]:
        """A name of an array."""
        found = [(n, s) for n, s in self.names.items() if len(s) >= least and np.prod(s)]
        name, shape = self.pick(found)
        return name, shape

    def number(self) -> str:
        """A number, from a name or a constant."""
        way = self.choices.below(5)
        if way == 0:
            return "s"
        name, shape = self.array()
        if way == 1:
            return f"np.sin({name}.sum())"
        if way == 2:
            return f"{name}[{', '.join(str(self.choices.below(n)) for n in shape)}]"
        return repr(round(0.1 + 0.13 * self.choices.below(9), 2))

    def like(self, shape: Shape) -> str:
        """Something that broadcasts to a shape."""
        found = [n for n, s in self.names.items() if s == shape[len(shape) - len(s) :]]
        return self.pick(found) if found and self.choices.below(2) else self.number()

    def total(self) -> str:
        """A number that depends on all names."""
        terms = []
        for place, name in enumerate(self.names):
            weights = f"np.linspace(0.{3 + place}, 1.1, np.size({name})).reshape(np.shape({name}))"
            terms.append(f"np.sum(np.sin({name}) * {weights})")
        return " + ".join(terms)

    # --- statements -------------------------------------------------------------------------------

    def statement(self, depth: int) -> None:
        """One of them; compound ones only so deep."""
        kinds: list[Callable[[], None]] = [
            *(self._view, self._write, self._view, self._write, self._compute, self._write),
            *(self._fancy_write, self._reduce, self._gather),
        ]
        compound: list[Callable[[int], None]] = [
            *(self._for, self._rows, self._if, self._while),
            *(self._fori, self._cond, self._scan, self._while_loop, self._helper),
        ]
        number = self.choices.below(len(kinds) + (len(compound) if depth else 0))
        if number < len(kinds):
            kinds[number]()
        else:
            compound[number - len(kinds)](depth - 1)

    def _view(self) -> None:
        name, shape = self.array()
        views: list[tuple[str, Shape]] = [
            (f"{name}[::-1]", shape),
            (f"{name}[{self.choices.below(shape[0])}]", shape[1:]),
            (f"{name}.T", shape[::-1]),
            (f"{name}[..., None]", (*shape, 1)),
            (f"{name}[..., {self.choices.below(shape[-1])}]", shape[:-1]),
            (f"{name}[:]", shape),
            (f"{name}.reshape({(int(np.prod(shape)),)})", (int(np.prod(shape)),)),
            (f"{name}.ravel()", (int(np.prod(shape)),)),
            (f"np.expand_dims({name}, 0)", (1, *shape)),
        ]
        if shape[0] > 1:
            views.append((f"{name}[1:]", (shape[0] - 1, *shape[1:])))
            views.append((f"{name}[::2]", (-(-shape[0] // 2), *shape[1:])))
        if len(shape) == 2:
            views.append((f"np.swapaxes({name}, 0, 1)", shape[::-1]))
            views.append((f"{name}[:, ::-1]", shape))
            views.append((f"np.diagonal({name}).copy()", (min(shape),)))
            views.append((f"{name}.reshape({shape[::-1]})", shape[::-1]))
        self.define(*self.pick(views))

    def _compute(self) -> None:
        name, shape = self.array()
        way = self.choices.below(3)
        if way == 0:
            self.define(self.pick(ELEMENTWISE).format(name), shape)
        elif way == 1:
            self.define(self.pick(ROWWISE).format(name), shape)
        else:
            self.define(self.pick(BINARY).format(name, self.like(shape)), shape)

    def _reduce(self) -> None:
        name, shape = self.array()
        ways: list[tuple[str, Shape]] = [
            (f"np.sin({name}.sum(axis=0))", shape[1:]),
            (f"{name}.max(axis=-1)", shape[:-1]),
            (f"np.mean({name}, axis=0)", shape[1:]),
            (f"np.tanh(np.dot({name}.ravel(), {name}.ravel()))", ()),
            (f"np.prod(np.cos({name}))", ()),
            (f"np.sort({name}, axis=None)[0]", ()),
            (f"np.concatenate([{name}, np.sin({name})])", (2 * shape[0], *shape[1:])),
            (f"np.stack([{name}, {name} * s])", (2, *shape)),
            (f"np.outer(np.sin({name}), np.ones(2))", (int(np.prod(shape)), 2)),
            (f"np.array([np.tanh(t) for t in {name}])", shape),
            (f"np.sin(sum({name}[k] for k in range({shape[0]})))", shape[1:]),
            (f"max({name}.ravel())", ()),
            (f"np.array(sorted({name}.ravel())[:2])", (min(2, int(np.prod(shape))),)),
            (f"np.einsum('i...->...', np.cos({name}))", shape[1:]),
            (f"np.add.reduce(np.tanh({name}), axis=-1)", shape[:-1]),
        ]
        if len(shape) == 2:
            ways.append((f"np.tanh({name} @ {name}.T)", (shape[0], shape[0])))
            ways.append((f"np.linalg.solve(4 * np.eye({shape[0]}), {name})", shape))
        text, found = self.pick(ways)
        if text.startswith(("max(", "np.array(sorted(")):
            self.batched = False
        if np.prod(found) <= LARGEST and len(found) < 4:
            self.define(text, found)

    def _gather(self) -> None:
        name, shape = self.array()
        if self.choices.below(2):
            index = [self.choices.below(shape[0]) for _ in range(1 + self.choices.below(3))]
            if len(index) * np.prod(shape[1:]) <= LARGEST:
                self.define(f"{name}[{index}]", (len(index), *shape[1:]))
        else:
            # How many there are is decided by values.
            self.batched = False
            self.define(f"np.sin({name}[{name} > {self.number()}]).sum()", ())

    def _write(self) -> None:
        name, shape = self.array()
        value = self.like(shape)
        first = self.choices.below(shape[0])
        sign = self.pick(INPLACE)
        row = self.like(shape[1:])
        writes = [
            f"{name}[{first}] {sign} {row}",
            f"{name}[...] {sign} {value}",
            f"{name}[{name} > {self.number()}] {sign} 0.25",
            f"{name}[1:] += 0.5 * {name}[:-1]",
            f"{name}[::-1] += 0.1 * {name}",
            f"np.add({name}, {value}, out={name})",
            f"np.sin({name}, out={name})",
            f"{name}.sort(axis={self.choices.below(len(shape))})",
            f"np.copyto({name}, {value})",
            f"{name}.flat[{self.choices.below(int(np.prod(shape)))}] = {self.number()}",
            f"np.maximum({name}, {value}, out={name}, where={name} < 0.6)",
            f"{name}.fill({self.number()})",
        ]
        if name not in ("x", "m"):
            writes.append(f"{name} += {value}")
        if len(shape) == 2:
            writes.append(f"{name}[:, {self.choices.below(shape[1])}] {sign} {self.number()}")
            writes.append(f"{name}.T[...] *= 0.7")
        text = self.pick(writes)
        if text == writes[2] and sign != "=":
            self.batched = False  # it reads as many entries as the mask has
        self.line(text)

    def _fancy_write(self) -> None:
        name, shape = self.array()
        i, j = self.choices.below(shape[0]), self.choices.below(shape[0])
        value = self.like(shape[1:])
        writes = [
            f"{name}[[{i}, {j}]] = {name}[[{j}, {i}]]",
            f"{name}[[{i}, {j}]] += {value}",
            f"np.add.at({name}, [{i}, {j}, {i}], {value})",
            f"np.put({name}, [{i}, {j}], {self.number()})",
            f"{name}[np.argsort({name}, axis=0)[0]] *= 0.5",
            f"{name}[np.array([{i}])] = {value}",
        ]
        if len(shape) > 1:
            del writes[4]
        self.line(self.pick(writes))

    # --- compound statements ----------------------------------------------------------------------

    def block(self, depth: int) -> None:
        """One or two statements, a level deeper, whose new names are forgotten."""
        self.indent += 1
        before, count = dict(self.names), len(self.lines)
        for _ in range(1 + self.choices.below(2)):
            self.statement(depth)
        self.names = before
        if len(self.lines) == count:
            self.line("pass")
        self.indent -= 1

    def _for(self, depth: int) -> None:
        name, shape = self.array()
        self.line(f"for k in range({shape[0]}):")
        self.indent += 1
        self.line(f"{name}[k] {self.pick(('+=', '*=', '='))} {self.like(shape[1:])}")
        self.indent -= 1
        if self.choices.below(2):
            self.block(depth)

    def _rows(self, depth: int) -> None:
        name, _ = self.array(2) if any(len(s) > 1 for s in self.names.values()) else self.array()
        self.line(f"for row in {name}:")
        if len(self.names[name]) > 1:
            self.indent += 1
            self.line(f"row {self.pick(('+=', '*='))} {self.number()}")
            self.indent -= 1
        else:
            self.indent += 1
            self.line("s = np.sin(s + row)")
            self.indent -= 1

    def _if(self, depth: int) -> None:
        self.batched = False
        name, _ = self.array()
        self.line(f"if {name}.sum() > {self.number()}:")
        self.block(depth)
        if self.choices.below(2):
            self.line("else:")
            self.block(depth)

    def _while(self, depth: int) -> None:
        self.batched = False
        name, _ = self.array()
        count = self.fresh()
        self.line(f"{count} = 0")
        self.line(f"while {count} < {1 + self.choices.below(4)} and {name}.mean() < 0.5:")
        self.indent += 1
        self.line(f"{count} += 1")
        self.line(f"s = np.cos(s + {name}.mean())")
        self.indent -= 1
        self.block(depth)

    def _fori(self, depth: int) -> None:
        name, shape = self.array()
        body = f"np.sin(a + {self.like(shape)} * {name}[i % {shape[0]}])"
        if self.indent == 1:
            self.define(
                f"ad.fori_loop(0, {self.choices.below(5)}, lambda i, a: {body}, {name})", shape
            )

    def _while_loop(self, depth: int) -> None:
        name, shape = self.array()
        step = f"(c[0] + 1, np.tanh(c[1] * 0.9 + {self.like(shape)}))"
        test = f"np.logical_and(c[0] < {1 + self.choices.below(4)}, c[1].sum() < {self.number()})"
        self.define(f"ad.while_loop(lambda c: {test}, lambda c: {step}, (0, {name}))[1]", shape)

    def _cond(self, depth: int) -> None:
        name, shape = self.array()
        one, other = self.pick(ELEMENTWISE).format("a"), self.pick(BINARY).format("a", "s")
        test = f"{name}.sum() > {self.number()}"
        self.define(f"ad.cond({test}, lambda a: {one}, lambda a: {other}, {name})", shape)

    def _scan(self, depth: int) -> None:
        name, shape = self.array()
        text = f"ad.scan(lambda c, r: (np.sin(c + r.sum()), r * c), {self.number()}, {name})"
        self.define(f"{text}[1]", shape)

    def _helper(self, depth: int) -> None:
        """A function that writes into what it is given, and returns something else of its shape."""
        name, shape = self.array()
        helper = f"helper{len(self.helpers)}"
        first = self.choices.below(shape[0])
        lines = [f"def {helper}(a, t):", f"    a[{first}] *= t", "    b = a[::-1]"]
        if self.choices.below(2):
            lines.append("    b[0] += 0.5 * t")
        lines.append(f"    return {self.pick(ELEMENTWISE).format('b')}")
        self.helpers.append("\n".join([*lines, "", ""]))
        self.define(f"{helper}({name}, {self.number()})", shape)
