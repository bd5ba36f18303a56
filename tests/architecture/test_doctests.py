"""The examples in the docstrings of the package run and print what they say."""

import contextlib
import doctest
import importlib
import io
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.architecture.columns import DOCSTRING_COLUMNS, wide_examples
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


def test_no_example_is_cut_at_the_edge_of_the_column() -> None:
    assert [fault for path in sorted(SOURCE.rglob("*.py")) for fault in wide_examples(path)] == []


# --- the rule -------------------------------------------------------------------------------------


def test_a_wrong_example_is_found() -> None:
    module = ModuleType("planted", ">>> np.add(1, 1).item()\n3\n")
    (report,) = failures(module)
    assert "Expected" in report


def test_a_right_example_passes() -> None:
    assert failures(ModuleType("planted", ">>> np.add(1, 1).item()\n2\n")) == []


def test_a_wide_example_is_found(tmp_path: Path) -> None:
    path, fits = tmp_path / "module.py", "#" * (DOCSTRING_COLUMNS - 4)
    path.write_text(f'def f():\n    """One.\n\n    >>> 1 {fits[2:]}\n    1\n    """\n')
    assert wide_examples(path) == []
    path.write_text(f'def f():\n    """One.\n\n    >>> 1 {fits}\n    1\n    """\n')
    assert len(wide_examples(path)) == 1
