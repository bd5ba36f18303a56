"""Runs the official suite of the array API standard on traced arrays.

https://github.com/data-apis/array-api-tests
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = "https://github.com/data-apis/array-api-tests"


def run(suite: Path, examples: int, arguments: Sequence[str] = ()) -> int:
    """Run the suite in a process of its own, and give pytest's exit status, 0 where all passed.

    Args:
        suite: the checkout of the suite.
        examples: how many examples Hypothesis tries in each test.
        arguments: what else pytest is told.

    Raises:
        FileNotFoundError: there is no suite at the path, or its submodule is missing.
    """
    check(suite)
    print(f"array-api-tests {version(suite)} on adjoint.numpy, {examples} examples", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rfEs", "-p", "tests.array_api.plugin"]
    command += ["--disable-deadline", f"--max-examples={examples}"]
    paths = [os.environ[name] for name in ("PYTHONPATH",) if name in os.environ]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *paths]),
        "ARRAY_API_TESTS_MODULE": "tests.array_api.traced_namespace",
    }
    chosen = [] if any(TESTS in argument for argument in arguments) else [TESTS]
    return subprocess.run([*command, *chosen, *arguments], cwd=suite, env=environment).returncode


TESTS = "array_api_tests"


def check(suite: Path) -> None:
    """See to it that a path holds the suite, whole."""
    if not (suite / TESTS).is_dir():
        raise FileNotFoundError(f"{suite} holds no {TESTS}. Clone {SOURCE} there.")
    if not any((suite / "array-api").glob("*")):
        raise FileNotFoundError(
            f"{suite / 'array-api'} is empty, and the suite reads the standard from there. Run "
            "`git submodule update --init` in it."
        )


def version(suite: Path) -> str:
    """The commit of a checkout, as far as git knows it."""

    def git(*words: str) -> str:
        asked = subprocess.run(["git", *words], cwd=suite, capture_output=True, text=True)
        return asked.stdout.strip() if asked.returncode == 0 else ""

    commit = git("log", "-1", "--format=%h of %cs")
    if not commit or Path(git("rev-parse", "--show-toplevel")).resolve() != suite.resolve():
        return "of a commit that git does not know"
    changed = git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules")
    return f"{commit}, with changes" if changed else commit
