"""The reference: every public name with its signature and its docstring."""

import html
import importlib
import inspect
import re
import textwrap
from types import ModuleType
from typing import Any

from builder.markdown import code, render

MODULES = {  # public modules, by page
    "linnet": "linnet",
    "linnet.evaluate": "linnet.evaluate",
    "linnet.theory": "linnet.theory",
    "linnet.theory.graph": "linnet.theory.graph",
    "linnet.theory.approximation": "linnet.theory.approximation",
    "linnet.theory.stationary": "linnet.theory.stationary",
    "linnet.theory.entropy": "linnet.theory.entropy",
    "linnet.theory.maxent": "linnet.theory.maxent",
    "linnet.theory.likelihood": "linnet.theory.likelihood",
    "linnet.theory.depth": "linnet.theory.depth",
    "linnet.model.heads": "linnet.model.heads",
    "linnet.model.activations": "linnet.model.activations",
    "linnet.model.initialise": "linnet.model.initialise",
    "linnet.report": "linnet.report",
    "linnet.errors": "linnet.errors",
}


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


def reference(name: str) -> str:
    """The HTML of a module's page."""
    module = importlib.import_module(name)
    names = public_names(module)
    parts = [f"<h1>{name}</h1>", documentation(module)]
    parts.append(
        '<ul class="names">' + "".join(f'<li><a href="#{key}"><code>{key}</code></a></li>' for key in names) + "</ul>"
    )
    for key in names:
        parts.append(
            f'<section class="entry"><h2 id="{key}"><code>{key}</code></h2>{_entry(getattr(module, key), key)}</section>'
        )
    return "\n".join(parts)


def documentation(value: Any) -> str:
    """A docstring as HTML: Markdown, with examples as code."""
    text = inspect.getdoc(value) or ""
    lines, inside = list[str](), False
    for line in text.splitlines():
        starts = line.lstrip().startswith(">>>")
        if starts and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.strip() if inside and starts else line)
    if inside:
        lines.append("```")
    escaped = "\n".join(lines).replace("<", "&lt;") if "```pycon" not in "\n".join(lines) else "\n".join(lines)
    return render(escaped)


def _entry(value: Any, name: str) -> str:
    if isinstance(value, ModuleType):
        return render((inspect.getdoc(value) or "").split("\n\n")[0])
    parts = [_signature(value, name), documentation(value) if callable(value) or inspect.isclass(value) else ""]
    if inspect.isclass(value):
        for key, member in inspect.getmembers(value):
            if key.startswith("_") or not _is_own(value, key):
                continue
            if isinstance(member, property):
                parts.append(f'<div class="member"><h3><code>{key}</code></h3>{documentation(member)}</div>')
            elif callable(member) and inspect.getdoc(member):
                parts.append(
                    f'<div class="member"><h3><code>{key}</code></h3>{_signature(member, key)}{documentation(member)}</div>'
                )
    return "".join(parts)


def _is_own(value: type, key: str) -> bool:
    """Whether a member is linnet's, not that of a base class of Python's."""
    owner = next(base for base in value.__mro__ if key in vars(base))
    return owner.__module__.startswith("linnet")


def _signature(value: Any, name: str) -> str:
    if not callable(value):
        return ""
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return ""
    text = re.sub(r"<(?:function|object|class)[^>]*>", "...", text)
    text = re.sub(r"\b(?:numpy|typing|collections\.abc|linnet(?:\.\w+)+)\.", "", text)
    if len(name + text) > 90:
        inner = text[1 : text.rindex(")")]
        cut = re.split(r", (?![^\[\(]*[\]\)])", inner)
        text = "(\n" + "".join(f"    {part},\n" for part in cut) + ")" + text[text.rindex(")") + 1 :]
    return code(f"{name}{text}")


def summary(value: Any) -> str:
    """The first sentence of a docstring, as HTML."""
    first = textwrap.shorten((inspect.getdoc(value) or "").split("\n\n")[0], 200, placeholder=" ...")
    return html.escape(first)
