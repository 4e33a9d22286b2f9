"""Programs of linnet.plain as text: cut down to what an assignment is about, and with blanks for the student to fill.

The solution of an assignment is a plain program, so that each algorithm is written once: students get the same text
with the bodies of some functions left blank, and what they submit is compared with the original.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

BLANK = "...  # your code"

Definition = ast.FunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Submitted:
    """A program that a student submitted."""

    text: str
    cells: Sequence[int] = ()  # of a notebook: the line before the first one of each code cell

    def where(self, line: int) -> str:
        """Describe a line as an editor or a notebook counts it."""
        cell = sum(start < line for start in self.cells)
        return f"code cell {cell}, line {line - self.cells[cell - 1]}" if cell else f"line {line}"


@dataclass(frozen=True)
class Source:
    """The text of a program and its syntax tree."""

    text: str
    tree: ast.Module

    @classmethod
    def of(cls, text: str) -> "Source":
        """Parse a program; raises a SyntaxError."""
        return cls(text, ast.parse(text))

    @classmethod
    def of_plain(cls, name: str) -> "Source":
        """Return the program linnet.plain.`name`."""
        return _plain(name)

    @property
    def docstring(self) -> str:
        """The program's docstring."""
        return ast.get_docstring(self.tree) or ""

    def definitions(self) -> dict[str, Definition]:
        """Return the functions and classes at top level, and methods as Class.method."""
        found: dict[str, Definition] = {}
        for node in self.tree.body:
            if isinstance(node, Definition):
                found[node.name] = node
            if isinstance(node, ast.ClassDef):
                found |= {f"{node.name}.{part.name}": part for part in node.body if isinstance(part, ast.FunctionDef)}
        return found

    def lines(self, node: ast.stmt) -> list[str]:
        """Return the lines of a statement with its decorators."""
        first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", []))])
        return self.text.splitlines()[first - 1 : node.end_lineno]


@cache
def _plain(name: str) -> Source:
    file = import_module(f"linnet.plain.{name}").__file__
    assert file is not None
    return Source.of(Path(file).read_text(encoding="utf-8"))


def excerpt(
    source: Source, names: Iterable[str], blanks: Mapping[str, Sequence[str]], imports: Sequence[str] = ()
) -> str:
    """Return the definitions `names` of a program and everything of it that they use, without its docstring.

    Parameters
    ----------
    source
        The program.
    names
        Functions, classes and constants at top level, in any order: they come in the program's order.
    blanks
        Functions, and methods as Class.method, whose bodies are left blank; each with the beginnings of the lines of
        its body that stay.
    imports
        Further lines of imports.
    """
    used, kept = {*names, "np"}, list[ast.stmt]()
    while found := [node for node in source.tree.body if node not in kept and used & _names_of(node)]:
        kept += found
        used |= {part.id for node in found for part in ast.walk(node) if isinstance(part, ast.Name)}
    lines = [*(text for node in source.tree.body if (text := _import(node, used))), *imports]
    constants = [node for node in source.tree.body if node in kept and not isinstance(node, Definition)]
    definitions = [node for node in source.tree.body if node in kept and isinstance(node, Definition)]
    first = [_grouped(lines), "\n".join(line for node in constants for line in source.lines(node))]
    blocks = ["\n".join(_blanked(source, node, node.name, blanks)) for node in definitions]
    return "\n\n\n".join(["\n\n".join(text for text in first if text), *blocks]) + "\n"


def _names_of(node: ast.stmt) -> set[str]:
    """The names that a statement at top level defines."""
    if isinstance(node, Definition):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)}


def _import(node: ast.stmt, used: set[str]) -> str:
    """An import with those of its names that are used, if any."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return ""
    names = [alias for alias in node.names if (alias.asname or alias.name).partition(".")[0] in used]
    return ast.unparse(type(node)(**{**vars(node), "names": names})) if names else ""


def _grouped(imports: list[str]) -> str:
    """Import lines, those of the standard library first."""
    theirs = [line for line in imports if "numpy" in line or "linnet" in line]
    groups = [[line for line in imports if line not in theirs], theirs]
    return "\n\n".join("\n".join(group) for group in groups if group)


def _blanked(source: Source, node: Definition, name: str, blanks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of a definition, with its body blank if it is one of `blanks`."""
    lines = source.text.splitlines()
    if isinstance(node, ast.ClassDef):
        at = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
        for part in node.body:
            if isinstance(part, ast.FunctionDef):
                first = min([part.lineno, *(one.lineno for one in part.decorator_list)]) - 1
                yield from lines[at:first]
                yield from _blanked(source, part, f"{name}.{part.name}", blanks)
                assert part.end_lineno is not None
                at = part.end_lineno
        yield from lines[at : node.end_lineno]
        return
    if name not in blanks:
        yield from source.lines(node)
        return
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
    yield from lines[first : body[0].lineno - 1]
    yield from _cut(lines, body, tuple(blanks[name]))


def _cut(lines: list[str], body: list[ast.stmt], keep: tuple[str, ...]) -> Iterator[str]:
    """The statements of a body that begin with one of `keep`, and one blank for each run of other statements."""
    blank = False
    for node in body:
        assert node.end_lineno is not None
        line = lines[node.lineno - 1]
        if keep and line.strip().startswith(keep):
            blank = False
            inner: list[ast.stmt] = getattr(node, "body", [])
            if inner and not isinstance(node, Definition):
                yield from lines[node.lineno - 1 : inner[0].lineno - 1]
                yield from _cut(lines, inner, keep)
            else:
                yield from lines[node.lineno - 1 : node.end_lineno]
        elif not blank:
            blank = True
            yield line[: node.col_offset] + BLANK


def still_blank(source: Source) -> dict[str, int]:
    """Return the functions that still have a blank, and its line."""
    found: dict[str, int] = {}
    for name, node in source.definitions().items():
        if isinstance(node, ast.FunctionDef):
            for part in ast.walk(node):
                if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and part.value.value is ...:
                    found.setdefault(name, part.lineno)
    return found


def module_of(text: str, name: str = "program") -> ModuleType:
    """Run one of linnet's own programs as a module that is not kept in sys.modules."""
    module = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return module
