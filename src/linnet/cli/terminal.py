"""All that the command prints goes through here: text from data never reaches the terminal as anything but text.

`guarded` puts a `Guard` in the place of standard output and standard error, which shows control characters as escapes
such as \\x1b. What rich draws with escape sequences of its own goes past it, on a console of `console()`, which shows
those in texts as escapes first. Bytes written to `sys.stdout.buffer` are data for another program and stay as they are,
unless a terminal would get them.
"""

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# C0 and C1 but for tab and newline, delete; marks that change the direction of text; ends of lines that are no newline;
# halves of characters
_NOT_SHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_QUOTED = re.compile(r'"[^"]*"')  # a cell of CSV, or a part of one


def shown(text: str) -> str:
    """Return the text with an escape instead of each control character: harmless on a terminal, and visible."""
    return _NOT_SHOWN.sub(_escape, text) if _NOT_SHOWN.search(text) else text


def on_one_line(text: str) -> str:
    """Return the text with control characters and line breaks escaped: no name can imitate a line of linnet's."""
    return shown(text).replace("\n", "\\n")


def shown_json(text: str) -> str:
    """JSON with such characters as JSON's own escapes: it means the same."""
    return _NOT_SHOWN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(found: "re.Match[str]") -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class Guard(io.TextIOBase):
    """A stream of text that shows control characters as escapes. It is no terminal, so that nobody draws on it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write the text, as it can be shown."""
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(shown(text).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Pass on what was written."""
        self.stream.flush()

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Never: rich and others would write escape sequences, which would be shown as such."""
        return False

    def fileno(self) -> int:
        """Return the property of the underlying stream."""
        return self.stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Return the property of the underlying stream."""
        return self.stream.encoding or "utf-8"

    @property
    def buffer(self) -> Any:
        """Where to write bytes: exactly those, unless a terminal is behind it."""
        return _ShownBytes(self) if self.stream.isatty() else self.stream.buffer


class _ShownBytes(io.RawIOBase):
    """Takes rows of CSV in UTF-8 for a terminal: each is one line there, also if it has line breaks between quotes."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._rest = b""  # of a row

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Show the rows that are whole."""
        text = self._rest + bytes(data)
        end = text.rfind(b"\n") + 1
        while text.count(b'"', 0, end) % 2:  # between quotes
            end = text.rfind(b"\n", 0, end - 1) + 1
        whole, self._rest = text[:end].decode("utf-8", "backslashreplace"), text[end:]
        self._guard.write(_QUOTED.sub(lambda cell: on_one_line(cell[0]), whole))
        return len(data)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Replace standard output and standard error by guards."""
    before = sys.stdout, sys.stderr
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        # a stream that was closed before the start (>&-) is None
        sys.stdout, sys.stderr = (Guard(nowhere if stream is None else stream) for stream in before)
        try:
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                with contextlib.suppress(OSError, ValueError):
                    stream.flush()
            sys.stdout, sys.stderr = before


def _behind(stream: Any) -> Any:
    return stream.stream if isinstance(stream, Guard) else stream


def is_terminal(*, errors: bool = False) -> bool:
    """Whether a person sees what is written."""
    return bool(_behind(sys.stderr if errors else sys.stdout).isatty())


def console(*, errors: bool = False, quiet: bool = False) -> "Console":
    """A console of rich on standard output, or standard error, which shows control characters in texts as escapes."""
    from rich.console import Console
    from rich.segment import Segment

    class GuardedConsole(Console):
        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                if segment.control is None and _NOT_SHOWN.search(segment.text):
                    segment = Segment(shown(segment.text), segment.style)
                yield segment

    return GuardedConsole(file=_behind(sys.stderr if errors else sys.stdout), highlight=False, quiet=quiet)


def line(text: str, style: str = "") -> "Text":
    """Return a line of rich whose control characters are escaped before its width is measured."""
    from rich.text import Text

    return Text(on_one_line(text), style)
