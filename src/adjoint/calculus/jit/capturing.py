"""Capturing a call, and what a later call needs to go without: facts, guards, a script."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from adjoint.base import pytrees
from adjoint.base.settings import settings
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.paths import Path, Staged
from adjoint.calculus.jit.stages import cut
from adjoint.capture import Captured, Traced, capture, is_known, unwrap
from adjoint.capture.facts.survey import Hindrance, Survey
from adjoint.capture.recording.floating_point import not_again
from adjoint.capture.recording.guards import Guard
from adjoint.capture.recording.script import Script, restore, same_states, states_now
from adjoint.capture.recording.texts import UnseenError
from adjoint.optimise.simplify import eliminate_dead_code
from adjoint.pipeline import prepare, run
from adjoint.program import Program


class Outcome(NamedTuple):
    """What came of a capture.

    results: of this call. path: to keep, unless there are hindrances. survey: the facts.
    """

    results: Any
    path: Path | None
    survey: Survey | None
    hindrances: list[Hindrance]


class Observed(NamedTuple):
    """A capture, and what of it can stand for later calls.

    made: whose results count. kept: itself, or its rehearsal; None where there are hindrances.
    """

    made: Captured
    kept: Captured | None
    hindrances: list[Hindrance]


def observed(again: Callable[..., Captured], call: Call, survey: Survey) -> Observed:
    """A capture of a call, watched for effects. again: makes it, `guarded` and with a `script`."""
    script = Script(False)
    before = states_now((each, None) for each in survey.generators)
    made = again(guarded=True, script=script)
    found = hindrances_of(survey, made, call)
    if not _explains(script, before):
        found.append(Hindrance("it draws random numbers in a way that is not seen"))
    if found:
        return Observed(made, None, found)
    if script.is_empty:
        return Observed(made, made, found)
    return Observed(made, *_rehearsed(again, call, script, survey))


def capture_call(target: Any, call: Call, *, keep: bool, at_once: bool) -> Outcome:
    """Capture a call and run it.

    keep: whether to look for what a later call needs to go without a capture: facts, effects, and
    questions, which become guards. at_once: whether the program is to be machine code at once.
    """
    survey = None
    if keep and not call.traced:
        places = None if call.places is None else frozenset(call.places)
        survey = Survey(call.function, call.args, call.kwargs, places, frozenset(call.cells))
    again = again_of(target, call)
    if survey is None or survey.hindrances:
        made, kept, hindrances = again(), None, [] if survey is None else survey.hindrances
    else:
        made, kept, hindrances = observed(again, call, survey)
    path = path_of(made, made is kept)
    if kept is made and at_once:
        path.first.at_once()
    if path.guards:
        with not_again(made.said):
            results: Any = path.run([unwrap(leaf) for leaf in call.arrays], sure=True)
    else:
        results = run(path.first, [*call.arrays, *made.constants])
    results = pytrees.unflatten(made.treedef, results)
    if kept is not None and kept is not made:
        path = path_of(kept, True, kept.trace.script)
        if at_once:
            path.first.at_once()
    return Outcome(results, None if kept is None else path, survey, hindrances)


def again_of(target: Any, call: Call) -> Callable[..., Captured]:
    """What captures a call."""

    def again(guarded: bool = False, script: Script | None = None) -> Captured:
        active = tuple(type(leaf) is Traced and not is_known(leaf) for leaf in call.arrays)
        whole = (target, call.apply, call.types, call.arrays, active)
        return capture(*whole, frozen=True, guarded=guarded, script=script)

    return again


def _explains(script: Script, before: Sequence[Any]) -> bool:
    """Whether a script takes generators from the states before the call to those that they have."""
    known = {id(rng) for rng, _ in before}
    before = [*before, *(each for place, each in script.before.items() if place not in known)]
    after = states_now(before)
    restore(before)
    try:
        script.drawn()
        return same_states(states_now(before), after)
    except Exception:
        return False
    finally:
        restore(after)


def path_of(captured: Captured, kept: bool, script: Script | None = None) -> Path:
    """A capture as a path. kept: whether for later calls."""
    guards = tuple(captured.trace.guards.values()) if kept and captured.trace.guards else ()
    staged = _staged(captured, guards)
    constants = [unwrap(each) for each in captured.constants]
    path = Path(staged, guards, constants, captured.treedef, script)
    if kept and settings().debug:
        path.key = captured.key
    return path


def rehearsal(again: Callable[..., Captured], before: Iterable[Any]) -> Captured:
    """A capture in which what is drawn is traced, and nothing happens besides.

    before: the states of generators that it starts from. They are then as they were before it.
    """
    script = Script(True)
    after = states_now(before)
    restore(before)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            captured = again(guarded=True, script=script)
            outputs = (*captured.outputs, *script.slots)
            return Captured(captured.trace, outputs, captured.treedef)
    finally:
        restore(after)


def _rehearsed(
    again: Callable[..., Captured], call: Call, script: Script, survey: Survey
) -> tuple[Captured | None, list[Hindrance]]:
    """What to keep of a call that draws or prints, whose capture has shown that it does no more."""
    try:
        captured = rehearsal(again, script.before.values())
    except UnseenError as error:
        return None, [Hindrance(str(error), error.line)]
    except Exception as error:
        what = type(error).__name__
        return None, [Hindrance(f"what it draws or prints does not fit into a program ({what})")]
    found = hindrances_of(survey, captured, call)
    return (None, found[:1]) if found else (captured, [])


def hindrances_of(survey: Survey, captured: Captured, call: Call) -> list[Hindrance]:
    """Why a capture cannot stand for later calls, now that it has been made."""
    trace = captured.trace
    found = [Hindrance(text, line) for text, line in dict.fromkeys(trace.effects)]
    found += survey.hindrances
    unknown = [code for place, code in trace.entered.items() if place not in survey.codes]
    for code in unknown:
        line = f"{code.co_filename}:{code.co_firstlineno}"
        found.append(Hindrance(f"{code.co_qualname} is entered by a way that is not known", line))
    if trace.asked and not found:
        found.append(Hindrance("it shows a traced value, or handles an error that depends on one"))
    if any(type(value) is Traced for value in captured.constants):
        found.append(Hindrance("it reads values that another capture traces"))
    changed = survey.check(call.function, call.args, call.kwargs)
    if changed is not None and not found:
        found.append(Hindrance(f"the call has changed {survey.facts[changed].where}"))
    return found


def _staged(captured: Captured, guards: Sequence[Guard]) -> Staged:
    """The program ready to run, found again by its structure."""
    slots = tuple(guard.slot for guard in guards)
    whole = Captured(captured.trace, (*captured.outputs, *slots), captured.treedef)

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Staged]:
        made = cut(eliminate_dead_code(program), guards)
        first = made.stages[0]
        return first.program, first.watched, Staged(made)

    questions = tuple(
        (*each.question, each.answer if each.kind == "bool" else None) for each in guards
    )
    compiled = prepare(("jit", questions), whole, derive)
    staged: Staged = compiled.facts
    return staged.ready(compiled)
