"""Random programs over state, as text: containers, hashing, caches by hand, objects, exceptions.

Each is a sequence of calls of one function, between which its surroundings change, made from whole
numbers as in `maker.py`. What it gives is held to plain NumPy, call by call.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import heapq
import io
import types
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tests.capture.battery import sequences
from tests.capture.battery.differences import RoughError
from tests.capture.battery.observing import Outcome
from tests.capture.battery.registry import Sequence as Calls
from tests.fuzz.checks import Disagreement
from tests.fuzz.maker import Choices

MOST_STATEMENTS, MOST_CALLS = 7, 8
POINTS: Final = ("[0.7, 1.3, 2.1]", "[1.3, 0.7, 0.43]", "[2.1, -0.6, 1.1]", "[0.2, 0.9, 1.7]")

SURROUNDINGS: Final = """
table, memo, log, seen, queue = {0: 1.5, 1: 2.5}, {}, [], set(), collections.deque([0.5, 1.5])
data, words, scale, calls = np.array([1.0, 2.0, 3.0]), ["a"], 1.0, 0
space = types.SimpleNamespace(rate=1.0, best=np.inf, last=None)

class Model:
    gain = 2.0

    def __init__(self):
        self.rate, self.weights, self.key = 0.5, np.ones(3), None

    def act(self, v):
        return np.tanh(self.rate * v) * self.gain

    def features(self, v):
        if self.key is None or not np.array_equal(self.key, v):
            self.key, self.value = v.copy(), np.sin(v)
        return self.value

def helper(v, a=1.5, *, b=0.5):
    return a * np.cos(v) + b

def cached(function):
    known = {}

    def wrapper(v):
        key = tuple(v.tolist())
        if key not in known:
            known[key] = function(v)
        return known[key]

    return wrapper

@cached
def norm(v):
    return np.sqrt(np.sum(v**2))

class Sub(Model):
    __slots__ = ("extra",)
    steps, shared = 0, {}

    def __init__(self, extra):
        super().__init__()
        self.extra, self.level = extra, 0

    @property
    def factor(self):
        return self.rate * self.extra

    @factor.setter
    def factor(self, value):
        self.extra = value

    def __call__(self, v):
        Sub.steps += 1
        return super().act(v) * self.extra + 0.01 * Sub.steps

    def __enter__(self):
        self.level += 1
        return self

    def __exit__(self, kind, error, trace):
        self.level -= 1
        return kind is ZeroDivisionError

    def __getitem__(self, k):
        return self.shared.setdefault(k, len(self.shared) + 1.0)

    def __len__(self):
        return 2 + len(self.shared)

class Trouble(Exception):
    def __init__(self, value, text="trouble"):
        super().__init__(text)
        self.value = value

Pair = collections.namedtuple("Pair", "left right")

def parts(v, scale=1.0):
    for k in range(len(v)):
        got = yield v[k] * scale
        scale = scale * 0.5 if got is None else got

def checked(v, limit):
    if v > limit:
        raise Trouble(v, f"over {limit}")
    return v * 2

@functools.lru_cache(maxsize=None)
def weight(n):
    return 1.0 / (n + 1)

@functools.cache
def powered(v, n=2):
    return v**n

def ticking():
    n = 0
    while True:
        n += 1
        yield n

model, sub, ticks = Model(), Sub(1.5), ticking()
rng = np.random.default_rng(3)
groups, ordered = collections.defaultdict(list), collections.OrderedDict(a=0.5, b=1.5)
tally, nested = collections.Counter("aab"), {"a": {"rates": [0.5, 1.5], "on": True}}
"""

# {v}: an array, {i}: 0, 1 or 2, {c}: a number. What is added goes through sines, and stays small.
STATEMENTS: Final = (
    "y = np.sin({v}) * {c}",
    "y = helper({v})",
    "y = model.act({v})",
    "y = y + model.weights * x",
    "y = y[::-1].copy()",
    "y = np.sort({v})",
    "y = {v}.copy(); y[{i}] += {c}",
    "y = y * 1.0; part = y[1:]; part *= {c}",
    "total = total + sum({{x[0], {v}[{i}], y[{i}]}})",
    "total = total + len({{float(v) for v in {v}}}) * y[{i}]",
    "total = total + table.get(int(np.argmax({v})), {c}) * y[{i}]",
    "total = total + table[np.argmin({v}) % 2] * x[{i}]",
    "total = total + {{True: {c}, False: -1.0}}[{v}[{i}] > {c}] * y[0]",
    "total = total + collections.Counter(v > {c} for v in y)[True] * x[{i}]",
    "total = total + {{np.sign({v}[{i}]): {c}}}.get(1.0, 0.5) * x[0]",
    "log.append(float(total)); total = total + 0.1 * len(log) * x[{i}]",
    "seen.add(round(float({v}[{i}]), 2)); total = total + len(seen) * y[0]",
    "calls += 1; total = total + calls * 0.1 * x[{i}]",
    "total = total + norm({v})",
    "total = total + np.sum(model.features({v}) * {c})",
    "space.last = {v} * 2; total = total + np.sum(np.cos(space.last))",
    "total = total * space.rate + scale * y[{i}]",
    "total = total + np.sum(data * y); data[{i}] += 0.5; total = total + data[{i}] * x[0]",
    "np.multiply(data, 0.5, out=data); total = total + np.sum(np.sin(data * x))",
    "queue.append(queue.popleft() * 0.9); total = total + queue[0] * y[{i}]",
    "total = total + len(''.join(words)) * y[{i}]",
    "total = total + sorted({v})[{i}] * heapq.nsmallest(1, y)[0]",
    "total = total + functools.reduce(lambda a, b: a * 0.5 + b, {v})",
    "total = total + sum(v * k for k, v in enumerate(y) if v > {c})",
    "total = total + max({v}, key=lambda v: (v - {c}) ** 2)",
    """
