"""The reference: a page per public object, made by autosummary from the lists that this writes into docs/reference."""

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any

from docutils import nodes
from numpy.typing import ArrayLike, DTypeLike
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.transforms import SphinxTransform

from extensions import DOCS

PACKAGES = (  # with a list of what they offer: a page per object
    "linnet",
    "linnet.evaluate",
    "linnet.multiclass",
    "linnet.theory",
    "linnet.theory.graph",
    "linnet.heads",
    "linnet.report",
    "linnet.learn",
)
MODULES = (  # without one: a page per module
    "linnet.config",
    "linnet.errors",
    "linnet.theory.approximation",
    "linnet.theory.ridges",
    "linnet.theory.polynomials",
    "linnet.theory.constant_unit",
    "linnet.theory.stationary",
    "linnet.theory.entropy",
    "linnet.theory.maxent",
    "linnet.theory.likelihood",
    "linnet.theory.depth",
    "linnet.theory.certificate",
    "linnet.plain",
    "linnet.plain.linear_regression",
    "linnet.plain.perceptron",
    "linnet.plain.logistic_regression",
    "linnet.plain.softmax_regression",
    "linnet.plain.poisson_regression",
    "linnet.plain.glm",
    "linnet.plain.heads",
    "linnet.plain.power_variance",
    "linnet.plain.robust",
    "linnet.plain.newton",
    "linnet.plain.likelihood",
    "linnet.plain.one_hidden_layer",
    "linnet.plain.mlp",
    "linnet.plain.activations",
    "linnet.plain.initialisation",
    "linnet.plain.optimizers",
    "linnet.plain.numeric_gradient",
    "linnet.plain.graph",
    "linnet.plain.one_vs_rest",
    "linnet.plain.one_vs_one",
    "linnet.plain.output_code",
    "linnet.plain.label_tree",
    "linnet.plain.confusion",
    "linnet.plain.threshold",
    "linnet.plain.lagrange",
    "linnet.plain.maximum_entropy",
    "linnet.plain.approximation",
    "linnet.heads.activations",
    "linnet.model.initialise",
    "linnet.model.network",
    "linnet.fit.objective",
    "linnet.fit.loop.steps",
    "linnet.fit.loop.training",
    "linnet.data.rows",
    "linnet.tables.io.sources",
    "linnet.tables.schema",
    "linnet.tables.leaks",
    "linnet.playground.datasets",
)
GROUPS = {  # of the names of `linnet` itself, by the module they live in; the first that fits
    "Tables": ("linnet.tables", "linnet.estimators.tabular", "linnet.export"),
    "Linear models": ("linnet.estimators.linear", "linnet.estimators.logistic", "linnet.estimators.perceptron"),
    "Many classes from two, thresholds": ("linnet.multiclass", "linnet.estimators.threshold"),
    "Multilayer perceptrons": ("linnet.estimators.mlp", "linnet.fit.checkpoint"),
    "Networks layer by layer": ("linnet.estimators.sequential", "linnet.heads"),
    "Optimizers, schedules, stopping": ("linnet.fit.loop",),
    "Metrics of one's own": ("linnet.evaluate",),
    "Threads and versions": ("linnet.config",),
    "Other": ("linnet",),
}
FOLDER = DOCS / "reference"


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: its __all__, or else what it defines under a name without an underscore."""
    if hasattr(module, "__all__"):
        return sorted(name for name in module.__all__ if not name.startswith("_"))
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    )


@cache
def objects() -> dict[int, str]:
    """The name under which each public object is documented, by its identity."""
    found: dict[int, str] = {}
    for name, value in _named().items():
        found.setdefault(id(value), name)
    return found


@cache
def _named() -> dict[str, Any]:
    """What each public name means."""
    found: dict[str, Any] = {}
    for name in (*PACKAGES, *MODULES):
        module = importlib.import_module(name)
        values = {f"{name}.{key}": getattr(module, key) for key in public_names(module)}
        found |= {key: value for key, value in values.items() if not isinstance(value, ModuleType)}
    return found


def place(name: str) -> str | None:
    """The name under which the reference has an object or a member that goes by `name`; None if it has none."""
    if name in (*PACKAGES, *MODULES):
        return name
    if name in _named():
        return objects()[id(_named()[name])]
    home, _, key = name.rpartition(".")
    owner = _named().get(home)
    is_member = inspect.isclass(owner) and not key.startswith("_") and _is_own(owner, key)
    return f"{objects()[id(owner)]}.{key}" if is_member else None


def _is_own(value: type, key: str) -> bool:
    """Whether a member is linnet's, not that of a base class of another library."""
    owner = next((base for base in value.__mro__ if key in vars(base)), object)
    return owner.__module__.startswith("linnet")


