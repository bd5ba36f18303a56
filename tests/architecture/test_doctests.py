"""The examples in the docstrings of the package run and print what they say."""

import contextlib
import doctest
import importlib
import io
from types import ModuleType

import numpy as np
import pytest

from tests.architecture.markdown import FLAGS
from tests.architecture.modules import SOURCE, read_modules


def failures(module: ModuleType) -> list[str]:
    """The reports of the failing examples of a module. `np` and `ad` are there as for a user."""
    import adjoint

    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    found = []
    for test in finder.find(module, extraglobs={"np": np, "ad": adjoint}):
        report = io.StringIO()
        with contextlib.redirect_stderr(io.StringIO()):
            failed, _ = runner.run(test, out=report.write)
        if failed:
            found.append(report.getvalue())
    return found


@pytest.mark.parametrize("name", sorted(read_modules(SOURCE)))
def test_module(name: str) -> None:
    found = failures(importlib.import_module(name))
    assert not found, "\n".join(found)


# --- the rule -------------------------------------------------------------------------------------


def test_a_wrong_example_is_found() -> None:
    module = ModuleType("planted", ">>> np.add(1, 1).item()\n3\n")
    (report,) = failures(module)
    assert "Expected" in report


def test_a_right_example_passes() -> None:
    assert failures(ModuleType("planted", ">>> np.add(1, 1).item()\n2\n")) == []