if {v}[{i}] > {c}:
    total = total + y[0]
else:
    y = y * 0.5
""",
    """
key = round(float({v}[{i}]), 1)
if key not in memo:
    memo[key] = len(memo) + {c}
total = total + memo[key] * y[{i}]
""",
    """
key = {v}.tobytes()
if key not in memo:
    memo[key] = np.sum(np.sin({v}))
total = total + memo[key]
""",
    """
try:
    total = total + table[words[-1]] * x[{i}]
except KeyError:
    total = total - y[{i}]
""",
    """
try:
    total = total + np.sum(np.linalg.cholesky(np.diag({v} - {c})))
except np.linalg.LinAlgError:
    total = total + np.sum(np.sin(y))
""",
    """
with np.errstate(all="raise"):
    try:
        total = total + np.sum(np.log({v} - {c}))
    except FloatingPointError:
        total = total + y[{i}] ** 2
""",
    """
try:
    if {v}[{i}] < {c}:
        raise ValueError("small", {v}[0])
    total = total + 1.5 * x[{i}]
except ValueError as error:
    total = total + error.args[1] * 2
finally:
    log.append("done")
""",
    """
if len(words) > 3:
    raise RuntimeError("too many words")
""",
    """
if float(np.sum({v})) < space.best:
    space.best = float(np.sum({v}))
    total = total + y[{i}]
""",
    """
for v in {v}:
    if v in seen:
        continue
    seen.add(v)
    total = total + v * 0.5
""",
    """
z = np.asarray(total * 1.0)
alias = [z]
z += y[{i}]
total = total + alias[0] * 0.5
""",
    """
n = 0
while np.sum(y) > {c} and n < 6:
    y, n = y * 0.6, n + 1
total = total + n * x[{i}]
""",
    """
for k in range(len(words) + 1):
    y = y + 0.1 * k * np.cos(x)
""",
    # containers
    "groups[int(np.argmax({v}))].append({c}); total = total + len(groups) * y[{i}]",
    "groups['a'].append(float(y[{i}])); total = total + sum(groups['a'][-2:]) * 0.1 * x[0]",
    "groups['b'].append(y[{i}] * 1.0); total = total + groups['b'][-1] * {c}",
    "ordered.move_to_end('a'); total = total + next(iter(ordered.values())) * x[{i}]",
    "ordered[len(ordered)] = {c}; total = total + list(ordered.values())[-1] * y[{i}]",
    "tally.update(int(v > {c}) for v in {v}); total = total + tally[1] * 0.1 * y[{i}]",
    "total = total + tally.most_common(1)[0][1] * x[{i}]",
    "nested['a']['rates'][{i} % 2] *= 0.9; total = total + nested['a']['rates'][0] * y[{i}]",
    "nested.setdefault('b', {{}})[{i}] = {c}; total = total + sum(nested['b'].values()) * x[0]",
    "nested['last'] = {{'y': y, 'n': len(nested)}}; total = total + nested['last']['y'][{i}]",
    "queue.appendleft(float({v}[{i}])); queue.pop(); total = total + len(queue) * x[0]",
    "queue.append({c}); queue.popleft(); total = total + queue[-1] * y[{i}]",
    "pair = Pair(y[{i}], {c}); total = total + pair.left * pair.right",
    "pair = Pair(y, {v})._replace(right=x); total = total + np.sum(pair.left * pair.right)",
    "total = total + sum(sorted({{round(float(v), 1) for v in {v}}})[:2]) * x[{i}]",
    "seen.update({{int(v > {c}) for v in y}}); total = total + len(seen) * x[{i}]",
    "total = total + [*y, *x][np.argsort({v})[{i}]] * {c}",
    "first, *rest = {v}; total = total + first * len(rest) + rest[-1]",
    "total = total + sum(a * b for a, b in zip(y, reversed(x)))",
    "total = total + dict(zip('abc', y))['abc'[{i}]] * {c}",
    "total = total + {{**dict(a=y[0]), 'b': {c}}}['a']",
    "total = total + np.array([v * k for k, v in enumerate({v})]).max()",
    "data[{i}], words[0] = data[{i}] * 0.5, words[0]; total = total + data[{i}] * y[0]",
    # memoisation by hand
    """
