"""Leaves that carry no derivative, within containers: the function has them, results have None."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ArgumentTypeError, NotDifferentiableError


@dataclasses.dataclass
class Model:
    weights: object
    power: object
    name: object


class Thing:
    """An object that is no container."""


THING = Thing()
W = np.array([1.0, 2.0])
POINT = {"w": W, "n": 3, "name": "cubes", "flag": True, "none": None, "thing": THING, "i": W > 0}
NONE = dict.fromkeys(["n", "name", "flag", "none", "thing", "i"])


def loss(p):
    assert p["name"] == "cubes"
    assert p["flag"] is True or p["flag"]
    assert p["thing"] is THING
    return np.sum(p["w"] ** p["n"] * p["i"])


def slope_of(result):
    assert {key: value for key, value in result.items() if key != "w"} == NONE
    return result["w"]


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: ad.grad(ad.jit(lambda p: f(p)))])
def test_the_gradient_has_none(wrap):
    gradient = ad.grad(loss)
    for k in range(1, 6):
        point = {**POINT, "w": k * W}
        np.testing.assert_allclose(slope_of(gradient(point)), 3 * (k * W) ** 2)


def test_what_is_held_counts_anew_at_each_call():
    gradient = ad.grad(lambda p: np.sum(p["w"] ** p["n"]))
    for n in (1, 2, 3, 2, 5, 3, 1):
        np.testing.assert_allclose(gradient({"w": W, "n": n})["w"], n * W ** (n - 1))


def test_value_and_grad_and_argnums():
    value, (slopes, other) = ad.value_and_grad(lambda p, x: loss(p) * x, argnums=(0, 1))(POINT, 2.0)
    assert value == 18.0
    assert other == 9.0
    np.testing.assert_allclose(slope_of(slopes), 6 * W**2)
    assert ad.grad(lambda x, p: loss(p) * x, argnums=(1,))(2.0, POINT)[0]["n"] is None


def test_dataclasses_lists_and_tuples():
    slopes = ad.grad(lambda m: np.sum(m.weights**m.power))(Model(W, 2, "squares"))
    np.testing.assert_array_equal(slopes.weights, 2 * W)
    assert (slopes.power, slopes.name) == (None, None)
    assert ad.grad(lambda p: p[0] * p[1])([2, 3.0]) == [None, 2.0]
    assert ad.grad(lambda p: np.sum(p[0] * p[1]))((np.arange(2), W))[0] is None


def test_other_derivatives_have_none_too():
    matrix = slope_of(ad.jacobian(lambda p: p["w"] ** p["n"])(POINT))
    np.testing.assert_allclose(matrix, np.diag(3 * W**2))
    rows = ad.hessian(loss)(POINT)
    np.testing.assert_allclose(slope_of(slope_of(rows)), np.diag(6 * W))
    value, pullback = ad.vjp(loss, POINT)
    assert value == 9.0
    (pulled,) = pullback(1.0)
    np.testing.assert_allclose(slope_of(pulled), 3 * W**2)


def test_tangents_have_none_in_their_place():
    tangent = {**NONE, "w": np.array([1.0, 0.0])}
    for _ in range(4):
        assert ad.jvp(loss, (POINT,), (tangent,)) == (9.0, 3.0)
    assert ad.derivative(loss, POINT)(tangent) == 3.0
    assert ad.linearize(loss, POINT)[1](tangent) == 3.0
    np.testing.assert_allclose(slope_of(ad.hvp(loss, POINT, tangent)), [6.0, 0.0])
    gradient = ad.grad(loss)(POINT)  # a gradient is a direction
    assert ad.jvp(loss, (POINT,), (gradient,))[1] == pytest.approx(np.sum(9 * W**4))
    with pytest.raises(ArgumentTypeError, match="structure"):
        ad.jvp(loss, (POINT,), ({**tangent, "n": 1.0},))


def test_jit_around():
    gradient = ad.jit(ad.grad(lambda p: np.sum(p["w"] ** p["n"])))
    for n in (2, 2, 3, 3, 2):
        slopes = gradient({"w": W, "n": n, "name": "a"})
        np.testing.assert_allclose(slopes["w"], n * W ** (n - 1))
        assert (slopes["n"], slopes["name"]) == (None, None)


def test_second_derivatives():
    inner = lambda t: ad.grad(lambda p: p["w"] ** p["n"])({"w": t, "n": 3, "name": "a"})["w"]  # noqa: E731
    for t in (2.0, 3.0, 4.0):
        assert ad.grad(inner)(t) == 6 * t


def test_an_argument_without_any_derivative_is_refused():
    for point in (3, {"n": 3}, [1, 2], (np.arange(3),), {"name": "a"}, "a"):
        with pytest.raises(NotDifferentiableError):
            ad.grad(lambda p: 1.0)(point)


def test_a_place_is_named_as_the_user_has_it():
    with pytest.raises(NotDifferentiableError, match=r"argument 0\['z'\]"):
        ad.hessian(lambda p: abs(p["z"]) ** 2)({"a": 1, "w": 2.0, "z": 2j})


def test_a_space_holds_vectors_alone():
    """What would stand still without being noticed is refused where a minimum is looked for."""
    for minimise in (ad.optimize.minimize, ad.optimize.descend):
        with pytest.raises(NotDifferentiableError, match=r"\['n'\].*integers"):
            minimise(lambda p: (p["w"] - p["n"]) ** 2, {"w": 2.0, "n": 3})
        with pytest.raises(ArgumentTypeError, match=r"\['name'\].*str"):
            minimise(lambda p: p["w"] ** 2, {"w": 2.0, "name": "a"})


def test_text_decides_anew_at_each_call():
    def f(p):
        return np.sum(np.sin(p["w"])) if p["name"] == "sin" else np.sum(p["w"] ** 2)

    for gradient in (ad.grad(f), ad.jit(ad.grad(f))):
        for name in ("sin", "square", "sin", "sin", "square", "square", "sin", "other"):
            expected = np.cos(W) if name == "sin" else 2 * W
            np.testing.assert_allclose(gradient({"w": W, "name": name})["w"], expected)


def test_objects_are_read_anew_at_each_call():
    class Scale:
        factor = 1.0

    scale = Scale()
    f = lambda p: np.sum(p["scale"].factor * p["w"] ** 2)  # noqa: E731
    for gradient in (ad.grad(f), ad.jit(ad.grad(f))):
        for factor in (1.0, 2.0, 2.0, 3.0, 1.0, 3.0):
            scale.factor = factor
            slopes = gradient({"w": W, "scale": scale})
            np.testing.assert_allclose(slopes["w"], 2 * factor * W)
            assert slopes["scale"] is None


def test_batches_of_what_is_held():
    slope = lambda w, n: ad.grad(lambda p: p["w"] ** p["n"])({"w": w, "n": n})["w"]  # noqa: E731
    powers = np.array([2, 3])
    expected = powers * np.array([2.0, 3.0]) ** (powers - 1)
    np.testing.assert_allclose(ad.vmap(slope)(np.array([2.0, 3.0]), powers), expected)
    whole = ad.vmap(ad.grad(lambda p: p["w"] ** p["n"]))
    slopes = whole({"w": np.array([2.0, 3.0]), "n": powers})
    np.testing.assert_allclose(slopes["w"], expected)
    assert slopes["n"] is None
    both = ad.grad(lambda t: slope(t, 3) * t)
    for t in (2.0, 3.0, 4.0):
        assert both(t) == pytest.approx(9 * t**2)


def test_a_tree_of_a_single_leaf_beside_text():
    value, slopes = ad.value_and_grad(lambda p: p[1] ** 2)(("a", 3.0))
    assert (value, slopes) == (9.0, (None, 6.0))
    assert ad.grad(lambda p: p["w"].sum())({"t": "a", "w": [W][0]})["w"].tolist() == [1.0, 1.0]


class Weighty:
    """Something that is to go once nobody holds it."""


def _of_x(p):
    return np.sum(p["x"] ** 2)


SLOPE, COMPILED = ad.grad(_of_x), ad.jit(_of_x)
X = np.ones(2)
CALLS = {
    "grad": lambda held: ad.grad(lambda p: np.sum(p["x"] ** 2))({"x": X, "held": held}),
    "the same grad": lambda held: SLOPE({"x": X, "held": held}),
    "jit": lambda held: COMPILED({"x": X, "held": held}),
    "jacobian": lambda held: ad.jacobian(lambda p: p["x"] ** 2)({"x": X, "held": held}),
    "aux": lambda held: ad.grad(lambda x: (np.sum(x), {"held": held}), has_aux=True)(X),
    "aux alone": lambda held: ad.value_and_grad(lambda x: (np.sum(x), held), has_aux=True)(X),
    "result of jit": lambda held: ad.jit(lambda x: (np.sum(x**2), held))(X),
    "linearize": lambda held: ad.linearize(lambda x: (x**2, held), X, has_aux=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_keeps_what_is_held_alive(name):
    call, known = CALLS[name], []
    for _ in range(40):
        held = Weighty()
        known.append(weakref.ref(held))
        call(held)
        del held
    gc.collect()
    assert sum(one() is not None for one in known) == 0
