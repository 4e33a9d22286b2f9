"""A font for formulas, as part of the site: without one large brackets and sums stay small.

It is STIX Two Math (SIL Open Font License 1.1), which comes with the package ziamath, less what formulas do not use.
"""

from importlib.resources import as_file, files
from pathlib import Path

from fontTools import subset
from sphinx.application import Sphinx

_USED = (  # first and last character of what formulas are written in
    (0x20, 0x7E),
    (0xA0, 0xFF),
    (0x300, 0x338),
    (0x370, 0x3FF),
    (0x2010, 0x203E),
    (0x20D0, 0x20EF),
    (0x2100, 0x214F),
    (0x2190, 0x21FF),
    (0x2200, 0x22FF),
    (0x2308, 0x230B),
    (0x23B4, 0x23E1),
    (0x27E6, 0x27EB),
    (0x1D400, 0x1D467),  # bold, italic, both
    (0x1D538, 0x1D56B),  # double-struck
)


def write_font(app: Sphinx, error: Exception | None) -> None:
    """Write the font into the site."""
    if error or app.builder.format != "html":
        return
    options = subset.Options(flavor="woff", layout_features=["ssty", "dtls", "rtlm"], notdef_outline=True)
    with as_file(files("ziamath").joinpath("fonts/STIXTwoMath-Regular.ttf")) as path:
        font = subset.load_font(str(path), options)
    cut = subset.Subsetter(options)
    cut.populate(unicodes=[code for first, last in _USED for code in range(first, last + 1)])
    cut.subset(font)
    subset.save_font(font, str(Path(app.outdir) / "_static" / "formulas.woff"), options)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the font."""
    app.connect("build-finished", write_font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
