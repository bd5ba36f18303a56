"""Why a function is replayed, or is captured at every call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from adjoint.base.errors import ArgumentTypeError
from adjoint.base.signatures.calling import named
from adjoint.calculus.inputs.arguments import check_callable
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.capturing import capture_call
from adjoint.capture import current
from adjoint.capture.facts.survey import Hindrance
from adjoint.capture.facts.writing import Fact, with_text

_QUESTIONS = {
    "bool": "whether it is true",
    "int": "its whole part",
    "floor": "the whole number below",
    "ceil": "the whole number above",
    "round": "the nearest whole number",
    "value": "all of its value",
    "done": "whether it can be computed",
    "fails": "whether NumPy fails to compute it",
}


class TracedQuestion(NamedTuple):
    """What the function asks of a traced value. line: where, as file:line."""

    what: str
    line: str


class Effect(NamedTuple):
    """What the function does besides giving a result. line: where, as file:line."""

    what: str
    line: str


class Explanation:
    """Whether a function is replayed, and why; `print` it, or look at its parts.

    replayed: whether later calls run its program and not the function. facts: what is compared at
    each call. questions: what the program answers itself at each call. anew: what is done besides
    at each call, as the function does it. reasons: why it is captured at every call, if it is.
    """

    def __init__(
        self,
        name: str,
        facts: list[Fact],
        questions: list[TracedQuestion],
        anew: list[Effect],
        reasons: list[Hindrance],
    ) -> None:
        self.name = name
        self.facts = facts
        self.questions = questions
        self.anew = anew
        self.reasons = reasons

    @property
    def replayed(self) -> bool:
        """Whether later calls run the program and not the function."""
        return not self.reasons

    def __str__(self) -> str:
        if self.reasons:
            lines = [f"{self.name} is captured at every call:"]
            lines += [f"  {_sentence(*reason)}" for reason in self.reasons]
            return "\n".join(lines)
        lines = [f"{self.name} is replayed while these are as they were:"]
        lines += [f"  {where}: {what}" for where, what in self.facts]
        if self.questions:
            lines.append("At each call the program answers what the function asked of a value:")
            for question, count in Counter(self.questions).items():
                times = f", {count} times" if count > 1 else ""
                lines.append(f"  {_sentence(*question)}{times}")
        if self.anew:
            lines.append("At each call it does anew what the function does besides:")
            lines += [f"  {_sentence(*effect)}" for effect in self.anew]
        return "\n".join(lines)

    __repr__ = __str__


@named
def explain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Why a function is replayed at later calls like this one, or is captured at each of them.

    The function runs once. Arrays and numbers among the arguments are taken for inputs of the
    program, as `jit` does; their values do not matter.

    Args:
        function: plain NumPy code, or what `grad` and the like make of it.
        *args: what it would be called with.
        **kwargs: likewise, by name.

    Returns:
        An `Explanation`, which prints as text: each fact that is compared at a call, or each reason
        why that is not enough, with lines of the user's code.

    Raises:
        ArgumentTypeError: it was called while a function is being captured.
        NotDifferentiableError: a derivative is explained at an argument that has none.

    Example:
        >>> import time
        >>> import numpy as np
        >>> import adjoint as ad
        >>> def late(x):
        ...     return np.sum(x) * time.time()
        >>> ad.explain(ad.grad(late), np.ones(3)).replayed
        False
        >>> ad.explain(lambda x: np.sum(x * 2), np.ones(3)).replayed
        True
    """
    check_callable(function, "explain")
    if current() is not None:
        raise ArgumentTypeError(
            "explain was called while a function is being captured. Call it outside of functions "
            "that are differentiated, mapped or compiled."
        )
    name = getattr(function, "__qualname__", None) or type(function).__name__
    outcome = capture_call(function, Call(function, args, kwargs), keep=True, at_once=False)
    assert outcome.survey is not None
    guards = () if outcome.path is None else outcome.path.guards
    questions = [TracedQuestion(_QUESTIONS[guard.kind], guard.line) for guard in guards]
    script = None if outcome.path is None else outcome.path.script
    anew = [] if script is None else [Effect(*line) for line in script.lines()]
    return Explanation(name, outcome.survey.facts, questions, anew, outcome.hindrances)


def _sentence(what: str, line: str) -> str:
    return f"{what} ({with_text(line)})" if line else what
