"""The page on the command line prints what the commands print; `...` stands for what varies."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adjoint.commands.app import app
from tests.architecture.modules import ROOT

PAGE = (ROOT / "docs" / "command-line.md").read_text("utf-8")
FILE = "\n".join(re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S))
BLOCKS = re.findall(r"^```console\n(.*?)^```", PAGE, re.M | re.S)
CALLS = [
    (command, output)
    for block in BLOCKS
    for command, output in re.findall(r"^\$ (adjoint .*)\n((?:(?!\$ ).*\n)*)", block, re.M)
]


def test_each_command_is_shown() -> None:
    shown = {shlex.split(command)[1] for command, _ in CALLS}
    assert shown == {"check", "explain", "bench", "show"}
    assert len(CALLS) >= 8


@pytest.mark.parametrize(("command", "output"), CALLS, ids=[command for command, _ in CALLS])
def test_command(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("decay.py").write_text(FILE, encoding="utf-8")
    result = CliRunner().invoke(app, shlex.split(command)[1:], env={"COLUMNS": "80"})
    rules = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.OutputChecker().check_output(output, result.output, rules), result.output