# ---- the pages ----


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the lists of docs/reference; autosummary makes the pages of what they list."""
    FOLDER.mkdir(exist_ok=True)
    seen = set[str]()
    for name in sorted(objects().values()):  # where files are told apart without regard to case
        if name.lower() in seen:
            config.autosummary_filename_map[name] = f"{name}-function"
        seen.add(name.lower())
    pages = {name: listed(name) for name in PACKAGES} | {name: whole(name) for name in MODULES}
    plain = [name for name in MODULES if name.startswith("linnet.plain")]
    theory = [name for name in (*PACKAGES, *MODULES) if name.startswith("linnet.theory")]
    inside = [name for name in MODULES if name not in (*plain, *theory, "linnet.config", "linnet.errors")]
    pages["index"] = "\n".join(
        [
            _title("Reference"),
            "Every public object has a page with its parameters, methods and source.\n",
            _tree("Use", ["linnet", "linnet.evaluate", "linnet.multiclass", "linnet.report", "linnet.errors"]),
            _tree("Theory", theory),
            _tree("In plain NumPy", ["linnet.learn", *plain]),
            _tree("Inside", ["linnet.heads", "linnet.config", *inside]),
        ]
    )
    for path in FOLDER.iterdir():
        if path.stem not in {*pages, *objects().values(), *config.autosummary_filename_map.values()}:
            path.unlink()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != text:  # what has not changed need not be read again
            path.write_text(text, "utf-8")


def listed(name: str) -> str:
    """The list of a package's objects, in groups."""
    module = importlib.import_module(name)
    groups: dict[str, list[str]] = {}
    for key in public_names(module):
        value = _named().get(f"{name}.{key}")
        if value is not None:
            home = getattr(value, "__module__", "")
            fits = [title for title, homes in GROUPS.items() if home.startswith(homes)] if name == "linnet" else [""]
            groups.setdefault(fits[0], []).append(objects()[id(value)])
    text = _title(name) + f".. automodule:: {name}\n   :no-members:\n\n"
    for title in sorted(groups, key=[*GROUPS, ""].index):
        own = [each for each in groups[title] if each.rpartition(".")[0] == name]
        text += _title(title, "-") if title else ""
        text += _summary([each.rpartition(".")[2] for each in own], toctree=True)
        text += _summary([each for each in groups[title] if each not in own])
    return text


def whole(name: str) -> str:
    """A module with all that it defines."""
    module = importlib.import_module(name)
    text = _title(name) + f".. automodule:: {name}\n   :no-members:\n\n"
    elsewhere = []
    for key in public_names(module):
        value = _named()[f"{name}.{key}"]
        full = objects()[id(value)]
        if full != f"{name}.{key}":
            elsewhere.append(full)
        elif inspect.isclass(value):
            text += f".. autoclass:: {full}\n   :members:\n   :inherited-members:\n\n"
        else:
            text += f".. autofunction:: {full}\n\n"
    return text + _summary(elsewhere)


def _title(text: str, line: str = "=") -> str:
    return f"{text}\n{line * len(text)}\n\n"


def _tree(caption: str, names: list[str]) -> str:
    return f".. toctree::\n   :maxdepth: 1\n   :caption: {caption}\n\n" + "".join(f"   {name}\n" for name in names)


def _summary(names: list[str], *, toctree: bool = False) -> str:
    if not names:
        return ""
    tree = "   :toctree: .\n" if toctree else ""
    return f".. autosummary::\n   :nosignatures:\n{tree}\n" + "".join(f"   ~{name}\n" for name in names) + "\n"


# ---- what stands on them ----


