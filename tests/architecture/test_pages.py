"""The code on the pages of the manual runs and prints what the pages say."""

from pathlib import Path

import pytest

from tests.architecture.columns import PAGE_COLUMNS, wide_code
from tests.architecture.markdown import blocks, run_page
from tests.architecture.modules import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_no_code_is_cut_at_the_edge_of_the_column() -> None:
    assert [fault for page in PAGES for fault in wide_code(page)] == []


# --- the rules ------------------------------------------------------------------------------------


def written(folder: Path, text: str) -> Path:
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_blocks_share_a_namespace_and_run_in_order(tmp_path: Path) -> None:
    text = (
        "```python\nx = 1\n```\n\n```python\nassert x == 1\n```\n\n```python\n>>> x + 1\n2\n```\n"
    )
    assert run_page(written(tmp_path, text)) == 3


def test_a_block_that_raises_is_found_at_its_line(tmp_path: Path) -> None:
    page = written(tmp_path, "# Title\n\n```python\nx = 1\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page)
    assert caught.traceback[-1].lineno == 4  # counted from 0: the fifth line of the page


def test_a_wrong_output_is_found(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run_page(written(tmp_path, "```python\n>>> 1 + 1\n3\n```\n"))


def test_marked_blocks_and_other_languages_are_not_run(tmp_path: Path) -> None:
    text = "<!-- no-run -->\n```python\n1 / 0\n```\n\n```bash\nfalse\n```\n\n```\n1 / 0\n```\n"
    page = written(tmp_path, text)
    assert run_page(page) == 0
    assert [block.run for block in blocks(page.read_text())] == [False, True, True]


def test_a_wide_line_of_code_is_found(tmp_path: Path) -> None:
    fits = "#" * PAGE_COLUMNS
    assert wide_code(written(tmp_path, f"```python\n{fits}\n```\n\n{fits}{fits}\n")) == []
    (fault,) = wide_code(written(tmp_path, f"# Title\n\n```python\n{fits}#\n```\n"))
    assert "page.md:4: 89 columns" in fault
    assert wide_code(written(tmp_path, f"<!-- command: x -->\n```bash\n{fits}#\n```\n")) == []