key = tuple({v}.tolist())
if key not in memo:
    memo[key] = np.sin({v})
total = total + np.sum(memo[key] * {c} * x)
""",
    """
key = ("b", {v}.tobytes())
value = memo.get(key)
if value is None:
    value = memo[key] = {v} * {c}
total = total + np.sum((value + 1.0) * 0.5)
""",
    """
key = id(Model), len(words)
if key not in memo:
    memo[key] = np.cos({v})
total = total + np.sum(memo[key] * 0.5)
""",
    """
key = tuple(np.round({v}, 1))
if key not in memo:
    memo[key] = float(np.sum({v})) * {c}
total = total + memo[key] * y[{i}]
""",
    """
key = hash({v}.tobytes()), {i}
try:
    value = memo[key]
except KeyError:
    value = memo[key] = [y[{i}] * {c}, 1.0]
total = total + value[0] * 2.0 * value[1]
""",
    """
if space.last is None:
    space.last = np.tanh({v})
total = total + np.sum(space.last * 0.5 * x)
""",
    """
if not (log and log[-1] == float({v}[{i}])):
    log.append(float({v}[{i}]))
total = total + len(log) * 0.1 * y[0]
""",
    "total = total + weight(int(np.argmax({v}))) * y[{i}] + weight(len(words)) * x[0]",
    "total = total + powered({v}[{i}]) + powered({c}) + powered(y[0], n=3) * 0.1",
    # exceptions
    """
try:
    total = total + checked({v}[{i}], {c})
except Trouble as error:
    total = total + error.value * 0.5 + len(str(error)) * x[0]
else:
    total = total + y[0]
finally:
    calls += 1
""",
    """
try:
    try:
        total = total + checked({v}[{i}], {c})
    except Trouble as error:
        raise ValueError(error.value * 2) from error
except ValueError as error:
    total = total + error.args[0] + error.__cause__.value
""",
    """
with contextlib.suppress(IndexError, KeyError):
    total = total + y[0] * 0.1
    total = total + y[len(words) + {i}] + table["z"]
    total = total + 100 * y[0]
""",
    """
try:
    total = total + int({v}[{i}] > {c}) * y[0] / (len(words) - 1)
except ZeroDivisionError:
    total = total + y[1]
""",
    # classes
    "total = total + np.sum(sub({v})) * 0.5",
    "sub.factor = {c}; total = total + sub.factor * y[{i}]",
    "total = total + sub.factor * y[{i}]; sub.factor = float(np.sum({v})) * 0.1",
    "total = total + sub[{i}] * y[0] + len(sub) * x[{i}]",
    "total = total + (isinstance(sub, Model) + hasattr(sub, 'value')) * y[{i}]",
    "total = total + getattr(sub, 'rate', {c}) * y[{i}] + getattr(model, 'none', {c}) * x[0]",
    "total = total + np.sum(type(sub)({c}).act({v}))",
    "setattr(model, 'mark', float(y[{i}])); total = total + len(vars(model)) * x[0]",
    """
with sub as same:
    total = total + same.level * y[{i}]
    total = total + y[0] / (len(words) - 1)
    total = total + y[1]