def skip(app: Sphinx, what: str, name: str, value: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out members that other libraries' base classes have."""
    if name == "get_metadata_routing" or re.fullmatch(r"set_\w+_request", name):
        return True  # scikit-learn's, for each class anew
    inner = getattr(value, "fget", None) or getattr(value, "__func__", value)
    home = getattr(inner, "__module__", None)
    if inspect.isbuiltin(inner) or inspect.ismethoddescriptor(inner):  # of str, the base of enumerations
        home = "builtins"
    return True if isinstance(home, str) and not home.startswith("linnet") else None


def shorten(app: Sphinx, what: str, name: str, value: Any, options: Any, signature: str, result: str) -> Any:
    """Types as they are read, not as Python writes them out."""
    return tuple(text and _shortened(text) for text in (signature, result))


def _shortened(text: str) -> str:
    for short, annotation in (("ArrayLike", ArrayLike), ("DTypeLike", DTypeLike)):  # which Python writes out in full
        whole = inspect.formatannotation(annotation)
        text = text.replace(whole, short).replace(whole.removeprefix("Union[").removesuffix("]"), short)
    text = re.sub(r"<(?:function|object|class)[^>]*>", "...", text)
    text = re.sub(r"(?<![~\w.])(?:numpy|typing|collections\.abc|linnet(?:\.\w+)+)\.(?=\w)", "", text)
    return re.sub(r"[~\w.]*ndarray\[tuple\[[~\w.]*Any, \.\.\.\], [~\w.]*dtype\[([^\]]*)\]\]", r"NDArray[\1]", text)


_ROW = re.compile(r"\.\. list-table|   (:header-rows|\* - |  - )")  # of a table, as a list


def as_rst(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Tables and indented code in Markdown's form, and names with an underscore last, as reStructuredText has them."""
    if any(re.fullmatch(r" *-{3,}", line) for line in lines):  # numpydoc's form, which has code and lists of its own
        lines[:] = [_of_numpydoc(line) for line in _tables(lines)]
        return
    out, before = list[str](), ""
    for line in _tables([*lines, ""]):
        if _ROW.match(line):
            out.append(line)
            before = "a table"
            continue
        if line.startswith("    ") and out and not out[-1] and not before.startswith((" ", "- ", "* ", "..")):
            out += ["::", ""] if not before.endswith("::") else []
        before = line or before
        is_code = line.startswith(("    ", ">>>", "..."))
        out.append(line if is_code else _escaped(line))
    lines[:] = out


def _tables(lines: list[str]) -> Iterator[str]:
    """The lines, with tables in Markdown's form as lists."""
    table = list[list[str]]()
    for line in [*lines, None]:
        if line is not None and re.match(r" *\|[ -]", line):
            table.append([cell.strip() for cell in line.strip().strip("|").split(" | ")])
            continue
        if table:
            yield from ("", ".. list-table::", "   :header-rows: 1", "")
            for row in [table[0], *table[2:]]:
                for index, cell in enumerate(row):
                    yield f"   {'* -' if index == 0 else '  -'} {_escaped(cell)}"
            yield ""
            table = []
        if line is not None:
            yield line


def _of_numpydoc(line: str) -> str:
    """A line with |x| as it is read, and no names with an underscore last but those that it begins with."""
    if re.match(r" *>>>", line) or _ROW.match(line):
        return line
    return _escaped(line, r"\|" if re.match(r"[\w, ]+ : ", line) else r"\||(?<=\w)_(?!\w)")


def _escaped(line: str, marks: str = r"(?<=\w)_(?!\w)|(?<![\w*])\*+(?=\w)|\|") -> str:
    """Words that reStructuredText would take for marks, outside of code."""
    parts = re.split(r"(`[^`]*`)", line)
    parts[::2] = [re.sub(marks, r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts)


class LinksToReference(SphinxTransform):
    """Names of public objects in code within a line lead to their pages."""

    default_priority = 210

    def apply(self, **_: Any) -> None:
        """Wrap what names an object, unless it is a link already."""
        for node in list(self.document.findall(nodes.literal)):
            text = node.astext()
            name = text if text.startswith("linnet.") else f"linnet.{text}" if re.match("[A-Z]", text) else ""
            found = place(name) if re.fullmatch(r"[\w.]+", name) else None
            inside = isinstance(node.parent, nodes.reference | addnodes.pending_xref | addnodes.download_reference)
            if found and not inside and self.env.docname != f"reference/{found}":
                kind = "mod" if found in (*PACKAGES, *MODULES) else "obj"
                link = addnodes.pending_xref("", refdomain="py", reftype=kind, reftarget=found, refexplicit=True)
                link["refdoc"] = self.env.docname
                node.parent.replace(node, link)
                link += node


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the pages and what is done to docstrings."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", as_rst, priority=400)  # before numpydoc
    app.add_transform(LinksToReference)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
