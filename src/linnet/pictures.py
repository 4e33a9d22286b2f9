"""Where pictures are drawn."""

from typing import Any


def new_axes(ax: Any, size: tuple[float, float] = (5.2, 4.8)) -> Any:
    """Return the axes given, or those of a new figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from None
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
