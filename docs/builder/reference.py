"""The reference: every public name with its signature and its docstring."""

import importlib
import inspect
import re
from types import ModuleType
from typing import Any

from numpy.typing import ArrayLike, DTypeLike

from builder.markdown import code, inline_code, render

MODULES = (  # public modules, a page each
    "linnet",
    "linnet.evaluate",
    "linnet.multiclass",
    "linnet.theory",
    "linnet.theory.graph",
    "linnet.theory.approximation",
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
    "linnet.heads",
    "linnet.heads.activations",
    "linnet.model.initialise",
    "linnet.model.network",
    "linnet.fit.objective",
    "linnet.fit.loop.training",
    "linnet.data.rows",
    "linnet.tables.io.sources",
    "linnet.tables.schema",
    "linnet.tables.leaks",
    "linnet.playground.datasets",
    "linnet.report",
    "linnet.errors",
)


_LONGEST = 90  # signature on one line


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


def place(name: str) -> str | None:
    """Where a name with its module, such as `linnet.evaluate.roc_curve`, has its entry; None if it has none."""
    if name in MODULES:
        return f"reference/{name}.html"
    home, _, key = name.rpartition(".")
    if home in MODULES and key in public_names(importlib.import_module(home)):
        return f"reference/{home}.html#{key}"
    module, _, owner = home.rpartition(".")
    if module in MODULES and key in _members(getattr(importlib.import_module(module), owner, None)):
        return f"reference/{module}.html#{owner}.{key}"
    return None


def reference(name: str) -> str:
    """The HTML of a module's page."""
    module = importlib.import_module(name)
    names = public_names(module)
    listed = "".join(f'<li><a href="#{key}">{inline_code(key)}</a></li>' for key in names)
    entries = "".join(
        f'<section class="entry"><h2 id="{key}"><code>{key}</code></h2>{_entry(getattr(module, key), key)}</section>\n'
        for key in names
    )
    return f'<h1>{name}</h1>\n{documentation(module)}<ul class="names">{listed}</ul>\n{entries}'


def documentation(value: Any) -> str:
    """A docstring as HTML: Markdown, with the sections of numpydoc as lists and examples as code."""
    lines, inside = list[str](), False
    for line in as_lists(inspect.getdoc(value) or "").splitlines():
        example = line.lstrip().startswith(">>> ")
        if example and not inside:
            lines.append("```pycon")
        elif inside and not line.strip():
            lines.append("```")
        inside = example or (inside and bool(line.strip()))
        lines.append(line)
    return render("\n".join([*lines, "```"] if inside else lines))


def as_lists(text: str) -> str:
    """The docstring with each section of numpydoc as a bold line, and what it lists as an item per name."""
    head, *parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    out = [head]
    for title, content in zip(parts[::2], parts[1::2], strict=True):
        listed = title not in ("Examples", "Notes")
        out.append(f"**{title}**\n\n{_listed(content) if listed else content}")
    return "".join(out)


def _listed(content: str) -> str:
    lines = []
    for line in content.splitlines():
        name, colon, kind = line.partition(" : ")
        if line and not line[0].isspace():
            names = ", ".join(f"`{each}`" for each in name.split(", "))
            lines.append(f"- {names}{f' ({kind})' if colon else ''}:")
        else:
            lines.append(line and f"  {line.strip()}")
    return "\n".join(lines) + "\n"


def _entry(value: Any, name: str) -> str:
    if isinstance(value, ModuleType):
        return render((inspect.getdoc(value) or "").split("\n\n")[0])
    if not callable(value):
        return ""
    parts = [_signature(value, name), documentation(value)]
    for key, member in _members(value).items():
        text = ("" if isinstance(member, property) else _signature(member, key)) + documentation(member)
        title = f'<h3 id="{name}.{key}"><code><span>{name}.</span>{key}</code></h3>'
        parts.append(f'<div class="member">{title}{text}</div>')
    return "".join(parts)


def _members(value: Any) -> dict[str, Any]:
    """What a class has that is told about."""
    if not inspect.isclass(value):
        return {}
    return {
        key: member
        for key, member in inspect.getmembers(value)
        if not key.startswith("_") and _is_own(value, key) and inspect.getdoc(member)
    }


def _is_own(value: type, key: str) -> bool:
    """Whether a member is linnet's, not that of a base class of Python's."""
    owner = next(base for base in value.__mro__ if key in vars(base))
    return owner.__module__.startswith("linnet")


def _signature(value: Any, name: str) -> str:
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    for name_of, annotation in (("ArrayLike", ArrayLike), ("DTypeLike", DTypeLike)):  # which Python writes out in full
        whole = inspect.formatannotation(annotation)
        text = text.replace(whole, name_of).replace(whole.removeprefix("Union[").removesuffix("]"), name_of)
    text = re.sub(r"<(?:function|object|class)[^>]*>", "...", text)
    text = re.sub(r"\b(?:numpy|typing|collections\.abc|linnet(?:\.\w+)+)\.", "", text)
    text = re.sub(r"ndarray\[tuple\[Any, \.\.\.\], dtype\[([^\]]*)\]\]", r"NDArray[\1]", text)
    inside, _, result = text[1:].rpartition(")")
    result = "" if inspect.isclass(value) else result
    if len(name + text) > _LONGEST:
        inside = "\n" + "".join(f"    {part},\n" for part in _parts(inside))
    return code(f"{name}({inside}){result}")


def _parts(text: str) -> list[str]:
    """The parameters of a signature: parted by commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "[({") - (character in "])}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
