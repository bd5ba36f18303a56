"""The page of `adjoint show --html`: what it holds, that it is safe, how it works in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import adjoint as ad
from adjoint.commands.app import app
from adjoint.report.sheets import sheets, value_text
from tests.drawing.browser import CHROMIUM, Tab, browser

MODEL = """
import numpy as np

def small(x=np.array([0.5, -1.0, 0.0])):
    big = np.maximum(x, 0.0)
    return np.sum(np.sin(x) * x) + np.sum(big)

def looped(x=np.ones(3), rate=0.1):
    for _ in range(50):
        x = x - rate * np.sin(x)
    return np.sum(np.partition(x, 1))

def vector(x=np.ones(3)):
    return np.sin(x), 2 * x

def counts(x=np.ones(3)):
    return np.argmax(x)

def refused(x=np.ones(3)):
    return np.sum(x) * memoryview(x)[0]

def long(x=np.linspace(0.1, 1, 5)):
    rows = [x, x + 1]
    for k in range(170):
        rows.append(np.tanh(rows[-1]) * rows[(k * k * k) % 11 % len(rows)] + (k * k) % 13)
    return np.sum(rows[-1])

def nan(x=-1.0):
    return np.log(x)

nasty_inputs = ({"</text><script>window.hit=1</script>": np.ones(2), "b&'": 2.0},)

def nasty(tree):
    return np.sum(tree["</text><script>window.hit=1</script>"] * tree["b&'"])  # </code><script>
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "model.py").write_text(MODEL, encoding="utf-8")
    return folder


def run(folder: Path, function: str, *options: str) -> Result:
    page = folder / f"{function}.html"
    command = ["show", f"{folder / 'model.py'}:{function}", "--html", str(page), *options]
    return CliRunner().invoke(app, command)


def page_of(folder: Path, function: str) -> Path:
    path = folder / f"{function}.html"
    if not path.exists():
        result = run(folder, function)
        assert result.exit_code == 0, result.output
        assert str(path) in result.stdout
    return path


# --- what it holds --------------------------------------------------------------------------------


