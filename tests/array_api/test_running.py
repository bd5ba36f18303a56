"""The official suite of the array API standard, where there is a checkout; and what runs it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.array_api.plugin import SKIPS, reasons
from tests.array_api.running import SOURCE, check, run, version

SUITE = "ADJOINT_ARRAY_API_TESTS"
OPTIONS = """
def pytest_addoption(parser):
    parser.addoption("--max-examples", type=int)
    parser.addoption("--disable-deadline", action="store_true")
"""
PASSING = """
import os
from importlib import import_module
xp = import_module(os.environ["ARRAY_API_TESTS_MODULE"])
def test_arrays_are_traced(request):
    x = xp.asarray([1.0, 2.0]) + 1
    assert type(x).__name__ == "Traced" and xp.sum(x) == 5
    assert request.config.getoption("--max-examples") == 3
"""
FAILING = """
def test_fails():
    assert False
"""


def test_the_official_suite_passes() -> None:
    path = os.environ.get(SUITE)
    if not path:
        pytest.skip(f"{SUITE} is not set to a checkout of {SOURCE}")
    assert run(Path(path), 5) == 0


def suite_of(path: Path, *tests: str) -> Path:
    (path / "array-api" / "spec").mkdir(parents=True)
    (path / "array_api_tests").mkdir()
    (path / "conftest.py").write_text(OPTIONS)
    for number, test in enumerate(tests):
        (path / "array_api_tests" / f"test_{number}.py").write_text(test)
    return path


def test_a_suite_is_run_on_traced_arrays(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    suite = suite_of(tmp_path, PASSING, FAILING)
    assert run(suite, 3, ["array_api_tests/test_0.py"]) == 0
    written = capfd.readouterr().out
    assert "array-api-tests of a commit that git does not know" in written
    assert "1 passed" in written
    assert "3 operations were recorded" in written  # an addition, a sum, a comparison


def test_a_failure_of_the_suite_is_one_of_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(suite_of(tmp_path, PASSING, FAILING), 3) == 1
    assert "FAILED array_api_tests/test_1.py::test_fails" in capfd.readouterr().out


def test_a_skip_of_a_test_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    suite = suite_of(tmp_path)
    (suite / "array_api_tests" / "test_fft.py").write_text(PASSING)
    assert run(suite, 3) == pytest.ExitCode.USAGE_ERROR


def test_what_is_no_suite_or_not_whole_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Clone https"):
        check(tmp_path)
    (tmp_path / "array_api_tests").mkdir()
    with pytest.raises(FileNotFoundError, match="git submodule update --init"):
        run(tmp_path, 3)


def test_the_version_is_the_commit(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words]
        asked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return asked.stdout.strip()

    git("init")
    (tmp_path / "a").write_text("1")
    git("add", "a")
    git("commit", "-m", "One")
    assert version(tmp_path) == git("log", "-1", "--format=%h of %cs")
    (tmp_path / "a").write_text("2")
    assert version(tmp_path).endswith(", with changes")


def test_every_skip_has_a_reason() -> None:
    skips = reasons(SKIPS.read_text(encoding="utf-8"))
    assert len(skips) > 1
    assert all(len(reason) > 20 for reason in skips.values())


@pytest.mark.parametrize(
    "text",
    ["array_api_tests/a.py::b", "# why\n\narray_api_tests/a.py::b", "# why\nother/a.py::b"],
    ids=["no reason", "a blank line between", "no test"],
)
def test_a_skip_without_a_reason_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="comment that says why"):
        reasons(text)
