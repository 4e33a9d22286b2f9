"""The folds that thresholds are tuned on, by the forms that `cv` may have."""

from collections.abc import Iterator, Mapping
from numbers import Integral
from typing import Any

import numpy as np

from linnet.checks import check_random, check_whole
from linnet.data.table import Array
from linnet.errors import ConfigError, DataError, LinnetError

FORMS_OF_CV = "a number of folds, a share of the rows, a splitter, pairs of (training, tuning) row indices, or 'prefit'"


def folds(cv: Any, X: Any, y: Array, random_state: Any, params: Mapping[str, Any]) -> Iterator[tuple[Array, Array]]:
    """Yield the row indices for training and for tuning of each fold.

    Parameters
    ----------
    cv : int, float, splitter, pairs of indices or None
        The number of stratified folds; below 1, the share of one held-out set of rows.
    X : array, sparse matrix or data frame of shape (rows, columns)
        The table.
    y : array of shape (rows,)
        The class of each row.
    random_state : int, RandomState, Generator or None
        Seed of held-out rows.
    params : dict
        Further arguments of the splitter's `split`.
    """
    from sklearn.model_selection import StratifiedShuffleSplit, check_cv

    if isinstance(cv, float) and 0 < cv < 1:
        splitter = StratifiedShuffleSplit(1, test_size=cv, random_state=check_random(random_state))
    else:
        if isinstance(cv, Integral):
            cv = check_whole(cv, "cv", at_least=2)
        elif isinstance(cv, bytes) or not (cv is None or hasattr(cv, "split") or np.iterable(cv)):
            raise ConfigError(f"cv must be {FORMS_OF_CV}, got {cv!r}")
        splitter = check_cv(cv, y=y, classifier=True)
    has_splits = False
    try:
        for split in splitter.split(X, y, **params):
            if not (isinstance(split, tuple | list) and len(split) == 2 and all(map(_are_indices, split))):
                raise ConfigError(f"cv must be {FORMS_OF_CV}; one of its splits is {split!r}")
            has_splits = True
            yield split[0], split[1]
        if not has_splits:
            raise ConfigError(f"cv must be {FORMS_OF_CV}; it has no splits: {cv!r}")
    except LinnetError:
        raise
    except (TypeError, AttributeError) as error:
        raise ConfigError(f"cv must be {FORMS_OF_CV}, got {cv!r}: {error}") from None
    except ValueError as error:  # such as a class with fewer rows than folds
        raise DataError(f"the rows cannot be split by cv={cv!r}: {error}") from None


def _are_indices(rows: object) -> bool:
    """Return whether a value can be row indices, or flags by row."""
    array = np.asarray(rows) if isinstance(rows, list | tuple | range | np.ndarray) else np.empty((0, 0))
    return array.ndim == 1 and (array.dtype.kind in "iub" or not len(array))
