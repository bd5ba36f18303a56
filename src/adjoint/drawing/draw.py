"""Drawing a function's program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adjoint.base.errors import ArgumentError, ArgumentTypeError
from adjoint.base.signatures.checked import checked
from adjoint.calculus import ProgramView, nodes
from adjoint.drawing.drawing import Drawing
from adjoint.drawing.graph import Picture, argument_names, of_nodes, of_program, result_names
from adjoint.drawing.svg import clean, svg_text

MOST = 2000


@checked
def draw(
    function: Callable[..., Any] | ProgramView,
    *args: Any,
    values: bool = False,
    tangents: Any = None,
    cotangents: Any = None,
    **kwargs: Any,
) -> Drawing:
    """A function's program as a picture: the graph that derivatives flow through.

    As in Figures E1.3 to E1.7, green squares are elements of the input space, blue circles of the
    output space, rounded boxes the primitives; grey squares are constants and residuals. Solid
    arrows are the forward pass. With cotangents, dashed arrows are the reverse pass, each labelled
    with the covector that it carries (E.1.65, E.1.66), and each box shows their sum, r (E.1.68).
    With tangents each box shows its own, t. Numbers are shown where they are few, types elsewhere.
    Pointing at a box shows the user's line.

    Args:
        function: plain NumPy code; or a view of a program (`ad.program(f, x).vjp()`), without any
            of the other arguments, whose derived equations are drawn in yellow.
        args: the point.
        values: whether each box shows its value.
        tangents: the direction, as for `ad.nodes`.
        cotangents: the seed of the reverse pass, as for `ad.nodes`.
        kwargs: passed on as they are.

    Returns:
        A `Drawing`: a notebook shows it, `.save(path)` and `.svg()` write it.

    Raises:
        ArgumentTypeError: a view was given together with other arguments.
        ArgumentError: the program has more than 2000 equations and inputs.
        ShapeError, DTypeError, ArgumentTypeError: tangents or cotangents do not fit.

    Example:
        >>> import numpy as np
        >>> import adjoint as ad
        >>> ad.draw(
        ...     lambda x: np.sum(x * np.sin(x)), np.ones(3), values=True, cotangents=1.0
        ... )
        <drawing of <lambda>: .svg(), .html(), .save(path)>
    """
    if isinstance(function, ProgramView):
        if args or kwargs or values or tangents is not None or cotangents is not None:
            raise ArgumentTypeError(
                "A view of a program holds no numbers: draw(view) takes nothing else. Draw values, "
                "tangents and cotangents of the function itself: ad.draw(f, *args, values=True)."
            )
        return _drawing(of_program(function.program, function.roles), "program")
    graph_nodes = nodes(function, *args, tangents=tangents, cotangents=cotangents, **kwargs)
    arguments = argument_names(function, args)
    pictures = of_nodes(graph_nodes, arguments, result_names(graph_nodes.value))
    if not values:
        pictures = [_without_values(picture) for picture in pictures]
    return _drawing(pictures, getattr(function, "__name__", type(function).__name__))


def _without_values(picture: Picture) -> Picture:
    return replace(picture, lines=tuple(x for x in picture.lines if x.style != "value"))


def _drawing(pictures: list[Picture], title: str) -> Drawing:
    if len(pictures) > MOST:
        raise ArgumentError(
            f"The program has {len(pictures)} equations, inputs and results; draw takes at most "
            f"{MOST}, beyond which nothing can be seen. Draw a part of the function."
        )
    return Drawing(svg_text(pictures, title), clean(title))
