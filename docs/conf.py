"""The manual as a site: `sphinx-build -W docs build/site`. Nothing is fetched, ever."""

from typing import Any

from latex2mathml.converter import convert

import adjoint

project = "adjoint"
version = release = adjoint.__version__
extensions = ["myst_parser"]
exclude_patterns = ["**/*.py"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "adjoint"
html_show_copyright = False
html_math_renderer = "mathml"


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext()))
    _skip(node)


def _block(writer: Any, node: Any) -> None:
    writer.body.append(convert(node.astext(), display="block"))
    _skip(node)


def _skip(node: Any) -> None:
    from docutils.nodes import SkipNode

    raise SkipNode


def setup(app: Any) -> None:
    """Formulas become MathML while the site is built, so that no script is needed to read them."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
