"""The collector of garbage at rest."""

from __future__ import annotations

import gc
import os
import threading
from contextlib import nullcontext
from typing import Any

import pytest

from adjoint.base.process import collection
from adjoint.base.process.collection import collector_at_rest, young_collected_alone


def collects() -> bool:
    """Whether the collector comes by, in time."""
    return gc.get_threshold()[0] < 1_000_000


def test_it_rests_within_and_works_after() -> None:
    assert collects()
    with collector_at_rest():
        assert not collects()
        with collector_at_rest():
            assert not collects()
        assert not collects()
    assert collects()


def test_what_is_young_is_collected_while_all_is_not() -> None:
    before = gc.get_threshold()
    with young_collected_alone():
        assert gc.get_threshold()[:2] == before[:2]
        assert gc.get_threshold()[2] > 1_000_000
        with collector_at_rest():
            assert not collects()
            with young_collected_alone():
                assert not collects()
        assert collects()
        assert gc.get_threshold()[2] > 1_000_000
    assert gc.get_threshold() == before


def test_it_works_after_an_error() -> None:
    with pytest.raises(ValueError, match="x"), collector_at_rest():
        raise ValueError("x")
    assert collects()


def test_it_stays_as_the_user_left_it() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_the_user_sets_meanwhile_stays() -> None:
    before = gc.get_threshold()
    try:
        with collector_at_rest():
            gc.set_threshold(800, 5, 5)
        assert gc.get_threshold() == (800, 5, 5)
        with young_collected_alone():
            gc.set_threshold(700, 5, 5)
            with collector_at_rest():
                assert gc.get_threshold() == (700, 5, 5)
        assert gc.get_threshold() == (700, 5, 5)
        gc.set_threshold(800, 5, 5)
        with collector_at_rest():
            gc.disable()
        assert gc.get_threshold() == (800, 5, 5)
        assert not gc.isenabled()
        gc.enable()
        gc.set_threshold(0)
        with collector_at_rest():
            pass
        assert gc.get_threshold()[0] == 0
    finally:
        gc.enable()
        gc.set_threshold(*before)


def test_a_signal_handler_may_come_by_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        """The collector, with a handler after each call."""

        def __getattr__(self, name: str) -> Any:
            def call(*arguments: Any) -> Any:
                result = getattr(gc, name)(*arguments)
                with monkeypatch.context() as patch:
                    patch.setattr(collection, "gc", gc)
                    with collector_at_rest(), young_collected_alone():
                        pass
                return result

            return call

    def work() -> None:
        with collector_at_rest(), young_collected_alone():
            pass

    monkeypatch.setattr(collection, "gc", Interrupted())
    assert collects()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive()
    assert collects()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_does_not_rest_for_threads_that_it_has_not() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def rests() -> None:
        with collector_at_rest():
            begun.set()
            go_on.wait(60)

    thread = threading.Thread(target=rests)
    thread.start()
    assert begun.wait(60)
    children = []
    for held in (False, True):
        with collector_at_rest() if held else nullcontext():
            child = os.fork()
            before = collects()
        if not child:
            os._exit(0 if (before, collects()) == (not held, True) else 1)
        children.append(child)
    go_on.set()
    thread.join(60)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert collects()
