"""Maths as MathML: browsers draw it without scripts and fonts, so a page needs no other host."""

from html import escape

from docutils import nodes
from latex2mathml.converter import convert


def _render(translator, node: nodes.Element, display: str) -> None:
    latex = node.astext()
    try:
        translator.body.append(convert(latex, display=display))
    except Exception as error:
        raise ValueError(f"{translator.builder.current_docname}: no MathML for {latex!r}: {error}") from error
    raise nodes.SkipNode


def _inline(translator, node: nodes.math) -> None:
    _render(translator, node, "inline")


def _block(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math" aria-label="{escape(node.astext(), quote=True)}">')
    try:
        _render(translator, node, "block")
    finally:
        translator.body.append("</div>")


def setup(app):
    """Add the renderer `mathml`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
