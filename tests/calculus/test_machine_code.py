"""Looking at machine code, and at what is left to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from tests.executors.native.fake import FakeLowering, install

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeLowering:
    return install(monkeypatch)


def test_one_piece() -> None:
    view = ad.program(lambda x: np.exp(x) * x, X).native()
    assert str(view) == "one piece of machine code"
    assert repr(view) == "<native view: one piece of machine code>"
    assert view.left() == ()
    assert "define @program" in view.ir()
    assert view.assembly() == "ret\n"
    (region,) = view.regions()
    assert region[:4] == ("loop", 2, 10.0, 80)
    assert region.seconds is not None
    assert region.seconds > 0
    head, line = str(view.regions()).splitlines()
    assert head.split() == ["region", "equations", "flops", "bytes", "time"]
    assert line.startswith("loop            2     10     80")
    assert line.endswith(" µs")


def test_times_need_arguments() -> None:
    view = ad.program(lambda x: np.exp(x) * x, X).vjp().native()
    assert [each.seconds for each in view.regions()] == [None]
    assert "µs" not in str(view.regions())
    with np.errstate(divide="ignore"):
        missing = ad.program(lambda x: np.log(x) * 2, 0 * X).native()
    assert [each.seconds for each in missing.regions()] == [None]


def test_memory(fake: FakeLowering) -> None:
    fake.lends = True
    report = ad.program(lambda x: np.exp(x) * x, X).memory()
    assert (report.inputs, report.outputs, report.workspace, report.between) == (24, 24, 1000, 0)
    assert str(report).splitlines()[0] == "inputs       24"


def test_pieces_and_why(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"tanh", "custom_call"})
    outside = ad.primitive(lambda x: x + 1)

    def function(x):
        y = np.tanh(np.exp(x) * x)
        z = outside(np.exp(y) * y)
        return np.sin(z.reshape(3, 1))

    program = ad.program(function, X)
    view = program.native()
    assert [each.reason for each in view.left()] == [
        "there is no machine code for it",
        "it calls a function that is not looked into",
        "it is too little for machine code by itself",
        "it is too little for machine code by itself",
    ]
    assert view.left()[0].equation == "tanh of f8[3]"
    lines = str(view).splitlines()
    assert lines[0] == "2 pieces of machine code; left to NumPy:"
    assert lines[1] == "  tanh of f8[3]: there is no machine code for it"
    assert len(view.regions()) == 2
    assert program.memory().between == 48


def test_nothing_at_all(fake: FakeLowering) -> None:
    fake.cannot = frozenset({"multiply", "exp"})
    view = ad.program(lambda x: np.exp(x) * x, np.ones(3, np.float16)).native()
    assert view.ir() == view.assembly() == ""
    assert {each.reason for each in view.left()} == {
        "there is no machine code for numbers of dtype float16"
    }
    empty = ad.program(lambda x: np.exp(x) * x, np.ones(0)).native()
    assert {each.reason for each in empty.left()} == {"it has no numbers"}
    assert str(empty).startswith("0 pieces")
