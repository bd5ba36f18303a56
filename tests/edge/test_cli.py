"""The command `adjoint` as its users meet it: what it prints, where, and with which exit code."""

import errno
import io
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import adjoint as ad
from adjoint import cli
from adjoint.commands import showing
from adjoint.commands.app import app
from adjoint.commands.wine import PipedConsole, _train
from adjoint.datasets import load_wine
from adjoint.report import draw_weights

MODEL = """
import numpy as np

inputs = (np.array([0.5, -1.0, 2.0]),)

def loss(x):
    return np.sum(np.tanh(x) ** 2)

def raises(x):
    raise ValueError("no such thing\\nas this")

def counts(x):
    return np.argmax(x)

def nothing(x):
    pass

class Odd(BaseException):
    pass

def odd(x):
    raise Odd("beyond\\nExceptions")

def leaves(x):
    raise GeneratorExit

def interrupted(x):
    raise KeyboardInterrupt
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def assert_one_line(result: Result, *parts: str) -> None:
    """One line on stderr that says these things, exit code 2, and no traceback."""
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    for part in parts:
        assert part in result.stderr


# --- wine -----------------------------------------------------------------------------------------


def test_wine_on_a_device(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="jax is not installed (the extra `xla`)")
    picture = tmp_path / "wine.svg"
    options = ("--hidden", 2, "--steps", 5, "--output", picture)
    result = run("wine", *options, "--device", "cpu")
    assert result.exit_code == 0, result.output
    assert result.output.count("reverse mode, cpu") == 2
    assert_one_line(run("wine", *options, "--device", "abacus"), "no device 'abacus'")


def test_wine_trains_compares_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "wine.png"
    result = run("wine", "--hidden", 2, "--steps", 50, "--output", picture)
    assert result.exit_code == 0, result.output
    for part in ("forward mode", "reverse mode", "by hand", "central differences", "50 steps"):
        assert part in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_wine_quietly_prints_one_line(tmp_path: Path) -> None:
    result = run("wine", "--quiet", "--steps", 2000, "--output", tmp_path / "wine.svg")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("\n") == 1
    assert "accuracy 9" in result.stdout


def test_wine_tells_where_it_cannot_write(tmp_path: Path) -> None:
    assert_one_line(run("wine", "--output", tmp_path / "gone" / "wine.png"), "there is no folder")
    assert_one_line(run("wine", "--output", tmp_path / "wine.gif"), ".png, .svg or .pdf")


def test_wine_tells_that_it_diverged(tmp_path: Path) -> None:
    result = run("wine", "--quiet", "--learning-rate", 9, "--output", tmp_path / "wine.png")
    assert_one_line(result, "adjoint wine: ", "smaller learning rate")


def test_a_learning_rate_that_is_no_step_is_told(tmp_path: Path) -> None:
    for rate in ("nan", "inf", "0", "-1"):
        result = run("wine", "--learning-rate", rate, "--output", tmp_path / "wine.png")
        assert_one_line(result, "no length of a step", "--learning-rate 0.0")


def test_nothing_says_that_the_loss_is_nan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before the first step, in a terminal, where progress is shown."""
    text = io.StringIO()
    console = PipedConsole(file=text, force_terminal=True, width=100)
    X, y = load_wine().network_data()
    _train(draw_weights(2, 13, 0), X, y, 3, 0.1, console)
    assert "nan" not in text.getvalue()
    assert "loss " in text.getvalue()


# --- check ----------------------------------------------------------------------------------------


def test_check_passes_a_right_function(model: Path) -> None:
    result = run("check", f"{model}:loss")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip() != ""


def test_check_hands_over_the_inputs_and_the_seed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def check(function: object, *inputs: object, seed: int) -> types.SimpleNamespace:
        seen.append((function.__name__, len(inputs), seed))  # type: ignore[attr-defined]
        return types.SimpleNamespace(passed=False)

    monkeypatch.setattr(ad.testing, "check", check)
    result = run("check", f"{model}:loss", "--seed", 5)
    assert result.exit_code == 1
    assert "passed=False" in result.stdout
    assert seen == [("loss", 1, 5)]


