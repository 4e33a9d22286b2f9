"""Markdown to HTML: mathematics as MathML, code in colours, headings with anchors."""

import html
import re
from collections.abc import Callable
from typing import Any

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

Block = Callable[[str], str]  # from the text of a Python block to what is shown below it


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    plain = re.sub(r"[^\w\- ]", "", re.sub(r"[`*]|\]\([^)]*\)", "", heading).lower())
    return plain.strip().replace(" ", "-")


def code(text: str, language: str = "python") -> str:
    """Code in colours; the colours are the style sheet's."""
    if language not in ("python", "pycon", "cpp", "r", "sh"):
        return f"<pre><code>{html.escape(text)}</code></pre>"
    inside = highlight(text, get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return f'<pre class="code"><code>{inside}</code></pre>'


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


def math(text: str, options: dict[str, Any]) -> str:
    """LaTeX as MathML, made now: a browser needs nothing else to show it."""
    display = bool(options.get("display_mode"))
    made = str(convert(text, display="block" if display else "inline"))
    for pattern, better in _SPACING:
        made = re.sub(pattern, better, made)
    return made


def inline_code(text: str) -> str:
    """Code within a line; a long name may go on in the next line after a dot or an underscore."""
    shown = html.escape(text)
    return f"<code>{re.sub(r'(?<=[._])(?=[a-zA-Z])', '<wbr>', shown) if len(text) > 20 else shown}</code>"


def render(text: str, below: Block = lambda block: "", *, raw: bool = False) -> str:
    """The HTML of Markdown. `below` gives what stands under each Python block; `raw` lets HTML through."""
    parser = MarkdownIt("commonmark", {"html": raw}).enable("table")
    parser.use(dollarmath_plugin, allow_space=False, double_inline=True, renderer=math)
    renderer: Any = parser.renderer

    def fence(tokens: Any, index: int, options: Any, env: Any) -> str:
        language, content = tokens[index].info.strip(), tokens[index].content
        shown = code(content, language)
        return shown + (below(content) if language == "python" else "")

    def heading(tokens: Any, index: int, options: Any, env: Any) -> str:
        key = slug(tokens[index + 1].content)
        seen = env.setdefault("headings", {})
        seen[key] = seen.get(key, 0) + 1
        key = key if seen[key] == 1 else f"{key}-{seen[key] - 1}"
        return f'<{tokens[index].tag} id="{key}">'

    renderer.rules |= {
        "fence": fence,
        "code_inline": lambda tokens, index, options, env: inline_code(tokens[index].content),
        "code_block": lambda tokens, index, options, env: code(tokens[index].content, ""),
        "heading_open": heading,
        "table_open": lambda *_: '<div class="scroll"><table>',
        "table_close": lambda *_: "</table></div>",
        "math_inline": lambda tokens, index, options, env: math(tokens[index].content, {}),
        "math_inline_double": lambda tokens, index, options, env: math(tokens[index].content, {"display_mode": True}),
        "math_block": lambda tokens, index, options, env: (
            f'<div class="formula scroll">{math(tokens[index].content, {"display_mode": True})}</div>'
        ),
    }
    made = str(parser.render(text))
    # No line begins with the comma after a formula.
    return re.sub(r"(<math[^>]*inline(?:(?!<math).)*?</math>)([,.;:!?)]+)", r'<span class="whole">\1\2</span>', made)
