"""What a model predicts everywhere on the plane of two columns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from linnet.checks import check_whole
from linnet.errors import ConfigError, DataError
from linnet.pictures import new_axes

_MARGIN = 0.05  # of the range of a column, around the rows
_MAX_CLASSES = 20  # that colours can distinguish


def plot_regions(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    columns: Sequence[Any] = (0, 1),
    ax: Any = None,
    resolution: int = 200,
) -> Any:
    """Draw the decision regions of a classifier, or the predictions of a regressor, on the plane of two columns.

    Other columns of numbers are held at their medians, and others at their most frequent value.

    Parameters
    ----------
    model : fitted estimator
        Anything with `predict`.
    X : array or data frame of shape (rows, columns)
        Rows that show the range of each column.
    y : array of one target per row, or None, default=None
        Actual classes or numbers, drawn as points.
    columns : pair of column names or positions, default=(0, 1)
        The columns of the plane: the first to the right, the second upwards.
    ax : matplotlib axes or None, default=None
        Where to draw; by default a new figure.
    resolution : int, default=200
        Predictions per side of the plane.

    Returns
    -------
    matplotlib axes
        The axes with the picture.
    """
    check_whole(resolution, "resolution", at_least=2, at_most=2000)
    plane = _Plane(X, columns, resolution)
    predicted = np.asarray(model.predict(plane.rows))
    axes = new_axes(ax)
    classes = getattr(model, "classes_", None)
    targets = None if y is None else np.asarray(y)
    if targets is not None and len(targets) != len(plane.right):
        raise DataError(f"y has {len(targets)} values for {len(plane.right)} rows of X")
    if classes is None:
        _draw_numbers(axes, plane, predicted, targets)
    else:
        _draw_classes(axes, plane, predicted, targets, np.asarray(classes))
    axes.set(xlabel=plane.names[0], ylabel=plane.names[1])
    return axes


class _Plane:
    """A grid over two columns of a table, the other columns held where their middle is."""

    def __init__(self, X: Any, columns: Sequence[Any], resolution: int) -> None:
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X, eager_only=True, pass_through=True)
        named = isinstance(frame, nw.DataFrame)
        names = list(frame.columns) if named else [*range(np.asarray(X).shape[1])]
        if len(columns) != 2:
            raise ConfigError(f"columns must be two columns, got {columns!r}")
        chosen = [self._name(column, names) for column in columns]
        values = {name: frame[name].to_numpy() if named else np.asarray(X)[:, name] for name in names}
        self.names = [name if named else f"column {name}" for name in chosen]
        self.right, self.up = (self._numbers(values[name], name) for name in chosen)
        self.sides = [self._side(values[name], resolution) for name in chosen]
        right, up = np.meshgrid(*self.sides)
        self.shape = right.shape
        data = {name: self._middle(values[name], right.size) for name in names}
        data[chosen[0]], data[chosen[1]] = right.ravel(), up.ravel()
        if named:
            grid = nw.from_dict(data, backend=nw.get_native_namespace(frame))
            types = {name: frame.schema[name] for name in names if name not in chosen}
            self.rows: Any = grid.with_columns(*(nw.col(name).cast(kind) for name, kind in types.items())).to_native()
        else:
            self.rows = np.column_stack([data[name] for name in names])

    @staticmethod
    def _name(column: Any, names: list[Any]) -> Any:
        if column in names:
            return column
        if isinstance(column, int) and -len(names) <= column < len(names):
            return names[column]
        raise ConfigError(f"there is no column {column!r}: columns are {', '.join(map(repr, names[:20]))}")

    @staticmethod
    def _numbers(values: NDArray[Any], name: Any) -> NDArray[np.float64]:
        if values.dtype.kind not in "fiub":
            raise DataError(f"column {name!r} has no numbers: a plane needs two columns of numbers")
        return values.astype(np.float64)

    @staticmethod
    def _side(values: NDArray[Any], resolution: int) -> NDArray[np.float64]:
        low, high = np.nanmin(values), np.nanmax(values)
        margin = _MARGIN * ((high - low) or 1.0)
        return np.linspace(low - margin, high + margin, resolution)

    @staticmethod
    def _middle(values: NDArray[Any], count: int) -> NDArray[Any]:
        if values.dtype.kind in "fiu":
            return np.full(count, np.nanmedian(values)).astype(np.result_type(values, np.float64))
        seen, counts = np.unique(values[values == values], return_counts=True)
        return np.full(count, seen[np.argmax(counts)])


def _draw_numbers(axes: Any, plane: _Plane, predicted: NDArray[Any], targets: NDArray[Any] | None) -> None:
    shades = axes.contourf(*plane.sides, predicted.reshape(plane.shape), levels=15, cmap="viridis")
    axes.figure.colorbar(shades, ax=axes, label="predicted")
    if targets is not None:
        limits = shades.get_clim()
        axes.scatter(plane.right, plane.up, c=targets, vmin=limits[0], vmax=limits[1], cmap="viridis", ec="w", lw=0.5)


def _draw_classes(
    axes: Any, plane: _Plane, predicted: NDArray[Any], targets: NDArray[Any] | None, classes: NDArray[Any]
) -> None:
    from matplotlib import colormaps

    if len(classes) > _MAX_CLASSES:
        raise ConfigError(f"a picture shows {_MAX_CLASSES} classes at most, and the model has {len(classes)}")
    palette = [*map(colormaps["tab10" if len(classes) <= 10 else "tab20"], range(len(classes)))]
    number = np.searchsorted(classes, predicted).reshape(plane.shape)
    levels = np.arange(len(classes) + 1) - 0.5
    axes.contourf(*plane.sides, number, levels=levels, colors=palette, alpha=0.25)
    for index, (label, colour) in enumerate(zip(classes, palette, strict=True)):
        axes.contour(*plane.sides, number == index, levels=[0.5], colors=[colour], linewidths=1.2)
        if targets is None:
            axes.scatter([], [], color=colour, marker="s", alpha=0.5, label=str(label))
        else:
            own = targets == label
            axes.scatter(plane.right[own], plane.up[own], color=colour, s=14, ec="w", lw=0.4, label=str(label))
    axes.legend()
