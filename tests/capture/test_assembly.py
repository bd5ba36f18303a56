"""Code taken apart and put together again is the same code."""

from __future__ import annotations

import argparse
import builtins
import collections
import dis
import inspect
import textwrap
import types
from collections.abc import Iterator
from typing import Any

import pytest

from adjoint.capture.bytecode.assembly import depths, put_together, taken_apart
from adjoint.capture.clones.interception import rewritten

MODULES = [argparse, collections, inspect, textwrap, dis]


def all_code(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from all_code(constant)


def compiled(module: Any) -> types.CodeType:
    return compile(inspect.getsource(module), module.__name__, "exec")


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_same_instructions_give_the_same_code(module: Any) -> None:
    for code in all_code(compiled(module)):
        parts = taken_apart(code)
        places = [each.place for each in parts]
        again = put_together(code, places, [[each] for each in parts], code.co_consts, 0)
        assert again.co_code == code.co_code
        assert list(again.co_positions()) == list(code.co_positions())
        assert again.co_exceptiontable == code.co_exceptiontable
        found = depths(parts, code)
        assert found is not None
        assert max(found) <= code.co_stacksize


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_rewritten_code_has_the_same_lines(module: Any) -> None:
    whole = compiled(module)
    made = rewritten(whole, {"__name__": "users"})
    assert made.co_code != whole.co_code
    for code, new in zip(all_code(whole), all_code(made), strict=True):
        assert {line for *_, line in new.co_lines()} == {line for *_, line in code.co_lines()}
        assert new.co_stacksize >= code.co_stacksize
        assert len(list(dis.get_instructions(new))) >= len(list(dis.get_instructions(code)))


CALLS = """
def run(f, table, x, *args, flag=True, **options):
    class Local:
        a = f(1)
        def m(self, *a, k=0):
            return sum(a) + k
    def inner(y, z=f(2)):
        nonlocal x
        x = x + y
        return (lambda w: w + z)(y) if y else None
    with table["manager"]() as (one, two):
        total = one
        try:
            total += table["add"](inner(3), Local().m(1, *args, k=2, **options))
        except (TypeError, ValueError) as error:
            total = str(error)
        else:
            total *= 2
        finally:
            total = [total, x]
    found = [f(v) for v in range(4) if f(v) % 2 == 0] + [*map(f, args)]
    pairs = {k: f(k) for k in "ab" if not flag} | {f"{k!s:>3}": len(k) for k in ("cd", "e")}
    lazy = (f(a) + b for a, b in zip(args, reversed(args)))
    match found:
        case [0, *rest] if rest:
            kind = ("list", rest)
        case _:
            kind = None
    assert total, "no total"
    first, *others = sorted(found, key=lambda v: -v)
    del others
    while (first := first - 1) > 0:
        if first == 1:
            break
    else:
        first = "none"
    picked = (f if flag else str)(3)
    return total, found, pairs, list(lazy), kind, first, Local.a, picked, 1 < f(1) < 9
"""


class Names(dict[str, Any]):
    """What is called is looked up under its name and `()`."""

    def __missing__(self, name: str) -> Any:
        bare = name.removesuffix("()")
        return self[bare] if bare in self else vars(builtins)[bare]


def test_every_way_to_call_and_to_branch() -> None:
    class Manager:
        def __enter__(self) -> Any:
            return 5, 6

        def __exit__(self, *error: Any) -> None:
            return None

    results = []
    for rewrite in (False, True):
        code = compile(CALLS, "calls", "exec")
        names = Names({"__name__": "users"})
        exec(rewritten(code, names) if rewrite else code, names)
        table = {"manager": Manager, "add": lambda a, b: a + b}
        results.append(
            [
                names["run"](lambda v: v if isinstance(v, str) else 2 * v, table, 1, 2, 4),
                names["run"](lambda v: v, table, 1, flag=False, k=3),
            ]
        )
    assert repr(results[0]) == repr(results[1])