@pytest.mark.parametrize("command", ["check", "show", "explain", "bench"])
def test_what_goes_wrong_is_told_in_one_line(model: Path, command: str) -> None:
    def run_on(function: str) -> Result:
        return run(command, f"{model}:{function}")

    assert_one_line(run(command, "gone.py:f"), f"adjoint {command}: ", "there is no file gone.py")
    assert_one_line(run_on("los"), "did you mean 'loss'?")
    assert_one_line(run_on("raises"), "ValueError: no such thing as this", "model.py, line 10")
    assert_one_line(run(command, f"{model}:loss", "--inputs", "case"), "'case'")


@pytest.mark.parametrize("command", [["check"], ["show", "--vjp"]])
def test_a_function_without_derivative_is_told_in_one_line(model: Path, command: list[str]) -> None:
    assert_one_line(run(*command, f"{model}:counts"), "Error: ")


def test_a_function_that_returns_nothing_is_told(model: Path) -> None:
    assert_one_line(run("show", f"{model}:nothing"), "a function that returns nothing")


@pytest.mark.parametrize("command", ["check", "show", "explain", "bench"])
def test_exceptions_beside_the_usual_ones_are_errors_of_the_code(model: Path, command: str) -> None:
    assert_one_line(run(command, f"{model}:odd"), "the code raised Odd: beyond Exceptions")
    assert_one_line(run(command, f"{model}:leaves"), "the code raised GeneratorExit")
    assert run(command, f"{model}:interrupted").exit_code == 130


