"""Convert programs to Jupyter notebooks, and notebooks to programs."""

import ast
import json
from typing import Any

from linnet.errors import FormatError
from linnet.learn.program import Definition, Source, Submitted


def to_notebook(text: str, file: str) -> str:
    """Return a notebook with the program's docstring as text, a cell per function, and one that runs the check."""
    source = Source.of(text)
    tree = source.tree
    cells = [_cell("markdown", _as_markdown(ast.get_docstring(tree) or "", file))]
    begun: list[str] = []
    for node in tree.body[1:]:
        content = source.lines(node)
        if isinstance(node, Definition | ast.If):
            if begun:
                cells.append(_cell("code", "\n".join(begun)))
                begun = []
            cells.append(_cell("code", "\n".join(content)))
        else:
            begun += content
    # run by the notebook's Python, whose commands the shell may not find
    python = "{__import__('sys').executable}"
    cells.append(_cell("code", f'# Save the notebook first.\n!"{python}" -m linnet learn check {file}'))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return json.dumps(notebook, indent=1) + "\n"


def _cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _as_markdown(docstring: str, file: str) -> str:
    """Its first line as a heading; indented lines are formulas, which stay as they are."""
    title, _, rest = docstring.partition("\n")
    name = file.removesuffix(".ipynb")
    return f"# {title.rstrip('.')}\n{rest.replace(f'{name}.py', file)}"


def from_notebook(content: str, name: str) -> Submitted:
    """Return the program in the code cells of a notebook, without magics and shell commands."""
    try:
        cells = json.loads(content)["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        code = ["" if text.startswith("%%") else text for text in code]  # a cell of another language
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{name} is not a Jupyter notebook: save it again in Jupyter") from error
    lines: list[str] = []
    starts = []
    for text in code:
        starts.append(len(lines))
        lines += ["" if line.lstrip().startswith(("%", "!", "?")) else line for line in [*text.splitlines(), ""]]
    return Submitted("\n".join(lines) + "\n", starts)
