"""The code blocks of a Markdown page, and running them as one program."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NO_RUN = "<!-- no-run -->"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line where that starts, whether it is run."""

    language: str
    text: str
    line: int
    run: bool


def blocks(page: str) -> list[Block]:
    """The fenced blocks of a page. `<!-- no-run -->` before one keeps it from being run."""
    found = []
    for match in _FENCE.finditer(page):
        indent, language, text = match.groups()
        before = page[: match.start()].rstrip()
        line = page.count("\n", 0, match.start(3)) + 1
        text = re.sub(f"^{indent}", "", text, flags=re.MULTILINE)
        found.append(Block(language, text, line, run=not before.endswith(NO_RUN)))
    return found


def run_page(path: Path) -> int:
    """Run the Python blocks of a page in order, in one namespace. Returns how many ran.

    A block with `>>>` prompts is a doctest: what it prints must be what the page says.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.run and block.language in {"python", "pycon"}:
            _run_block(block, path, namespace)
            count += 1
    return count


def _run_block(block: Block, path: Path, namespace: dict[str, Any]) -> None:
    if ">>>" not in block.text:
        # Empty lines before it, so that a traceback points at the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, namespace)
        return
    examples = doctest.DocTestParser().get_examples(block.text, str(path))
    test = doctest.DocTest(examples, namespace, path.name, str(path), block.line - 1, block.text)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    failed, _ = runner.run(test, out=report.write, clear_globs=False)
    namespace.update(test.globs)
    if failed:
        raise AssertionError(report.getvalue())
