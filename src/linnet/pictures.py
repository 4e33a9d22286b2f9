"""Axes for matplotlib charts."""

from typing import Any

from linnet.errors import needs_extra


def new_axes(ax: Any, size: tuple[float, float] = (5.2, 4.8)) -> Any:
    """Return the given axes, or those of a new figure."""
    with needs_extra("plot", "drawing a plot"):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