def test_a_page_that_cannot_be_written_is_told(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(showing, "save", full)
    page = tmp_path / "page.html"
    result = run("show", f"{model}:loss", "--html", page)
    assert_one_line(result, f"cannot write {page}: No space left on device")
    assert "the code" not in result.stderr
    assert "called with" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("command", ["check", "show", "explain"])
def test_a_full_disk_is_no_fault_of_the_code(model: Path, command: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "adjoint", command, f"{model}:loss"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(f"adjoint {command}: cannot write the report: No space left")
    assert done.stderr.count("\n") == 1


def test_a_file_of_a_package_is_told_how_it_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "scale.py").write_text("SCALE = 2.0\n")
    (folder / "model.py").write_text("from .scale import SCALE\ndef f(x: float): return SCALE * x")
    result = run("check", f"{folder / 'model.py'}:f")
    assert_one_line(result, "attempted relative import", "from package.model import f")
    beside = tmp_path / "asked.py"
    beside.write_text("from package.model import f\n")
    assert run("check", f"{beside}:f", "--at", "1.0").exit_code == 0


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def f(x:\n", "SyntaxError"),
        ("import no_such_module_at_all\n", "No module named 'no_such_module_at_all'"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
    ],
)
def test_a_file_that_cannot_be_loaded_is_told_in_one_line(
    tmp_path: Path, text: str, part: str
) -> None:
    path = tmp_path / "model.py"
    path.write_text(text, encoding="utf-8")
    assert_one_line(run("check", f"{path}:f"), part)


def test_the_users_part_of_a_traceback_can_be_asked_for(model: Path) -> None:
    result = run("check", f"{model}:raises", "--traceback")
    assert result.exit_code == 2
    assert "Traceback (most recent call last):" in result.stderr
    assert f'File "{model}"' in result.stderr
    assert "adjoint/capture" not in result.stderr


def test_where_nothing_could_be_checked_the_check_has_not_passed(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import numpy as np\ndef f(x):\n    return np.log(x)\n", encoding="utf-8")
    with np.errstate(all="ignore"):
        result = run("check", f"{path}:f", "--at", "-1.0")
    assert result.exit_code == 1
    assert "f: NOTHING CHECKED (1 passed, 0 failed, " in result.stdout


def test_defaults_are_inputs_where_all_parameters_have_one(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    text = "import numpy as np\ndef f(x=np.ones(3), y=2.0, *, n=2):\n    return y * np.sum(x**n)\n"
    path.write_text(text, encoding="utf-8")
    result = run("check", f"{path}:f")
    assert result.exit_code == 0, result.output
    assert "f: passed" in result.stdout


def test_the_package_is_the_command() -> None:
    command = [sys.executable, "-m", "adjoint", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.startswith("adjoint ")


REPEATED = """
import numpy as np

rng = np.random.default_rng(0)
count = 0

def random(x=np.ones(3)):
    return np.sum(x) * rng.normal()

def stateful(x=np.ones(3)):
    global count
    count += 1
    return np.sum(x**2) * count

def seeded(x=np.ones(3)):
    return np.sum(x * np.random.default_rng(3).normal(size=3))

def talkative(x=np.ones(3)):
    print("x is", x, "and so on" * 50)
    return np.sum(x**2)

def product(x, w=np.ones((3, 3))):
    return np.sum(w @ x)
"""


@pytest.fixture
def repeated(tmp_path: Path) -> Path:
    path = tmp_path / "repeated.py"
    path.write_text(REPEATED, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("function", "cause"),
    [("random", "it draws with normal ("), ("stateful", "the call has changed count")],
)
def test_a_function_that_changes_its_value_is_told_before_it_is_judged(
    repeated: Path, function: str, cause: str
) -> None:
    result = run("check", f"{repeated}:{function}")
    assert result.exit_code == 1
    assert f"{function}: FAILED (0 passed, 1 failed, 0 skipped)" in result.stdout
    assert "two plain calls at the same point gave" in result.stdout
    assert cause in result.stdout


def test_a_function_that_draws_from_its_own_seed_is_checked(repeated: Path) -> None:
    assert run("check", f"{repeated}:seeded").exit_code == 0


def test_what_a_function_prints_is_told_once_and_beside_the_report(repeated: Path) -> None:
    result = run("check", f"{repeated}:talkative")
    assert result.exit_code == 0, result.output
    assert "x is" not in result.stdout
    head, *lines = result.stderr.splitlines()
    assert head.startswith("talkative printed ")
    assert head.endswith(" lines meanwhile; the first 5:")
    assert len(lines) == 5
    assert all(line.startswith("  x is") and len(line) <= 103 for line in lines)


def test_inputs_that_the_function_does_not_take_are_told(repeated: Path) -> None:
    result = run("check", f"{repeated}:product", "--at", "(1.0, 2.0, 3.0)")
    assert_one_line(result, "--at gives 3 arguments", "product(x, w=", "too many positional")


def test_inputs_of_a_wrong_shape_are_named_beside_the_error(repeated: Path) -> None:
    result = run("check", f"{repeated}:product", "--at", "[1.0, 2.0]")
    assert_one_line(result, "ValueError: matmul", "repeated.py, line ", "with float64[2].")


def test_the_variable_that_is_missing_is_named(repeated: Path) -> None:
    result = run("check", f"{repeated}:product")
    assert_one_line(result, "Define product_inputs (a tuple of arguments)", "--at '(1.0, ")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes close otherwise there")
def test_a_pipe_that_is_closed_is_no_fault_of_the_code(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    command = [sys.executable, "-m", "adjoint", "check", f"{path}:loss"]
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "wb") as closed:
        result = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, timeout=60)
    assert (result.returncode, result.stderr) == (141, b"")


# --- show -----------------------------------------------------------------------------------------


def test_show_prints_the_program_and_its_pullback(model: Path) -> None:
    result = run("show", f"{model}:loss")
    assert result.exit_code == 0, result.output
    assert "# program of loss" in result.stdout
    assert "# vjp of loss" in result.stdout
    assert "tanh" in result.stdout


@pytest.mark.parametrize("option", ["--jvp", "--vjp", "--source"])
def test_show_prints_what_is_asked_for(model: Path, option: str) -> None:
    result = run("show", f"{model}:loss", option)
    assert result.exit_code == 0, result.output
    assert "# " + option.removeprefix("--") not in result.stdout
    assert "tanh" in result.stdout


# --- the command itself ---------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["wine"], ["check"], ["show"], ["explain"], ["bench"]])
def test_help_shows_examples(command: list[str]) -> None:
    result = run(*command, "--help")
    assert result.exit_code == 0
    assert "Examples:\n    adjoint " in result.stdout


def test_version() -> None:
    assert run("--version").stdout.startswith("adjoint ")


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    assert stopped.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "adjoint: the command line needs matplotlib, rich, typer; pip install 'adjoint[cli]'"
    ]
