"""Formulas as MathML, made when the page is: a browser needs no script to show them, and gets a font for them."""

import re
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

_SPACING = (  # what the converter leaves to chance
    (r"<mi>(log|ln)</mi>(?!<mo)", r'<mi>\1</mi><mspace width="0.17em"/>'),  # log p, but log(p)
    (r'<mo stretchy="false">&#x0007C;</mo>', '<mo stretchy="false" lspace="0" rspace="0">&#x0007C;</mo>'),  # |x|
    (r"<mrow><mo>&#x0002C;</mo></mrow>", '<mo lspace="0" rspace="0" separator="false">&#x0002C;</mo>'),  # 1{,}000
    # f': the sign is small and raised by itself, so that as an exponent it would hardly be seen
    (r"<msup>(<m[in]>[^<]*</m[in]>)<mi>(&#x0203[2-4];)</mi></msup>", r'\1<mtext class="prime">\2</mtext>'),
    (
        r"<msubsup>(<m[in]>[^<]*</m[in]>)(<m[in]>[^<]*</m[in]>)<mi>(&#x0203[2-4];)</mi></msubsup>",
        r'<msub>\1\2</msub><mtext class="prime">\3</mtext>',
    ),
)


def formula(text: str, *, block: bool = False) -> str:
    """LaTeX as MathML."""
    made = str(convert(text, display="block" if block else "inline"))
    for pattern, better in _SPACING:
        made = re.sub(pattern, better, made)
    return made


def keep_punctuation(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """No line begins with the comma after a formula: it becomes part of it."""
    for node in list(doctree.findall(nodes.math)):
        after = node.next_node(descend=False, siblings=True)
        if isinstance(after, nodes.Text) and (found := re.match(r"[,.;:!?)]+", after)):
            node["after"] = found[0]
            after.parent.replace(after, nodes.Text(after[found.end() :]))


def inline(self: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    made, after = formula(node.astext()), node.get("after", "")
    self.body.append(f'<span class="whole">{made}{after}</span>' if after else made)
    raise nodes.SkipNode


def displayed(self: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, which scroll where they are too long."""
    self.body.append(f'<div class="formula">{formula(node.astext(), block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the way formulas are written."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(displayed, None))
    app.connect("doctree-resolved", keep_punctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
