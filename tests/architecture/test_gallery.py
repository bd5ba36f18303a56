"""The gallery shows every example, with a picture and the command that runs it."""

import re
from pathlib import Path

import pytest

from tests.architecture.markdown import blocks
from tests.architecture.modules import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def sections() -> dict[str, str]:
    """By the name of an example the section of the gallery whose commands name it."""
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        commands = "".join(block.text for block in blocks(section) if block.language == "bash")
        for name in re.findall(r"examples/(\w+)\.py", commands):
            found[name] = section
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_shown(path: Path) -> None:
    section = sections().get(path.stem)
    assert section is not None
    assert len(re.findall(r"^!\[[^\]]+\]\(pictures/[\w.]+\)$", section, re.MULTILINE)) == 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_what_its_docstring_says_to_run_is_shown(path: Path) -> None:
    """`adjoint check` where the example says so, and only there."""
    section = sections()[path.stem]
    checked = f"adjoint check examples/{path.stem}.py:{path.stem}"
    assert (checked in section) == (checked in path.read_text(encoding="utf-8"))
