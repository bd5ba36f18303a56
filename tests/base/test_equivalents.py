"""Names of other tools: what is said of them, and that the page says the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import adjoint as ad
from adjoint.base.equivalents import EQUIVALENTS

PAGE = Path(__file__).parents[2] / "docs" / "coming-from.md"
NAMES = {name: text for names in EQUIVALENTS.values() for name, text in names.items()}


@pytest.mark.parametrize("name", NAMES)
def test_an_absent_name_says_what_to_write(name: str) -> None:
    assert name not in vars(ad)
    with pytest.raises(AttributeError) as caught:
        getattr(ad, name)
    assert NAMES[name].removeprefix("nothing: ") in str(caught.value)


def test_other_names_are_just_absent() -> None:
    with pytest.raises(AttributeError, match=r"^adjoint has no 'jacobain'\.$"):
        ad.jacobain  # type: ignore[attr-defined]
    assert not hasattr(ad, "__wrapped__")


def test_all_that_is_advised_is_there() -> None:
    for name, text in NAMES.items():
        for path in re.findall(r"\bad\.([a-zA-Z_.]+)", text):
            found: Any = ad
            for part in path.rstrip(".").split("."):
                assert hasattr(found, part), (name, path)
                found = getattr(found, part)


def test_the_page_has_all_names_with_the_same_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M))
    assert rows == NAMES
