"""Equations as MathML: browsers show it without a script, a font or a network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def mathml(latex: str, display: str) -> str:
    """An equation as an element of HTML.

    :param latex: the equation; several lines are aligned at ``&``.
    :param display: ``inline`` or ``block``.
    """
    if r"\\" in latex and r"\begin" not in latex:
        latex = rf"\begin{{split}}{latex}\end{{split}}"
    return convert(latex, display=display)


def visit_inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write an equation within a line."""
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write an equation on lines of its own."""
    equation = mathml(node.astext(), "block")
    writer.body.append(f'<div class="equation">{equation}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Make it the way in which equations are written."""
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(visit_inline, None),
        block_renderers=(visit_block, None),
    )
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
