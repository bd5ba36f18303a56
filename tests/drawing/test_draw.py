"""Drawings of functions and programs: structure, safety, and the same text every time."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentError, ArgumentTypeError, ShapeError
from tests.capture import programs_learning, programs_numerics, programs_physics
from tests.capture.programs import EXAMPLES
from tests.drawing.reading import Read

assert all((programs_learning, programs_numerics, programs_physics))

W = np.array([[1.0, 2.0], [3.0, 4.0]])
X = np.array([0.1, 0.2])


def layer(x, w):
    h = np.tanh(w @ x)
    return np.sum(h * h)


def read(drawing):
    found = Read(drawing.svg())
    found.check()
    return found


def box(found, name):
    (shape,) = [each for each in found.shapes if each.name == name]
    return shape


# --- structure ------------------------------------------------------------------------------------


def test_boxes_and_edges_are_those_of_the_program():
    """Figures E1.3 to E1.7: squares in, circles out, a box for each primitive."""
    found = read(ad.draw(layer, X, W))
    assert found.kinds() == {"argument": 2, "equation": 4, "result": 1}
    assert [shape.texts[0] for shape in found.shapes] == [
        "x", "w", "contract", "tanh", "multiply", "sum", "y",
    ]  # fmt: skip
    assert found.edges == [(1, 2), (0, 2), (2, 3), (3, 4), (3, 4), (4, 5), (5, 6)]
    assert found.reverse == []


def test_an_input_that_is_used_often_is_drawn_once():
    found = read(ad.draw(lambda x: x * x + np.sin(x), X))
    assert found.kinds() == {"argument": 1, "equation": 3, "result": 1}
    assert [pair for pair in found.edges if pair[0] == 0] == [(0, 1), (0, 1), (0, 2)]


def test_reverse_pass_has_an_edge_for_each_contribution():
    """E.1.65, E.1.66 and E.1.68: two dashed arrows into tanh, their sum in its box."""
    found = read(ad.draw(layer, X, W, values=True, tangents=(X, None), cotangents=1.0))
    assert sorted(found.reverse) == sorted(found.edges)
    tanh = ad.nodes(layer, X, W, cotangents=1.0)["d"]
    texts = box(found, "d").texts
    one = f"{tanh.value[0]:.4g}"
    assert box(found, "e").texts[-2:] == (f"[{one}, {tanh.value[1]:.4g}]",) * 2
    doubled = tanh.covector.components
    assert f"r = [{doubled[0]:.4g}, {doubled[1]:.4g}]" in texts
    assert any(text.startswith("t = [") for text in texts)
    assert f"= [{one}, {tanh.value[1]:.4g}]" in texts


def test_what_does_not_vary_has_no_reverse_edge():
    found = read(ad.draw(lambda x: W @ x, X, cotangents=np.ones(2)))
    assert found.kinds() == {"argument": 1, "constant": 1, "equation": 1, "result": 1}
    assert found.reverse == [(0, 2), (2, 3)]


def test_values_are_shown_when_asked():
    without = read(ad.draw(np.sin, np.float64(0)))
    shown = read(ad.draw(np.sin, np.float64(0), values=True))
    assert "= 0" not in box(without, "b").texts
    assert "= 0" in box(shown, "b").texts


def test_a_small_constant_shows_its_number():
    assert box(read(ad.draw(lambda x: 2.5 * x, X)), "b").texts[0] == "2.5"


def test_names_of_arguments_and_results():
    def f(x, params, *rest):
        return {"sum": x + params["w"] + rest[0], "x": x}

    found = read(ad.draw(f, 1.0, {"w": 2.0}, 3.0))
    names = [each.texts[0] for each in found.shapes if each.kind in ("argument", "result")]
    assert names == ["x", "params['w']", "rest[0]", "y['sum']", "y['x']"]


def test_the_users_line_and_the_type_are_in_the_tip():
    tip = box(read(ad.draw(layer, X, W)), "d").tip
    assert re.fullmatch(r"d: f8\[2\] = tanh c\ntest_draw.py:\d+\nh = np.tanh\(w @ x\)", tip)


@pytest.mark.parametrize("transform", ["jvp", "vjp", "linearize", "transpose"])
def test_transformed_programs(transform):
    view = getattr(ad.program(layer, X, W), transform)()
    found = read(ad.draw(view))
    equations = found.kinds().get("equation", 0) + found.kinds().get("derived", 0)
    assert equations == len(view)
    assert found.kinds()["derived"] > 0
    # (inputs and results that are squares, and circles): a cotangent is an element of the output
    # space wherever it stands, and what reverse mode returns one of the input space.
    squares, circles = found.kinds().get("argument", 0), found.kinds()["result"]
    assert (squares, circles) == {
        "jvp": (2 + 2, 2), "vjp": (2 + 2, 1 + 1), "linearize": (2, 1), "transpose": (2, 1)
    }[transform]  # fmt: skip
    assert len(found.shapes) == len(view.program.inputs) + len(view) + len(view.program.outputs)


def test_several_results_leave_from_several_places():
    def f(x):
        return x, x + 1.0, x

    found = read(ad.draw(f, 2.0))
    assert found.kinds()["result"] == 3
    assert found.edges.count((0, 4)) == 1


def test_an_operation_with_several_results_has_a_place_for_each():
    """E.1.67."""

    @ad.primitive
    def pair(x):
        return np.sin(x), np.cos(x)

    @pair.jvp
    def _(primals, tangents):
        (x,), (u,) = primals, tangents
        return (np.sin(x), np.cos(x)), (np.cos(x) * u, -np.sin(x) * u)

    def f(x):
        sine, cosine = pair(x)
        return sine * cosine

    found = read(ad.draw(f, X, values=True, tangents=X, cotangents=X))
    assert [text for text in box(found, "b, c").texts if text.startswith("r =")] != []
    assert found.edges == [(0, 1), (1, 2), (1, 2), (2, 3)]
    starts = re.findall(r'data-from="1" data-to="2"[^>]* d="M([\d.]+) ([\d.]+)C', found.text)
    assert len(set(starts)) == 4  # two there and two back


def many(count):
    def f(x, y):
        for _ in range(count):
            x, y = np.sin(y), x * y
        return x + y

    return f


@pytest.mark.parametrize("count", [2, 20, 140])
def test_large_programs(count):
    found = read(ad.draw(many(count), 1.0, 2.0, values=True, cotangents=1.0))
    assert len(found.shapes) >= 2 * count + 4


def test_the_vjp_of_a_large_program():
    read(ad.draw(ad.program(many(30), 1.0, 2.0).vjp()))


@pytest.mark.parametrize("each", EXAMPLES[::6], ids=lambda each: each.function.__name__)
def test_programs_as_scientists_write_them(each):
    if each.refused is None and len(ad.program(each.function, *each.args)) <= 300:
        read(ad.draw(each.function, *each.args, values=True))


# --- the same text every time ---------------------------------------------------------------------


def test_drawings_are_deterministic():
    script = (
        "import numpy as np, adjoint as ad\n"
        "print(ad.draw(lambda x: np.sin(x) * x + np.cos(x), np.ones(2), cotangents=np.ones(2))"
        ".svg())"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


# --- safety ---------------------------------------------------------------------------------------

NASTY = '</text><script>alert(\'"&<>")</script>\x00\x1b]]>'


def test_the_users_names_and_lines_are_escaped():
    def f(tree):
        return tree[NASTY] * np.sin("<b>&" and 1.0)

    drawing = ad.draw(f, {NASTY: 2.0})
    f.__name__ = NASTY
    named = ad.draw(f, {NASTY: 2.0})
    for each in (drawing, named):
        found = read(each)
        assert not [node for node in found.root.iter() if node.tag.endswith("script")]
        (name,) = [shape.texts[0] for shape in found.shapes if shape.kind == "argument"]
        assert "</text><script>alert" in name
        assert each.html().count("<script>") == 1
        assert "\x00" not in each.html()
    assert "<title><" not in named.html()


def test_the_page_reaches_for_nothing():
    page = ad.draw(np.sin, 1.0).html()
    assert "default-src 'none'" in page
    urls = set(re.findall(r"https?://[^\"'<> ]+", page))
    assert urls == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert " src=" not in page
    assert " href=" not in page


# --- saving ---------------------------------------------------------------------------------------


def test_saving(tmp_path):
    drawing = ad.draw(np.sin, 1.0)
    drawing.save(tmp_path / "a.svg")
    drawing.save(str(tmp_path / "b.HTML"))
    assert (tmp_path / "a.svg").read_text("utf-8") == drawing.svg() == drawing._repr_svg_()
    assert (tmp_path / "b.HTML").read_text("utf-8") == drawing.html()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "b.HTML"]


@pytest.mark.parametrize("name", ["a.png", "a", "a.svg.gz"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(ArgumentError, match=r"saved as \.svg or \.html"):
        ad.draw(np.sin, 1.0).save(tmp_path / name)


def test_there_must_be_a_directory_to_save_in(tmp_path):
    with pytest.raises(OSError, match="missing"):
        ad.draw(np.sin, 1.0).save(tmp_path / "missing" / "a.html")


# --- errors ---------------------------------------------------------------------------------------


def test_a_view_takes_nothing_else():
    with pytest.raises(ArgumentTypeError, match="takes nothing else"):
        ad.draw(ad.program(np.sin, 1.0), values=True)


def test_too_large_a_program_is_refused():
    with pytest.raises(ArgumentError, match="at most 2000"):
        ad.draw(ad.program(many(1000), 1.0, 2.0))


def test_tangents_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError):
        ad.draw(np.sin, X, tangents=np.ones(3))


def test_saving_next_to_the_longest_of_names(tmp_path):
    target = tmp_path / ("n" * 250 + ".svg")
    ad.draw(np.sin, 1.0).save(target)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