""",
    # generators
    "total = total + sum(parts({v}, {c}))",
    "total = total + next(v for v in parts({v}) if v > -2.0)",
    "steps_of = parts({v}); next(steps_of); total = total + steps_of.send({c})",
    "total = total + next(ticks) * 0.1 * y[{i}]",
    # draws and text
    "total = total + rng.normal() * y[{i}]",
    "total = total + np.sum(rng.uniform(size=3) * {v})",
    "y = y + 0.1 * rng.permutation(3)",
    "noise = np.random.default_rng({i}); total = total + noise.normal(size=3) @ {v}",
    "total = total + x[rng.integers(3)] * {c}",
    "print(f'{{total:.3f}} {{len(log)}}'); total = total + y[{i}]",
    "total = total + len(f'{{{v}[{i}]:.2f}}') * x[0]",
)

CHANGES: Final = (
    "table[0] = {c}",
    "table['a'] = {c}",
    "table = {{1: {c}, 0: 2.0}}",
    "memo.clear()",
    "log.clear()",
    "seen.discard(0.7)",
    "data[{i}] = {c}",
    "data = data * {c}",
    "words.append('b')",
    "words = ['a', 'b']",
    "scale = {c}",
    "calls = 0",
    "space.rate = {c}",
    "space.best = np.inf",
    "model.rate = {c}",
    "Model.gain = {c}",
    "model.gain = {c}",
    "model.weights[{i}] = {c}",
    "model.weights = model.weights * {c}",
    "model = Model()",
    "model.act = np.sin",
    "Model.act = lambda self, v: self.rate * v",
    "helper.__defaults__ = ({c},)",
    "helper.__kwdefaults__ = {{'b': {c}}}",
    "helper = lambda v: np.cos(v) * {c}",
    "queue.rotate(1)",
    "sub.extra = {c}",
    "sub = Sub({c})",
    "Sub.steps = 0",
    "Sub.shared = {{}}",
    "groups.clear()",
    "ordered['b'] = {c}",
    "nested['a']['rates'] = [{c}, 0.5]",
    "tally['a'] += 2",
    "rng = np.random.default_rng({i})",
    "weight.cache_clear()",
    "space.last = None",
    "Sub.factor = property(lambda self: {c})",
    "pass",
)


def choices_of(seed: int) -> list[int]:
    """The choices that make the program of a seed."""
    return np.random.default_rng(seed).integers(0, 2**16, 80).tolist()


def state_program(numbers: Sequence[int]) -> str:
    """The text of a generator function, which yields the function and a point, call by call."""
    choices = Choices(numbers)
    count = 1 + choices.below(MOST_STATEMENTS)
    body = [_filled(STATEMENTS, choices) for _ in range(count)]
    calls = []
    for _ in range(2 + choices.below(MOST_CALLS - 1)):
        point = POINTS[choices.below(len(POINTS)) if choices.below(3) == 0 else 0]
        calls.append(f"yield f, np.array({point})")
        if choices.below(3):
            calls.append(_filled(CHANGES, choices))
    lines = [
        *("def steps():", _indented(SURROUNDINGS, 1), "    def f(x):", "        nonlocal calls"),
        *("        y, total = x, np.sum(x) * 0.1", *(_indented(each, 2) for each in body)),
        *("        return np.sum(total)", *(_indented(each, 1) for each in calls)),
    ]
    return "\n".join(lines) + "\n"


def _filled(templates: Sequence[str], choices: Choices) -> str:
    template = templates[choices.below(len(templates))]
    return template.format(
        v=("x", "y", "y")[choices.below(3)],
        i=choices.below(3),
        c=(0.3, 0.9, 1.7, 2.5, -0.4)[choices.below(5)],
    )


def _indented(text: str, depth: int) -> str:
    return "\n".join("    " * depth + line if line else "" for line in text.strip().split("\n"))


def calls_of(source: str, smooth: bool = True, native: bool = False) -> Calls:
    """A program as a sequence of the battery."""
    names: dict[str, Any] = {"np": np, "collections": collections, "functools": functools}
    names |= {"heapq": heapq, "types": types, "contextlib": contextlib, "__name__": __name__}
    exec(compile(source, "<state program>", "exec"), names)
    return Calls("steps", "fuzz", names["steps"], smooth, native, single=False)


def check_state(numbers: Sequence[int], seed: int, native: bool = False) -> bool:
    """Hold one program to plain NumPy; False where its derivatives could not be compared.

    seed: says which of the ways is gone besides the un-jitted one. native: as machine code too.
    """
    source = state_program(numbers)
    with contextlib.redirect_stdout(io.StringIO()):
        return _checked(source, numbers, seed, native)


def _checked(source: str, numbers: Sequence[int], seed: int, native: bool) -> bool:
    smooth, calls = True, calls_of(source, native=native)
    ways = ("kept", ("anew", "forward", "jitted")[seed % 3])
    try:
        verdicts = [(way, sequences.verdict_of(calls, way)) for way in ways]
    except RoughError:  # a jump or a kink near one of the points: values alone
        smooth, calls = False, calls_of(source, False, native)
        verdicts = [(way, sequences.verdict_of(calls, way)) for way in ways]
    for way, verdict in verdicts:
        if verdict.outcome is Outcome.WRONG:
            raise Disagreement(f"{way}, {verdict.reason}\nnumbers {list(numbers)}\n{source}")
    return smooth