class Texts(HTMLParser):
    """The text of a page, its tags and attributes; tags that are not closed in order are faults."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text += data + " "


def text_of(folder: Path, function: str) -> str:
    return " ".join(Texts(page_of(folder, function).read_text("utf-8")).text.split())


def test_programs_stand_beside_the_lines_that_they_come_of(folder: Path) -> None:
    text = text_of(folder, "small")
    for part in (
        "small(float64[3])",
        "model.py, line 4",
        "1.581 value at this point",
        "model.py:5 big = np.maximum(x, 0.0) c: f8[3] = maximum a b kink [0.5, 0, 0] region 1",
        "Reverse mode Results: y is p, ∂y/∂x is v",
        "kept, 24 B",
        "Kept for the way back",
        "These operations met a point where they have no derivative: maximum at model.py:5",
        "Machine code",
        "Fact by fact Captured Yes:",
    ):
        assert part in text


def test_loops_and_what_is_left_to_numpy(folder: Path) -> None:
    text = text_of(folder, "looped")
    assert "model.py:10 x = x - rate * np.sin(x) c: f8[3] = scan[body=<3 equations>" in text
    assert "what it repeats body(" in text
    assert "d: i8[3] = argpartition[axis=0, kth=(1,)] c [0, 1, 2] NumPy" in text
    assert "Left to NumPy and SciPy:" in text
    assert "argpartition[axis=0, kth=(1,)] of f8[3] : there is no machine code for it" in text


def test_several_results_and_none_that_is_differentiable(folder: Path) -> None:
    assert "y[0] is" in text_of(folder, "vector")
    assert "Reverse mode" in text_of(folder, "vector")
    assert "Forward mode: no. NotDifferentiableError" in text_of(folder, "counts")


def test_a_nan_is_marked_and_nothing_warns(folder: Path) -> None:
    page = page_of(folder, "nan").read_text("utf-8")
    assert '<td class="value odd">nan</td>' in page
    assert "A NaN comes about here:" in page


def test_what_cannot_be_shown_is_told(folder: Path) -> None:
    def assert_told(result: Result, part: str) -> None:
        assert result.exit_code == 2
        assert part in result.stderr
        assert result.stderr.count("\n") == 1

    assert_told(run(folder, "refused"), "UnsupportedFunctionError")
    assert_told(run(folder, "small", "--jvp"), "leave --jvp, --vjp and --source away")
    command = ["show", f"{folder / 'model.py'}:small", "--html"]
    assert_told(CliRunner().invoke(app, [*command, "a.pdf"]), "must end in .html")
    assert_told(CliRunner().invoke(app, [*command, "gone/a.html"]), "there is no folder gone")


def test_it_reaches_for_nothing_and_holds_no_text_as_code(folder: Path) -> None:
    page = page_of(folder, "nasty").read_text("utf-8")
    parsed = Texts(page)
    assert "default-src 'none'" in page
    assert set(re.findall(r"https?://[^\"'<> ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert parsed.tags.count("script") == 1
    assert not {"img", "link", "iframe", "object", "image", "use"} & set(parsed.tags)
    links = {value for name, value in parsed.attributes if name in ("src", "href", "xlink:href")}
    assert all(value is not None and value.startswith("#") for value in links)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert "tree['</text><script>window.hit=1</script>']" in parsed.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.5"),
        (np.arange(3.0), "[0, 1, 2]"),
        (np.arange(10.0), "0 … 9"),
        (np.array([1.0, np.nan, np.inf, 4, 5]), "1 … 5, 2 not finite"),
        (np.full(5, np.nan), "5 not finite"),
        (np.arange(6) > 2, "3 of 6 true"),
        (np.full(5, 3 + 4j), "|.| up to 5"),
    ],
)
def test_values_in_a_few_words(value: object, text: str) -> None:
    assert value_text(value) == text


def test_what_the_way_back_needs_is_kept_and_nothing_else() -> None:
    def f(x):
        return np.sum(np.tanh(x))

    _, reverse = sheets(f, (np.ones(4),), "f")
    assert [row.text.split(" = ")[1] for row in reverse.rows if row.kept] == ["sech_squared a"]
    assert [row.kept for row in reverse.rows if row.kept] == [32]


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed: the page is not tried in a browser")
    with browser(tmp_path_factory.mktemp("chromium")) as tab:
        yield tab


VIEW = "document.querySelector('#value svg').getAttribute('viewBox').split(' ').map(Number)"


def test_wheel_drag_keys_and_buttons(folder: Path, tab: Tab) -> None:
    tab.open(page_of(folder, "small"))
    whole = tab.value(VIEW)
    x, y = tab.middle("#value .viewer")
    tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    assert tab.value(VIEW) == whole, "the wheel scrolls the page until the drawing is clicked at"
    x, y = tab.middle("#value .viewer")
    tab.drag((x - 5, y + 60), (x - 5, y + 60))
    tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    zoomed = tab.value(VIEW)
    assert zoomed[2] == pytest.approx(whole[2] * np.exp(-0.4), rel=1e-6)
    tab.drag((x, y), (x + 80, y + 30))
    moved = tab.value(VIEW)
    assert moved[0] < zoomed[0]
    assert moved[1] < zoomed[1]
    assert moved[2:] == zoomed[2:]
    tab.key("ArrowRight")
    assert tab.value(VIEW)[0] == pytest.approx(moved[0] + 0.15 * moved[2])
    tab.key("+")
    assert tab.value(VIEW)[2] == pytest.approx(0.7 * moved[2])
    tab.key("0")
    assert tab.value(VIEW) == whole
    for action, factor in (("in", 0.7), ("out", 1.0), ("out", 1 / 0.7)):
        spot = tab.middle(f"#value button[data-do={action}]")
        tab.drag(spot, spot)
        assert tab.value(VIEW)[2] == pytest.approx(factor * whole[2])
    spot = tab.middle("#value button[data-do=all]")
    tab.drag(spot, spot)
    assert tab.value(VIEW) == whole


def test_the_point_under_the_wheel_stays(folder: Path, tab: Tab) -> None:
    tab.open(page_of(folder, "small"))
    x, y = tab.middle("#value .node[data-name=e] rect")
    tab.drag((x, y), (x, y))
    for _ in range(3):
        tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-150)
    again = tab.value(
        "(() => { const r = document.querySelector('#value .node[data-name=e] rect')"
        ".getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    # The browser tells whole pixels, and what lies beside one moves 2.5 times as far away.
    assert again == pytest.approx([x, y], abs=2)


def test_boxes_and_operations_are_chosen_together(folder: Path, tab: Tab) -> None:
    tab.open(page_of(folder, "small"))
    spot = tab.middle("#value .node[data-name=e]")
    tab.drag(spot, spot)
    assert tab.value("document.querySelector('#value tr.chosen').dataset.name") == "e"
    spot = tab.middle("#value tr[data-name=g] .equation code")
    tab.drag(spot, spot)
    assert tab.value("document.querySelector('#value .node.chosen').dataset.name") == "g"
    assert tab.value("document.querySelectorAll('.chosen').length") == 2


def test_a_drawing_that_is_a_page_of_its_own_zooms_at_once(folder: Path, tab: Tab) -> None:
    path = folder / "drawing.html"
    ad.draw(lambda x: np.sum(np.sin(x) * x), np.ones(3)).save(path)
    tab.open(path)
    view = "document.querySelector('svg').getAttribute('viewBox').split(' ').map(Number)"
    whole = tab.value(view)
    tab.mouse("mouseWheel", 600, 300, deltaX=0, deltaY=200)
    assert tab.value(view)[2] == pytest.approx(whole[2] * np.exp(0.4), rel=1e-6)
    assert tab.value("document.documentElement.scrollHeight <= innerHeight")


def test_two_fingers_zoom(folder: Path, tab: Tab) -> None:
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    tab.send("Emulation.setDeviceMetricsOverride", **screen)
    tab.send("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        tab.open(page_of(folder, "small"))
        before = tab.value(VIEW)
        x, y = tab.middle("#value .viewer")
        for kind, apart in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80)):
            points = [{"x": x + s * apart, "y": y, "id": n} for n, s in enumerate((-1, 1))]
            tab.send("Input.dispatchTouchEvent", type=kind, touchPoints=points)
        tab.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        tab.value("new Promise(done => setTimeout(done, 100))")
        assert tab.value(VIEW)[2] == pytest.approx(before[2] / 2, rel=0.05)
    finally:
        tab.send("Emulation.setTouchEmulationEnabled", enabled=False)
        tab.send("Emulation.clearDeviceMetricsOverride")


def test_dark_and_light(folder: Path, tab: Tab) -> None:
    tab.open(page_of(folder, "small"))
    colours = {}
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        tab.send("Emulation.setEmulatedMedia", features=[feature])
        colours[scheme] = tab.value(
            "['body', '.viewer', '.viewer .title', '.tools button'].map(one => {"
            " const s = getComputedStyle(document.querySelector(one));"
            " return one.includes('title') ? s.fill : s.backgroundColor; })"
        )
    tab.send("Emulation.setEmulatedMedia", features=[])
    assert colours["light"][0] == "rgb(251, 251, 253)"
    assert colours["dark"][0] == "rgb(16, 16, 20)"
    assert all(one != two for one, two in zip(*colours.values(), strict=True))


@pytest.mark.parametrize("function", ["small", "looped", "nasty"])
def test_on_a_phone_nothing_stands_out_to_the_side(folder: Path, tab: Tab, function: str) -> None:
    screen = {"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": True}
    tab.send("Emulation.setDeviceMetricsOverride", **screen)
    try:
        tab.open(page_of(folder, function))
        assert tab.value("document.documentElement.scrollWidth") <= 360
    finally:
        tab.send("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("function", ["small", "nasty", "long"])
def test_no_request_no_error_and_no_script_of_the_users(
    folder: Path, tab: Tab, function: str
) -> None:
    tab.open(page_of(folder, function))
    assert tab.value("window.hit === undefined")
    asked = [event for event in tab.events if event["method"] == "Network.requestWillBeSent"]
    assert [event["params"]["request"]["url"].split(":")[0] for event in asked] == ["file"]
    faults = ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening")
    assert [event for event in tab.events if event["method"] in faults] == []


def test_five_hundred_operations_begin_readable_and_can_all_be_seen(folder: Path, tab: Tab) -> None:
    tab.open(page_of(folder, "long"))
    assert tab.value("document.querySelectorAll('#value tr[data-name]').length") > 500
    width = tab.value("document.querySelector('#value .viewer').clientWidth")
    assert tab.value(VIEW)[2] == pytest.approx(width)
    seen = tab.value(
        "(() => { const v = document.querySelector('#value .viewer').getBoundingClientRect();"
        " const r = document.querySelector('#value .argument rect').getBoundingClientRect();"
        " return r.left >= v.left && r.top >= v.top && r.bottom <= v.bottom; })()"
    )
    assert seen
    spot = tab.middle("#value button[data-do=all]")
    tab.drag(spot, spot)
    natural = tab.value("Number(document.querySelector('#value svg').getAttribute('width'))")
    assert tab.value(VIEW)[2] == pytest.approx(natural)
