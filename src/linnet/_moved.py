"""Former names of modules and of their contents: each returns the object of the new name, with a DeprecationWarning."""

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_NEW_NAMES = {  # of modules that the documentation has named
    "linnet.data.leaks": "linnet.tables.leaks",
    "linnet.data.schema": "linnet.tables.schema",
    "linnet.data.sources": "linnet.tables.io.sources",
    "linnet.estimators.linear_model": "linnet.estimators.linear.model",
    "linnet.model.activations": "linnet.heads.activations",
    "linnet.model.heads": "linnet.heads",
    "linnet.fit.optimizers": "linnet.fit.loop.optimizers",
    "linnet.fit.schedules": "linnet.fit.loop.schedules",
    "linnet.fit.stopping": "linnet.fit.loop.stopping",
}


class _Finder:
    """A finder and loader that `import` asks for modules that nothing else has found."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in _NEW_NAMES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        new = _NEW_NAMES[spec.name]
        warnings.warn(f"{spec.name} is now called {new}", DeprecationWarning, stacklevel=2)
        module = importlib.import_module(new)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # the module keeps its own


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a module in which names have changed. `names`: the new names by the former ones."""

    def load(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is now called {names[name]}", DeprecationWarning, stacklevel=2)
        value: object = getattr(sys.modules[module], names[name])
        return value

    return load


finder = _Finder()  # for sys.meta_path
