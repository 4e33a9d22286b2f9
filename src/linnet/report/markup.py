"""Text from data as HTML, always escaped and cut to a length; and numbers formatted for reading."""

import html
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

_NAME_CHARACTERS = 80
_TITLE_CHARACTERS = 400  # of the tooltip of a long name
_VOID_ELEMENTS = ("br", "img", "input")  # without an end tag


class Safe(str):
    """HTML; any other text is escaped on its way into a page."""

    __slots__ = ()


def escape(value: object) -> Safe:
    """Return text that has no meaning in HTML, attributes included; unprintable characters become blanks."""
    if isinstance(value, Safe):
        return value
    text = "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in str(value))
    return Safe(html.escape(text, quote=True))


def cut(text: object, most: int = _NAME_CHARACTERS) -> str:
    """Return the text, or its beginning and an ellipsis."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def name(text: object, most: int = _NAME_CHARACTERS) -> Safe:
    """Return the name of a column or class, which may have any length and direction, as HTML."""
    text = str(text)
    if not text.strip():
        return Safe('<bdi class="quiet">(blank)</bdi>')
    title = f' title="{escape(cut(text, _TITLE_CHARACTERS))}"' if len(text) > most else ""
    return Safe(f'<bdi class="name"{title}>{escape(cut(text, most))}</bdi>')


def tag(kind: str, *content: object, **attributes: object) -> Safe:
    """Return an element; `class_` is the attribute class, and _ in other names becomes -."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value != ""
    )
    if kind in _VOID_ELEMENTS:
        return Safe(f"<{kind}{given}>")
    return Safe(f"<{kind}{given}>{join(content)}</{kind}>")


def join(parts: Iterable[object], between: str = "") -> Safe:
    """Return the parts in sequence."""
    return Safe(between.join(escape(part) for part in parts))


def table(
    head: Sequence[object],
    rows: Sequence[Sequence[object]],
    align: str,
    *,
    caption: str = "",
    marked: int | None = None,
) -> Safe:
    """Return a table, scrolling where it is too wide.

    `align`: l or r for each column. `marked`: the row to highlight.
    """
    classes = ["number" if letter == "r" else "" for letter in align]

    def line(kind: str, row: Sequence[object], class_: str = "") -> Safe:
        cells = (tag(kind, cell, class_=class_of) for cell, class_of in zip(row, classes, strict=True))
        return tag("tr", *cells, class_=class_)

    body = [line("td", row, "chosen" if index == marked else "") for index, row in enumerate(rows)]
    top = tag("caption", caption) if caption else ""
    inner = tag("table", top, tag("thead", line("th", head)), tag("tbody", *body))
    return tag("div", inner, class_="scroll", tabindex="0")


def number(value: float | None, digits: int = 4) -> str:
    """Return a number with significant digits and a real minus sign, rounded as by `fixed`; "–" for None or NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e7 or size < 1e-4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", "−")
    decimals = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{Decimal(fixed(value, decimals)):,}".replace("-", "−")


def fixed(value: float, decimals: int) -> str:
    """Return a number with decimals; ties are rounded away from zero, as by the script of the page."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


def count(value: float) -> str:
    """Return a number of rows: without decimals if it is an integer."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent(share: float) -> str:
    """Return a share in percent."""
    if math.isnan(share):
        return "–"
    return f"{share:.1%}" if 0 < share < 0.1 or 0.9 < share < 1 else f"{share:.0%}"


def several(how_many: int, what: str, plural: str = "") -> str:
    """Return a number with its noun: 1 row, 2 rows."""
    return f"{how_many:,} {what if how_many == 1 else plural or what + 's'}"
