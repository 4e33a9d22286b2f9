"""What commands share when they write: files that can be written, numbers for programs."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linnet.errors import ConfigError


def check_out(*paths: Path | None, data: Sequence[str] = ()) -> None:
    """Refuse now what could not, or should not, be written when all the work is done."""
    read = {Path(name).resolve() for name in data if name != "-"}
    seen: set[Path] = set()
    for path in (path for path in paths if path is not None):
        if not path.parent.is_dir():
            raise ConfigError(f"cannot write {path}: there is no folder {path.parent}")
        if path.is_dir():
            raise ConfigError(f"cannot write {path}: it is a folder; name a file in it")
        if path.resolve() in read:
            raise ConfigError(f"cannot write {path}: it is read, and would be lost; choose another name")
        if path.resolve() in seen:
            raise ConfigError(f"cannot write {path}: two files would have this name; choose another one")
        seen.add(path.resolve())


def json_text(facts: Any, *, indent: int | None = 2) -> str:
    """Facts as JSON, which has no NaN and no infinity: null in their place."""
    return json.dumps(_finite(facts), indent=indent, ensure_ascii=False, allow_nan=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
