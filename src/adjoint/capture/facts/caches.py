"""What of `functools.lru_cache` is a fact: that it holds what it held, and what that holds."""

from __future__ import annotations

import gc
from typing import Any, Final

from adjoint.capture.facts.surveying import Surveying

_ATOMS: Final = frozenset({type(None), bool, int, float, complex, str})


def cached(survey: Surveying, value: Any, expression: str, where: str, _: bool) -> None:
    """A cached function."""
    survey.exactly(value, expression, where, "cache")
    if survey.within:
        survey.hinder("a cache counts its calls", where)
    if hasattr(value, "__wrapped__"):
        name = survey.writer.constant(value)
        survey.visit(value.__wrapped__, f"{name}.__wrapped__", where)
        content = survey.writer.constant(_Content(value))
        survey.writer.demand(f"not {content}.is_the_same()", where, "what the cache holds")
        for held in _held_by(value):
            survey.visit(held, survey.writer.constant(held), f"{where}()")


def _held_by(cache: Any) -> list[Any]:
    """The values in a cache that may change: a list that it has given away, say.

    They are found as the collector of garbage finds them.
    """
    own = (cache.__dict__, cache.__wrapped__)
    held = [referent for referent in gc.get_referents(cache) if not any(referent is x for x in own)]
    inside = [value for referent in held if type(referent) is dict for value in referent.values()]
    if any(_of_caches(type(value)) for value in inside):  # a bounded cache holds its values itself
        held = [referent for referent in held if type(referent) is not dict]
    # A plain object is a mark in keys.
    held = [referent for referent in [*held, *inside] if type(referent) is not object]
    return [
        referent
        for referent in held
        if not (type(referent) in _ATOMS or _of_caches(referent) or _of_caches(type(referent)))
    ]


def _of_caches(kind: Any) -> bool:
    """Whether a class is one that caches are made of."""
    return isinstance(kind, type) and kind.__module__ == "functools"


class _Content:
    """What a cache holds, as far as it tells: it is counted how often it had to compute.

    Once it holds something else, it is never said to hold the same again.
    """

    __slots__ = ("cache", "gone", "hits", "misses")

    def __init__(self, cache: Any) -> None:
        self.cache = cache
        self.hits, self.misses = cache.cache_info()[:2]
        self.gone = False

    def is_the_same(self) -> bool:
        """Whether the cache has neither computed anything since, nor been cleared."""
        hits, misses = self.cache.cache_info()[:2]
        self.gone = self.gone or misses != self.misses or hits < self.hits
        self.hits = hits
        return not self.gone
