"""Text from data as HTML: always escaped, cut where it is endless; and numbers as people read them."""

import html
import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

_NAME_CHARACTERS = 80
_TITLE_CHARACTERS = 400  # shown where the pointer rests on a name
_VOID = ("br", "img", "input")  # elements without an end


class Safe(str):
    """HTML; any other text is escaped on its way into a page."""

    __slots__ = ()


def escape(value: object) -> Safe:
    """Text without any meaning in HTML, attributes included; characters that do not print are blanks."""
    if isinstance(value, Safe):
        return value
    text = "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in str(value))
    return Safe(html.escape(text, quote=True))


def cut(text: object, most: int = _NAME_CHARACTERS) -> str:
    """The text, or its beginning and an ellipsis."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def name(text: object, most: int = _NAME_CHARACTERS) -> Safe:
    """A column's or class's name, which may be of any length and direction."""
    text = str(text)
    if not text.strip():
        return Safe('<bdi class="quiet">(blank)</bdi>')
    title = f' title="{escape(cut(text, _TITLE_CHARACTERS))}"' if len(text) > most else ""
    return Safe(f'<bdi class="name"{title}>{escape(cut(text, most))}</bdi>')


def tag(kind: str, *content: object, **attributes: object) -> Safe:
    """An element; `class_` is the attribute class, and _ in names is -."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items() if value != ""
    )
    if kind in _VOID:
        return Safe(f"<{kind}{given}>")
    return Safe(f"<{kind}{given}>{join(content)}</{kind}>")


def join(parts: Iterable[object], between: str = "") -> Safe:
    """One after the other."""
    return Safe(between.join(escape(part) for part in parts))


def table(
    head: Sequence[object],
    rows: Sequence[Sequence[object]],
    align: str,
    *,
    caption: str = "",
    marked: int | None = None,
) -> Safe:
    """A table that scrolls by itself where it is too wide; `align`: l or r for each column; one row may be marked."""
    sides = ["number" if side == "r" else "" for side in align]

    def cells(kind: str, row: Sequence[object], class_: str = "") -> Safe:
        return tag("tr", *(tag(kind, cell, class_=side) for cell, side in zip(row, sides, strict=True)), class_=class_)

    body = [cells("td", row, "chosen" if place == marked else "") for place, row in enumerate(rows)]
    top = tag("caption", caption) if caption else ""
    inner = tag("table", top, tag("thead", cells("th", head)), tag("tbody", *body))
    return tag("div", inner, class_="scroll", tabindex="0")


def number(value: float | None, digits: int = 4) -> str:
    """A number with this many significant digits and a real minus sign, rounded as by `fixed`; "–" if there is none."""
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
    places = max(0, digits - 1 - math.floor(math.log10(size)))
    return f"{Decimal(fixed(value, places)):,}".replace("-", "−")


def fixed(value: float, places: int) -> str:
    """A number with this many decimals; ties are rounded away from zero, as the script of the page does."""
    return str(Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def count(value: float) -> str:
    """A number of rows: whole where it is."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def percent(share: float) -> str:
    """A share in percent."""
    if math.isnan(share):
        return "–"
    return f"{share:.1%}" if 0 < share < 0.1 or 0.9 < share < 1 else f"{share:.0%}"


def several(how_many: int, what: str, plural: str = "") -> str:
    """1 row, 2 rows."""
    return f"{how_many:,} {what if how_many == 1 else plural or what + 's'}"
