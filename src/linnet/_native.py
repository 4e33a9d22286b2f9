"""The native core in the build for this processor: `core` is the module, `isa` the name of its instruction set.

Every build has the same functions. The environment variable LINNET_ISA selects one.
"""

import importlib
import os
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import linnet
from linnet.errors import ConfigError, unknown_name

__all__ = ["built", "core", "isa", "supported", "usable"]

_PREFIX = "_core_"


def _module(isa: str) -> str:
    return f"linnet.{_PREFIX}{isa}"


_found = {each.name for each in pkgutil.iter_modules(linnet.__path__)}
_lines = Path(__file__).with_name("isas.txt").read_text(encoding="utf-8").splitlines()
_known = [line.split()[0] for line in _lines if line and not line.startswith("#")]  # in order; other modules are none
built = tuple(isa for isa in _known if f"{_PREFIX}{isa}" in _found)
if not built:
    raise ImportError("linnet's native core is missing: install the package, for example with `pip install .`")

# The first in core/isas.txt runs wherever another one does and detects what the processor supports, so that nothing is
# loaded that cannot run.
supported: tuple[str, ...] = tuple(importlib.import_module(_module(built[0])).supported())
usable = tuple(isa for isa in supported if isa in built)  # the best last


def _choose(wanted: str | None) -> str:
    if not usable:
        raise ConfigError(f"no build of linnet's core runs on this processor: built for {', '.join(built)}")
    if not wanted:
        return usable[-1]
    if wanted not in built and wanted not in supported:
        raise unknown_name("LINNET_ISA", wanted, usable)
    if wanted not in usable:
        reason = "this processor cannot run it" if wanted in built else "linnet was built without it"
        raise ConfigError(f"LINNET_ISA={wanted}: {reason}; choose from: {', '.join(usable)}")
    return wanted


isa = _choose(os.environ.get("LINNET_ISA"))

if TYPE_CHECKING:
    from linnet import _core as core
else:
    core = importlib.import_module(_module(isa))
