"""Multiclass classification by binary classifiers: one-vs-rest, one-vs-one, output codes and label trees."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linnet.multiclass.comparison import Comparison, compare
    from linnet.multiclass.label_tree import LabelTreeClassifier
    from linnet.multiclass.one_vs_one import OneVsOneClassifier, couple
    from linnet.multiclass.one_vs_rest import OneVsRestClassifier
    from linnet.multiclass.output_code import OutputCodeClassifier

__all__ = [
    "Comparison",
    "LabelTreeClassifier",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "compare",
    "couple",
]

_HOME = {
    "Comparison": "comparison",
    "LabelTreeClassifier": "label_tree",
    "OneVsOneClassifier": "one_vs_one",
    "OneVsRestClassifier": "one_vs_rest",
    "OutputCodeClassifier": "output_code",
    "compare": "comparison",
    "couple": "one_vs_one",
}

if not TYPE_CHECKING:  # loaded when it is first used

    def __getattr__(name: str) -> object:
        if name in _HOME:
            value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
