"""The tool that speaks GradBench's protocol: its messages, and each function against references."""

import io
import json
import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from benchmarks.gradbench import ba, check, inputs
from benchmarks.gradbench.check import difference, faults, small
from benchmarks.gradbench.protocol import MODULES, answer, serve
from benchmarks.gradbench.references import REFERENCES, projection, slopes
from tests.architecture.modules import ROOT

QUICK = sorted(set(MODULES) - {"particle", "saddle"})


def test_every_function_has_a_reference_and_an_input() -> None:
    asked = {name: set(module) for name, module in MODULES.items()}
    assert {name: set(each) for name, each in REFERENCES.items()} == asked
    assert small().keys() == MODULES.keys()


@pytest.mark.parametrize("module", QUICK)
def test_functions_agree_with_references(module: str) -> None:
    for given in small()[module]:
        assert {function: fault for function, fault in faults(module, given) if fault} == {}


@pytest.mark.slow
@pytest.mark.parametrize("module", ["particle", "saddle"])
def test_descents_end_where_they_should(module: str) -> None:
    for given in small()[module]:
        assert {function: fault for function, fault in faults(module, given) if fault} == {}


@pytest.mark.parametrize("module", ["lse", "ode", "llsq"])
def test_zeros_do_not_pass(module: str) -> None:
    (given, *_), references = small()[module], REFERENCES[module]
    wanted = [float(each) for each in references["gradient"](given)]
    assert difference(wanted, wanted) is None
    assert difference([0.0] * len(wanted), wanted) is not None
    assert difference([each * (1 + 1e-8) for each in wanted], wanted) is not None


def test_other_structures_do_not_pass() -> None:
    assert difference([1.0], [1.0, 2.0]) is not None
    assert difference({"a": 1.0}, {"b": 1.0}) is not None
    assert difference([float("nan")], [1.0]) is not None


# --- the protocol ---------------------------------------------------------------------------------


def talk(*messages: dict[str, Any]) -> list[Any]:
    out = io.StringIO()
    serve([json.dumps({"id": i, **each}) for i, each in enumerate(messages)], out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_conversation() -> None:
    asked = {"kind": "evaluate", "module": "hello", "function": "double", "input": 3.0}
    start, define, evaluate, analysis, end = talk(
        {"kind": "start", "eval": "hello"},
        {"kind": "define", "module": "hello"},
        asked,
        {"kind": "analysis", "of": 2, "valid": True},
        {"kind": "end"},
    )
    assert start == {"id": 0, "tool": "adjoint"}
    assert define == {"id": 1, "success": True}
    assert (evaluate["id"], evaluate["success"], evaluate["output"]) == (2, True, 6.0)
    ((name, nanoseconds),) = [each.values() for each in evaluate["timings"]]
    assert name == "evaluate"
    assert nanoseconds > 0
    assert (analysis, end) == ({"id": 3}, {"id": 4})


def test_nothing_is_said_after_the_end() -> None:
    assert len(talk({"kind": "end"}, {"kind": "start"})) == 1


@pytest.mark.parametrize(("runs", "seconds"), [(3, 0.0), (1, 0.01)])
def test_a_function_runs_as_often_as_is_asked(runs: int, seconds: float) -> None:
    given = {"x": [1.0, 2.0], "min_runs": runs, "min_seconds": seconds}
    found = answer({"kind": "evaluate", "module": "lse", "function": "primal", "input": given})
    times = [each["nanoseconds"] for each in found["timings"]]
    assert len(times) >= runs
    assert sum(times) >= 1e9 * seconds
    assert len(times) == runs or sum(times[:-1]) < 1e9 * seconds


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"kind": "define", "module": "other"}, "no module 'other'"),
        ({"kind": "evaluate", "module": "lse", "function": "f", "input": {}}, "no function 'f'"),
        ({"kind": "evaluate", "module": "lse", "function": "primal", "input": {}}, "KeyError"),
    ],
)
def test_what_fails_is_told(message: dict[str, Any], said: str) -> None:
    found = answer(message)
    assert found["success"] is False
    assert said in found["error"]


def test_the_tool_runs_as_a_program() -> None:
    lines = '{"id": 0, "kind": "start", "eval": "hello"}\n{"id": 1, "kind": "end"}\n'
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.gradbench"],
        input=lines, capture_output=True, text=True, check=True, cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
    )  # fmt: skip
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [0, 1]


def test_the_report_says_whether_all_agree(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check.report(["hello"]) == 0
    assert "hello.double: agrees" in capsys.readouterr().out
    monkeypatch.setitem(REFERENCES["hello"], "double", lambda x: 2.0001 * x)
    assert check.report(["hello"]) == 1


# --- what the eval does not look at ---------------------------------------------------------------


def test_the_sparse_jacobian_of_different_cameras() -> None:
    """The eval repeats one camera and one point; here all differ."""
    random = np.random.default_rng(1)
    n, m, p = 3, 4, 7
    cameras = np.array([inputs.ba(random, 1, 1, 1)["cam"] for _ in range(n)])
    points, features = random.uniform(0, 5, (m, 3)), random.uniform(0, 500, (p, 2))
    weights = random.uniform(size=p)
    observed = np.stack([random.integers(0, n, p), random.integers(0, m, p)], 1)
    rows, cols, vals = MODULES["ba"]["jacobian"].compute(
        cameras, points, weights, observed, features
    )
    dense = np.zeros((3 * p, 11 * n + 3 * m + p))
    for i, (camera, point) in enumerate(observed):
        unknown = np.array([*cameras[camera], *points[point], weights[i]])
        own = slopes(lambda x, at=i: projection(x, features[at]), unknown)
        dense[2 * i : 2 * i + 2, 11 * camera : 11 * camera + 11] = own[:, :11]
        start = 11 * n + 3 * point
        dense[2 * i : 2 * i + 2, start : start + 3] = own[:, 11:14]
        dense[2 * i : 2 * i + 2, 11 * n + 3 * m + i] = own[:, 14]
        dense[2 * p + i, 11 * n + 3 * m + i] = -2 * weights[i]
    found = np.zeros_like(dense)
    for row, (start, end) in enumerate(pairwise(rows)):
        found[row, cols[start:end]] = vals[start:end]
    np.testing.assert_allclose(found, dense, rtol=1e-9, atol=1e-9)
    assert ba.Compressed(rows, cols, vals).rows[-1] == 31 * p
