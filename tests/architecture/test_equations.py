"""The index of equations is complete, and what it names exists."""

import ast
import re
from functools import lru_cache
from pathlib import Path

import pytest

from tests.architecture.modules import ROOT

INDEX = ROOT / "docs" / "manual" / "equations.md"
COUNT = 82  # E.1.1 to E.1.82

_ROW = re.compile(r"^\| (?:(E|D|T)\.1\.(\d+)|[^|]*) \|([^|]*)\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
_LINK = re.compile(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)")


@lru_cache
def functions(path: Path) -> set[str]:
    """The names of the functions in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def faults(text: str, folder: Path) -> list[str]:
    """What is wrong with an index."""
    rows = list(_ROW.finditer(text))
    numbers = [int(row[2]) for row in rows if row[1] == "E"]
    found = [f"E.1.{n} is missing" for n in range(1, COUNT + 1) if n not in numbers]
    found += [f"E.1.{n} comes twice" for n in set(numbers) if numbers.count(n) > 1]
    for row in rows:
        if row[1] is None:
            continue
        if not _TEST.search(row[5]):
            found.append(f"{row[1]}.1.{row[2]} names no test")
    for file, name in _TEST.findall(text):
        if not (ROOT / file).is_file() or name not in functions(ROOT / file):
            found.append(f"{file}::{name} does not exist")
    for link in _LINK.findall(text):
        if not (folder / link).is_file():
            found.append(f"the page {link} does not exist")
    return found


def test_every_equation_has_a_feature_and_a_test() -> None:
    assert faults(INDEX.read_text(encoding="utf-8"), INDEX.parent) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("| E.1.7 |", "| E.1.8 |", "E.1.7 is missing"),
        ("::test_", "::test_nothing_", "does not exist"),
        ("](gradients.md", "](gone.md", "the page gone.md does not exist"),
    ],
)
def test_a_wrong_index_is_found(old: str, new: str, fault: str) -> None:
    text = INDEX.read_text(encoding="utf-8").replace(old, new)
    assert any(fault in each for each in faults(text, INDEX.parent))


_NO_PROSE = re.compile(r"^```.*?^```|`[^`\n]*`|\$\$.*?\$\$|\$[^$]*\$", re.MULTILINE | re.DOTALL)

PAGES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_pictures_exist(page: Path) -> None:
    text = _NO_PROSE.sub("", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text)
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    listed = {f"{name}.md" for tree in trees for name in re.findall(r"^[\w/-]+$", tree, re.M)}
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in PAGES} - {"index.md"}


def test_every_picture_has_the_script_that_draws_it() -> None:
    folder = ROOT / "docs" / "pictures"
    scripts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    orphans = [
        path.name
        for path in folder.glob("*.svg")
        if not any(path.stem.startswith(name) or path.stem in scripts[name] for name in scripts)
    ]
    assert orphans == []
