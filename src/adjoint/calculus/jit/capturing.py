"""Capturing a call, and what a later call needs to go without: facts, guards, a script."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from adjoint.base import pytrees
from adjoint.base.settings import settings
from adjoint.calculus.jit.calls import Call
from adjoint.calculus.jit.paths import CompiledStages, Path
from adjoint.calculus.jit.stages import cut
from adjoint.capture import Captured, Traced, capture, is_known, unwrap
from adjoint.capture.clones.entering.users import is_settled_file
from adjoint.capture.facts.settled import is_of_text
from adjoint.capture.facts.survey import Hindrance, Survey
from adjoint.capture.recording.effects.floating_point import not_again
from adjoint.capture.recording.effects.repeated_calls import ready
from adjoint.capture.recording.effects.script import Script, restore, same_states, states_now
from adjoint.capture.recording.effects.texts import UnseenError
from adjoint.capture.recording.tracing.guards import Guard
from adjoint.executors.compilation import runs_beside_others
from adjoint.pipeline import (
    Compiled,
    alone,
    forget_capture,
    note_capture,
    prepare,
    prepare_later,
    run,
    watch_all,
)
from adjoint.program import Program

_LONG: Final = 500  # operations from which making a path takes longer than a call should


class CallOutcome(NamedTuple):
    """What came of a capture.

    results: of this call. path: to keep, unless there are hindrances. survey: the facts, with data
    as inputs if that was possible.
    """

    results: Any
    path: Path | None
    survey: Survey | None
    hindrances: list[Hindrance]


class Observed(NamedTuple):
    """A capture, whose results count, and what it has shown of later calls.

    script: what is done besides. hindrances: why it cannot stand for later calls.
    """

    captured: Captured
    script: Script
    hindrances: list[Hindrance]


def observed(again: Callable[..., Captured], call: Call, survey: Survey) -> Observed:
    """A capture of a call, watched for effects. again: makes it, `guarded` and with a `script`."""
    script = Script(False)
    before = states_now((rng, None) for rng in survey.generators)
    captured = again(guarded=True, script=script)
    hindrances = hindrances_of(survey, captured, call)
    if not hindrances and not _explains(script, before):
        hindrances.append(Hindrance("it draws random numbers in a way that is not seen"))
    return Observed(captured, script, hindrances)


def capture_call(
    target: Any,
    call: Call,
    *,
    keep: bool,
    at_once: bool,
    derives: bool = False,
    wide: Sequence[frozenset[str]] = (),
    in_time: bool = True,
) -> CallOutcome:
    """Capture a call and run it.

    keep: whether to look for what a later call needs to go without a capture: facts, effects, and
    questions, which become guards. at_once: whether the program is to be machine code at once.
    derives: whether so is what is derived within it, which is likely to be all of it. wide: places
    of data that are to be inputs; sets of them, of which the first is taken that can. in_time:
    whether the path is ready then, however long it is; else the next call has to make it so.
    """
    survey = survey_of(call) if keep and not call.traced else None
    large = _large_of(call, survey)
    if large:  # what is too much to compare is an input, or the call is not kept
        wide = [places | large for places in wide] or [large]
        survey = survey_of(call, large)
    again = again_of(target, call, derives)
    if survey is None or survey.hindrances:
        reasons = [] if survey is None else survey.hindrances
        captured = again()
        return CallOutcome(_run(path_of(captured, False), call, captured), None, survey, reasons)
    observation = observed(again, call, survey)
    kept = not observation.hindrances
    more = kept and (bool(wide) or not observation.script.is_empty)
    later = kept and not at_once and _values_of(observation.captured, call) is not None
    path = path_of(observation.captured, kept, later=later)
    if kept and at_once and not more:
        path.compile_at_once()
    # With questions, nothing that was derived within is machine code at once.
    known = not at_once or (derives and not path.guards)
    results = _run(path, call, observation.captured, known)
    if more:
        plain = path if not large else Hindrance("data too large to compare cannot be inputs")
        widest, survey = _widest(target, call, observation.script, survey, wide, plain)
        if isinstance(widest, Hindrance):
            return CallOutcome(results, None, survey, [widest])
        path = widest
        if at_once:
            path.compile_at_once()
    if len(observation.captured.trace.records) <= _LONG or in_time:
        path.make_ready()
    return CallOutcome(results, path if kept else None, survey, observation.hindrances)


def _large_of(call: Call, survey: Survey | None) -> frozenset[str]:
    """Places of data that have to be inputs, since they are too large to compare; or none.

    Not with several threads, since others would see what lies there while it is captured.
    """
    if survey is None or not survey.hindrances or runs_beside_others():
        return frozenset()
    large = frozenset(where for where in survey.large if survey.data[where] == 1)
    if not large or survey.identities or survey_of(call, large).hindrances:
        return frozenset()
    return large


def _run(path: Path, call: Call, captured: Captured, known: bool = True) -> Any:
    """The results of a call that has just been captured.

    known: whether they may be those of what was run within the capture.
    """
    results: Any = _values_of(captured, call) if known else None
    if results is None and path.guards:
        forget_capture()
        with not_again(captured.said), ready(captured.ran):
            results = path.run([unwrap(leaf) for leaf in call.arrays], sure=True)
    elif results is None:
        results = run(path.first, [*call.arrays, *path.constants])
    captured.trace.said.forget()  # of what nothing was said by now
    return pytrees.unflatten(path.treedef, results)


def _values_of(captured: Captured, call: Call) -> Any:
    """The results where what was derived and run in the capture is all of them; or None.

    Whatever questions there were besides: they do not say what the results are.
    """
    if call.traced or _compiled_whole(captured, (), None) is None:
        return None
    forget_capture()
    return captured.trace.inlined.values


def _widest(
    target: Any,
    call: Call,
    script: Script,
    survey: Survey,
    wide: Sequence[frozenset[str]],
    plain: Path | Hindrance,
) -> tuple[Path | Hindrance, Survey]:
    """The path with the most inputs that there can be, or why there is none, with its facts.

    plain: the path without more inputs, which will do if nothing is drawn or printed; or why it
    will not.
    """
    for places in wide:
        wider = survey_of(call, places)
        if not wider.inputs:
            continue
        wide_call = widened(call, wider)
        attempt = rehearsed(again_of(target, wide_call), wide_call, script, wider)
        if isinstance(attempt, Captured):
            return _rehearsed_path(attempt), wider
    if script.is_empty or isinstance(plain, Hindrance):
        return plain, survey
    last = rehearsed(again_of(target, call), call, script, survey)
    return (_rehearsed_path(last) if isinstance(last, Captured) else last), survey


def _rehearsed_path(captured: Captured) -> Path:
    script = captured.trace.script
    return path_of(captured, True, None if script.is_empty else script, later=True)


def again_of(target: Any, call: Call, derives: bool = False) -> Callable[..., Captured]:
    """What captures a call. derives: whether what is derived there is machine code at once."""

    def again(guarded: bool = False, script: Script | None = None) -> Captured:
        active = tuple(type(leaf) is Traced and not is_known(leaf) for leaf in call.arrays)
        whole = (target, call.apply, call.types, call.arrays, active)
        frozen = call.places is None
        return capture(
            *whole,
            frozen=frozen,
            at_once=derives,
            guarded=guarded,
            script=script,
            holding=True,
        )

    return again


def survey_of(call: Call, wide: frozenset[str] = frozenset()) -> Survey:
    """The facts of a call. wide: places of data that are inputs."""
    places = None if call.places is None else frozenset(call.places)
    return Survey(call.function, call.args, call.kwargs, places, frozenset(call.cells), wide)


def widened(call: Call, survey: Survey) -> Call:
    """A call with the data for inputs that are inputs in a survey."""
    return call.widened(survey.inputs, [place.get() for place in survey.inputs])


def names_of(survey: Survey) -> tuple[str, ...]:
    """The places of data that are inputs."""
    return tuple([place.where for place in survey.inputs])


def _explains(script: Script, before: Sequence[Any]) -> bool:
    """Whether a script takes generators from the states before the call to those that they have."""
    known = {id(rng) for rng, _ in before}
    before = [*before, *(state for place, state in script.before.items() if place not in known)]
    after = states_now(before)
    if not script.steps:
        return same_states(before, after)
    restore(before)
    try:
        script.drawn()
        return same_states(states_now(before), after)
    except Exception:  # a draw that cannot be made again, of whatever generator
        return False
    finally:
        restore(after)


def path_of(
    captured: Captured, kept: bool, script: Script | None = None, later: bool = False
) -> Path:
    """A capture as a path. kept: whether for later calls. later: whether they may prepare it."""
    guards = guards_of(captured) if kept else ()
    whole = _compiled_whole(captured, guards, script)
    staged: CompiledStages | Callable[[], CompiledStages]
    if whole is None:
        staged = _staged(with_guards(captured, guards), guards, later)
    else:
        staged = CompiledStages.of_one(whole)
        note_capture(whole, captured)
    path = Path(staged, guards, constants_of(captured, guards, script), captured.form, script)
    if kept and settings().debug:
        path.key = captured.key
    return path


def guards_of(captured: Captured) -> tuple[Guard, ...]:
    """The questions that a capture has met, with their answers."""
    return tuple((captured.trace.guards or {}).values())


def constants_of(captured: Captured, guards: Sequence[Guard], script: Script | None) -> list[Any]:
    """What the program of a path is given after the inputs."""
    if _compiled_whole(captured, guards, script) is not None:
        return list(captured.trace.inlined.known)
    return [unwrap(constant) for constant in with_guards(captured, guards).constants]


def with_guards(captured: Captured, guards: Sequence[Guard]) -> Captured:
    """A capture with the values that are guarded as its last outputs."""
    slots = tuple(guard.slot for guard in guards)
    return Captured(captured.trace, (*captured.outputs, *slots), captured.treedef)


def rehearsal(again: Callable[..., Captured], before: Iterable[Any]) -> Captured:
    """A capture in which what is drawn is traced, and nothing happens besides.

    before: the states of generators that it starts from. They are then as they were before it.
    What is printed comes after the outputs.
    """
    script = Script(True)
    after = states_now(before)
    restore(before)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            captured = again(guarded=True, script=script)
            captured.trace.said.forget()
            outputs = (*captured.outputs, *script.slots)
            return Captured(captured.trace, outputs, captured.treedef, captured.cells)
    finally:
        restore(after)


def rehearsed(
    again: Callable[..., Captured], call: Call, script: Script, survey: Survey
) -> Captured | Hindrance:
    """The rehearsal of a call whose capture has shown that it draws and prints, and does no more.

    Or why it cannot be kept.
    """
    if survey.hindrances:
        return survey.hindrances[0]
    try:
        captured = rehearsal(again, script.before.values())
    except UnseenError as error:
        return Hindrance(str(error), error.line)
    except Exception as error:  # of the user's code, which does not take what is traced there
        what = type(error).__name__
        return Hindrance(f"what it draws or prints does not fit into a program ({what})")
    hindrances = hindrances_of(survey, captured, call)
    return hindrances[0] if hindrances else captured


def hindrances_of(survey: Survey, captured: Captured, call: Call) -> list[Hindrance]:
    """Why a capture cannot stand for later calls, now that it has been made."""
    trace = captured.trace
    hindrances = [Hindrance(text, line) for text, line in dict.fromkeys(trace.effects)]
    hindrances += survey.hindrances
    unknown = [
        code
        for place, code in trace.entered.items()
        if place not in survey.codes
        and not is_settled_file(code.co_filename)
        and not is_of_text(code)
    ]
    for code in unknown:
        line = f"{code.co_filename}:{code.co_firstlineno}"
        hindrances.append(
            Hindrance(f"{code.co_qualname} is entered by a way that is not known", line)
        )
    if trace.asked and not hindrances:
        hindrances.append(
            Hindrance("it shows a traced value, or handles an error that depends on one")
        )
    if any(type(value) is Traced for value in captured.constants):
        hindrances.append(Hindrance("it reads values that another capture traces"))
    changed = survey.check(call.function, call.args, call.kwargs)
    if changed is not None and not hindrances:
        hindrances.append(Hindrance(f"the call has changed {survey.facts[changed].where}"))
    return hindrances


def _compiled_whole(
    captured: Captured, guards: Sequence[Guard], script: Script | None
) -> Compiled | None:
    """The program that was derived within a capture, if that is all there is to it.

    So it is where a function returns what a derivative has given it, as `ad.grad(f)` does: then
    nothing has to be derived and simplified a second time.
    """
    inlined = captured.trace.inlined
    if guards or script is not None or inlined is None or inlined.results != captured.outputs:
        return None
    whole = alone(captured.trace.input_count, len(inlined.slots))
    return inlined.compiled if inlined.slots == whole else None


def _staged(
    captured: Captured, guards: Sequence[Guard], later: bool
) -> CompiledStages | Callable[[], CompiledStages]:
    """The program ready to run, found again by its structure; or what makes it, if it is late."""

    def derive(program: Program, _: Any) -> tuple[Program, tuple[int, ...], Any]:
        if not guards:
            return program, watch_all(program), None
        divided = cut(program, guards)
        first = divided.stages[0]
        return first.program, first.watched, CompiledStages(divided)

    questions = tuple(
        (guard.place, *guard.question, guard.answer if guard.kind == "bool" else None)
        for guard in guards
    )
    kind = ("jit", questions)
    if not later:
        return _ready(prepare(kind, captured, derive))
    prepared = prepare_later(kind, captured, derive)
    return lambda: _ready(prepared())


def _ready(compiled: Compiled) -> CompiledStages:
    staged: CompiledStages | None = compiled.facts
    return CompiledStages.of_one(compiled) if staged is None else staged.ready(compiled)
