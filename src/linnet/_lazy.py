"""Lazy names of a package: loaded from their modules on first use, so that importing the package costs nothing.

__getattr__ = lazily(__name__, {"curves": ("auc", "roc_curve")})
"""

import importlib
import sys
from collections.abc import Callable, Collection, Mapping


def lazily(
    package: str, names: Mapping[str, Collection[str]], modules: Collection[str] = ()
) -> Callable[[str], object]:
    """Return the `__getattr__` of a package. `names`: by the module that defines them; `modules`: submodules."""
    home = {name: module for module, inside in names.items() for name in inside}

    def load(name: str) -> object:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        setattr(sys.modules[package], name, value)  # found directly the next time
        return value

    return load
